#include "scenarios/fidelity/fit/kernel_rows.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/error.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

// GPUs run above the clock that their data sheet's rate is for; nothing moves more bytes than the
// memory does, unless they stay in the L2 cache (up to about 100 MB), which is some times as fast.
constexpr double kOfPeakFlops = 0.85;
constexpr double kOfPeakBytes = 0.9;
constexpr double kOfPeakCache = 0.15;
constexpr double kBeyondCache = 200e6;
constexpr double kLeastKernelUs = 0.3;

// A kernel takes a launch and its work. Measured times over that, median of the tables of
// H100, A100, L40S and RTX 4090: 1.1 to 2.5; the slowest single row: 70.
constexpr double kLaunchUs = 5;
constexpr double kUnitOff = 30;
constexpr double kSlowest = 300;
constexpr std::size_t kMostLeftOut = 100;  // one row in so many

constexpr std::size_t kShown = 40;

std::string place(const KernelTables& tables, RowSource from) {
  return fmt::format("{}:{}", tables.files.at(from.file), from.line);
}

}  // namespace

void RowGate::add(std::int64_t line, double us, const KernelWork& work, double peak_flops,
                  std::function<void()> keep) {
  const double memory = gpu_->memory_gbs * 1e9;
  const double compute_us = work.flops / peak_flops * 1e6;
  const double read_us = work.bytes / memory * 1e6;
  const double share = work.bytes > kBeyondCache ? kOfPeakBytes : kOfPeakCache;
  rows_.push_back({line, us, std::max({compute_us * kOfPeakFlops, read_us * share, kLeastKernelUs}),
                   kLaunchUs + std::max(compute_us, read_us), std::move(keep)});
}

void RowGate::check_unit() const {
  std::vector<double> over;
  for (const Pending& row : rows_) over.push_back(row.us / row.usual_us);
  const double middle = median(std::move(over));
  if (middle < 1 / kUnitOff) {
    throw InputError(Fault::kTrace, {path_, 0, ""},
                     fmt::format("times look like {} where {} are expected: half of the rows are "
                                 "more than {:.0f} times faster than {} can be",
                                 unit_->larger, unit_->name, 1 / middle, gpu_->name));
  }
  if (middle > kUnitOff) {
    throw InputError(Fault::kTrace, {path_, 0, ""},
                     fmt::format("times look like {} where {} are expected: half of the rows take "
                                 "more than {:.0f} times what {} would",
                                 unit_->smaller, unit_->name, middle, gpu_->name));
  }
}

void RowGate::finish(std::vector<std::string>& notes) {
  if (rows_.empty()) {
    throw InputError(Fault::kTrace, {path_, 0, ""}, "expected rows behind the header, found none");
  }
  check_unit();
  std::size_t fast = 0;
  std::size_t slow = 0;
  const Pending* first = nullptr;
  for (const Pending& row : rows_) {
    const bool too_fast = row.us < row.least_us;
    const bool too_slow = row.us > kSlowest * row.usual_us;
    fast += too_fast;
    slow += too_slow;
    if ((too_fast || too_slow) && first == nullptr) first = &row;
  }
  const std::size_t bad = fast + slow;
  if (bad > 0) {
    const std::string what = fmt::format(
        "{} of {} rows cannot be of {}: {} faster than its peak rates, {} over {:.0f} times slower "
        "than usual; line {} takes {:.4g} us where {:.4g} is the least and {:.4g} usual",
        bad, rows_.size(), gpu_->name, fast, slow, kSlowest, first->line, first->us,
        first->least_us, first->usual_us);
    if (bad * kMostLeftOut > rows_.size()) {
      throw InputError(Fault::kTrace, {path_, first->line, ""},
                       what +
                           "; expected at most 1% of such rows: is this the GPU they are of, "
                           "and each time in " +
                           unit_->name + "?");
    }
    notes.push_back(fmt::format("{}: left out {}", path_, what));
  }
  for (const Pending& row : rows_) {
    if (row.us >= row.least_us && row.us <= kSlowest * row.usual_us) row.keep();
  }
  rows_.clear();
}

double table_number(const CsvTable& table, std::size_t column, double least) {
  const std::string_view cell = table.cell(column);
  const std::optional<double> value = parse_real(cell);
  if (!value || !(*value >= least && *value <= 1e15)) {
    table.fail(column, fmt::format("expected a number of at least {}, found \"{}\"", least,
                                   cell.substr(0, kShown)));
  }
  return *value;
}

double table_time(const CsvTable& table, std::size_t column, const TimeUnit& unit) {
  const std::string_view cell = table.cell(column);
  const double value = parse_real(cell).value_or(0);
  if (!std::isfinite(value) || value <= 0) {
    table.fail(column, fmt::format("expected a time above 0 in {}, found \"{}\"", unit.name,
                                   cell.substr(0, kShown)));
  }
  return value * unit.us;
}

void refuse_repeats(const KernelTables& tables, const std::string& what, std::size_t shapes,
                    RowSource first, RowSource second) {
  throw InputError(
      Fault::kTrace, {tables.files.at(second.file), second.line, ""},
      fmt::format("{}: {} shapes were measured more than once with times that differ by more than "
                  "2x, this one at {} too; expected one time for each shape (is a column missing "
                  "that tells them apart?)",
                  what, shapes, place(tables, first)));
}

void note_repeats(KernelTables& tables, const std::string& what, std::size_t shapes,
                  RowSource first) {
  tables.notes.push_back(
      fmt::format("{}: {} shapes were measured more than once and take the median; the first at {}",
                  what, shapes, place(tables, first)));
}

}  // namespace spillway

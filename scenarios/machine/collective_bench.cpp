#include "scenarios/machine/collective_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/machine/child_process.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::string_view kReduceProgram = "all_reduce_perf";
constexpr std::string_view kReduceVariable = "SPILLWAY_ALL_REDUCE_PERF";
constexpr std::int64_t kFirstBytes = 8 * kKiB;
constexpr std::int64_t kLastBytes = 256 * kMiB;
constexpr int kSizeFactor = 2;

// Only to expect how long a cell takes: contexts on all GPUs and NCCL's start; then 20 collectives
// in place and 20 out of place, warmed up and checked, at the rate of GPUs on PCIe.
constexpr double kNcclStartS = 5;
constexpr double kCollectivesPerSize = 50;
constexpr double kSentBytesPerS = 16e9;
constexpr double kLookS = 0.2;  ///< between looks at whether somebody wants to stop
constexpr double kEndS = 10;    ///< CUDA takes its time to leave every GPU

constexpr int kReducePriority = 1;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

template <class T>
std::optional<T> number_of(const std::string& word) {
  T out{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return out;
}

std::size_t column_of(const std::vector<std::string>& header, std::string_view name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

std::size_t count_of_sizes() {
  std::size_t out = 0;
  for (std::int64_t bytes = kFirstBytes; bytes <= kLastBytes; bytes *= kSizeFactor) ++out;
  return out;
}

double expected_call_s() {
  return kNcclStartS + 2.0 * kLastBytes * kCollectivesPerSize / kSentBytesPerS;
}

/// The program to start, or nothing with the reason in `missing`.
std::string reduce_program(const GpuHarnessOptions& options, std::vector<std::string>& missing) {
  if (!options.all_reduce.empty()) return named_program(options.all_reduce, "--all-reduce");
  const char* variable = std::getenv(kReduceVariable.data());
  if (variable != nullptr && *variable != '\0') return named_program(variable, kReduceVariable);
  const std::string found = find_program(std::string(kReduceProgram));
  if (found.empty()) {
    missing.push_back(
        fmt::format("collectives: there is no {} of NVIDIA's nccl-tests in PATH (build it with "
                    "make, or name one with --all-reduce)",
                    kReduceProgram));
  }
  return found;
}

}  // namespace

bool NcclTable::take_row(const std::vector<std::string>& words) {
  if (words.size() != columns_) {
    problem_ = fmt::format("a line has {} columns, its header {}", words.size(), columns_);
    return false;
  }
  const auto bytes = number_of<std::int64_t>(words[0]);
  const auto us = number_of<double>(words[time_]);
  if (!bytes || *bytes < 1 || !us || !std::isfinite(*us) || *us <= 0) {
    problem_ = fmt::format("expected a size and a time above 0, found \"{}\" and \"{}\"",
                           printable(words[0]), printable(words[time_]));
    return false;
  }
  if (!points_.empty() && *bytes <= points_.back().bytes) {
    problem_ =
        fmt::format("expected ascending sizes, found {} after {}", *bytes, points_.back().bytes);
    return false;
  }
  // "N/A" where it did not check.
  const auto wrong = wrong_ > 0 ? number_of<std::int64_t>(words[wrong_]) : std::nullopt;
  if (wrong && *wrong != 0) {
    problem_ = fmt::format("{} values came out wrong at {} bytes", *wrong, *bytes);
    return false;
  }
  points_.push_back({*bytes, *us});
  return true;
}

bool NcclTable::take(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  if (words.empty()) return true;
  if (words[0] == "#") {
    words.erase(words.begin());
    if (words.empty() || words[0] != "size") return true;
    columns_ = words.size();
    time_ = column_of(words, "time");
    wrong_ = column_of(words, "#wrong");
    if (wrong_ == columns_) wrong_ = 0;  // older versions print the largest difference
    if (time_ < columns_) return true;
    problem_ = fmt::format("expected a column \"time\", found \"{}\"", printable(line));
    return false;
  }
  const bool figures = words[0].find_first_not_of("0123456789") == std::string::npos;
  if (figures && columns_ > 0) return take_row(words);
  last_note_ = printable(line);
  return true;
}

std::vector<CellPlan> CollectiveBench::plan(const BenchLimits& limits,
                                            std::vector<std::string>& missing) {
  limits_ = limits;
  const std::size_t gpus = gpus_.gpus().size();
  if (gpus == 0) return {};  // the bench of GPUs says why
  if (gpus == 1) {
    missing.emplace_back("collectives: they need two GPUs, and there is one");
    return {};
  }
  program_ = reduce_program(options_, missing);
  if (program_.empty()) return {};
  std::vector<CellPlan> out;
  for (std::size_t ranks = 2; ranks <= gpus; ranks *= 2) {
    out.push_back({"collective",
                   {{"op", kCollectiveOps[0]}, {"ranks", ranks}},
                   expected_call_s(),
                   kReducePriority});
  }
  return out;
}

nlohmann::json CollectiveBench::measure(const CellPlan& cell) {
  CollectiveCell row;
  row.op = cell.request.at("op");
  row.ranks = cell.request.at("ranks");
  ChildProcess child(program_, {"-b", std::to_string(kFirstBytes), "-e", std::to_string(kLastBytes),
                                "-f", std::to_string(kSizeFactor), "-g", std::to_string(row.ranks),
                                "-d", "half", "-G", "1"});
  row.state.problem = read_table(child, row.points);
  row.state.valid = row.state.problem.empty();
  return to_document(row);
}

/// The points, or why they are not to be had.
std::string CollectiveBench::read_table(ChildProcess& child,
                                        std::vector<CollectivePoint>& points) const {
  const double last_s = monotonic_s() + expected_call_s() + options_.patience_s;
  NcclTable table;
  std::string line;
  for (;;) {
    const ChildProcess::Read read = child.read_line(line, kLookS);
    if (read == ChildProcess::Read::kClosed) break;
    const bool stop = limits_.stop && limits_.stop();
    if (stop || monotonic_s() > last_s || read == ChildProcess::Read::kTooLong) {
      child.end(0);
      return stop ? "it was stopped"
                  : fmt::format("{} did not end within {:.0f} s", kReduceProgram,
                                expected_call_s() + options_.patience_s);
    }
    if (read == ChildProcess::Read::kLine && !table.take(line)) {
      child.end(0);
      return fmt::format("{}: {}", kReduceProgram, table.problem());
    }
  }
  const std::string ended = child.end(kEndS);
  if (ended != "exit code 0") {
    return fmt::format("{} ended with {}{}{}", kReduceProgram, ended,
                       table.last_note().empty() ? "" : ": ", table.last_note());
  }
  if (table.points().size() != count_of_sizes() || table.points().front().bytes != kFirstBytes) {
    return fmt::format("{} measured {} of {} sizes", kReduceProgram, table.points().size(),
                       count_of_sizes());
  }
  points = table.points();
  return "";
}

}  // namespace spillway

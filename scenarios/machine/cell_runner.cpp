#include "scenarios/machine/cell_runner.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "reports/format.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kMostRuns = 4;  // the first, and three more while it is unstable

bool flag(const nlohmann::json& row, const char* name) {
  return row.contains("state") && row["state"].value(name, true);
}

/// Variation of the row's samples; rows without it are judged by `stable` alone.
double cv_of(const nlohmann::json& row) {
  return row.contains("time") ? row["time"].value("cv", 0.0) : 0.0;
}

/// Whether `next` is the better measurement of the two.
bool better(const nlohmann::json& next, const nlohmann::json& before) {
  if (flag(next, "valid") != flag(before, "valid")) return flag(next, "valid");
  if (flag(next, "stable") != flag(before, "stable")) return flag(next, "stable");
  return cv_of(next) <= cv_of(before);
}

/// One run through the cells.
class CellRunner {
 public:
  CellRunner(const BenchList& benches, std::vector<RunCell>& cells, const RunOptions& options)
      : benches_(benches),
        cells_(cells),
        options_(options),
        start_(options.now()),
        pace_(benches.size()),
        lost_(benches.size(), false) {
    for (const RunCell& cell : cells_) {
      if (!cell.measured()) ahead_s_ += cell.plan.expected_s;
    }
  }

  RunOutcome run() {
    for (RunCell& cell : cells_) {
      if (cell.measured()) continue;
      if (stopped()) break;
      ahead_s_ -= cell.plan.expected_s;
      if (lost_[cell.bench]) continue;
      if (fits(cell)) measure(cell);
    }
    repeat_unstable();
    out_.spent_s = elapsed();
    for (LostBench& lost : out_.lost) {
      for (const RunCell& cell : cells_) {
        if (benches_[cell.bench]->name() == lost.name && !cell.measured()) ++lost.cells;
      }
    }
    return std::move(out_);
  }

 private:
  /// Seconds that the cells of a bench took, against what it expected.
  struct Pace {
    double expected = 0;
    double taken = 0;
    double factor() const { return expected > 0 ? std::clamp(taken / expected, 0.1, 20.0) : 1.0; }
  };

  double elapsed() const { return options_.spent_s + options_.now() - start_; }

  bool stopped() {
    if (options_.stop && options_.stop()) out_.stopped = true;
    return out_.stopped;
  }

  bool fits(const RunCell& cell) const {
    const double expected = cell.plan.expected_s * pace_[cell.bench].factor();
    return elapsed() + expected <= options_.budget_s;
  }

  void lose(std::size_t bench, const std::string& why) {
    lost_[bench] = true;
    out_.lost.push_back({std::string(benches_[bench]->name()), why, 0});
  }

  void measure(RunCell& cell) {
    const double begin = elapsed();
    nlohmann::json row;
    try {
      row = benches_[cell.bench]->measure(cell.plan);
    } catch (const BenchLost& error) {
      lose(cell.bench, error.what());
      return;
    } catch (const std::system_error& error) {
      lose(cell.bench, fmt::format("cannot start its threads: {}", error.what()));
      return;
    }
    if (stopped()) return;  // it may have ended early
    const double end = elapsed();
    pace_[cell.bench].expected += cell.plan.expected_s;
    pace_[cell.bench].taken += end - begin;
    ++cell.runs;
    row["state"]["at_s"] = begin;
    if (!cell.measured() || better(row, cell.row)) {
      cell.row = std::move(row);
      if (options_.on_row) options_.on_row(cell);
    }
    if (options_.progress) {
      options_.progress(end, std::min(options_.budget_s, end + ahead_s_));
    }
  }

  void repeat_unstable() {
    Stream order(options_.seed, "calibrate-repeats");
    for (std::uint32_t round = 1; round < kMostRuns; ++round) {
      std::vector<std::size_t> again;
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        const RunCell& cell = cells_[i];
        const bool may = !cell.plan.once && !lost_[cell.bench] && cell.runs <= round;
        if (may && cell.unstable()) again.push_back(i);
      }
      for (std::size_t left = again.size(); left > 1; --left) {
        std::swap(again[left - 1], again[order.below(left)]);
      }
      for (const std::size_t i : again) {
        if (stopped()) return;
        if (lost_[cells_[i].bench] || !fits(cells_[i])) continue;
        ++out_.repeats;
        measure(cells_[i]);
      }
    }
  }

  const BenchList& benches_;
  std::vector<RunCell>& cells_;
  const RunOptions& options_;
  double start_;
  double ahead_s_ = 0;  ///< expected of the cells that are still to come
  std::vector<Pace> pace_;
  std::vector<bool> lost_;
  RunOutcome out_;
};

}  // namespace

std::string size_of(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string RunCell::key() const {
  return plan.section + " " + plan.request.dump();
}

bool RunCell::unstable() const {
  return measured() && flag(row, "valid") && !flag(row, "stable");
}

std::vector<RunCell> collect_cells(const BenchList& benches, const BenchLimits& limits,
                                   const std::vector<std::string>& only,
                                   std::vector<std::string>& missing) {
  std::vector<RunCell> out;
  for (std::size_t b = 0; b < benches.size(); ++b) {
    std::vector<std::string> reasons;
    std::vector<CellPlan> plans = benches[b]->plan(limits, reasons);
    const bool planned = !plans.empty();
    std::erase_if(plans, [&](const CellPlan& plan) {
      return !only.empty() && std::find(only.begin(), only.end(), plan.section) == only.end();
    });
    // What a bench that nobody asked for cannot do is of no interest.
    if (!planned || !plans.empty()) missing.insert(missing.end(), reasons.begin(), reasons.end());
    for (CellPlan& plan : plans) out.push_back({std::move(plan), b, {}, 0});
  }
  std::stable_sort(out.begin(), out.end(), [](const RunCell& a, const RunCell& b) {
    return a.plan.priority < b.plan.priority;
  });
  return out;
}

double planned_s(const std::vector<RunCell>& cells, double budget_s, std::vector<bool>& fits) {
  double sum = 0;
  fits.assign(cells.size(), false);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (sum + cells[i].plan.expected_s > budget_s) continue;
    fits[i] = true;
    sum += cells[i].plan.expected_s;
  }
  return sum;
}

RunOutcome run_cells(const BenchList& benches, std::vector<RunCell>& cells,
                     const RunOptions& options) {
  return CellRunner(benches, cells, options).run();
}

}  // namespace spillway

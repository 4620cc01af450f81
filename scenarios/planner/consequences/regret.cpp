#include "scenarios/planner/consequences/regret.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/planner/consequences/cost.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr const char* kAsItIs = "as it is";

/// Arrivals relative to those of other cells: clients of a closed loop, else the rate.
double load_of(const Scenario& s) {
  const ArrivalConfig& arrival = s.workload->arrival;
  if (arrival.kind == ArrivalConfig::Kind::kClosedLoop) return arrival.concurrency;
  const double speed = to_double(arrival.speed);
  return arrival.kind == ArrivalConfig::Kind::kPoisson ? speed * arrival.rate_per_s : speed;
}

class RegretFinder {
 public:
  explicit RegretFinder(const RegretQuestion& question) : q_(question), plan_(question.cells.plan) {
    more_is_better_ = q_.objective == Objective::kMostLoad ||
                      (q_.objective == Objective::kMostGoodputPerCost && q_.prices != nullptr);
    name_measure();
  }

  PlanRegret find() {
    out_.demands.emplace_back(kAsItIs);
    for (const DemandChoice& demand : q_.demand) out_.demands.push_back(demand.name);
    choose_cells();
    ask();
    for (const int cell : cells_) add_row(cell);
    rank();
    say();
    return std::move(out_);
  }

 private:
  const PlanPoint& point(int cell) const { return plan_.points[static_cast<std::size_t>(cell)]; }
  const Scenario& scenario(int cell) const {
    return *q_.cells.scenarios[static_cast<std::size_t>(cell)];
  }

  void name_measure() {
    if (q_.objective == Objective::kMostLoad) {
      out_.measure = "load, as the scenario counts it";
    } else if (q_.objective == Objective::kLeastGpus) {
      out_.measure = "GPUs";
    } else if (q_.prices == nullptr) {
      out_.measure = fmt::format("GiB of {}", plan_.tier);
    } else if (more_is_better_) {
      out_.measure = fmt::format("requests within the SLO per {}", q_.prices->currency);
    } else {
      out_.measure = fmt::format("{} a month", q_.prices->currency);
    }
  }

  /// What is compared; nothing where a price is missing.
  std::optional<double> value_of(const Scenario& s, const RunResult& run) {
    if (q_.objective == Objective::kMostLoad) return load_of(s);
    if (q_.objective == Objective::kLeastGpus) return static_cast<double>(total_gpus(s));
    if (q_.prices == nullptr) return tier_bytes_of(s, run) / kGiB;
    const CellPrice price = price_of(s, run, *q_.prices);
    missing_.insert(price.missing.begin(), price.missing.end());
    if (!price.missing.empty()) return std::nullopt;
    return more_is_better_ ? goodput_per_cost(run, price.per_month) : price.per_month;
  }

  /// All cells that can be judged, where the budget allows; else the recommended one, then those
  /// that meet the SLO as it is.
  void choose_cells() {
    for (int i = 0; i < static_cast<int>(plan_.points.size()); ++i) {
      if (point(i).verdict != CellVerdict::kExcluded) cells_.push_back(i);
    }
    const auto rank = [&](int i) {
      return i == plan_.recommended ? 0 : i == plan_.runner_up ? 1 : point(i).looks_met() ? 2 : 3;
    };
    std::stable_sort(cells_.begin(), cells_.end(), [&](int a, int b) { return rank(a) < rank(b); });
    replicates_ = q_.replicates;
    KV_ASSERT(!replicates_.empty(), "no replicate to ask");
    if (q_.most_runs == 0) return;
    const std::uint64_t each = cells_.size() * q_.demand.size();
    const std::uint64_t affordable = std::max<std::uint64_t>(1, q_.most_runs / each);
    if (replicates_.size() > affordable) replicates_.resize(affordable);
    const std::uint64_t most = q_.most_runs / q_.demand.size();
    KV_ASSERT(most > 0, "{} runs for {} demands", q_.most_runs, q_.demand.size());
    if (cells_.size() <= most) return;
    out_.notes.push_back(
        plan_note("regret-of-some", {{"tried", most}, {"configurations", cells_.size()}}));
    cells_.resize(most);
  }

  void ask() {
    std::vector<WhatIf> runs;
    for (const DemandChoice& demand : q_.demand) {
      for (const int cell : cells_) {
        for (const std::uint32_t replicate : replicates_) {
          WhatIf run{scenario(cell)};
          run.growth = demand.growth;
          run.replicate = replicate;
          run.verdict_only = replicates_.size() == 1;
          runs.push_back(std::move(run));
        }
      }
    }
    const std::vector<WhatIfAnswer> answers = q_.run(runs);
    KV_ASSERT(answers.size() == runs.size(), "{} answers to {} runs", answers.size(), runs.size());
    // As it is a cell has met the SLO only where the plan says so: what is not backed is no advice.
    values_.emplace_back();
    for (const int cell : cells_) {
      values_[0].push_back(point(cell).feasible ? value_of(scenario(cell), point(cell).run)
                                                : std::nullopt);
    }
    std::span<const WhatIfAnswer> left = answers;
    for (std::size_t d = 0; d < q_.demand.size(); ++d) {
      values_.emplace_back();
      for (const int cell : cells_) {
        values_.back().push_back(value_under(cell, left.first(replicates_.size())));
        left = left.subspan(replicates_.size());
      }
    }
  }

  std::optional<double> value_under(int cell, std::span<const WhatIfAnswer> answers) {
    const WhatIfOutcome outcome = outcome_of(scenario(cell).slo, answers);
    if (!outcome.refused.empty()) refused_.insert(outcome.refused);
    if (!outcome.met || !outcome.refused.empty()) return std::nullopt;
    double sum = 0;
    for (const WhatIfAnswer& answer : answers) {
      const auto value = value_of(scenario(cell), answer.trial->run);
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum / static_cast<double>(answers.size());
  }

  std::optional<double> best(std::size_t demand) const {
    std::optional<double> out;
    for (const auto& value : values_[demand]) {
      if (value && (!out || (more_is_better_ ? *value > *out : *value < *out))) out = value;
    }
    return out;
  }

  void add_row(int cell) {
    const auto at =
        static_cast<std::size_t>(std::find(cells_.begin(), cells_.end(), cell) - cells_.begin());
    RegretRow row;
    row.point = static_cast<std::uint32_t>(cell);
    for (std::size_t d = 0; d < values_.size(); ++d) {
      const auto least = best(d);
      const auto& value = values_[d][at];
      DemandRegret& one = row.by_demand.emplace_back();
      one.demand = out_.demands[d];
      if (value) one.regret = more_is_better_ ? *least - *value : *value - *least;
      if (value) row.worst = std::max(row.worst, *one.regret);
      if (!value && least) ++row.missed;
    }
    out_.rows.push_back(std::move(row));
  }

  /// Cells that the plan does not back as it is come behind all that it does.
  void rank() {
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const RegretRow& a, const RegretRow& b) {
                       const bool backed = a.by_demand[0].met();
                       if (backed != b.by_demand[0].met()) return backed;
                       return a.missed != b.missed ? a.missed < b.missed : a.worst < b.worst;
                     });
    out_.notes.push_back(plan_note("regret-rule", {{"as_is", kAsItIs}, {"rule", rule()}}));
    for (std::size_t d = 0; d < values_.size(); ++d) {
      if (best(d)) continue;
      out_.notes.push_back(plan_note("demand-met-by-none", {{"demand", out_.demands[d]}}));
    }
    out_.notes.push_back(plan_note("regret-measure", {{"measure", out_.measure}}));
    if (!missing_.empty()) {
      out_.notes.push_back(plan_note("regret-prices-missing",
                                     {{"prices", fmt::format("{}", fmt::join(missing_, ", "))}}));
    }
    for (const std::string& why : refused_) {
      out_.notes.push_back(plan_note("not-run", {{"why", why}}));
    }
  }

  /// "a run of it", "the mean of 3 replicates of it"
  std::string rule() const {
    return replicates_.size() == 1
               ? std::string("one run of it")
               : fmt::format("the mean of {} replicates of it", replicates_.size());
  }

  std::string how(const RegretRow& row) const {
    if (row.missed == 0) {
      return fmt::format("at worst {} {} behind the best", format_real(row.worst), out_.measure);
    }
    const bool backed = row.by_demand[0].met() || !best(0);
    std::vector<std::string> missed;
    for (std::size_t d = 1; d < row.by_demand.size(); ++d) {
      if (!row.by_demand[d].met() && best(d)) missed.push_back("\"" + out_.demands[d] + "\"");
    }
    const std::string under =
        missed.empty() ? "" : fmt::format("misses the SLO under {}", fmt::join(missed, ", "));
    if (backed) return under;
    return fmt::format("is not known to meet it {}{}{}", kAsItIs, under.empty() ? "" : " and ",
                       under);
  }

  /// Whether some cell meets any of the demands, or every one of them.
  bool counts() const {
    for (std::size_t d = 1; d < values_.size(); ++d) {
      if (best(d)) return true;
    }
    return false;
  }
  bool all_count() const {
    for (std::size_t d = 0; d < values_.size(); ++d) {
      if (!best(d)) return false;
    }
    return true;
  }

  /// Other demands that the cell misses.
  std::size_t missed_later(const RegretRow& row) const {
    return row.missed - (row.by_demand[0].met() || !best(0) ? 0 : 1);
  }

  /// A cell that would do better under the other demands, and that the plan does not back as it is.
  std::string hope(const RegretRow& first) const {
    const RegretRow* out = nullptr;
    for (const RegretRow& row : out_.rows) {
      if (row.by_demand[0].met() ||
          point(static_cast<int>(row.point)).verdict != CellVerdict::kLooksMet) {
        continue;
      }
      if (missed_later(row) < missed_later(out == nullptr ? first : *out)) out = &row;
    }
    if (out == nullptr || !best(0)) return "";
    return fmt::format(
        ". {} misses fewer of the others, and the plan does not back it {}: a plan of that size "
        "alone would tell",
        cell_name(point(static_cast<int>(out->point))), kAsItIs);
  }

  void say() {
    if (out_.rows.empty()) return;
    if (!counts()) {
      std::vector<std::string> names;
      for (std::size_t d = 1; d < out_.demands.size(); ++d) {
        names.push_back("\"" + out_.demands[d] + "\"");
      }
      const PlanPoint& last = plan_.points.back();
      out_.says = fmt::format("No cell meets the SLO under {}: sizes up to {} were tried",
                              fmt::join(names, " or "), last.capacity);
      return;
    }
    const RegretRow& first = out_.rows.front();
    const std::string over = all_count() ? "all demands" : "the demands that some cell meets";
    const std::string name = cell_name(point(static_cast<int>(first.point)));
    for (const RegretRow& row : out_.rows) {
      if (static_cast<int>(row.point) != plan_.recommended) continue;
      const bool ties = row.missed == first.missed && row.worst <= first.worst;
      out_.says = ties ? fmt::format("Over {} the recommended {} regrets least too: {}", over,
                                     cell_name(point(plan_.recommended)), how(row))
                       : fmt::format("Over {} {} regrets least ({}); the recommended {} {}", over,
                                     name, how(first), cell_name(point(plan_.recommended)),
                                     row.missed == 0 ? "is " + how(row) : how(row));
    }
    if (out_.says.empty()) {
      out_.says = fmt::format("Over {} {} regrets least: {}", over, name, how(first));
    }
    out_.says += hope(first);
    out_.says += fmt::format(". Met under a demand means in {}, without confidence", rule());
  }

  const RegretQuestion& q_;
  const PlanResult& plan_;
  bool more_is_better_ = false;
  std::vector<int> cells_;
  std::vector<std::uint32_t> replicates_;
  std::vector<std::vector<std::optional<double>>> values_;  ///< by demand and cell; none: missed
  std::set<std::string> missing_;
  std::set<std::string> refused_;
  PlanRegret out_;
};

}  // namespace

std::optional<PlanRegret> find_regret(const RegretQuestion& question) {
  if (question.demand.empty() || question.cells.plan.points.empty()) return std::nullopt;
  return RegretFinder(question).find();
}

}  // namespace spillway

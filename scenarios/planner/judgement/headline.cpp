// The first sentence of a plan: what was asked for, what is recommended, and what the next better
// cell says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/standing.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

const CellCost* cost_of(const PlanResult& plan, int cell) {
  if (!plan.cost) return nullptr;
  for (const CellCost& cost : plan.cost->cells) {
    if (static_cast<int>(cost.point) == cell) return &cost;
  }
  return nullptr;
}

/// How well a cell stands, for the best of those that the objective likes equally.
int rank_of(const PlanPoint& point) {
  return point.feasible ? 3 : point.cold_limited ? 2 : point.verdict == CellVerdict::kLooksMet;
}

class Headline {
 public:
  Headline(const PlanResult& plan, const PlanFacts& facts) : plan_(plan), facts_(facts) {}

  std::string text() const {
    if (plan_.recommended < 0) return infeasible();
    return fmt::format("{}: {} ({} headroom)", choice(), tightest(chosen()).text(),
                       format_percent(plan_.headroom));
  }

 private:
  bool asks(Objective objective) const { return plan_.objective == name_of(objective); }
  const PlanPoint& chosen() const { return facts_.point(plan_.recommended); }
  const Variant& variant(int cell) const {
    return facts_.space().variants[facts_.space().cells[static_cast<std::size_t>(cell)].variant];
  }

  std::string_view said(int cell) const {
    const PlanPoint& point = facts_.point(cell);
    return point.feasible ? "meets it as well" : shortfall(plan_, point);
  }

  std::string choice() const {
    if (asks(Objective::kMostLoad)) return most_load();
    if (asks(Objective::kLeastGpus)) return fewest_gpus();
    if (const CellCost* cost = cost_of(plan_, plan_.recommended)) {
      if (asks(Objective::kLeastCost)) return cheapest(*cost);
      if (asks(Objective::kMostGoodputPerCost)) return best_value(*cost);
    }
    return smallest();
  }

  /// Which size, and what the size below it says.
  std::string smallest() const {
    const std::string values = variant(plan_.recommended).name;
    const std::string with = values.empty() ? "" : " with " + values;
    if (chosen().run.tiers.size() < 2) return fmt::format("No {} is needed{}", plan_.tier, with);
    if (facts_.place() == 0) {
      return fmt::format("The smallest {} tried, {}{}, meets the SLO (try less)", plan_.tier,
                         chosen().capacity, with);
    }
    const int below = facts_.line()[facts_.place() - 1];
    return fmt::format("The smallest {} tried that meets the SLO is {}{} ({} {})", plan_.tier,
                       chosen().capacity, with, facts_.point(below).capacity, said(below));
  }

  std::string most_load() const {
    const auto is_other = [](std::string_view key) { return !is_load_key(key); };
    const std::string others =
        values_label(variant(plan_.recommended), short_keys(keys_of(plan_.recommended)), is_other);
    const int next = next_better(true);
    return fmt::format(
        "The most load that meets the SLO {}{} is {}{} ({})", at_size(),
        others.empty() ? "" : " with " + others, load(plan_.recommended), rate(),
        next < 0 ? "the most tried: try more" : fmt::format("{}: {}", load(next), said(next)));
  }

  std::string fewest_gpus() const {
    const std::uint32_t gpus = total_gpus(facts_.scenario(plan_.recommended));
    const int next = next_better(true);
    std::string out =
        fmt::format("{} ({}) {} the SLO {}", count(gpus),
                    values_label(variant(plan_.recommended), keys_of(plan_.recommended)),
                    gpus == 1 ? "meets" : "meet", at_size());
    if (next < 0) return out + (gpus == 1 ? "" : " (the fewest tried)");
    return out + fmt::format(" ({}, {}: {})", count(total_gpus(facts_.scenario(next))),
                             variant(next).name, said(next));
  }

  std::string cheapest(const CellCost& cost) const {
    const int next = next_better(false);
    const auto price = [&](const CellCost& c) {
      return fmt::format("{} {} a month", plan_.cost->currency, format_real(c.per_month));
    };
    return fmt::format("The cheapest configuration that meets the SLO is {}, {}{}",
                       facts_.label(plan_.recommended), price(cost),
                       next < 0 ? std::string()
                                : fmt::format(" ({}, {}: {})", facts_.label(next),
                                              price(*cost_of(plan_, next)), said(next)));
  }

  std::string best_value(const CellCost& cost) const {
    return fmt::format(
        "The configuration that meets the SLO and serves most requests for its price is {}, {} "
        "requests within the SLO per {}",
        facts_.label(plan_.recommended), format_real(cost.goodput_per_cost), plan_.cost->currency);
  }

  /// The next cell that the objective would like better, of the same size if asked; among equals
  /// the one that stands best. -1: none was tried.
  int next_better(bool same_size) const {
    const std::vector<double> scores = objective_scores(plan_, facts_);
    const auto score = [&](int i) { return scores[static_cast<std::size_t>(i)]; };
    int out = -1;
    for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
      if (score(i) <= score(plan_.recommended)) continue;
      if (same_size && facts_.point(i).capacity != chosen().capacity) continue;
      const bool nearer = out < 0 || score(i) < score(out);
      const bool stands = out >= 0 && score(i) == score(out) &&
                          rank_of(facts_.point(i)) > rank_of(facts_.point(out));
      if (nearer || stands) out = i;
    }
    return out;
  }

  /// Sizes are of one instance.
  std::string at_size() const {
    if (chosen().run.tiers.size() < 2) return "without " + plan_.tier;
    const bool fleet = facts_.scenario(plan_.recommended).fleet.replicas > 1;
    return fmt::format("{} {} of {}{}", fleet ? "with" : "at", chosen().capacity, plan_.tier,
                       fleet ? " each" : "");
  }

  static std::string count(std::uint32_t gpus) {
    return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
  }

  std::vector<std::string> keys_of(int cell) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : variant(cell).values) out.push_back(key);
    return out;
  }

  /// What a cell carries, in the words of the key that says so.
  std::string load(int cell) const {
    const WorkloadChoice& workload = facts_.scenario(cell).workload;
    std::vector<std::string> out;
    for (const auto& [key, value] : variant(cell).values) {
      if (key == "workload.speed") {
        const bool drawn = workload.arrival.kind == ArrivalConfig::Kind::kPoisson;
        out.push_back(value + (drawn                ? "x of rate_per_s"
                               : workload.synthetic ? "x of the generated rate"
                                                    : "x of the recorded rate"));
      } else if (key == "workload.concurrency") {
        const bool closed = workload.arrival.kind == ArrivalConfig::Kind::kClosedLoop;
        const char* what = closed ? "client" : "request";
        out.push_back(fmt::format("{} {}{}{}", value, what, value == "1" ? "" : "s",
                                  closed ? "" : " in flight"));
      } else if (is_load_key(key)) {
        out.push_back(key.substr(key.find('.') + 1) + "=" + value);
      }
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  /// Of the recommended cell, where arrivals follow from its speed alone.
  std::string rate() const {
    const auto& searched = variant(plan_.recommended).values;
    const auto loads = std::count_if(searched.begin(), searched.end(),
                                     [](const auto& v) { return is_load_key(v.first); });
    const auto speeds = std::count_if(searched.begin(), searched.end(),
                                      [](const auto& v) { return v.first == "workload.speed"; });
    const double span_s = facts_.demand().arrivals_s;
    if (loads != 1 || speeds != 1 || span_s <= 0) return {};
    return fmt::format(" = {} requests/s",
                       format_real(static_cast<double>(chosen().run.requests) / span_s));
  }

  std::string infeasible() const {
    const PlanPoint& near = facts_.point(facts_.judged());
    const char* what = asks(Objective::kMostLoad)           ? "load tried"
                       : asks(Objective::kLeastGpus)        ? "number of GPUs tried"
                       : facts_.space().variants.size() > 1 ? "configuration tried"
                                                            : "size";
    std::string out = fmt::format("No {} meets the SLO. {} comes nearest: {}", what,
                                  facts_.label(facts_.judged()), tightest(near).text());
    if (near.run.completed < near.run.requests) {
      out += fmt::format(", and {} of {} requests do not complete",
                         near.run.requests - near.run.completed, near.run.requests);
    }
    return out + fmt::format(". First to break: {}", plan_.binding);
  }

  const PlanResult& plan_;
  const PlanFacts& facts_;
};

}  // namespace

void write_headline(PlanResult& plan, const PlanFacts& facts) {
  plan.verdict = Headline(plan, facts).text();
}

}  // namespace spillway

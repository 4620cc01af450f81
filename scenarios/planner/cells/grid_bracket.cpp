#include "scenarios/planner/cells/grid_bracket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/planner/cells/recipes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/slo.hpp"

namespace spillway {

namespace {

constexpr std::string_view kReplicasKey = "fleet.replicas";
constexpr std::string_view kSpeedKey = "workload.speed";
constexpr std::string_view kClientsKey = "workload.concurrency";
constexpr std::string_view kSizesKey = "plan.sizes";
constexpr std::string_view kGibUnit = "GiB";

constexpr double kMostGib = 4096;   // hardly a host has room for more
constexpr double kWidestLoad = 64;  // times the load that is there, or its 64th part
/// Doubling that brings the furthest target less than this share nearer will not reach it.
constexpr double kWorthDoubling = 0.02;
/// Between a load that meets and one that misses, a factor of 2 away: steps of 10 to 20%.
constexpr double kLoadSteps[] = {1.1, 1.2, 1.4, 1.6, 1.8};

/// The target that a run is furthest from, as a multiple of what is allowed; 0: all are met.
struct Furthest {
  double times = 0;
  std::size_t target = 0;
};

Furthest furthest(const Trial& trial, const std::vector<SloTarget>& slo) {
  Furthest out;
  for (std::size_t t = 0; t < slo.size(); ++t) {
    const double value = trial.targets[t].value;
    const double above = slo[t].at_least ? slo[t].target : value;
    const double below = slo[t].at_least ? value : slo[t].target;
    if (above <= below) continue;
    const double times = below > 0 ? above / below : above;
    if (times > out.times) out = {times, t};
  }
  return out;
}

class GridBracket {
 public:
  GridBracket(const JsonSource& source, SearchSpace space, TrialRunner& runner,
              const std::function<void(Scenario&)>& check)
      : runner_(runner), check_(check), out_{source, std::move(space), {}} {}

  BracketedGrid bracket() {
    if (!extends()) return std::move(out_);
    for (const std::string& text : written()) values_.push_back(number(text));
    runner_.begin("every size once");
    first_ = {values_.front(), values_.back()};
    try_values({values_.front(), values_.back()});
    if (more_helps()) {
      double_until_met();
    } else {
      widen_loads();
    }
    for (const auto& [value, trial] : trials_) out_.known.emplace(cell_at(value), trial);
    return std::move(out_);
  }

 private:
  const PlanChoice& plan() const { return *out_.space.variants.front().scenario.plan; }
  /// What the recipe filled in: one searched key, or sizes.
  std::string_view key() const {
    return plan().search.empty() ? kSizesKey : std::string_view(plan().search.front().key);
  }
  const std::vector<std::string>& written() const {
    return plan().search.empty() ? plan().sizes : plan().search.front().values;
  }
  bool more_helps() const { return key() == kReplicasKey || key() == kSizesKey; }
  const std::vector<SloTarget>& slo() const { return out_.space.variants.front().scenario.slo; }
  static double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

  /// One key at one size, or sizes, which a recipe filled in, and nothing that limits the runs.
  bool extends() const {
    if (plan().max_runs > 0 || plan().sizes.empty()) return false;
    if (plan().search.empty()) {
      return plan().sizes.size() > 1 && out_.source.where("/plan/sizes").file == kRecipeOption &&
             std::all_of(plan().sizes.begin(), plan().sizes.end(),
                         [](const std::string& size) { return size.ends_with(kGibUnit); });
    }
    if (plan().search.size() != 1 || plan().sizes.size() != 1) return false;
    if (out_.source.where("/plan/search").file != kRecipeOption) return false;
    return key() == kReplicasKey || key() == kSpeedKey || key() == kClientsKey;
  }

  std::uint32_t cell_at(double value) const {
    for (std::uint32_t i = 0; i < out_.space.cells.size(); ++i) {
      const PlanCell& cell = out_.space.cells[i];
      const auto& values = out_.space.variants[cell.variant].values;
      if (number(values.empty() ? cell.capacity : values.front().second) == value) return i;
    }
    KV_ASSERT(false, "a value that was tried has a cell");
    return 0;
  }

  /// Whole ones for what is counted.
  double rounded(double value) const {
    return key() == kSpeedKey ? short_number(value).get<double>() : std::round(value);
  }

  /// The grid with these values, ascending.
  void set_values(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values == values_) return;
    values_ = std::move(values);
    nlohmann::json list = nlohmann::json::array();
    for (const double value : values_) {
      if (key() == kSizesKey) {
        list.push_back(fmt::format("{:.0f}{}", value, kGibUnit));
      } else {
        list.push_back(short_number(value));
      }
    }
    const nlohmann::json search = {{std::string(key()), list}};
    out_.source.set(
        key() == kSizesKey ? "plan.sizes=" + list.dump() : "plan.search=" + search.dump(),
        kRecipeOption);
    std::vector<Variant> variants = plan_variants(out_.source);
    for (Variant& variant : variants) {
      if (check_) check_(variant.scenario);
    }
    out_.space = make_search_space(
        std::move(variants),
        [this](const Scenario& s) -> const Workload& { return runner_.workload(s); });
  }

  void try_values(const std::vector<double>& values) {
    std::vector<TrialRequest> requests;
    for (const double value : values) {
      requests.push_back({&out_.space.cells[cell_at(value)].scenario});
    }
    std::vector<Trial> trials = runner_.run_all(requests);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials_.emplace(values[i], std::move(trials[i]));
    }
  }

  const Trial& try_value(double value) {
    std::vector<double> values = values_;
    values.push_back(value);
    set_values(std::move(values));
    try_values({value});
    return trials_.at(value);
  }

  /// Whether the host has room for a size.
  bool fits(double value) {
    if (key() != kSizesKey) return true;
    const std::vector<double> before = values_;
    std::vector<double> values = before;
    values.push_back(value);
    try {
      set_values(std::move(values));
      return true;
    } catch (const InputError&) {
      set_values(before);
      return false;
    }
  }

  void end(const char* code, bool met, Note note) {
    const double last = met || more_helps() ? values_.back() : values_.front();
    out_.space.ends.push_back(
        {code, std::string(key()), short_number(last).dump(), std::move(note), met});
  }

  std::string amount(double value) const {
    return key() == kSizesKey ? fmt::format("{:.0f} {} of {}", value, kGibUnit, plan().tier)
                              : fmt::format("{:.0f} replicas", value);
  }

  void double_until_met() {
    const double most =
        key() == kSizesKey ? kMostGib : static_cast<double>(FleetChoice::kMostReplicas);
    double last = values_.back();
    while (!trials_.at(last).met) {
      const Furthest before = furthest(trials_.at(last), slo());
      const double next = std::min(2 * last, most);
      if (next <= last) {
        set_values(coarse(last));
        return end("largest", false, plan_note("grid-at-most", {{"last", amount(last)}}));
      }
      if (runner_.out_of_time()) return;  // the plan says so
      if (!fits(next)) {
        return end("host", false, plan_note("grid-at-host", {{"last", amount(last)}}));
      }
      const Trial& trial = try_value(next);
      if (trial.met) {
        std::vector<double> values = coarse(last);
        // Every number up to sixteen, beyond steps of an eighth, as in the recipe.
        for (double n = last; n < next && key() == kReplicasKey;
             n += std::max(1.0, std::floor(n / 8))) {
          values.push_back(n);
        }
        values.push_back(next);
        return set_values(std::move(values));
      }
      const Furthest now = furthest(trial, slo());
      last = next;
      if (now.times == 0) {  // within every limit, and yet not met
        set_values(coarse(last));
        return end("no-longer-helps", false,
                   plan_note("grid-not-admitted", {{"last", amount(last)}}));
      }
      if (now.times > (1 - kWorthDoubling) * before.times) {
        const SloTarget target = slo()[now.target];  // set_values() makes another space
        const double value = trial.targets[now.target].value;
        set_values(coarse(last));
        return end("no-longer-helps", false,
                   plan_note("grid-no-longer-helps",
                             {{"last", amount(last)},
                              {"target", against_limit({target.name, target.tenant, value,
                                                        target.target, target.at_least})}}));
      }
    }
  }

  /// What was tried and doublings below it: enough to show the way to `last`.
  std::vector<double> coarse(double last) const {
    std::vector<double> out;
    for (const auto& [value, trial] : trials_) out.push_back(value);
    for (double n = 1; n <= last; n *= 2) out.push_back(n);
    return out;
  }

  void widen_loads() {
    if (!trials_.at(first_.first).met) return halve();
    if (trials_.at(first_.second).met) double_up();
  }

  void halve() {
    const double base = usual();
    const double least = key() == kSpeedKey ? base / kWidestLoad : 1;
    double last = first_.first;
    while (!trials_.at(last).met) {
      const double next = rounded(std::max(last / 2, least));
      if (next >= last) {
        set_values(tried());
        return end("smallest", false,
                   plan_note("grid-lowest-misses", {{"last", text_of(last)}, {"unit", unit()}}));
      }
      if (runner_.out_of_time()) return;
      try_value(next);
      if (trials_.at(next).met) return fill(next, last);
      last = next;
    }
  }

  void double_up() {
    const double most = rounded(kWidestLoad * usual());
    double last = first_.second;
    for (;;) {
      const double next = rounded(std::min(2 * last, most));
      if (next <= last) {
        set_values(tried());
        return end("largest", true,
                   plan_note("grid-highest-meets", {{"last", text_of(last)}, {"unit", unit()}}));
      }
      if (runner_.out_of_time()) return;
      const std::string before = trials_.at(last).digest;
      const Trial& trial = try_value(next);
      if (!trial.met) return fill(last, next);
      last = next;
      if (trial.digest == before) {
        set_values(tried());
        return end("never-acts", true,
                   plan_note("grid-never-acts", {{"last", text_of(last)}, {"unit", unit()}}));
      }
    }
  }

  std::string text_of(double value) const { return short_number(value).dump(); }
  const char* unit() const { return key() == kSpeedKey ? "times the rate" : "clients"; }

  /// What the scenario has, which the recipe's factors are of.
  double usual() const { return rounded(first_.second / kMostLoadFactor); }

  /// Loads that ran, and the scenario's own.
  std::vector<double> tried() const {
    std::vector<double> out = {usual()};
    for (const auto& [value, trial] : trials_) out.push_back(value);
    return out;
  }

  /// Between a load that meets and the next that misses.
  void fill(double met, double missed) {
    std::vector<double> values = tried();
    for (const double step : kLoadSteps) {
      const double value = rounded(met * step);
      if (value < missed) values.push_back(value);
    }
    set_values(std::move(values));
  }

  TrialRunner& runner_;
  const std::function<void(Scenario&)>& check_;
  BracketedGrid out_;
  std::vector<double> values_;       ///< of the axis, ascending
  std::pair<double, double> first_;  ///< ends of the recipe's own grid
  std::map<double, Trial> trials_;   ///< of the workload itself, by value
};

}  // namespace

BracketedGrid bracket_grid(const JsonSource& source, SearchSpace space, TrialRunner& runner,
                           const std::function<void(Scenario&)>& check) {
  return GridBracket(source, std::move(space), runner, check).bracket();
}

}  // namespace spillway

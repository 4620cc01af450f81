#include "reports/plan/headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/standing.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

constexpr double kFarMissed = 1.2;       // times a limit: more than chance and a cold start
constexpr std::size_t kMostLowered = 3;  // changes that lower a floor
constexpr double kLower = 0.98;          // times the floor: less is noise
constexpr double kFarBelow = 20;  // times: no limit that anybody means is so far below a floor

class Headline {
 public:
  explicit Headline(const PlanResult& plan)
      : plan_(plan), lines_(size_lines(plan)), line_(line_of(lines_, plan.answer.at)) {}

  std::string text() const {
    if (plan_.recommended >= 0) return met();
    std::string out = cause();
    const std::string help = remedy();
    return help.empty() ? out : out + " " + help;
  }

 private:
  bool asks(std::string_view objective) const { return plan_.objective == objective; }
  const PlanPoint& point(int cell) const { return cell_at(plan_, cell); }
  const PlanPoint& chosen() const { return point(plan_.recommended); }
  const PlanPoint& nearest_point() const { return point(plan_.answer.at); }
  /// Its size, with the searched values where there are several combinations.
  std::string label(int cell) const {
    const PlanPoint& p = point(cell);
    return spaced(lines_.size() > 1 && !p.name.empty() ? p.name : p.capacity);
  }
  /// Over which requests fall due; 0: that depends on the answers.
  double arrivals_s() const {
    const double rate = plan_.answer.arrive_per_s;
    return rate > 0 ? static_cast<double>(nearest_point().run.requests) / rate : 0;
  }

  std::string said(int cell) const {
    const PlanPoint& point = cell_at(plan_, cell);
    return point.feasible ? "meets it as well" : shortfall(plan_, point);
  }

  std::string choice() const {
    if (asks("most-load")) return most_load();
    if (asks("least-gpus")) return fewest_gpus();
    if (const CellCost* cost = cost_of(plan_, plan_.recommended)) {
      if (asks("least-cost")) return cheapest(*cost);
      if (asks("most-goodput-per-cost")) return best_value(*cost);
    }
    return smallest();
  }

  std::string smallest() const {
    const std::string& values = chosen().combination;
    const std::string with = values.empty() ? "" : " with " + values;
    if (chosen().run.tiers.size() < 2) return fmt::format("No {} is needed{}", tier(), with);
    const bool none_smaller = line_.front() == plan_.recommended && line_.size() > 1;
    const std::string& size =
        plan_.recommended_size.empty() ? chosen().capacity : plan_.recommended_size;
    return fmt::format("Use {} of {}{}{}", spaced(size), tier(), with,
                       none_smaller ? ", the smallest size tried" : "");
  }

  std::string most_load() const {
    const std::string others = values_words([](std::string_view key) { return !is_load_key(key); });
    const int next = plan_.answer.next_better;
    return fmt::format("The most load that meets the SLO {}{} is {}{} ({})", at_size(),
                       others.empty() ? "" : " with " + others, load(plan_.recommended), rate(),
                       next < 0 ? "the most tried" : fmt::format("{} {}", load(next), said(next)));
  }

  std::string fewest_gpus() const {
    const std::uint32_t gpus = chosen().gpus;
    const int next = plan_.answer.next_better;
    std::string out = fmt::format("Use {} ({}) {}", count(gpus),
                                  values_words([](std::string_view) { return true; }), at_size());
    if (next < 0) return out + (gpus == 1 ? "" : ", the fewest tried");
    return out + fmt::format("; {} {}", count(point(next).gpus), said(next));
  }

  std::string cheapest(const CellCost& cost) const {
    return fmt::format("Use {}, the cheapest that meets the SLO: {} {} a month",
                       label(plan_.recommended), plan_.cost->currency, format_real(cost.per_month));
  }

  std::string best_value(const CellCost& cost) const {
    return fmt::format(
        "Use {}: of all that meet the SLO it serves most requests for its price, {} within the SLO "
        "per {}",
        label(plan_.recommended), format_real(cost.goodput_per_cost), plan_.cost->currency);
  }

  /// Sizes are of one instance.
  std::string at_size() const {
    if (chosen().run.tiers.size() < 2) return "without " + tier();
    const bool fleet = chosen().replicas > 1;
    return fmt::format("{} {} of {}{}", fleet ? "with" : "at", spaced(chosen().capacity), tier(),
                       fleet ? " each" : "");
  }

  static std::string count(std::uint32_t gpus) {
    return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
  }

  /// Searched values of the recommended cell, "eviction=arc, speed=2".
  std::string values_words(bool (*wanted)(std::string_view key)) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : chosen().values) {
      if (wanted(key)) out.push_back(fmt::format("{}={}", key.substr(key.rfind('.') + 1), value));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  /// What a cell carries, in the words of the key that says so.
  std::string load(int cell) const {
    const LoadKind kind = plan_.answer.load_kind;
    std::vector<std::string> out;
    for (const auto& [key, value] : point(cell).values) {
      if (key == "workload.speed") {
        out.push_back(value + (kind == LoadKind::kDrawn       ? "x of rate_per_s"
                               : kind == LoadKind::kGenerated ? "x of the generated rate"
                                                              : "x of the recorded rate"));
      } else if (key == "workload.concurrency") {
        const bool closed = kind == LoadKind::kClients;
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
    const auto& searched = chosen().values;
    const auto loads = std::count_if(searched.begin(), searched.end(),
                                     [](const auto& v) { return is_load_key(v.first); });
    const auto speeds = std::count_if(searched.begin(), searched.end(),
                                      [](const auto& v) { return v.first == "workload.speed"; });
    if (loads != 1 || speeds != 1 || plan_.answer.arrive_per_s <= 0) return {};
    return fmt::format(" = {} requests/s", format_real(plan_.answer.arrive_per_s));
  }

  // ---- the SLO is met

  std::string met() const {
    if (plan_.answer.cause == AnswerCause::kNoIdentity) {
      return fmt::format("{} Without hits {} meets the SLO: {}.", no_identity(),
                         label(plan_.recommended), targets_words(chosen()));
    }
    if (const std::string cheaper = fewer_gpus(); !cheaper.empty()) return cheaper;
    std::string out =
        choice() + free_choice() + ". It meets the SLO: " + targets_words(chosen()) + lost() + ".";
    if (const std::string own = own_run(); !own.empty()) return out + " " + own;
    if (const std::string axis = idle_axis(); !axis.empty()) return out + " " + axis;
    if (const std::string smaller = passed_over(); !smaller.empty()) return out + " " + smaller;
    const std::string margin = margin_words(plan_);
    return margin.empty() ? out : out + " " + margin;
  }

  /// Too few to miss a target, and of no use to whoever sent them.
  std::string lost() const {
    const RunResult& run = chosen().run;
    const std::uint64_t lost = run.failed + run.stuck;
    if (lost == 0) return {};
    return fmt::format("; {} of {} requests never complete", format_count(lost),
                       format_count(run.requests));
  }

  /// What spares the tier, or a part of it, and costs nothing.
  std::string free_choice() const {
    const std::optional<TriedChange>& r = plan_.answer.cheaper;
    if (!r || !r->free()) return {};
    return fmt::format(" (free alternative: {})", change_words(*r));
  }

  /// Where one setting saves GPUs: that comes first.
  std::string fewer_gpus() const {
    const std::optional<TriedChange>& r = plan_.answer.cheaper;
    if (!r || r->free()) return {};
    std::string change = capitalised(change_words(*r));
    return fmt::format("{}. It meets the SLO in {}: {}. As configured it takes {}.", change,
                       runs_words(*r), targets_words(*r), count(chosen().gpus));
  }

  /// The workload as it was recorded may miss what its replicates meet.
  std::string own_run() const {
    if (!plan_.confidence) return {};
    for (const SloResult& slo : chosen().run.slo) {
      const bool far = !slo.at_least && !slo.passed && slo.value > kFarMissed * slo.target;
      if (!far) continue;
      return fmt::format("But the workload as it is, run once from empty caches, misses it: {}.",
                         against_limit({slo.name, slo.tenant, slo.value, slo.target, false}));
    }
    return {};
  }

  /// A smaller size that looks met and was never verified: the likeliest.
  std::string passed_over() const {
    const PlanPoint* found = nullptr;
    for (const int i : line_) {
      if (i == plan_.recommended) break;
      const PlanPoint& smaller = point(i);
      const bool open =
          smaller.verdict == CellVerdict::kLooksMet && smaller.reason == "less-likely";
      if (open && (found == nullptr || smaller.attainment > found->attainment)) found = &smaller;
    }
    if (found == nullptr) return {};
    return fmt::format("A smaller size may do: {} looks met and was not verified.",
                       spaced(found->capacity));
  }

  /// A searched key that changes nothing, where the answer does not hang on it.
  std::string idle_axis() const {
    for (const IdleAxis& axis : plan_.answer.idle) {
      if (axis.decides || axis.values.size() < axis_size(axis.key)) continue;
      return fmt::format("Setting {} has no effect there: {} give the same runs.", axis.key,
                         and_list(axis.values));
    }
    return {};
  }

  /// How many values were searched.
  std::size_t axis_size(const std::string& key) const {
    std::set<std::string_view> out;
    for (const PlanPoint& p : plan_.points) {
      for (const auto& [name, value] : p.values) {
        if (name == key) out.insert(value);
      }
    }
    return out.size();
  }

  // ---- it is not

  std::string cause() const {
    switch (plan_.answer.cause) {
      case AnswerCause::kNotAdmitted:
        return not_admitted();
      case AnswerCause::kStandstill:
        return standstill();
      case AnswerCause::kNoIdentity:
        return fmt::format("{} Without hits the SLO is missed: {}.", no_identity(),
                           miss_words(nearest_point()));
      case AnswerCause::kNotBinding:
        return not_binding();
      case AnswerCause::kFloor:
        return floor();
      case AnswerCause::kOverload:
        return overload();
      case AnswerCause::kSetting:
        return fmt::format("No {} meets the SLO as configured: {}", what(), nearest());
      default:
        return fmt::format("No {} meets the SLO: {}{}", what(), nearest(), limiting());
    }
  }

  const char* what() const {
    return asks("most-load")    ? "load tried"
           : asks("least-gpus") ? "number of GPUs tried"
           : lines_.size() > 1  ? "configuration tried"
                                : "size";
  }

  /// What the nearest cell misses.
  std::string nearest() const {
    const PlanPoint& near = nearest_point();
    if (near.run.completed == 0) {
      return fmt::format("none of {} requests completes at {}.", format_count(near.run.requests),
                         label(plan_.answer.at));
    }
    std::string out =
        fmt::format("{} comes nearest with {}", label(plan_.answer.at), miss_words(near));
    if (near.run.completed < near.run.requests) {
      out += fmt::format(", and {} of {} requests do not complete",
                         format_count(near.run.requests - near.run.completed),
                         format_count(near.run.requests));
    }
    return out + ".";
  }

  /// A throughput that nobody asks for: all requests are served as they come.
  bool offers_too_little() const {
    const PlanPoint& near = nearest_point();
    const double span_s = arrivals_s();
    const bool served =
        near.run.completed == near.run.requests && span_s > 0 && near.run.duration_s < 1.1 * span_s;
    return served && !near.targets.empty() &&
           std::all_of(near.targets.begin(), near.targets.end(),
                       [](const TargetEstimate& t) { return t.met || t.at_least; });
  }

  std::string limiting() const {
    if (offers_too_little()) return " The workload asks for no more: every request is served.";
    switch (plan_.answer.cause) {
      case AnswerCause::kLink:
        return " Limiting resource: the link between HBM and " + tier() + ".";
      case AnswerCause::kTierAddsNothing:
        return fmt::format(" The {} tier adds nothing: caches serve {} of prompt tokens with it.",
                           tier(), format_percent(cached_share(nearest_point().run)));
      case AnswerCause::kCapacity:
        return " Limiting resource: the size of " + tier() + ".";
      case AnswerCause::kHbm:
        return " Limiting resource: blocks in HBM.";
      case AnswerCause::kPolicy:
        return " Limiting resource: the eviction policy.";
      case AnswerCause::kAdmission:
        return " Limiting resource: admission.";
      default:
        return " Limiting resource: compute.";
    }
  }

  std::string not_admitted() const {
    const PlanAnswer& a = plan_.answer;
    const PlanPoint& near = nearest_point();
    std::string allowed;
    if (const TargetEstimate* t = broken_by(near, a.not_admitted_share)) {
      const std::vector<std::string> shares = format_percents({a.not_admitted_share, t->limit});
      allowed = fmt::format("; {} allows {} to miss", metric_words(t->name), shares[1]);
    }
    if (count_of(near.run.failed_reasons, Reason::kTooLong) == 0) {
      return fmt::format("{} of requests need more blocks than HBM has and fail at every size{}.",
                         format_percent(a.not_admitted_share), allowed);
    }
    return fmt::format("{} of requests are longer than {} ({} tokens) and fail at every size{}.",
                       format_percent(a.not_admitted_share),
                       a.limited_by_pool ? "the KV blocks in HBM hold" : "--max-model-len allows",
                       format_count(a.max_model_len), allowed);
  }

  std::string standstill() const {
    const Standstills& s = nearest_point().standstill;
    return fmt::format(
        "No {} meets the SLO: at {} the server stops serving in {} of {} replicates, and its "
        "requests wait for ever.",
        what(), label(plan_.answer.at), s.replicates, s.of);
  }

  static std::string no_identity() {
    return "This trace cannot size a cache: it names no blocks, so prefix hits cannot be "
           "simulated; record hash_ids.";
  }

  std::string not_binding() const {
    for (const IdleAxis& axis : plan_.answer.idle) {
      if (!axis.decides) continue;
      const std::string same = axis.values.size() < 2
                                   ? std::string("no request ever waited for it")
                                   : fmt::format("{} give the same run", and_list(axis.values));
      const std::string reached =
          axis.key == "workload.concurrency"
              ? fmt::format("{} never reached {}", axis.key, axis.values.back())
              : fmt::format("{} has no effect", axis.key);
      return fmt::format(
          "No answer: {} ({}). Search workload.speed for the most load, or set "
          "workload.arrival=closed-loop.",
          reached, same);
    }
    return {};
  }

  std::string floor() const {
    const std::string& gpu = plan_.floor->gpu;
    const std::string where = gpu.empty() ? "with these step times" : "on " + gpu;
    std::vector<std::string> out;
    for (const TriedTarget& t : plan_.floor->targets) {
      if (t.met) continue;
      out.push_back(fmt::format("{} is {} at best, the SLO asks {}", metric_words(t.name, t.tenant),
                                figure_words(t.name, t.value), figure_words(t.name, t.limit)));
    }
    return fmt::format("Out of reach {}: {} (nearly idle, tiers without bound).{}", where,
                       fmt::join(out, "; "),
                       seconds_meant() + (plan_.answer.remedy ? std::string() : lowered()));
  }

  /// A limit that is far below what one step takes was meant in seconds.
  std::string seconds_meant() const {
    for (const TriedTarget& t : plan_.floor->targets) {
      const bool plausible = t.name.ends_with("_ms") && t.limit * 1000 >= t.value;
      if (t.met || !plausible || t.limit * kFarBelow > t.value) continue;
      return fmt::format(" Limits are in ms: {:g} s is {:g}.", t.limit, t.limit * 1000);
    }
    return {};
  }

  /// What was tried against the floor and brings it lower.
  std::string lowered() const {
    std::vector<std::string> out;
    for (const TriedChange& tried : plan_.floor->lowered) {
      if (!tried.refused.empty() || out.size() == kMostLowered) continue;
      for (std::size_t t = 0; t < tried.targets.size(); ++t) {
        const TriedTarget& now = plan_.floor->targets[t];
        if (now.met || tried.targets[t].value > kLower * now.value) continue;
        const std::string change = tried.changes.empty() ? std::string("half the context")
                                                         : change_name(tried.changes.front());
        out.push_back(fmt::format("{} lowers it to {}", change,
                                  figure_words(now.name, tried.targets[t].value)));
        break;
      }
    }
    if (out.empty()) return " Nothing that was tried lowers it.";
    return fmt::format(" {}.", capitalised(fmt::format("{}", fmt::join(out, "; "))));
  }

  std::string overload() const {
    const PlanAnswer& a = plan_.answer;
    std::string out = fmt::format("Overloaded at every size tried: {} arrive, {} leave.",
                                  rate_words(a.arrive_per_s), rate_words(a.leave_per_s));
    if (!a.remedy && plan_.ceiling && plan_.ceiling->load > 0 && plan_.ceiling->load < 1) {
      out += fmt::format(" Above {} no size of {} helps.",
                         rate_words(plan_.ceiling->requests_per_s), tier());
    }
    return out;
  }

  /// The cheapest change that meets the SLO.
  std::string remedy() const {
    const std::optional<TriedChange>& r = plan_.answer.remedy;
    if (!r || r->targets.empty()) return {};
    return fmt::format("Cheapest change that meets it: {}{}, with {} in {}.", change_words(*r),
                       r->more ? " for " + cost_words(*r->more) : "", targets_words(*r),
                       runs_words(*r));
  }

  std::string tier() const { return kind_of_tier(plan_); }

  const PlanResult& plan_;
  std::vector<std::vector<int>> lines_;
  const std::vector<int>& line_;  ///< of the cell that the answer is about
};

}  // namespace

std::string plan_headline(const PlanResult& plan) {
  return Headline(plan).text();
}

}  // namespace spillway

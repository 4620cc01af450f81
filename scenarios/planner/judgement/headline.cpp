// The first line of a plan, which can be pasted into a ticket as it is: the answer, the figures
// that it rests on, what to do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/engine/grouped_blocks.hpp"
#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/standing.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

constexpr double kFarMissed = 1.2;     // times a limit: more than chance and a cold start
constexpr std::size_t kMostNamed = 3;  // changes that lower a floor
constexpr double kLower = 0.98;        // times the floor: less is noise
constexpr double kFarBelow = 20;       // times: no limit that anybody means is so far below a floor

/// How well a cell stands, for the best of those that the objective likes equally.
int rank_of(const PlanPoint& point) {
  return point.feasible ? 3 : point.cold_limited ? 2 : point.verdict == CellVerdict::kLooksMet;
}

class Headline {
 public:
  Headline(const PlanResult& plan, const PlanFacts& facts) : plan_(plan), facts_(facts) {}

  std::string text() const {
    if (plan_.recommended >= 0) return met();
    std::string out = cause();
    const std::string help = remedy();
    return help.empty() ? out : out + " " + help;
  }

 private:
  bool asks(Objective objective) const { return plan_.objective == name_of(objective); }
  const PlanPoint& chosen() const { return facts_.point(plan_.recommended); }
  const Variant& variant(int cell) const {
    return facts_.space().variants[facts_.space().cells[static_cast<std::size_t>(cell)].variant];
  }

  std::string said(int cell) const {
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

  std::string smallest() const {
    const std::string values = variant(plan_.recommended).name;
    const std::string with = values.empty() ? "" : " with " + values;
    if (chosen().run.tiers.size() < 2) return fmt::format("No {} is needed{}", tier(), with);
    const bool none_smaller = facts_.place() == 0 && facts_.line().size() > 1;
    const std::string& size =
        plan_.recommended_size.empty() ? chosen().capacity : plan_.recommended_size;
    return fmt::format("Use {} of {}{}{}", spaced(size), tier(), with,
                       none_smaller ? ", the smallest size tried" : "");
  }

  std::string most_load() const {
    const auto is_other = [](std::string_view key) { return !is_load_key(key); };
    const std::string others =
        values_label(variant(plan_.recommended), short_keys(keys_of(plan_.recommended)), is_other);
    const int next = next_better(true);
    return fmt::format("The most load that meets the SLO {}{} is {}{} ({})", at_size(),
                       others.empty() ? "" : " with " + others, load(plan_.recommended), rate(),
                       next < 0 ? "the most tried" : fmt::format("{} {}", load(next), said(next)));
  }

  std::string fewest_gpus() const {
    const std::uint32_t gpus = total_gpus(facts_.scenario(plan_.recommended));
    const int next = next_better(true);
    std::string out = fmt::format(
        "Use {} ({}) {}", count(gpus),
        values_label(variant(plan_.recommended), keys_of(plan_.recommended)), at_size());
    if (next < 0) return out + (gpus == 1 ? "" : ", the fewest tried");
    return out + fmt::format("; {} {}", count(total_gpus(facts_.scenario(next))), said(next));
  }

  std::string cheapest(const CellCost& cost) const {
    return fmt::format("Use {}, the cheapest that meets the SLO: {} {} a month",
                       facts_.label(plan_.recommended), plan_.cost->currency,
                       format_real(cost.per_month));
  }

  std::string best_value(const CellCost& cost) const {
    return fmt::format(
        "Use {}: of all that meet the SLO it serves most requests for its price, {} within the SLO "
        "per {}",
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

  // ---- the SLO is met

  std::string met() const {
    if (plan_.answer.cause == AnswerCause::kNoIdentity) {
      return fmt::format("{} Without hits {} meets the SLO: {}.", no_identity(),
                         spaced(facts_.label(plan_.recommended)), targets_words(chosen()));
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
                       runs_words(*r), targets_words(*r),
                       count(total_gpus(facts_.scenario(plan_.recommended))));
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
    for (std::size_t i = 0; i < facts_.place(); ++i) {
      const PlanPoint& point = facts_.point(facts_.line()[i]);
      const bool open = point.verdict == CellVerdict::kLooksMet && point.reason == "less-likely";
      if (open && (found == nullptr || point.attainment > found->attainment)) found = &point;
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

  std::size_t axis_size(const std::string& key) const {
    const auto& search = facts_.space().variants.front().scenario.plan->search;
    for (const SearchAxis& axis : search) {
      if (axis.key == key) return axis.values.size();
    }
    return 0;
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
                           miss_words(facts_.point(facts_.judged())));
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
    return asks(Objective::kMostLoad)           ? "load tried"
           : asks(Objective::kLeastGpus)        ? "number of GPUs tried"
           : facts_.space().variants.size() > 1 ? "configuration tried"
                                                : "size";
  }

  /// What the nearest cell misses.
  std::string nearest() const {
    const PlanPoint& near = facts_.point(facts_.judged());
    if (near.run.completed == 0) {
      return fmt::format("none of {} requests completes at {}.", format_count(near.run.requests),
                         spaced(facts_.label(facts_.judged())));
    }
    std::string out = fmt::format("{} comes nearest with {}", spaced(facts_.label(facts_.judged())),
                                  miss_words(near));
    if (near.run.completed < near.run.requests) {
      out += fmt::format(", and {} of {} requests do not complete",
                         format_count(near.run.requests - near.run.completed),
                         format_count(near.run.requests));
    }
    return out + ".";
  }

  /// A throughput that nobody asks for: all requests are served as they come.
  bool offers_too_little() const {
    const PlanPoint& near = facts_.point(facts_.judged());
    const double span_s = facts_.demand().arrivals_s;
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
                           tier(), format_percent(cached_share(facts_.run(facts_.judged()))));
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
    const PlanPoint& near = facts_.point(facts_.judged());
    std::string allowed;
    if (const TargetEstimate* t = broken_by(near, a.not_admitted_share)) {
      const std::vector<std::string> shares = format_percents({a.not_admitted_share, t->limit});
      allowed = fmt::format("; {} allows {} to miss", metric_words(t->name), shares[1]);
    }
    if (count_of(near.run.failed_reasons, Reason::kTooLong) == 0) {
      return fmt::format("{} of requests need more blocks than HBM has and fail at every size{}.",
                         format_percent(a.not_admitted_share), allowed);
    }
    const EngineConfig& e = facts_.scenario(facts_.judged()).engine;
    const bool by_pool =
        startup_pages(e, e.max_model_len + 1) > static_cast<std::uint64_t>(e.usable_blocks());
    return fmt::format("{} of requests are longer than {} ({} tokens) and fail at every size{}.",
                       format_percent(a.not_admitted_share),
                       by_pool ? "the KV blocks in HBM hold" : "--max-model-len allows",
                       format_count(e.max_model_len), allowed);
  }

  std::string standstill() const {
    const Standstills& s = facts_.point(facts_.judged()).standstill;
    return fmt::format(
        "No {} meets the SLO: at {} the server stops serving in {} of {} replicates, and its "
        "requests wait for ever.",
        what(), spaced(facts_.label(facts_.judged())), s.replicates, s.of);
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
    const Scenario& s = facts_.scenario(facts_.judged());
    const std::string where =
        s.gpu == nullptr ? std::string("with these step times") : fmt::format("on {}", s.gpu->name);
    std::vector<std::string> out;
    for (const TriedTarget& t : plan_.floor->targets) {
      if (t.met) continue;
      out.push_back(fmt::format("{} is {} at best, the SLO asks {}",
                                target_label(metric_words(t.name), t.tenant),
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
      if (!tried.refused.empty() || out.size() == kMostNamed) continue;
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
  const PlanFacts& facts_;
};

}  // namespace

void write_headline(PlanResult& plan, const PlanFacts& facts) {
  plan.verdict = Headline(plan, facts).text();
}

}  // namespace spillway

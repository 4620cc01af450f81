// What limits the judged cell. Where the plan has no answer and runs with one thing changed, these
// decide: what brings the cell nearest to the SLO is what binds. Else the figures of its run do, in
// this order: who is turned away, links that hardly rest, work that comes faster than it is done,
// blocks of HBM; then what more capacity or a better policy would bring; then nothing, or compute
// where the SLO is missed all the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

constexpr double kManyTurnedAway = 0.01;  // of the requests

/// "a replay with lru hits 0.0% of prompt blocks in a cache of this capacity and ..."
std::string policy_words(const PolicyBound& bound) {
  return fmt::format(
      "a replay with {} hits {} of prompt blocks in a cache of this capacity and the "
      "offline optimum {}",
      bound.policy, format_percent(bound.share), format_percent(bound.optimum));
}

struct Found {
  const char* kind = "none";
  bool hbm = false;  ///< capacity of it, not of the tier
  std::string why;
};

/// Requests that no server of this configuration takes, where these alone break a target: then no
/// size, link or speed helps.
std::optional<Found> never_served(const PlanFacts& facts, int index) {
  const RunResult& run = facts.run(index);
  const std::uint64_t too_long = count_of(run.failed_reasons, Reason::kTooLong);
  if (run.requests == 0 || too_long == 0) return std::nullopt;
  const double share = static_cast<double>(too_long) / static_cast<double>(run.requests);
  const TargetEstimate* t = broken_by(facts.point(index), share);
  if (t == nullptr) return std::nullopt;
  const std::vector<std::string> figures = format_percents({share, t->limit});
  return Found{"admission", false,
               fmt::format("{} of the requests are longer than engine.max_model_len, {} tokens, "
                           "and fail at every size; {} allows {} to miss. A longer one, or a "
                           "trace without them, would tell",
                           figures[0], format_count(facts.scenario(index).engine.max_model_len),
                           t->label(), figures[1])};
}

/// What the figures of the judged cell's run say.
class Observed {
 public:
  Observed(const PlanResult& plan, const PlanFacts& facts)
      : plan_(plan), facts_(facts), run_(facts.run(facts.judged())) {}

  Found find() {
    if (turned_away() || busy_link() || overload() || crowded()) return std::move(out_);
    by_caches();
    return std::move(out_);
  }

  /// What requests that come faster than they go say; empty: they do not.
  std::string overload_words() const {
    if (!facts_.overloaded(facts_.judged())) return {};
    return fmt::format(
        "overload, requests arrive at {}/s and leave at {}/s, and the queue grows "
        "as long as they arrive; caches shift that, but no size tried keeps up{}",
        format_real(static_cast<double>(run_.requests) / facts_.demand().arrivals_s),
        format_real(run_.request_throughput),
        run_.binding && run_.binding->resource != "none"
            ? fmt::format(" ({}: {})", run_.binding->resource, run_.binding->why)
            : std::string());
  }

 private:
  bool say(const char* kind, std::string why, bool hbm = false) {
    out_ = {kind, hbm, std::move(why)};
    return true;
  }

  bool turned_away() {
    if (run_.requests == 0) return false;
    const double share = static_cast<double>(run_.rejected) / static_cast<double>(run_.requests);
    if (share < kManyTurnedAway) return false;
    std::string reasons;
    for (const ReasonCount& r : run_.rejected_reasons) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", r.reason, r.count);
    }
    const std::string why =
        fmt::format("{} of the requests are rejected ({})", format_percent(share), reasons);
    // Without a policy of its own the server turns away only what its pool never holds.
    if (facts_.scenario(facts_.judged()).admission.name() == "always") {
      return say("capacity", why, true);
    }
    return say("admission", why);
  }

  bool is_link(const std::string& resource) const {
    if (resource == "transfers") return true;
    return std::any_of(run_.links.begin(), run_.links.end(),
                       [&](const LinkResult& link) { return link.name == resource; });
  }

  bool busy_link() {
    const LinkResult* link = busiest_link(run_);
    if (link != nullptr && link->busy_fraction >= kBusyLink) {
      return say("bandwidth", fmt::format("link {} is busy {} of the time", link->name,
                                          format_percent(link->busy_fraction)));
    }
    if (!run_.binding || !is_link(run_.binding->resource)) return false;
    return say("bandwidth", fmt::format("link {}: {}", run_.binding->resource, run_.binding->why));
  }

  bool overload() {
    std::string words = overload_words();
    if (words.empty()) return false;
    const bool starved = run_.binding && run_.binding->resource == "hbm";
    return say(starved ? "capacity" : "compute", std::move(words), starved);
  }

  bool crowded() {
    if (!run_.binding) return false;
    const BindingResource& b = *run_.binding;
    if (b.resource == "max_num_seqs") return say("admission", "max_num_seqs: " + b.why);
    if (b.resource == "hbm") return say("capacity", b.why, true);
    return false;
  }

  /// More in caches that costs an SLO which is met is not what lacks.
  bool worth_having(int point) const {
    return plan_.recommended < 0 || facts_.point(point).looks_met();
  }

  /// "the larger sizes tried, up to 1TiB, bring 0.0% of prompt tokens more"
  std::string larger_words(double gain) const {
    if (facts_.place() + 1 == facts_.line().size()) return "no larger size was tried";
    if (!worth_having(facts_.line().back())) return "larger sizes miss the SLO";
    return fmt::format("the larger sizes tried, up to {}, bring {} of prompt tokens more",
                       facts_.point(facts_.line().back()).capacity, format_percent(gain));
  }

  void by_caches() {
    const double here = cached_share(run_);
    double larger = here;
    for (std::size_t i = facts_.place() + 1; i < facts_.line().size(); ++i) {
      const int at = facts_.line()[i];
      if (!worth_having(at)) continue;
      larger = std::max(larger, cached_share(facts_.run(at)));
    }
    const std::optional<PolicyBound>& bound = plan_.judgement.policy_bound;
    const double by_policy = bound ? bound->optimum - bound->share : 0;
    if (by_policy >= kWorthwhile && by_policy > larger - here) {
      say("policy", fmt::format("{}; {}, and a cache without bound hits {} of prompt blocks",
                                policy_words(*bound), larger_words(larger - here),
                                format_percent(facts_.demand().reusable)));
      return;
    }
    if (larger - here >= kWorthwhile) {
      say("capacity",
          fmt::format("caches supply {} of prompt tokens here and {} with more{}",
                      format_percent(here), format_percent(larger),
                      by_policy < kWorthwhile ? std::string()
                                              : fmt::format("; the offline optimum would hit {} "
                                                            "more at this capacity",
                                                            format_percent(by_policy))));
      return;
    }
    const std::string largest = facts_.point(facts_.line().back()).capacity;
    if (facts_.demand().reusable - larger >= kWorthwhile &&
        !facts_.point(facts_.line().back()).unbounded) {
      say("capacity",
          fmt::format("up to {}, the largest size tried, caches supply {} of prompt tokens, while "
                      "about {} of prompt blocks are repeated",
                      largest, format_percent(larger), format_percent(facts_.demand().reusable)));
      return;
    }
    const std::string rest = fmt::format(
        "caches supply {} of prompt tokens, and hardly more than that is repeated at all{}",
        format_percent(here), run_.binding ? "; " + run_.binding->why : std::string());
    const bool busy = run_.binding && run_.binding->resource == "compute";
    say(plan_.recommended >= 0 && !busy ? "none" : "compute", rest);
  }

  const PlanResult& plan_;
  const PlanFacts& facts_;
  const RunResult& run_;
  Found out_;
};

/// What brought the nearest cell of a plan without an answer nearest to the SLO. Twice the compute
/// speed shortens every run, whatever is short in it; so a resource of a narrower use goes before
/// it where it meets the SLO, or brings at least half as much.
class Tried {
 public:
  Tried(const Counterfactuals& tried, const std::optional<PolicyBound>& bound,
        const PlanFacts& facts)
      : tried_(tried), bound_(bound), facts_(facts) {
    least_ = std::max(kWorthwhile, kSlower * std::fabs(tried.base.margin));
    for (const Counterfactual& row : tried.all) {
      if (row.kind == "load") {
        load_ = &row;
      } else if (row.kind == "compute") {
        compute_ = &row;
      } else if (narrow_ == nullptr || nearer(row, *narrow_)) {
        narrow_ = &row;
      }
    }
  }

  /// Nothing where no change of a resource brings more than noise.
  std::optional<Found> find() const {
    const Counterfactual* best = this->best();
    if (best == nullptr) return std::nullopt;
    const bool hbm = best->kind == "hbm";
    std::string why = words_of(*best);
    if (best->kind == "capacity") {
      const double all = bound_ ? facts_.demand().reusable - bound_->share : 0;
      if (all >= kWorthwhile && bound_->optimum - bound_->share >= all / 2) {
        return Found{"policy", false,
                     fmt::format("{}, and one without bound {}; {}", policy_words(*bound_),
                                 format_percent(facts_.demand().reusable), why)};
      }
    }
    const char* kind = hbm || best->kind == "capacity" ? "capacity"
                       : best->kind == "bandwidth"     ? "bandwidth"
                       : best->kind == "admission"     ? "admission"
                                                       : "compute";
    return Found{kind, hbm, std::move(why)};
  }

  /// Half the load, and what the others bring.
  std::string rest() const {
    std::string out;
    if (load_ != nullptr) {
      out += fmt::format("at {} it would be {}{}", load_->change, format_real(load_->value),
                         load_->met ? ", which meets it" : "");
    }
    std::vector<std::string> little;
    const Counterfactual* const chosen = best();
    for (const Counterfactual& row : tried_.all) {
      if (&row == load_ || &row == chosen) continue;
      if (gain(row) <= least_) {
        little.push_back(row.change);
      } else {
        out += fmt::format("{}with {} {}{}", out.empty() ? "" : ", ", row.change,
                           format_real(row.value), row.met ? ", which meets it" : "");
      }
    }
    if (!little.empty()) {
      out += fmt::format("{}{} would bring it hardly nearer", out.empty() ? "" : "; ",
                         fmt::join(little, ", "));
    }
    return out;
  }

 private:
  double gain(const Counterfactual& row) const { return row.margin - tried_.base.margin; }
  static bool nearer(const Counterfactual& a, const Counterfactual& b) {
    return a.met != b.met ? a.met : a.margin > b.margin;
  }

  const Counterfactual* best() const {
    const bool computes = compute_ != nullptr && gain(*compute_) > least_;
    if (narrow_ != nullptr && gain(*narrow_) > least_) {
      if (!computes || narrow_->met) return narrow_;
      if (!compute_->met && gain(*narrow_) >= gain(*compute_) / 2) return narrow_;
    }
    return computes ? compute_ : nullptr;
  }

  std::string words_of(const Counterfactual& row) const {
    return fmt::format(
        "with {} {} of {} would be {} in place of {} in a run of the workload "
        "itself{}",
        row.change, tried_.target, tried_.cell, format_real(row.value),
        format_real(tried_.base.value), row.met ? ", which meets the SLO" : ", still a miss");
  }

  const Counterfactuals& tried_;
  const std::optional<PolicyBound>& bound_;
  const PlanFacts& facts_;
  double least_ = 0;  ///< what is more than noise
  const Counterfactual* load_ = nullptr;
  const Counterfactual* compute_ = nullptr;
  const Counterfactual* narrow_ = nullptr;  ///< the nearest of the others
};

}  // namespace

void find_binding(PlanResult& plan, const PlanFacts& facts) {
  Observed observed(plan, facts);
  Found found = observed.find();
  if (std::optional<Found> never = never_served(facts, facts.judged())) {
    found = *std::move(never);
  } else if (plan.judgement.counterfactuals) {
    const Tried tried(*plan.judgement.counterfactuals, plan.judgement.policy_bound, facts);
    if (std::optional<Found> shown = tried.find()) {
      const bool agree = std::string_view(shown->kind) == found.kind && shown->hbm == found.hbm;
      const std::string also = agree ? found.why : observed.overload_words();
      found = *std::move(shown);
      for (const std::string& more : {tried.rest(), also}) {
        if (!more.empty()) found.why += "; " + more;
      }
    } else if (const std::string rest = tried.rest(); !rest.empty()) {
      found.why += "; " + rest;
    }
  }
  plan.judgement.binding_kind = found.kind;
  plan.binding = fmt::format("{}: {}{}", found.kind, found.hbm ? "of HBM: " : "", found.why);
}

}  // namespace spillway

// What limits the judged cell. Where the plan has no answer and runs with one thing changed, these
// decide: what brings the cell nearest to the SLO is what binds. Else the figures of its run do, in
// this order: who is turned away, links that hardly rest, work that comes faster than it is done,
// blocks of HBM; then what more capacity or a better policy would bring; then nothing, or compute
// where the SLO is missed all the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/limits.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

constexpr double kManyTurnedAway = 0.01;  // of the requests

Note policy_note(const PolicyBound& bound, const PlanFacts& facts) {
  return plan_note("better-policy", {{"policy", bound.policy},
                                     {"policy_share", bound.share},
                                     {"optimum_share", bound.optimum},
                                     {"reuse_share", facts.demand().reusable}});
}

struct Found {
  const char* kind = "none";
  bool hbm = false;  ///< capacity of it, not of the tier
  Notes why;
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
  return Found{
      "admission",
      false,
      {plan_note("too-long", {{"late_share", share},
                              {"max_model_len", facts.scenario(index).engine.max_model_len},
                              {"metric", metric_words(t->name, t->tenant)},
                              {"allowed_share", t->limit}})}};
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

  /// What requests that come faster than they go say; none: they do not.
  std::optional<Note> overload_note() const {
    if (!facts_.overloaded(facts_.judged())) return std::nullopt;
    NoteFigures figures = {
        {"arrive_per_s", static_cast<double>(run_.requests) / facts_.demand().arrivals_s},
        {"leave_per_s", run_.request_throughput}};
    if (run_.binding && run_.binding->resource != "none") {
      figures.emplace_back("resource", run_.binding->resource);
      figures.emplace_back("why", run_.binding->why.text);
    }
    return plan_note("queue-grows", std::move(figures));
  }

 private:
  bool say(const char* kind, Note why, bool hbm = false) {
    out_ = {kind, hbm, {std::move(why)}};
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
    Note why = plan_note("turned-away", {{"rejected_share", share}, {"reasons", reasons}});
    // Without a policy of its own the server turns away only what its pool never holds.
    if (facts_.scenario(facts_.judged()).admission.name() == "always") {
      return say("capacity", std::move(why), true);
    }
    return say("admission", std::move(why));
  }

  bool is_link(const std::string& resource) const {
    if (resource == "transfers") return true;
    return std::any_of(run_.links.begin(), run_.links.end(),
                       [&](const LinkResult& link) { return link.name == resource; });
  }

  bool busy_link() {
    const LinkResult* link = busiest_link(run_);
    if (link != nullptr && link->busy_fraction >= kBusyLink) {
      return say("bandwidth", plan_note("link-busy", {{"link", link->name},
                                                      {"busy_share", link->busy_fraction}}));
    }
    if (!run_.binding || !is_link(run_.binding->resource)) return false;
    return say("bandwidth", run_.binding->why);
  }

  bool overload() {
    std::optional<Note> note = overload_note();
    if (!note) return false;
    const bool starved = run_.binding && run_.binding->resource == "hbm";
    return say(starved ? "capacity" : "compute", *std::move(note), starved);
  }

  bool crowded() {
    if (!run_.binding) return false;
    const BindingResource& b = *run_.binding;
    if (b.resource == "max_num_seqs") return say("admission", run_.binding->why);
    if (b.resource == "hbm") return say("capacity", run_.binding->why, true);
    return false;
  }

  /// More in caches that costs an SLO which is met is not what lacks.
  bool worth_having(int point) const {
    return plan_.recommended < 0 || facts_.point(point).looks_met();
  }

  Note larger_note(double gain) const {
    if (facts_.place() + 1 == facts_.line().size()) return plan_note("no-larger-size");
    if (!worth_having(facts_.line().back())) return plan_note("larger-sizes-miss");
    return plan_note(
        "larger-sizes-gain",
        {{"size", spaced(facts_.point(facts_.line().back()).capacity)}, {"gain_share", gain}});
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
      say("policy", policy_note(*bound, facts_));
      out_.why.push_back(larger_note(larger - here));
      return;
    }
    if (larger - here >= kWorthwhile) {
      NoteFigures figures = {{"here_share", here}, {"larger_share", larger}};
      if (by_policy >= kWorthwhile) figures.emplace_back("optimum_gain_share", by_policy);
      say("capacity", plan_note("capacity-pays", std::move(figures)));
      return;
    }
    const PlanPoint& largest = facts_.point(facts_.line().back());
    if (facts_.demand().reusable - larger >= kWorthwhile && !largest.unbounded) {
      say("capacity", plan_note("all-sizes-small", {{"size", spaced(largest.capacity)},
                                                    {"larger_share", larger},
                                                    {"reuse_share", facts_.demand().reusable}}));
      return;
    }
    const bool busy = run_.binding && run_.binding->resource == "compute";
    say(plan_.recommended >= 0 && !busy ? "none" : "compute",
        plan_note("caches-serve-all", {{"here_share", here}}));
    if (run_.binding) out_.why.push_back(run_.binding->why);
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
    Notes why = {words_of(*best)};
    if (best->kind == "capacity") {
      const double all = bound_ ? facts_.demand().reusable - bound_->share : 0;
      if (all >= kWorthwhile && bound_->optimum - bound_->share >= all / 2) {
        why.insert(why.begin(), policy_note(*bound_, facts_));
        return Found{"policy", false, std::move(why)};
      }
    }
    const char* kind = hbm || best->kind == "capacity" ? "capacity"
                       : best->kind == "bandwidth"     ? "bandwidth"
                       : best->kind == "admission"     ? "admission"
                                                       : "compute";
    return Found{kind, hbm, std::move(why)};
  }

  /// Half the load, and what the others bring.
  Notes rest() const {
    Notes out;
    const auto brings = [&](const Counterfactual& row) {
      const NoteFigures figures = {{"change", row.change}, {"figure", figure(row)}};
      out.push_back(row.met ? plan_note("change-meets-too", figures)
                            : plan_note("change-helps-too", figures));
    };
    if (load_ != nullptr) brings(*load_);
    std::vector<std::string> little;
    const Counterfactual* const chosen = best();
    for (const Counterfactual& row : tried_.all) {
      if (&row == load_ || &row == chosen) continue;
      if (gain(row) <= least_) {
        little.push_back(row.change);
      } else {
        brings(row);
      }
    }
    if (!little.empty()) {
      out.push_back(plan_note("changes-barely-help", {{"changes", and_list(little)}}));
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

  std::string figure(const Counterfactual& row) const {
    return figure_words(tried_.target, row.value);
  }

  Note words_of(const Counterfactual& row) const {
    const NoteFigures figures = {{"change", row.change},
                                 {"metric", metric_words(tried_.target)},
                                 {"size", spaced(tried_.cell)},
                                 {"figure", figure(row)},
                                 {"base", figure(tried_.base)}};
    return row.met ? plan_note("change-meets", figures) : plan_note("change-helps", figures);
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
      Notes also;
      if (agree) {
        also = std::move(found.why);
      } else if (auto overload = observed.overload_note()) {
        also = {*std::move(overload)};
      }
      found = *std::move(shown);
      append(found.why, tried.rest());
      append(found.why, std::move(also));
    } else {
      append(found.why, tried.rest());
    }
  }
  plan.judgement.binding_kind = found.kind;
  plan.judgement.binding_hbm = found.hbm;
  plan.binding = std::move(found.why);
}

}  // namespace spillway

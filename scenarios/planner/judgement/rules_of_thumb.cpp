// The field's rules of thumb beside what was found: a rule that agrees is a comfort, one that does
// not is what the plan is for.
#include <algorithm>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/planner/judgement/harm.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr double kPoolLeast = 0.5;  // of host DRAM
constexpr double kPoolMost = 0.7;
constexpr double kLowHits = 0.5;
constexpr double kHighHits = 0.7;
constexpr double kTypicalHostBytes = 250e9;  // of a GPU
constexpr double kDramDollars = 400;         // of 128 GB of DDR5
constexpr double kDramBytes = 128e9;
constexpr double kGpuDollars = 30000;  // of an H100 with 80 GB
constexpr double kGpuBytes = 80e9;
constexpr double kGb = 1e9;

class Rules {
 public:
  Rules(PlanResult& plan, const PlanFacts& facts)
      : plan_(plan), facts_(facts), index_(facts.judged()), run_(facts.run(facts.judged())) {}

  void compare() {
    if (facts_.scenario(index_).tier && facts_.scenario(index_).tier->storage) return;
    share_of_host();
    hit_rate();
    costs_nothing();
    dram_or_gpu();
    typical_host();
  }

 private:
  void add(Note here, bool agrees) {
    plan_.judgement.rules_of_thumb.push_back({std::move(here), agrees});
  }

  /// Of all engines of one instance, as it would be set.
  double pool_bytes() const {
    const PlanPoint& p = facts_.point(index_);
    const Scenario& s = facts_.scenario(index_);
    return static_cast<double>(p.capacity_bytes) * std::max(1U, s.engine.data_parallel);
  }

  bool sized() const { return plan_.recommended >= 0 && !facts_.point(index_).unbounded; }

  void share_of_host() {
    const Scenario& s = facts_.scenario(index_);
    if (!sized() || !s.host || s.host->memory == Bytes(0)) return;
    const double memory = static_cast<double>(s.host->memory.count());
    const double pools = pool_bytes() * s.host->instances;
    const double share = pools / memory;
    add(plan_note("pool-of-host",
                  {{"pools_bytes", pools}, {"host_bytes", memory}, {"pools_share", share}}),
        share >= kPoolLeast && share <= kPoolMost);
  }

  /// Of what the tier was asked for.
  void hit_rate() {
    if (run_.tiers.size() < 2 || run_.tiers[1].queries == 0) return;
    const TierResult& tier = run_.tiers[1];
    const double rate = static_cast<double>(tier.hits) / static_cast<double>(tier.queries);
    const NoteFigures figures = {
        {"hits", tier.hits}, {"lookups", tier.queries}, {"tier", tier.name}, {"hit_share", rate}};
    if (rate < kLowHits) {
      const double here = cached_share(run_);
      double larger = here;
      for (std::size_t i = facts_.place() + 1; i < facts_.line().size(); ++i) {
        larger = std::max(larger, cached_share(facts_.run(facts_.line()[i])));
      }
      const bool last = facts_.place() + 1 == facts_.line().size();
      NoteFigures low = figures;
      if (!last) low.emplace_back("gain_share", larger - here);
      add(last ? plan_note("low-hit-rate-untried", low) : plan_note("low-hit-rate", low),
          !last && larger - here >= kWorthwhile && plan_.recommended < 0);
    } else if (rate > kHighHits) {
      pays_off(figures);
    }
  }

  void pays_off(NoteFigures figures) {
    const int none = facts_.without_tier();
    if (none < 0) return;
    const Compared both = facts_.compared(none, index_);
    const TargetView with = tightest(both.second);
    for (const TargetView& without : both.first) {
      if (without.name != with.name || without.tenant != with.tenant) continue;
      const bool better = with.at_least ? with.value > without.value : with.value < without.value;
      figures.emplace_back("metric", metric_words(with.name, with.tenant));
      figures.emplace_back("with", figure_words(with.name, with.value));
      figures.emplace_back("without", figure_words(with.name, without.value));
      figures.emplace_back("over", both.on);
      return add(plan_note("high-hit-rate", std::move(figures)), better);
    }
  }

  /// Offload that is asynchronous is said to cost nothing; waits, copies and connectors do.
  void costs_nothing() {
    constexpr double kLittle = 0.02;  // of the time
    const int none = facts_.without_tier();
    const int with = index_ != none ? index_ : facts_.line().back();
    if (none < 0 || with == none || facts_.run(with).tiers.size() < 2) return;
    const TierHarm harm = harm_of(facts_.run(none), facts_.run(with));
    const bool hurts = hurt_target(facts_.compared(none, with)).has_value();
    const NoteFigures figures = {{"size", spaced(facts_.point(with).capacity)},
                                 {"lost_share", harm.lost_share},
                                 {"served_share", harm.served_share}};
    add(hurts ? plan_note("offload-hurts-here", figures)
              : plan_note("offload-costs-little", figures),
        !hurts && harm.lost_share <= kLittle);
  }

  /// Whether it is capacity that is short at all.
  void dram_or_gpu() {
    const double dram = kDramDollars / (kDramBytes / kGb);
    const double gpu = kGpuDollars / (kGpuBytes / kGb);
    NoteFigures figures = {
        {"dram_gb_dollars", dram},     {"gpu_gb_dollars", gpu},
        {"times", gpu / dram},         {"size", spaced(facts_.point(index_).capacity)},
        {"tier", kind_of_tier(plan_)}, {"kind", plan_.judgement.binding_kind}};
    const std::string& kind = plan_.judgement.binding_kind;
    const bool of_tier = kind == "capacity" && !plan_.judgement.binding_hbm;
    const bool needed =
        plan_.recommended >= 0 && run_.tiers.size() > 1 && plan_.infeasible_max >= 0;
    add(needed ? plan_note("dram-beats-gpu", std::move(figures))
               : plan_note("dram-not-limiting", std::move(figures)),
        needed || (of_tier && plan_.recommended < 0));
  }

  void typical_host() {
    if (!sized()) return;
    const Scenario& s = facts_.scenario(index_);
    const double per_gpu = pool_bytes() / (s.world() * std::max(1U, s.engine.data_parallel));
    add(plan_note("typical-host", {{"gpu_gb", per_gpu / kGb},
                                   {"tier", kind_of_tier(plan_)},
                                   {"typical_share", per_gpu / kTypicalHostBytes}}),
        per_gpu <= kPoolMost * kTypicalHostBytes);
  }

  PlanResult& plan_;
  const PlanFacts& facts_;
  int index_;
  const RunResult& run_;
};

}  // namespace

void compare_rules_of_thumb(PlanResult& plan, const PlanFacts& facts) {
  Rules(plan, facts).compare();
}

}  // namespace spillway

// The decision table that operators use: rows that apply here, each with what decides it.
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kLongContext = 8192;  // tokens: the table's own line
constexpr std::uint64_t kShortChat = 2048;    // below it recompute is as cheap as loading
constexpr double kTightTpotMs = 50;           // 20 tokens a second, faster than is read
constexpr double kLongCommonPrefix = 512;     // tokens of a prompt
constexpr double kMuchCommon = 0.2;           // of all prompt tokens
constexpr double kMuchHeld = 0.95;            // of HBM, by requests

class DecisionTable {
 public:
  DecisionTable(PlanResult& plan, const PlanFacts& facts)
      : plan_(plan), facts_(facts), run_(facts.run(facts.judged())) {}

  void apply() {
    short_contexts();
    long_contexts();
    short_chat();
    common_prefixes();
    link_bound_decode();
    several_gpus();
  }

 private:
  void add(PlanNote code, NoteFigures figures) {
    figures.emplace_back("context_p95_tokens", facts_.demand().context_p95);
    figures.emplace_back("tier", kind_of_tier(plan_));
    plan_.judgement.decision_table.push_back({plan_note(code, std::move(figures))});
  }

  double hbm_held() const {
    const TierResult& hbm = run_.tiers.front();
    return hbm.capacity_bytes == 0
               ? 0
               : static_cast<double>(hbm.peak_bytes) / static_cast<double>(hbm.capacity_bytes);
  }

  /// What a tier supplies at the judged size.
  double below() const { return cached_share(run_, 1); }

  void short_contexts() {
    const bool suffices = run_.preemptions == 0 && hbm_held() < kMuchHeld && below() < kWorthwhile;
    if (facts_.demand().context_p95 >= kLongContext || !suffices) return;
    add("short-contexts", {{"held_share", hbm_held()}, {"tier_share", below()}});
  }

  void long_contexts() {
    if (facts_.demand().context_p95 < kLongContext || below() < kWorthwhile) return;
    add("long-contexts",
        {{"size", spaced(facts_.point(facts_.judged()).capacity)}, {"tier_share", below()}});
  }

  void short_chat() {
    if (facts_.demand().context_p95 >= kShortChat) return;
    for (const TargetView& target : targets_of(facts_.point(facts_.judged()))) {
      const bool decode = target.name.find("tpot") != std::string::npos ||
                          target.name.find("itl") != std::string::npos;
      if (!decode || target.at_least || target.target > kTightTpotMs) continue;
      add("short-chat", {{"target", against_limit({target.name, target.tenant, target.value,
                                                   target.target, target.at_least})},
                         {"cold_blocks_per_token", run_.cold_blocks_per_token_mean}});
      return;
    }
  }

  void common_prefixes() {
    const Demand& d = facts_.demand();
    if (d.common_share < kMuchCommon || d.common_tokens < kLongCommonPrefix) return;
    add("common-prefixes", {{"common_tokens", d.common_tokens}, {"common_share", d.common_share}});
  }

  void link_bound_decode() {
    const LinkResult* link = busiest_link(run_);
    if (link == nullptr) return;
    const bool cold = run_.cold_blocks_per_token_mean > 0;
    const double stall = run_.load_wait ? run_.load_wait->stall_s : 0;
    const bool waits = run_.duration_s > 0 && stall / run_.duration_s > kWorthwhile;
    if (link->busy_fraction < kBusyLink || (!cold && !waits && run_.flush_stall_s == 0 &&
                                            run_.tpot.p99_ms <= 2 * run_.tpot.median_ms)) {
      return;
    }
    add("link-bound-decode", {{"link", link->name},
                              {"busy_share", link->busy_fraction},
                              {"p99_tpot_ms", run_.tpot.p99_ms},
                              {"median_tpot_ms", run_.tpot.median_ms},
                              {"load_wait_s", stall},
                              {"cold_blocks_per_token", run_.cold_blocks_per_token_mean}});
  }

  void several_gpus() {
    const Scenario& s = facts_.scenario(facts_.judged());
    const std::uint32_t ranks = s.engine.tensor_parallel;
    if (ranks < 2) return;
    const PlanPoint& p = facts_.point(facts_.judged());
    NoteFigures figures = {{"ranks", ranks}, {"size", spaced(p.capacity)}};
    if (!p.unbounded) {
      figures.emplace_back("rank_bytes", static_cast<double>(p.capacity_bytes) / ranks);
    }
    if (s.host && s.host->numa_nodes > 1) figures.emplace_back("numa_nodes", s.host->numa_nodes);
    add("several-gpus", std::move(figures));
  }

  PlanResult& plan_;
  const PlanFacts& facts_;
  const RunResult& run_;
};

}  // namespace

void apply_decision_table(PlanResult& plan, const PlanFacts& facts) {
  DecisionTable(plan, facts).apply();
}

}  // namespace spillway

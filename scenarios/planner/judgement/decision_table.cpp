// The decision table that operators use: rows that apply here, each with what decides it.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

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
  void add(const char* situation, const char* prefer, const char* avoid, std::string measured) {
    plan_.judgement.decision_table.push_back({situation, prefer, avoid, std::move(measured)});
  }

  double hbm_held() const {
    const TierResult& hbm = run_.tiers.front();
    return hbm.capacity_bytes == 0
               ? 0
               : static_cast<double>(hbm.peak_bytes) / static_cast<double>(hbm.capacity_bytes);
  }

  std::string contexts() const {
    return fmt::format("95% of contexts end within {} tokens",
                       format_count(facts_.demand().context_p95));
  }

  /// What a tier supplies at the judged size.
  double below() const { return cached_share(run_, 1); }

  void short_contexts() {
    const bool suffices = run_.preemptions == 0 && hbm_held() < kMuchHeld && below() < kWorthwhile;
    if (facts_.demand().context_p95 >= kLongContext || !suffices) return;
    add("contexts under 8K and HBM suffices", "paging on the GPU alone",
        "the complexity of host swap",
        fmt::format("{}; requests hold at most {} of HBM, none is preempted, {} supplies {} of "
                    "prompt tokens",
                    contexts(), format_percent(hbm_held()), plan_.tier, format_percent(below())));
  }

  void long_contexts() {
    if (facts_.demand().context_p95 < kLongContext || below() < kWorthwhile) return;
    add("long contexts that must stay lossless, host DRAM free", "tiered offload with tail-pin",
        "aggressive token eviction",
        fmt::format("{}; {} of {} supplies {} of prompt tokens", contexts(),
                    facts_.point(facts_.judged()).capacity, plan_.tier, format_percent(below())));
  }

  void short_chat() {
    if (facts_.demand().context_p95 >= kShortChat) return;
    for (const TargetView& target : targets_of(facts_.point(facts_.judged()))) {
      const bool decode = target.name.find("tpot") != std::string::npos ||
                          target.name.find("itl") != std::string::npos;
      if (!decode || target.at_least || target.target > kTightTpotMs) continue;
      add("latency-critical short chat", "compression or a shorter window",
          "host KV reads at every step",
          fmt::format("{}; {}; decodes read {} cold blocks a token", contexts(), target.text(),
                      format_real(run_.cold_blocks_per_token_mean)));
      return;
    }
  }

  void common_prefixes() {
    const Demand& d = facts_.demand();
    if (d.common_share < kMuchCommon || d.common_tokens < kLongCommonPrefix) return;
    add("long prefixes shared by tenants", "prefix cache on the GPU, offload the unique suffix",
        "offloading hot shared blocks",
        fmt::format("{} tokens of a prompt, {} of all, stand in blocks that at least 1% of the "
                    "requests have in common",
                    format_real(d.common_tokens), format_percent(d.common_share)));
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
    add("decode P99 bound by the link", "more HBM, disaggregated pools, compression",
        "a larger pool with the same policy",
        fmt::format("link {} is busy {}; p99 TPOT is {} against a median of {}; steps waited {} s "
                    "for loads, decodes read {} cold blocks a token",
                    link->name, format_percent(link->busy_fraction), format_ms(run_.tpot.p99_ms),
                    format_ms(run_.tpot.median_ms), format_real(stall),
                    format_real(run_.cold_blocks_per_token_mean)));
  }

  void several_gpus() {
    const Scenario& s = facts_.scenario(facts_.judged());
    const std::uint32_t ranks = s.engine.tensor_parallel;
    if (ranks < 2) return;
    const PlanPoint& p = facts_.point(facts_.judged());
    add("tensor parallel over several GPUs", "pools coordinated per rank, NUMA watched",
        "sizes chosen per rank independently",
        fmt::format(
            "{} ranks hold a part of every block each: {} of {} is {} a rank{}", ranks, p.capacity,
            plan_.tier,
            p.unbounded ? "inf" : format_bytes(static_cast<double>(p.capacity_bytes) / ranks),
            s.host && s.host->numa_nodes > 1
                ? fmt::format(", over {} NUMA nodes", s.host->numa_nodes)
                : std::string()));
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

#include "reports/plan/advice.hpp"

namespace spillway {

namespace {

struct AdviceRow {
  std::string_view code;
  Advice advice;
};
constexpr AdviceRow kAdvice[] = {
    {"short-contexts",
     {"contexts under 8K and HBM suffices", "paging on the GPU alone",
      "the complexity of host swap"}},
    {"long-contexts",
     {"long contexts that must stay lossless, host DRAM free", "tiered offload with tail-pin",
      "aggressive token eviction"}},
    {"short-chat",
     {"latency-critical short chat", "compression or a shorter window",
      "host KV reads at every step"}},
    {"common-prefixes",
     {"long prefixes shared by tenants", "prefix cache on the GPU, offload the unique suffix",
      "offloading hot shared blocks"}},
    {"link-bound-decode",
     {"decode P99 bound by the link", "more HBM, disaggregated pools, compression",
      "a larger pool with the same policy"}},
    {"several-gpus",
     {"tensor parallel over several GPUs", "pools coordinated per rank, NUMA watched",
      "sizes chosen per rank independently"}}};

struct RuleRow {
  std::string_view code;
  std::string_view rule;
};
constexpr RuleRow kRules[] = {{"pool-of-host", "give 50-70% of host DRAM to the pool"},
                              {"low-hit-rate", "hit rate under 50%: enlarge the pool"},
                              {"low-hit-rate-untried", "hit rate under 50%: enlarge the pool"},
                              {"offload-hurts-here", "offload costs nothing where it is not hit"},
                              {"offload-costs-little", "offload costs nothing where it is not hit"},
                              {"high-hit-rate", "hit rate above 70%: the pool pays off"},
                              {"dram-beats-gpu", "capacity by DRAM beats capacity by GPU"},
                              {"dram-not-limiting", "capacity by DRAM beats capacity by GPU"},
                              {"typical-host", "about 250 GB of host memory per GPU is typical"}};

}  // namespace

Advice advice_for(const DecisionRow& row) {
  for (const AdviceRow& known : kAdvice) {
    if (known.code == row.measured.code) return known.advice;
  }
  return {};
}

std::string_view rule_for(const RuleOfThumb& rule) {
  for (const RuleRow& known : kRules) {
    if (known.code == rule.here.code) return known.rule;
  }
  return {};
}

}  // namespace spillway

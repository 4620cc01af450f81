// A run and a plan as an engine of a known release would have them.
#pragma once

#include <sstream>

#include "reports/ops/figures.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/samples.hpp"

namespace spillway::test {

inline Provenance provenance_with(const std::string& preset, const std::string& name = "chat") {
  Provenance p = sample_provenance();
  p.scenario = name;
  p.inputs["configuration"] = {{"engine", {{"preset", preset}}}};
  return p;
}

/// Two tiers; the link to HBM carries 25 GB/s, and 374 MB in 61.25 s.
inline RunResult ops_run() {
  RunResult run = sample_run();
  run.slo = {{"p99_ttft_ms", false, 2000, 69, true}, {"p99_tpot_ms", false, 100, 7.5, true}};
  return run;
}

inline PlanResult ops_plan() {
  PlanResult plan = sample_plan();
  for (PlanPoint& point : plan.points) point.run = ops_run();
  plan.recommended_size = "16GiB";
  plan.recommended_bytes = std::int64_t{16} << 30;
  plan.recommended_total_bytes = std::int64_t{16} << 30;
  EngineFlags flags;
  flags.engine = "vllm";
  flags.release = "vllm@0.25";
  flags.arguments = {"--kv-offloading-backend native", "--kv-offloading-size 16",
                     "--max-num-seqs 256"};
  flags.comments = {"--kv-offloading-size is in GiB, of one rank"};
  flags.not_covered = {"eviction s3fifo of dram: vLLM has lru and arc"};
  plan.flags = flags;
  return plan;
}

}  // namespace spillway::test

// A run and a plan with a distinct, plausible value in every member, for tests of reports.
#pragma once

#include <sstream>
#include <string>

#include "reports/provenance.hpp"
#include "reports/renderers/renderer.hpp"
#include "sim/plan_result.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {

/// 1, 2, 3, ... times `scale` through the figures.
inline LatencyStats sample_latency(double scale) {
  LatencyStats out;
  out.mean_ms = scale;
  out.median_ms = 2 * scale;
  out.std_ms = 3 * scale;
  out.p90_ms = 4 * scale;
  out.p95_ms = 5 * scale;
  out.p99_ms = 6 * scale;
  out.max_ms = 7 * scale;
  return out;
}

inline RunResult sample_run() {
  RunResult run;
  run.requests = 1000;
  run.completed = 990;
  run.rejected = 4;
  run.failed = 3;
  run.stuck = 2;
  run.duration_s = 61.25;
  run.input_tokens = 10'000;
  run.output_tokens = 2'345;
  run.request_throughput = 16.1;
  run.output_throughput = 38.3;
  run.total_token_throughput = 201.5;
  run.ttft = sample_latency(11.5);
  run.tpot = sample_latency(1.25);
  run.itl = sample_latency(0.1 + 0.2);  // no short decimal
  run.itl.quantile_error = 1.0 / 2048;
  run.e2el = sample_latency(1000);
  run.queue_time.mean_ms = 0.5;
  run.queue_time.median_ms = 0.25;
  run.queue_time.p99_ms = 9;
  run.client_queue_time.mean_ms = 1.5;
  run.client_queue_time.median_ms = 1.75;
  run.client_queue_time.p99_ms = 8;
  run.client_queue_time.max_ms = 8.5;
  run.warmup_requests = 21;
  run.not_sent = 22;
  run.preemptions = 7;
  run.recomputed_tokens = 70;
  run.engine_steps = 4'321;
  run.deferrals = 5;
  run.flushes = 6;
  run.flush_stall_s = 0.125;
  run.prompt_tokens_by_source = {{"local_compute", 2'500}, {"hbm", 4'500}, {"dram", 3'000}};
  run.tiers.push_back(
      {"hbm", 64'000'000'000, false, 30'000, 50'000'000'000, 4.5e10, 600, 281, 1, 900, 300, 0});
  run.tiers.push_back({"dram",
                       0,
                       true,
                       0,
                       70'000'000'000,
                       6.5e10,
                       319,
                       187,
                       2,
                       800,
                       0,
                       3,
                       {{"first_sighting", 12}}});
  run.links.push_back({"d2h", "hbm", "dram", 1'600'000'000, 80, 0.125, 2e10, 2.5e10, "measured"});
  run.links.push_back({"h2d", "dram", "hbm", 374'000'000, 40, 0.0625, 1e10, 2.5e10, "scenario"});
  run.cold_blocks_per_token_mean = 0.75;
  run.cold_blocks_per_token_p99 = 3;
  run.load_choice = LoadChoiceResult{160, true, 18, 19};
  run.load_wait = LoadWaitResult{14, 0.0625};
  run.copy_harm_s = 0.03125;
  run.slo.push_back({"p99_ttft_ms", false, 100, 69, true});
  run.slo.push_back({"output_throughput", true, 50, 38.3, false});
  run.goodput = 15.5;
  run.rejected_reasons = {{"exceeds_pool", 4}};
  run.failed_reasons = {{"too_long", 3}};
  run.stuck_reasons = {{"deadlock", 2}};
  run.series.push_back({"running", "requests", 1, {1, 2, 3.5}});
  run.series.push_back({"hbm", "bytes", 1, {1e9, 2e9, 3e9}});
  run.ttft_bands = {{"all", 990, 11.5, {4, 0.5, 1.5, 0.25, 5.25}},
                    {"p99-p100", 10, 3200, {2900, 100, 50, 25, 125}}};
  run.slowest = {{812, 12.5, 3200, {2900, 100, 50, 25, 125}, 3000, 40, {1024, 512}, 1},
                 {7, 3.25, 900, {0, 0, 0, 0, 900}, 8000, 1, {0, 0}, 0}};
  run.sim = {123'456, 0.5, 2000, 8642, 104'857'600};
  return run;
}

/// Three sizes of "dram"; the second is the recommendation and the knee.
inline PlanResult sample_plan() {
  PlanResult plan;
  plan.tier = "dram";
  for (const char* size : {"0GiB", "16GiB", "inf"}) {
    PlanPoint point;
    point.name = point.capacity = size;
    point.unbounded = point.capacity == "inf";
    point.capacity_bytes = point.capacity == "16GiB" ? std::int64_t{16} << 30 : 0;
    point.feasible = point.capacity != "0GiB";
    if (point.feasible) point.verdict = CellVerdict::kLooksMet;
    point.digest = "0123456789abcdef";
    point.run = sample_run();
    plan.points.push_back(point);
  }
  plan.recommended = 1;
  plan.knee = 1;
  plan.verdict = "16GiB of dram is the smallest size that meets the targets.";
  plan.binding = {"A smaller tier misses the p99 TTFT limit."};
  plan.headroom = 0.31;
  plan.judgement.binding_kind = "capacity";
  plan.judgement.verdicts = {coded("cold-limited", "The trace is too short for 64 GiB.")};
  plan.notes = {"Sizes between those listed were not tried."};
  return plan;
}

inline Provenance sample_provenance() {
  return {"sample",
          {{"seed", 7}, {"trace", {{"name", "t.jsonl"}, {"content_hash", "feed"}}}},
          {"link h2d: default"},
          "fedcba9876543210",
          "spillway 0.1.0 test"};
}

/// A report of one section with one table.
inline Report report_of(Table table) {
  Report report;
  report.title = "title";
  report.sections.emplace_back();
  report.sections.back().tables.push_back(std::move(table));
  return report;
}

/// `format`: a row of renderers(), e.g. "html".
inline std::string rendered(const Report& report, const std::string& format, bool color = false) {
  std::ostringstream out;
  find_row(renderers(), "renderer", format, {"test", 0, ""})
      .make(RenderOptions{color})
      ->render(report, out);
  return out.str();
}

}  // namespace spillway::test

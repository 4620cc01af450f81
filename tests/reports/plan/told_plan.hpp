// A plan that tells everything that its pages about traffic, events and the host show.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/provenance.hpp"
#include "tests/reports/samples.hpp"

namespace spillway::test {

/// Results of `trace stats` on 600 requests in ten minutes, as JSON.
inline nlohmann::json sample_stats() {
  using nlohmann::json;
  const auto lengths = [](double scale) {
    json percentiles = json::array();
    for (int q = 0; q <= 100; ++q) percentiles.push_back(scale * (q + 1));
    return json{
        {"total", 6000},     {"mean", 50.5 * scale},      {"std", scale},       {"p50", 51 * scale},
        {"p90", 91 * scale}, {"p95", 96 * scale},         {"p99", 100 * scale}, {"min", 1},
        {"max", 101},        {"percentiles", percentiles}};
  };
  json counts = json::array();
  for (int i = 0; i < 10; ++i) counts.push_back(i == 3 ? 105 : 55);
  json curve = json::array();
  for (const int blocks : {1, 10, 100}) {
    curve.push_back({{"capacity_blocks", blocks},
                     {"share_of_unique_blocks", blocks / 100.0},
                     {"hits", 4 * blocks},
                     {"hit_ratio", 0.004 * blocks}});
  }
  return {{"requests", 600},
          {"span_s", 600.0},
          {"requests_per_s", 1.0},
          {"peak_requests_per_s", 1.75},
          {"distinct_arrival_times", 600},
          {"input_tokens", lengths(10)},
          {"output_tokens", lengths(1)},
          {"arrivals",
           {{"verdict", "bursty"},
            {"reason", "counts vary"},
            {"binned", false},
            {"median_distance_of_times_s", 1.0},
            {"interval_s", 60.0},
            {"requests_per_interval", counts},
            {"dispersion", json::array()}}},
          {"block_tokens", 512},
          {"references", 1000},
          {"unique_blocks", 100},
          {"single_use_blocks", 20},
          {"single_use_share", 0.2},
          {"infinite_cache_hits", 400},
          {"infinite_cache_hit_ratio", 0.4},
          {"with_predecessor", 0},
          {"with_predecessor_share", 0.0},
          {"reuse", {{"lru_curve", curve}}},
          {"working_set",
           {{"interval_s", 300.0},
            {"unique_blocks_per_interval", {60, 80}},
            {"cumulative_unique_blocks", {60, 100}},
            {"peak_unique_blocks", 80},
            {"peak_live_blocks", 50},
            {"peak_live_tokens", 25600}}},
          {"stationarity",
           {{"verdict", "drifting"},
            {"reason", "the rate of a window is off"},
            {"window_s", 75.0},
            {"tests", json::array()}}},
          {"tenants",
           {{{"name", "<script>alert(1)</script>"}, {"requests", 600}, {"input_tokens", 6000}}}},
          {"content_hash", "feedfeedfeedfeed"}};
}

inline StressRow sample_row(const char* kind, const char* name, double margin) {
  StressRow row{kind, name, "something"};
  row.outcome = margin < 0 ? StressOutcome::kMissed : StressOutcome::kMet;
  row.target = "p99_ttft_ms";
  row.value = 2000 * (1 - margin);
  row.limit = 2000;
  row.margin = margin;
  return row;
}

/// The sample plan with traffic and events: 16GiB is recommended.
inline PlanResult told_plan() {
  PlanResult plan = sample_plan();
  plan.recommended_size = "16GiB";
  plan.recommended_bytes = std::int64_t{16} << 30;
  plan.workload = PlanWorkload{sample_stats().dump(), 64.0 * 1024 * 1024, 1};
  PlanStress stress;
  stress.cell = "16GiB";
  stress.growth_per_month = 0.05;
  stress.growth_assumed = true;
  stress.rows = {sample_row("as-is", "as it is", 0.31), sample_row("forecast", "in 3 months", 0.2),
                 sample_row("peak", "peak x2", -3.5)};
  StressRow down{"lost-host", "one host lost", ""};
  down.outcome = StressOutcome::kDown;
  down.reason = "there is one instance";
  StressRow none{"storage", "storage at half speed", ""};
  none.reason = "there is no storage";
  stress.rows.push_back(down);
  stress.rows.push_back(none);
  stress.restart =
      ColdRestart{300, 0.8, 0.7, 45.5, {15, 45.5, 75}, {0.8, 0.8, 0.8}, {0.2, 0.75, 0.8}};
  stress.notes = {"Forecasts assume growth"};
  plan.stress = stress;
  return plan;
}

/// Inputs of a plan on two GPUs with a host.
inline Provenance told_provenance() {
  Provenance out = sample_provenance();
  out.inputs = {
      {"scenario",
       {{"name", "sample"},
        {"path", "it's here.json"},
        {"set", {"plan.stress=true", "a.b=\"x y\""}}}},
      {"configuration_hash", "c0ffee00c0ffee00"},
      {"seed", 7},
      {"trace",
       {{"name", "t.jsonl"},
        {"format", "native"},
        {"content_hash", "feed"},
        {"rows",
         {{"read", 620}, {"kept", 600}, {"dropped", 15}, {"quarantined", 5}, {"reordered", 2}}}}},
      {"configuration",
       {{"gpu", "L40S-48GB"},
        {"model", {{"name", "m"}, {"kv_bytes_per_token", 131072}}},
        {"workload", {{"speed", 0.5}}},
        {"compute", {{"kind", "components"}, {"source", "kernel tables"}}},
        {"links",
         {{{"name", "d2h"}, {"from", "hbm"}, {"to", "dram"}, {"source", "default, PCIe 4 x16"}}}},
        {"tiers", {{{"name", "dram"}, {"kind", "dram"}}}},
        {"host",
         {{"memory_bytes", std::int64_t{256} << 30},
          {"reserved_bytes", std::int64_t{16} << 30},
          {"instances", 3},
          {"numa_nodes", 2}}},
        {"engine",
         {{"preset", "vllm@0.25"},
          {"block_tokens", 16},
          {"num_gpu_blocks", 1001},
          {"block_bytes", 1048576},
          {"tensor_parallel_size", 2},
          {"memory", {{"weight_bytes", std::int64_t{8} << 30}}}}}}}};
  return out;
}

/// All charts of a section and its parts.
inline std::vector<Chart> charts_of(const Section& section) {
  std::vector<Chart> out = section.charts;
  for (const Section& part : section.parts) {
    for (Chart& chart : charts_of(part)) out.push_back(std::move(chart));
  }
  return out;
}

/// The whole page as text, for what it says anywhere.
inline std::string text_of(const Section& section) {
  Report report;
  report.title = "title";
  report.sections.push_back(section);
  return rendered(report, "md");
}

inline const Table* table_of(const Section& section, const std::string& title) {
  for (const Table& table : section.tables) {
    if (table.title.find(title) != std::string::npos) return &table;
  }
  for (const Section& part : section.parts) {
    if (const Table* found = table_of(part, title)) return found;
  }
  return nullptr;
}

}  // namespace spillway::test

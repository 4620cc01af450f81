// A run as its engine's /metrics over time: what each metric is made of, and the text.
#include "reports/ops/openmetrics.hpp"

#include <sstream>

#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr Time at(std::int64_t ms) {
  return Time(std::chrono::milliseconds(ms));
}

/// 100 tokens, 32 of them in HBM and 48 below it.
RequestRecord request(std::int64_t arrival_ms) {
  RequestRecord r;
  r.arrival = at(arrival_ms);
  r.scheduled = at(arrival_ms + 20);
  r.first_token = at(arrival_ms + 70);
  r.finish = at(arrival_ms + 1070);
  r.input_tokens = 100;
  r.output_tokens = 11;
  r.cached_tokens[0] = 32;
  r.cached_tokens[1] = 48;
  return r;
}

RunResult two_tiers() {
  RunResult run;
  run.tiers.resize(2);
  run.tiers[0].name = "hbm";
  run.tiers[0].capacity_bytes = 1000;
  run.tiers[1].name = "dram";
  run.tiers[1].kind = "dram";
  run.tiers[1].capacity_bytes = 4000;
  run.tiers[1].capacity_blocks = 4;
  LinkResult up;
  up.name = "h2d";
  up.from = "dram";
  up.to = "hbm";
  up.ranks = 2;
  run.links = {up};
  // Of a run of 2.5 s: bins of a second.
  run.series = {{"running", "requests", 1, {1, 2, 1}},
                {"hbm", "bytes", 1, {100, 500, 250}},
                {"dram", "bytes", 1, {0, 1000, 2000}},
                {"h2d", "bytes/s", 1, {0, 0, 0}}};
  return run;
}

MetricLog two_requests() {
  MetricLog log;
  log.on_request(request(0));
  log.on_request(request(1400));
  TransferRecord load;
  load.payload = Bytes(600);
  load.started = at(900);
  load.ended = at(1100);
  log.on_transfer(load);
  log.on_preemption(at(1500), RequestId{});
  log.on_tier_change({at(200), 1, 3, 0, 3, 3});
  log.on_tier_change({at(2200), 1, 2, 1, 4, 4});
  return log;
}

const MetricHistory& history_of(const MetricHistories& all, std::string_view name) {
  for (const MetricHistory& h : all.metrics) {
    if (h.metric->name == name) return h;
  }
  FAIL("no " << name);
  return all.metrics.front();
}

TEST_CASE("counters grow when it happens", "[reports]") {
  const RunResult run = two_tiers();
  OpsFigures figures;
  figures.run = &run;
  figures.engine = {"vllm", {0, 25}, {"connector", "offload"}};
  const MetricHistories all = metric_histories(figures, two_requests(), 16);
  using Values = std::vector<double>;
  CHECK(all.interval_s == 1);
  CHECK(history_of(all, "vllm:prompt_tokens_total").values == Values{100, 100, 0});
  CHECK(history_of(all, "vllm:prefix_cache_hits_total").values == Values{32, 32, 0});
  // Asked below HBM: what HBM did not have.
  CHECK(history_of(all, "vllm:external_prefix_cache_queries_total").values == Values{68, 68, 0});
  CHECK(history_of(all, "vllm:external_prefix_cache_hits_total").values == Values{48, 48, 0});
  CHECK(history_of(all, "vllm:num_preemptions_total").values == Values{0, 1, 0});
  // Half of 600 bytes in each second, of two ranks.
  CHECK(history_of(all, "vllm:kv_offload_load_bytes_total").values == Values{600, 600, 0});
  const Values time = history_of(all, "vllm:kv_offload_load_time_total").values;
  CHECK(time[0] == Approx(0.1));
  CHECK(time[1] == Approx(0.1));
  // 11 tokens of 70 to 1,070 ms: 930 of 1,000 ms lie in the first second.
  const Values tokens = history_of(all, "vllm:generation_tokens_total").values;
  CHECK(tokens[0] == Approx(11 * 0.93));
  CHECK(tokens[0] + tokens[1] + tokens[2] == Approx(22));
  CHECK(history_of(all, "vllm:kv_cache_usage_perc").values == Values{0.1, 0.5, 0.25});
}

TEST_CASE("a histogram has the engine's own buckets", "[reports]") {
  const RunResult run = two_tiers();
  OpsFigures figures;
  figures.run = &run;
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    figures.engine = {engine, {}, {}};
    const MetricHistories all = metric_histories(figures, two_requests(), 16);
    for (const MetricHistory& h : all.metrics) {
      if (h.metric->signal != Signal::kTtft) continue;
      INFO(h.metric->name);
      CHECK(h.values == std::vector<double>{1, 1, 0});
      CHECK(h.bounds == std::vector<double>(h.metric->buckets.begin(), h.metric->buckets.end()));
      // 70 ms: in the first bucket that ends at or above it, and in no other.
      for (std::size_t i = 0; i < h.buckets.size(); ++i) {
        const bool above = i < h.bounds.size() && h.bounds[i] >= 0.07;
        const bool first = above && (i == 0 || h.bounds[i - 1] < 0.07);
        CHECK(h.buckets[i][0] == (first ? 1 : 0));
      }
      CHECK(h.sums[0] == Approx(0.07));
    }
  }
}

TEST_CASE("stores count blocks and tokens of their own", "[reports]") {
  const RunResult run = two_tiers();
  OpsFigures figures;
  figures.run = &run;
  figures.engine = {"vllm", {}, {"connector"}};
  figures.cache = {"kvbm", {}, {"dram"}};
  const MetricHistories all = metric_histories(figures, two_requests(), 16);
  using Values = std::vector<double>;
  CHECK(history_of(all, "kvbm_matched_tokens").values == Values{48, 48, 0});
  CHECK(history_of(all, "kvbm_onboard_blocks_h2d").values == Values{3, 3, 0});
  CHECK(history_of(all, "kvbm_offload_blocks_d2h").values == Values{3, 0, 2});
  // 48 of 68; nobody asks in the last second.
  CHECK(history_of(all, "kvbm_host_cache_hit_rate").values ==
        Values{48.0 / 68, 48.0 / 68, 48.0 / 68});
}

TEST_CASE("each sample has a time, each name one type", "[reports]") {
  const RunResult run = two_tiers();
  OpsFigures figures;
  figures.run = &run;
  figures.engine = {"vllm", {0, 25}, {"connector", "offload"}};
  figures.cache = {"kvbm", {}, {"dram"}};
  std::ostringstream out;
  write_openmetrics(metric_histories(figures, two_requests(), 16), {"Qwen3-8B", "a \"b\""},
                    1'700'000'000, out);
  const std::string text = out.str();
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(
      has("# TYPE vllm:num_preemptions counter\n"
          "vllm:num_preemptions_total{model_name=\"Qwen3-8B\",job=\"spillway\",instance=\"a "
          "\\\"b\\\"\"} 0 1700000000.000\n"));
  CHECK(has("} 1 1700000002.000\n"));
  // Rust's counters have no _total: OpenMetrics knows no such counter.
  CHECK(has("# TYPE kvbm_matched_tokens unknown\n"));
  CHECK(
      has("_bucket{model_name=\"Qwen3-8B\",job=\"spillway\",instance=\"a \\\"b\\\"\",le=\"1.0\"} 2 "
          "1700000003.000\n"));
  CHECK(text.ends_with("# EOF\n"));
  // Two rows, one name.
  const std::string type = "# TYPE vllm:kv_offload_total_bytes counter\n";
  CHECK(text.find(type) != std::string::npos);
  CHECK(text.find(type, text.find(type) + 1) == std::string::npos);
}

TEST_CASE("bins of a long run are merged to the widest", "[reports]") {
  RunResult run = two_tiers();
  MetricLog log = two_requests();
  // Beyond 1,024 s the bins of what happens late are 2 s wide, those of the others 1 s.
  log.on_request(request(1'500'000));
  OpsFigures figures;
  figures.run = &run;
  figures.engine = {"vllm", {0, 25}, {"connector"}};
  const MetricHistories all = metric_histories(figures, log, 16);
  CHECK(all.interval_s == 2);
  const MetricHistory& running = history_of(all, "vllm:num_requests_running");
  CHECK(running.values[0] == 1.5);
  CHECK(running.values[1] == 0.5);
  CHECK(history_of(all, "vllm:num_preemptions_total").values[0] == 1);
  CHECK(history_of(all, "vllm:prompt_tokens_total").values[750] == 100);
}

}  // namespace
}  // namespace spillway::test

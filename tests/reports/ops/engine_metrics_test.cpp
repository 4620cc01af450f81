// The table of engines' metrics: one name per signal and release, moved names by release, unknown
// ones absent.
#include "reports/ops/engine_metrics.hpp"

#include <set>

#include "sim/error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::string name_in(const char* release, Signal signal, std::vector<std::string> parts = {}) {
  EngineRelease engine = engine_release(release, "--engine");
  engine.parts = std::move(parts);
  const EngineMetric* metric = find_metric(engine, signal);
  return metric == nullptr ? "" : std::string(metric->name);
}

TEST_CASE("a release exports the names of its time", "[reports]") {
  CHECK(name_in("vllm@0.6", Signal::kKvUsage) == "vllm:gpu_cache_usage_perc");
  CHECK(name_in("vllm@0.25", Signal::kKvUsage) == "vllm:kv_cache_usage_perc");
  CHECK(name_in("vllm@0.6", Signal::kItl) == "vllm:time_per_output_token_seconds");
  CHECK(name_in("vllm@0.25", Signal::kItl) == "vllm:inter_token_latency_seconds");
  CHECK(name_in("vllm@0.25.1", Signal::kTpot) == "vllm:request_time_per_output_token_seconds");
  CHECK(name_in("vllm@0.23", Signal::kLoadBytes, {"offload"}) ==
        "vllm:kv_offload_total_bytes_total");
  CHECK(name_in("vllm@0.25", Signal::kLoadBytes, {"offload"}) ==
        "vllm:kv_offload_load_bytes_total");
  CHECK(name_in("vllm", Signal::kLoadBytes, {"offload"}) == "vllm:kv_offload_load_bytes_total");
}

TEST_CASE("what a release is not known to export is absent", "[reports]") {
  CHECK(name_in("vllm@0.6", Signal::kQueueTime).empty());
  CHECK(name_in("vllm@0.6", Signal::kTpot).empty());
  CHECK(name_in("vllm@0.12", Signal::kLoadBytes, {"offload"}).empty());
  CHECK(name_in("vllm@0.25", Signal::kSwapped, {"swap"}).empty());
  CHECK(name_in("vllm@0.25", Signal::kLoadBytes).empty());  // without the connector
  CHECK(name_in("vllm@0.25", Signal::kExternalHits, {"connector"}) ==
        "vllm:external_prefix_cache_hits_total");
  CHECK(name_in("sglang", Signal::kTpot).empty());
  // A gauge of one step: trtllm_num_paused_requests is no count of preemptions.
  CHECK(name_in("trtllm", Signal::kPreemptions).empty());
}

TEST_CASE("TensorRT-LLM counts cached tokens of all levels together", "[reports]") {
  CHECK(name_in("trtllm", Signal::kCachedTokens) == "trtllm_prompt_cached_tokens_total");
  CHECK(name_in("trtllm", Signal::kPromptTokens) == "trtllm_prompt_tokens_total");
  CHECK(name_in("trtllm", Signal::kPrefixHits).empty());
  CHECK(name_in("trtllm", Signal::kRunning) == "trtllm_num_requests_running");
  const EngineMetric* ttft = find_metric(engine_release("trtllm", ""), Signal::kTtft);
  REQUIRE(ttft != nullptr);
  CHECK(bucket_above(*ttft, 1.5) == 2.5);
}

TEST_CASE("SGLang counts tokens, and those of HiCache only where it is on", "[reports]") {
  CHECK(name_in("sglang", Signal::kPrefixHits) == "sglang:cached_tokens_total");
  CHECK(name_in("sglang", Signal::kEvictions) == "sglang:evicted_tokens_total");
  CHECK(name_in("sglang", Signal::kLoadTokens).empty());
  const std::vector<std::string> on = {"connector"};
  CHECK(name_in("sglang", Signal::kLoadTokens, on) == "sglang:load_back_tokens_total");
  CHECK(name_in("sglang", Signal::kHostTokens, on) == "sglang:hicache_host_used_tokens");
  CHECK(name_in("sglang", Signal::kHostTokensTotal, on) == "sglang:hicache_host_total_tokens");
  // Both are one counter, told apart by a label.
  const EngineRelease engine{"sglang", {}, on};
  CHECK(find_metric(engine, Signal::kPrefixHits)->matchers == "cache_source=\"device\"");
  CHECK(find_metric(engine, Signal::kExternalHits)->matchers == "cache_source=\"host\"");
}

TEST_CASE("stores attached to an engine export names of their own", "[reports]") {
  CHECK(name_in("kvbm", Signal::kExternalHits) == "kvbm_matched_tokens");
  CHECK(name_in("kvbm", Signal::kLoadBlocks) == "kvbm_onboard_blocks_h2d");
  CHECK(name_in("kvbm", Signal::kHitRatio) == "kvbm_host_cache_hit_rate");
  CHECK(name_in("dynamo", Signal::kHitRatio).empty());  // without KVBM
  CHECK(name_in("mooncake", Signal::kHostEvictions) == "master_evicted_key_count");
  CHECK(name_in("mooncake", Signal::kStoresRefused) == "master_put_start_alloc_failures_total");
  CHECK(name_in("mooncake", Signal::kLoadBytes) == "mooncake_transfer_read_bytes");
  CHECK(name_in("aibrix", Signal::kHostBytes) == "vllm:kv_cache_ol_used");
  CHECK(name_in("aibrix", Signal::kExternalHits) ==
        "vllm:kv_cache_ol_iteration_fetched_tokens_sum");
  CHECK(name_in("flexkv", Signal::kHostHits) == "flexkv_py_cache_hit_blocks_total");
  // One counter in both directions, told apart by labels.
  const EngineRelease flexkv{"flexkv", {}, {}};
  CHECK(find_metric(flexkv, Signal::kLoadBytes)->matchers ==
        "transfer_type=\"H2D\",operation=\"get\"");
  CHECK(find_metric(flexkv, Signal::kStoreBytes)->matchers ==
        "transfer_type=\"D2H\",operation=\"put\"");
}

TEST_CASE("a store's storage has metrics where there is a tier of its kind", "[reports]") {
  CHECK(name_in("kvbm", Signal::kTierHitRatio).empty());
  CHECK(name_in("kvbm", Signal::kTierHitRatio, {"dram", "nvme"}) == "kvbm_disk_cache_hit_rate");
  CHECK(name_in("kvbm", Signal::kTierHitRatio, {"dram", "object"}) == "kvbm_object_cache_hit_rate");
  CHECK(name_in("flexkv", Signal::kTierLoadBytes).empty());
  CHECK(name_in("flexkv", Signal::kTierLoadBytes, {"nvme"}) == "flexkv_py_transfer_bytes_total");
}

TEST_CASE("every row has a source, and no release two names in one row's place", "[reports]") {
  std::set<std::string> seen;
  for (const EngineMetric& m : engine_metrics()) {
    INFO(m.name);
    CHECK_FALSE(m.source.empty());
    CHECK_FALSE(m.unit.empty());
    CHECK_FALSE(name_of(m.signal).empty());
    CHECK((m.to == EngineVersion{} || m.from <= m.to));
    // As Prometheus' Python client has them on the wire; clients in Rust and C++ add nothing.
    const bool python = m.engine != "kvbm" && m.engine != "mooncake";
    if (m.kind == MetricKind::kCounter && python) {
      CHECK((m.name.ends_with("_total") || m.name.ends_with("_sum")));
    }
    if (m.kind == MetricKind::kHistogram) CHECK_FALSE(m.name.ends_with("_total"));
    CHECK(std::is_sorted(m.buckets.begin(), m.buckets.end()));
    CHECK(seen.insert(fmt::format("{} {} {} {}.{}", m.engine, name_of(m.signal), m.name,
                                  m.from.major, m.from.minor))
              .second);
  }
}

TEST_CASE("a quantile is told as finely as the buckets are", "[reports]") {
  const EngineMetric* ttft = find_metric(engine_release("vllm@0.25", ""), Signal::kTtft);
  REQUIRE(ttft != nullptr);
  CHECK(bucket_above(*ttft, 0.4) == 0.5);
  CHECK(bucket_above(*ttft, 0.5) == 0.5);
  CHECK(bucket_above(*ttft, 2.0) == 2.5);
  CHECK(bucket_above(*ttft, 9999) == 0);  // beyond the last bound
  CHECK(bucket_below(*ttft, 2.0) == 1.0);
  CHECK(bucket_below(*ttft, 2.5) == 2.5);
  CHECK(bucket_below(*ttft, 1e-6) == 0);  // below the first
  const EngineMetric* other = find_metric(engine_release("sglang", ""), Signal::kTtft);
  REQUIRE(other != nullptr);
  CHECK(bucket_above(*other, 0.4) == 0.4);  // bounds not known
  CHECK(bucket_below(*other, 0.4) == 0.4);
}

TEST_CASE("engines and releases that are none are refused", "[reports]") {
  const auto error = [](const char* text) {
    try {
      engine_release(text, "--engine");
    } catch (const InputError& e) {
      CHECK(e.fault() == Fault::kUsage);
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(error("vlm@0.25"),
             ContainsSubstring("unknown engine \"vlm\"; did you mean \"vllm\"?"));
  for (const char* text : {"vllm@", "vllm@x", "vllm@0", "vllm@0.", "vllm@-1.2", "vllm@0.25x"}) {
    INFO(text);
    CHECK_THAT(error(text), ContainsSubstring("expected a release as in vllm@0.25"));
    CHECK_FALSE(read_release(text));
  }
  CHECK(engine_release("vllm@0.25rc1", "").version == EngineVersion{0, 25});
}

}  // namespace
}  // namespace spillway::test

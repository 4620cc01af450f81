// The rows of the table of engines' metrics.
#include "reports/ops/engine_metrics.hpp"

namespace spillway {

namespace {

// Names as Prometheus has them after a scrape: its Python client adds _total to counters. Rust's
// (KVBM) and ylt's (Mooncake) do not. The sum of a histogram is a counter, named ..._sum.
//
// Where they were read (repository: path @ commit or release):
//   V0   vllm-project/vllm: vllm/engine/metrics.py @ 00c33e81b5 (v0)
//   V1   vllm-project/vllm: vllm/v1/metrics/loggers.py @ 005a810bc4: has the names of 0.9 and,
//        "deprecated in 0.9", those before
//   TPOT vllm-project/vllm #23919 and its metrics.md (#55283): in 0.11 the gap between outputs is
//        called inter_token_latency, and a request's own time per token is exported beside it
//   EXT  vllm-project/vllm #26245, merged before 0.12
//   OFF1 vllm-project/vllm #27942; llm-d/llm-d-kv-cache #460 (March 2026) fills them, so that
//        0.18 has them. Still exported, as deprecated, by 0.27
//   OFF2 vllm-project/vllm #35669 (reviewed in May 2026), read in 0.24.0 as installed
//   MAIN vllm-project/vllm @ 017e9f4448 (August 2026): vllm/v1/kv_offload/{cpu,tiering}; 0.27 is
//        the first release after it
//   SG   docs.sglang.io: references/production_metrics; sgl-project/sglang:
//        python/sglang/srt/observability/metrics_collector.py @ 9fec359a
//   TL   NVIDIA/TensorRT-LLM: tensorrt_llm/metrics/collector.py
//   DY   ai-dynamo/dynamo: lib/runtime/src/metrics/prometheus_names.rs,
//        lib/llm/src/block_manager/metrics_kvbm.rs @ 2a6da14c
//   LM   LMCache/LMCache: docs/source/production/observability/metrics.rst @ 3e65c70a57; on the
//        wire as in vllm-project/production-stack: observability/lmcache-dashboard-cm.yaml
//   LMP  LMCache/LMCache: docs/source/mp/observability/metrics.rst @ 081c98da37
//   MM   kvcache-ai/Mooncake: mooncake-store/src/master_metric_manager.cpp @ 3b5a5941
//   MC   kvcache-ai/Mooncake: mooncake-store/include/client_metric.h @ 3b5a5941
//   MV   vllm-project/vllm main of 2026:
//        vllm/distributed/kv_transfer/kv_connector/v1/mooncake/store/metrics.py
//   AB   vllm-project/aibrix: python/aibrix_kvcache/aibrix_kvcache/metrics.py @ 70d27a2a47. Its
//        patches of vLLM pass the prefix vllm: and ask by acquire (AIBrixOffloadingConnector)
//   FK   taco-project/FlexKV: flexkv/metrics/collector.py @ 270ab1cd24
//   NODE prometheus/node_exporter: collector/meminfo.go

constexpr double kV0Ttft[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                              0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10};
constexpr double kV0Token[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                               0.3,  0.4,   0.5,  0.75,  1.0, 2.5};
constexpr double kV0Request[] = {1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60};
constexpr double kV1Ttft[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                              1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
constexpr double kV1Token[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                               0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
constexpr double kV1Request[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                 30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};

constexpr double kSgTtft[] = {0.1, 0.2, 0.4, 0.6, 0.8, 1,  2,   4,   6,
                              8,   10,  20,  40,  60,  80, 100, 200, 400};
constexpr double kSgToken[] = {0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025,
                               0.03,  0.035, 0.04,  0.06,  0.08, 0.1,   0.2,  0.4,
                               0.6,   0.8,   1,     2,     4,    6,     8};
constexpr double kSgRequest[] = {0.1, 0.2, 0.4, 0.6, 0.8, 1,   2,   4,   6,    8,    10,
                                 20,  40,  60,  80,  100, 200, 400, 600, 1200, 1800, 2400};

constexpr auto kG = MetricKind::kGauge;
constexpr auto kC = MetricKind::kCounter;
constexpr auto kH = MetricKind::kHistogram;
constexpr EngineVersion kAny{};
constexpr EngineVersion kOpen{};

using S = Signal;

constexpr std::string_view kV0Source = "vllm/engine/metrics.py @ 00c33e81b5";
constexpr std::string_view kV1Source = "vllm/v1/metrics/loggers.py @ 005a810bc4";
constexpr std::string_view kTpotSource = "vllm-project/vllm #23919, #55283";
constexpr std::string_view kExtSource = "vllm-project/vllm #26245";
constexpr std::string_view kOff1Source = "vllm-project/vllm #27942, llm-d-kv-cache #460";
constexpr std::string_view kOff2Source = "vllm-project/vllm #35669, 0.24.0";
constexpr std::string_view kMainSource = "vllm/v1/kv_offload @ 017e9f4448";
constexpr std::string_view kSgSource = "docs.sglang.io production_metrics; metrics_collector.py";
constexpr std::string_view kTlSource = "tensorrt_llm/metrics/collector.py";
constexpr std::string_view kDySource = "dynamo: prometheus_names.rs, metrics_kvbm.rs @ 2a6da14c";
constexpr std::string_view kLmSource = "LMCache: observability/metrics.rst @ 3e65c70a57";
constexpr std::string_view kLmpSource = "LMCache: mp/observability/metrics.rst @ 081c98da37";
constexpr std::string_view kMmSource = "Mooncake: master_metric_manager.cpp @ 3b5a5941";
constexpr std::string_view kMcSource = "Mooncake: client_metric.h @ 3b5a5941";
constexpr std::string_view kMvSource = "vllm: kv_connector/v1/mooncake/store/metrics.py";
constexpr std::string_view kAbSource = "aibrix: aibrix_kvcache/metrics.py @ 70d27a2a47";
constexpr std::string_view kFkSource = "FlexKV: flexkv/metrics/collector.py @ 270ab1cd24";
constexpr std::string_view kNodeSource = "node_exporter: collector/meminfo.go";

constexpr EngineVersion k6{0, 6};
constexpr EngineVersion k8{0, 8};
constexpr EngineVersion k9{0, 9};
constexpr EngineVersion k10{0, 10};
constexpr EngineVersion k11{0, 11};
constexpr EngineVersion k12{0, 12};
constexpr EngineVersion k18{0, 18};
constexpr EngineVersion k24{0, 24};
constexpr EngineVersion k27{0, 27};
constexpr std::span<const double> kNone{};

// Which part of a store counts.
constexpr std::string_view kAbAcquire = "cache_type=\"cachemgr\",op_type=\"acquire\"";
constexpr std::string_view kAbL1 = "cache_type=\"l1cache\",resource_type=\"l1_allocator\"";
constexpr std::string_view kFkLoad = "transfer_type=\"H2D\",operation=\"get\"";
constexpr std::string_view kFkStore = "transfer_type=\"D2H\",operation=\"put\"";
constexpr std::string_view kFkDiskLoad = "transfer_type=\"DISK2H\",operation=\"get\"";
constexpr std::string_view kFkDiskStore = "transfer_type=\"H2DISK\",operation=\"put\"";

// Of two rows for one signal the later one counts, where a release has both.
constexpr EngineMetric kMetrics[] = {
    {"vllm", "", S::kTtft, "vllm:time_to_first_token_seconds", kH, "seconds", "", k6, k8, kV0Ttft,
     kV0Source},
    {"vllm", "", S::kTtft, "vllm:time_to_first_token_seconds", kH, "seconds", "", k9, kOpen,
     kV1Ttft, kV1Source},
    {"vllm", "", S::kItl, "vllm:time_per_output_token_seconds", kH, "seconds", "", k6, k8, kV0Token,
     kV0Source},
    {"vllm", "", S::kItl, "vllm:time_per_output_token_seconds", kH, "seconds", "", k9, k10,
     kV1Token, kV1Source},
    {"vllm", "", S::kItl, "vllm:inter_token_latency_seconds", kH, "seconds", "", k11, kOpen,
     kV1Token, kTpotSource},
    {"vllm", "", S::kTpot, "vllm:request_time_per_output_token_seconds", kH, "seconds", "", k11,
     kOpen, kV1Token, kTpotSource},
    {"vllm", "", S::kE2e, "vllm:e2e_request_latency_seconds", kH, "seconds", "", k6, k8, kV0Request,
     kV0Source},
    {"vllm", "", S::kE2e, "vllm:e2e_request_latency_seconds", kH, "seconds", "", k9, kOpen,
     kV1Request, kV1Source},
    {"vllm", "", S::kQueueTime, "vllm:request_queue_time_seconds", kH, "seconds", "", k9, kOpen,
     kV1Request, kV1Source},
    {"vllm", "", S::kRunning, "vllm:num_requests_running", kG, "requests", "", k6, kOpen, kNone,
     kV1Source},
    {"vllm", "", S::kWaiting, "vllm:num_requests_waiting", kG, "requests", "", k6, kOpen, kNone,
     kV1Source},
    {"vllm", "swap", S::kSwapped, "vllm:num_requests_swapped", kG, "requests", "", k6, k8, kNone,
     kV0Source},
    {"vllm", "", S::kKvUsage, "vllm:gpu_cache_usage_perc", kG, "ratio", "", k6, k8, kNone,
     kV0Source},
    {"vllm", "", S::kKvUsage, "vllm:kv_cache_usage_perc", kG, "ratio", "", k9, kOpen, kNone,
     kV1Source},
    {"vllm", "swap", S::kHostKvUsage, "vllm:cpu_cache_usage_perc", kG, "ratio", "", k6, k8, kNone,
     kV0Source},
    {"vllm", "", S::kPreemptions, "vllm:num_preemptions_total", kC, "requests", "", k6, kOpen,
     kNone, kV1Source},
    {"vllm", "", S::kPrefixQueries, "vllm:prefix_cache_queries_total", kC, "tokens", "", k9, kOpen,
     kNone, kV1Source},
    {"vllm", "", S::kPrefixHits, "vllm:prefix_cache_hits_total", kC, "tokens", "", k9, kOpen, kNone,
     kV1Source},
    {"vllm", "", S::kPromptTokens, "vllm:prompt_tokens_total", kC, "tokens", "", k6, kOpen, kNone,
     kV1Source},
    {"vllm", "", S::kOutputTokens, "vllm:generation_tokens_total", kC, "tokens", "", k6, kOpen,
     kNone, kV1Source},
    {"vllm", "connector", S::kExternalQueries, "vllm:external_prefix_cache_queries_total", kC,
     "tokens", "", k12, kOpen, kNone, kExtSource},
    {"vllm", "connector", S::kExternalHits, "vllm:external_prefix_cache_hits_total", kC, "tokens",
     "", k12, kOpen, kNone, kExtSource},
    {"vllm", "offload", S::kLoadBytes, "vllm:kv_offload_total_bytes_total", kC, "bytes",
     "transfer_type=\"CPU_to_GPU\"", k18, kOpen, kNone, kOff1Source},
    {"vllm", "offload", S::kLoadTime, "vllm:kv_offload_total_time_total", kC, "seconds",
     "transfer_type=\"CPU_to_GPU\"", k18, kOpen, kNone, kOff1Source},
    {"vllm", "offload", S::kStoreBytes, "vllm:kv_offload_total_bytes_total", kC, "bytes",
     "transfer_type=\"GPU_to_CPU\"", k18, kOpen, kNone, kOff1Source},
    {"vllm", "offload", S::kStoreTime, "vllm:kv_offload_total_time_total", kC, "seconds",
     "transfer_type=\"GPU_to_CPU\"", k18, kOpen, kNone, kOff1Source},
    {"vllm", "offload", S::kLoadBytes, "vllm:kv_offload_load_bytes_total", kC, "bytes", "", k24,
     kOpen, kNone, kOff2Source},
    {"vllm", "offload", S::kLoadTime, "vllm:kv_offload_load_time_total", kC, "seconds", "", k24,
     kOpen, kNone, kOff2Source},
    {"vllm", "offload", S::kStoreBytes, "vllm:kv_offload_store_bytes_total", kC, "bytes", "", k24,
     kOpen, kNone, kOff2Source},
    {"vllm", "offload", S::kStoreTime, "vllm:kv_offload_store_time_total", kC, "seconds", "", k24,
     kOpen, kNone, kOff2Source},
    {"vllm", "offload", S::kStoresRefused, "vllm:kv_offload_allocation_failure_total", kC, "stores",
     "", k27, kOpen, kNone, kMainSource},
    {"vllm", "tiering", S::kTierQueries, "vllm:kv_offload_tiering_block_queries_total", kC,
     "blocks", "", k27, kOpen, kNone, kMainSource},
    {"vllm", "tiering", S::kTierHits, "vllm:kv_offload_tiering_block_hits_total", kC, "blocks", "",
     k27, kOpen, kNone, kMainSource},
    {"lmcache", "", S::kExternalQueries, "lmcache:num_requested_tokens_total", kC, "tokens", "",
     kAny, kOpen, kNone, kLmSource},
    {"lmcache", "", S::kExternalHits, "lmcache:num_hit_tokens_total", kC, "tokens", "", kAny, kOpen,
     kNone, kLmSource},
    {"lmcache", "", S::kLoadSpeed, "lmcache:retrieve_speed", kH, "tokens/s", "", kAny, kOpen, kNone,
     kLmSource},
    {"lmcache", "", S::kHostBytes, "lmcache:local_cache_usage", kG, "bytes", "", kAny, kOpen, kNone,
     kLmSource},
    {"lmcache-mp", "", S::kHostKvUsage, "lmcache_mp_l1_usage_ratio", kG, "ratio", "", kAny, kOpen,
     kNone, kLmpSource},
    {"lmcache-mp", "", S::kHostBytes, "lmcache_mp_l1_memory_usage_bytes", kG, "bytes", "", kAny,
     kOpen, kNone, kLmpSource},
    {"sglang", "", S::kTtft, "sglang:time_to_first_token_seconds", kH, "seconds", "", kAny, kOpen,
     kSgTtft, kSgSource},
    {"sglang", "", S::kItl, "sglang:inter_token_latency_seconds", kH, "seconds", "", kAny, kOpen,
     kSgToken, kSgSource},
    {"sglang", "", S::kE2e, "sglang:e2e_request_latency_seconds", kH, "seconds", "", kAny, kOpen,
     kSgRequest, kSgSource},
    {"sglang", "", S::kQueueTime, "sglang:queue_time_seconds", kH, "seconds", "", kAny, kOpen,
     kNone, kSgSource},
    {"sglang", "", S::kRunning, "sglang:num_running_reqs", kG, "requests", "", kAny, kOpen, kNone,
     kSgSource},
    {"sglang", "", S::kWaiting, "sglang:num_queue_reqs", kG, "requests", "", kAny, kOpen, kNone,
     kSgSource},
    {"sglang", "", S::kKvUsage, "sglang:token_usage", kG, "ratio", "", kAny, kOpen, kNone,
     kSgSource},
    {"sglang", "", S::kHitRatio, "sglang:cache_hit_rate", kG, "ratio", "", kAny, kOpen, kNone,
     kSgSource},
    {"sglang", "", S::kPrefixQueries, "sglang:prompt_tokens_total", kC, "tokens", "", kAny, kOpen,
     kNone, kSgSource},
    {"sglang", "", S::kOutputTokens, "sglang:generation_tokens_total", kC, "tokens", "", kAny,
     kOpen, kNone, kSgSource},
    {"sglang", "", S::kRequests, "sglang:num_requests_total", kC, "requests", "", kAny, kOpen,
     kNone, kSgSource},
    {"sglang", "", S::kPrefixHits, "sglang:cached_tokens_total", kC, "tokens",
     "cache_source=\"device\"", kAny, kOpen, kNone, kSgSource},
    {"sglang", "connector", S::kExternalHits, "sglang:cached_tokens_total", kC, "tokens",
     "cache_source=\"host\"", kAny, kOpen, kNone, kSgSource},
    {"sglang", "connector", S::kHostTokens, "sglang:hicache_host_used_tokens", kG, "tokens", "",
     kAny, kOpen, kNone, kSgSource},
    {"sglang", "connector", S::kHostTokensTotal, "sglang:hicache_host_total_tokens", kG, "tokens",
     "", kAny, kOpen, kNone, kSgSource},
    {"sglang", "connector", S::kLoadTokens, "sglang:load_back_tokens_total", kC, "tokens", "", kAny,
     kOpen, kNone, kSgSource},
    {"sglang", "", S::kPreemptions, "sglang:num_retracted_requests_total", kC, "requests", "", kAny,
     kOpen, kNone, kSgSource},
    {"sglang", "", S::kEvictions, "sglang:evicted_tokens_total", kC, "tokens", "", kAny, kOpen,
     kNone, kSgSource},
    {"trtllm", "", S::kTtft, "trtllm_time_to_first_token_seconds", kH, "seconds", "", kAny, kOpen,
     kV1Ttft, kTlSource},
    {"trtllm", "", S::kTpot, "trtllm_time_per_output_token_seconds", kH, "seconds", "", kAny, kOpen,
     kV1Token, kTlSource},
    {"trtllm", "", S::kE2e, "trtllm_e2e_request_latency_seconds", kH, "seconds", "", kAny, kOpen,
     kV1Request, kTlSource},
    {"trtllm", "", S::kQueueTime, "trtllm_request_queue_time_seconds", kH, "seconds", "", kAny,
     kOpen, kV1Request, kTlSource},
    {"trtllm", "", S::kRunning, "trtllm_num_requests_running", kG, "requests", "", kAny, kOpen,
     kNone, kTlSource},
    {"trtllm", "", S::kWaiting, "trtllm_num_requests_waiting", kG, "requests", "", kAny, kOpen,
     kNone, kTlSource},
    {"trtllm", "", S::kPromptTokens, "trtllm_prompt_tokens_total", kC, "tokens", "", kAny, kOpen,
     kNone, kTlSource},
    {"trtllm", "", S::kCachedTokens, "trtllm_prompt_cached_tokens_total", kC, "tokens", "", kAny,
     kOpen, kNone, kTlSource},
    {"trtllm", "", S::kKvUsage, "trtllm_kv_cache_utilization", kG, "ratio", "", kAny, kOpen, kNone,
     kTlSource},
    {"trtllm", "", S::kHostKvUsage, "trtllm_kv_cache_host_utilization", kG, "ratio", "", kAny,
     kOpen, kNone, kTlSource},
    {"trtllm", "", S::kHitRatio, "trtllm_kv_cache_hit_rate", kG, "ratio", "", kAny, kOpen, kNone,
     kTlSource},
    {"trtllm", "", S::kLoadBytes, "trtllm_kv_cache_onboard_bytes_total", kC, "bytes", "", kAny,
     kOpen, kNone, kTlSource},
    {"trtllm", "", S::kStoreBytes, "trtllm_kv_cache_offload_bytes_total", kC, "bytes", "", kAny,
     kOpen, kNone, kTlSource},
    {"dynamo", "", S::kTtft, "dynamo_frontend_time_to_first_token_seconds", kH, "seconds", "", kAny,
     kOpen, kNone, kDySource},
    {"dynamo", "", S::kItl, "dynamo_frontend_inter_token_latency_seconds", kH, "seconds", "", kAny,
     kOpen, kNone, kDySource},
    {"dynamo", "", S::kE2e, "dynamo_frontend_request_duration_seconds", kH, "seconds", "", kAny,
     kOpen, kNone, kDySource},
    {"dynamo", "", S::kRunning, "dynamo_frontend_inflight_requests", kG, "requests", "", kAny,
     kOpen, kNone, kDySource},
    {"dynamo", "", S::kWaiting, "dynamo_frontend_queued_requests", kG, "requests", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "", S::kExternalHits, "kvbm_matched_tokens", kC, "tokens", "", kAny, kOpen, kNone,
     kDySource},
    {"kvbm", "", S::kHitRatio, "kvbm_host_cache_hit_rate", kG, "ratio", "", kAny, kOpen, kNone,
     kDySource},
    {"kvbm", "", S::kLoadBlocks, "kvbm_onboard_blocks_h2d", kC, "blocks", "", kAny, kOpen, kNone,
     kDySource},
    {"kvbm", "", S::kStoreBlocks, "kvbm_offload_blocks_d2h", kC, "blocks", "", kAny, kOpen, kNone,
     kDySource},
    {"kvbm", "nvme", S::kTierHitRatio, "kvbm_disk_cache_hit_rate", kG, "ratio", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "nvme", S::kTierLoadBlocks, "kvbm_onboard_blocks_d2d", kC, "blocks", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "nvme", S::kTierStoreBlocks, "kvbm_offload_blocks_h2d", kC, "blocks", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "object", S::kTierHitRatio, "kvbm_object_cache_hit_rate", kG, "ratio", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "object", S::kTierLoadBlocks, "kvbm_onboard_blocks_o2d", kC, "blocks", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "object", S::kTierStoreBlocks, "kvbm_offload_blocks_d2o", kC, "blocks", "", kAny,
     kOpen, kNone, kDySource},
    {"kvbm", "object", S::kTierLoadBytes, "kvbm_onboard_bytes_object", kC, "bytes", "", kAny, kOpen,
     kNone, kDySource},
    {"kvbm", "object", S::kTierStoreBytes, "kvbm_offload_bytes_object", kC, "bytes", "", kAny,
     kOpen, kNone, kDySource},
    {"mooncake", "", S::kHostBytes, "master_allocated_bytes", kG, "bytes", "", kAny, kOpen, kNone,
     kMmSource},
    {"mooncake", "", S::kHostBytesTotal, "master_total_capacity_bytes", kG, "bytes", "", kAny,
     kOpen, kNone, kMmSource},
    {"mooncake", "", S::kHostEvictions, "master_evicted_key_count", kC, "objects", "", kAny, kOpen,
     kNone, kMmSource},
    {"mooncake", "", S::kStoresRefused, "master_put_start_alloc_failures_total", kC, "stores", "",
     kAny, kOpen, kNone, kMmSource},
    {"mooncake", "", S::kLoadBytes, "mooncake_transfer_read_bytes", kC, "bytes", "", kAny, kOpen,
     kNone, kMcSource},
    {"mooncake", "", S::kStoreBytes, "mooncake_transfer_write_bytes", kC, "bytes", "", kAny, kOpen,
     kNone, kMcSource},
    // Of the connector of vLLM, in its own counters.
    {"mooncake", "vllm", S::kLoadBytes, "vllm:mooncake_store_operation_bytes_total", kC, "bytes",
     "operation=\"load_get\"", kAny, kOpen, kNone, kMvSource},
    {"mooncake", "vllm", S::kStoreBytes, "vllm:mooncake_store_operation_bytes_total", kC, "bytes",
     "operation=\"save_put\"", kAny, kOpen, kNone, kMvSource},
    {"mooncake", "", S::kTierLoadBytes, "mooncake_ssd_read_bytes_total", kC, "bytes", "", kAny,
     kOpen, kNone, kMcSource},
    {"mooncake", "", S::kTierStoreBytes, "mooncake_ssd_write_bytes_total", kC, "bytes", "", kAny,
     kOpen, kNone, kMcSource},
    {"aibrix", "", S::kExternalQueries, "vllm:kv_cache_ol_iteration_tokens_sum", kC, "tokens",
     kAbAcquire, kAny, kOpen, kNone, kAbSource},
    {"aibrix", "", S::kExternalHits, "vllm:kv_cache_ol_iteration_fetched_tokens_sum", kC, "tokens",
     kAbAcquire, kAny, kOpen, kNone, kAbSource},
    {"aibrix", "", S::kHostBytes, "vllm:kv_cache_ol_used", kG, "bytes", kAbL1, kAny, kOpen, kNone,
     kAbSource},
    {"aibrix", "", S::kHostBytesTotal, "vllm:kv_cache_ol_capacity", kG, "bytes", kAbL1, kAny, kOpen,
     kNone, kAbSource},
    {"flexkv", "", S::kHostHits, "flexkv_py_cache_hit_blocks_total", kC, "blocks", "device=\"cpu\"",
     kAny, kOpen, kNone, kFkSource},
    {"flexkv", "", S::kExternalMisses, "flexkv_py_cache_miss_blocks_total", kC, "blocks", "", kAny,
     kOpen, kNone, kFkSource},
    {"flexkv", "", S::kHostBlocksFree, "flexkv_py_mempool_free_blocks", kG, "blocks",
     "device=\"cpu\"", kAny, kOpen, kNone, kFkSource},
    {"flexkv", "", S::kHostBlocksTotal, "flexkv_py_mempool_total_blocks", kG, "blocks",
     "device=\"cpu\"", kAny, kOpen, kNone, kFkSource},
    {"flexkv", "", S::kHostEvictions, "flexkv_py_evicted_blocks_total", kC, "blocks",
     "device=\"cpu\"", kAny, kOpen, kNone, kFkSource},
    {"flexkv", "", S::kLoadBytes, "flexkv_py_transfer_bytes_total", kC, "bytes", kFkLoad, kAny,
     kOpen, kNone, kFkSource},
    {"flexkv", "", S::kStoreBytes, "flexkv_py_transfer_bytes_total", kC, "bytes", kFkStore, kAny,
     kOpen, kNone, kFkSource},
    {"flexkv", "", S::kLoadBlocks, "flexkv_py_transfer_blocks_total", kC, "blocks", kFkLoad, kAny,
     kOpen, kNone, kFkSource},
    {"flexkv", "", S::kStoreBlocks, "flexkv_py_transfer_blocks_total", kC, "blocks", kFkStore, kAny,
     kOpen, kNone, kFkSource},
    {"flexkv", "nvme", S::kTierLoadBytes, "flexkv_py_transfer_bytes_total", kC, "bytes",
     kFkDiskLoad, kAny, kOpen, kNone, kFkSource},
    {"flexkv", "nvme", S::kTierStoreBytes, "flexkv_py_transfer_bytes_total", kC, "bytes",
     kFkDiskStore, kAny, kOpen, kNone, kFkSource},
    {"flexkv", "nvme", S::kTierLoadBlocks, "flexkv_py_transfer_blocks_total", kC, "blocks",
     kFkDiskLoad, kAny, kOpen, kNone, kFkSource},
    {"flexkv", "nvme", S::kTierStoreBlocks, "flexkv_py_transfer_blocks_total", kC, "blocks",
     kFkDiskStore, kAny, kOpen, kNone, kFkSource},
    {"node_exporter", "", S::kHostMemoryAvailable, "node_memory_MemAvailable_bytes", kG, "bytes",
     "", kAny, kOpen, kNone, kNodeSource},
    {"node_exporter", "", S::kHostMemoryTotal, "node_memory_MemTotal_bytes", kG, "bytes", "", kAny,
     kOpen, kNone, kNodeSource},
};

}  // namespace

std::span<const EngineMetric> engine_metrics() {
  return kMetrics;
}

}  // namespace spillway

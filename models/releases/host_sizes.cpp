#include "models/releases/host_sizes.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kGB = 1'000'000'000;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

constexpr HostSize kSizes[] = {
    {"vllm", "cpu_bytes_to_use", 1, false, false, "vllm/v1/kv_offload/cpu/spec.py"},
    {"sglang", "--hicache-size", kGB, true, true,
     "sgl-project/sglang: mem_cache/pool_host/base.py"},
    {"trtllm", "host_cache_size", 1, true, false,
     "NVIDIA/TensorRT-LLM: docs/source/features/kvcache.md"},
    {"aibrix", "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB", kGiB, true, true,
     "vllm-project/aibrix: aibrix_kvcache/envs.py"},
    {"dynamo-kvbm", "DYN_KVBM_CPU_CACHE_GB", kGB, false, true,
     "ai-dynamo/dynamo: kvbm-configuration.mdx"},
    {"dynamo-kvbm-v2", "KVBM_CACHE_HOST_CACHE_SIZE_GB", kGB, true, false,
     "ai-dynamo/dynamo: lib/kvbm-config/README.md, lib/kvbm-connector leader/init.rs"},
    {"flexkv", "FLEXKV_CPU_CACHE_GB", kGiB, false, true, "taco-project/FlexKV: common/config.py"},
};

}  // namespace

std::span<const HostSize> host_sizes() {
  return kSizes;
}

const HostSize& host_size_of(std::string_view engine) {
  const auto* const found = std::find_if(std::begin(kSizes), std::end(kSizes),
                                         [&](const HostSize& s) { return s.engine == engine; });
  KV_ASSERT(found != std::end(kSizes), "no host size of {}", engine);
  return *found;
}

}  // namespace spillway

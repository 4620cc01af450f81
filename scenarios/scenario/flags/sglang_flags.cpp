#include "scenarios/scenario/flags/sglang_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/catalogue/model_spec.hpp"
#include "models/releases/host_sizes.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/flags/mooncake_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

class SglangFlags {
 public:
  SglangFlags(const Scenario& scenario, const EnginePreset& release) : s_(scenario) {
    out_.engine = "sglang";
    out_.release = release.name;
  }

  EngineFlags write(const Capacity& capacity) {
    if (s_.tier && capacity.count > 0) {
      add_host(capacity);
      if (!s_.behind.empty()) add_storage();
    }
    add_pool();
    add_steps();
    add("--enable-metrics");  // else alerts and dashboards see nothing
    return std::move(out_);
  }

 private:
  void add(std::string argument) { out_.arguments.push_back(std::move(argument)); }

  void add_pool() {
    const EngineConfig& e = s_.engine;
    if (e.tensor_parallel > 1) add(fmt::format("--tp-size {}", e.tensor_parallel));
    if (e.block_tokens > 1) add(fmt::format("--page-size {}", e.block_tokens));
    const std::int64_t tokens = std::int64_t{e.num_gpu_blocks} * e.block_tokens;
    if (s_.pool_given) {
      add(fmt::format("--max-total-tokens {}", tokens));
      out_.comments.push_back(
          fmt::format("max-total-tokens: {} pages of {} tokens on each GPU. It only lowers what "
                      "--mem-fraction-static leaves",
                      e.num_gpu_blocks, e.block_tokens));
    } else {
      add(fmt::format("--mem-fraction-static {:g}", s_.gpu_memory_utilization));
      out_.comments.push_back(
          fmt::format("mem-fraction-static: {} tokens here. SGLang's log says "
                      "as max_total_num_tokens what it really leaves",
                      tokens));
    }
    const bool own =
        s_.model->spec != nullptr &&
        static_cast<std::int32_t>(e.sglang.context_length) == s_.model->spec->max_position;
    if (e.sglang.context_length > 0 && !own) {
      add(fmt::format("--context-length {}", e.sglang.context_length));
    }
    if (s_.model->kv_dtype == KvDtype::kFp8) add("--kv-cache-dtype fp8_e4m3");
    if (s_.fleet->replicas > 1) {
      out_.comments.push_back(
          fmt::format("of each of {} instances, all alike", s_.fleet->replicas));
    }
  }

  void add_steps() {
    const SglangConfig& g = s_.engine.sglang;
    add(fmt::format("--max-running-requests {}", g.max_running_requests));
    add(fmt::format("--chunked-prefill-size {}", g.chunked_prefill_size));
    add(fmt::format("--max-prefill-tokens {}", g.max_prefill_tokens));
    add(fmt::format("--schedule-policy {}", kQueuePolicyNames[static_cast<std::size_t>(g.queue)]));
    add_eviction();
    if (g.mixed_chunks) add("--enable-mixed-chunk");
    const double conservativeness =
        static_cast<double>(g.conservativeness) / static_cast<double>(kNano);
    add(fmt::format("--schedule-conservativeness {:g}", conservativeness));
    if (!s_.engine.async_scheduling) add("--disable-overlap-schedule");
    if (s_.compute->graph_tokens == 0) add("--disable-cuda-graph");
    if (g.max_new_tokens > 0) {
      out_.not_covered.push_back(
          fmt::format("max_new_tokens {}: it goes with each request", g.max_new_tokens));
    }
  }

  void add_eviction() {
    const RadixEviction policy = s_.engine.sglang.eviction;
    if (policy == RadixEviction::kLru) return;  // SGLang's own
    const std::string_view name = kRadixEvictionNames[static_cast<std::size_t>(policy)];
    if (policy == RadixEviction::kLfu || policy == RadixEviction::kSlru) {
      return add(fmt::format("--radix-eviction-policy {}", name));
    }
    out_.not_covered.push_back(fmt::format(
        "radix_eviction_policy {}: SGLang has it, but its command line does not take it", name));
  }

  /// Whole GB of each rank: --hicache-size rounds up, so that as much as asked for is there.
  void add_host(const Capacity& capacity) {
    const EngineConfig& e = s_.engine;
    add("--enable-hierarchical-cache");
    if (capacity.kind == Capacity::Kind::kBytes) {
      const HostSize& unit = host_size_of("sglang");
      const std::int64_t value = unit.value_for(capacity.count, s_.world());
      add(fmt::format("--hicache-size {}", value));
      out_.comments.push_back(
          fmt::format("hicache-size: {} bytes / {} {} = {} GB of 10^9 bytes each, rounded up",
                      capacity.count, s_.world(), s_.world() == 1 ? "rank" : "ranks", value));
    } else {
      const double ratio = static_cast<double>(capacity.count) / e.num_gpu_blocks;
      add(fmt::format("--hicache-ratio {:.6g}", ratio));
      out_.comments.push_back(fmt::format("hicache-ratio: {} host pages / {} pages of the device",
                                          capacity.count, e.num_gpu_blocks));
    }
    add(fmt::format("--hicache-write-policy {}",
                    kHicacheWriteNames[static_cast<std::size_t>(e.sglang.write)]));
    if (e.load == LoadSemantics::kBlocking) {
      out_.not_covered.emplace_back("load blocking: SGLang loads layer by layer");
    }
  }

  void add_storage() {
    const TierChoice& tier = s_.behind.front();
    const auto* const backend =
        std::find_if(std::begin(kStorageBackends), std::end(kStorageBackends),
                     [&](const StorageBackend& row) { return row.kind == tier.kind(); });
    const PrefetchRules& rules = s_.engine.sglang.prefetch;
    add(fmt::format("--hicache-storage-backend {}", backend->name));
    add(fmt::format("--hicache-storage-prefetch-policy {}",
                    kPrefetchStopNames[static_cast<std::size_t>(rules.stop)]));
    const auto seconds = [](Duration time) { return static_cast<double>(time.count()) / 1e9; };
    add(
        fmt::format("--hicache-storage-backend-extra-config "
                    "'{{\"prefetch_threshold\": {}, \"prefetch_timeout_base\": {:g}, "
                    "\"prefetch_timeout_per_ki_token\": {:g}, \"prefetch_timeout_max\": {:g}}}'",
                    rules.threshold, seconds(rules.timeout_base),
                    seconds(rules.timeout_per_ki_token), seconds(rules.timeout_max)));
    if (s_.engine.sglang.mooncake) {
      add("--hicache-mem-layout page_first");  // which Mooncake needs
      return add_mooncake_behind(s_, out_);
    }
    if (tier.capacity.kind != Capacity::Kind::kUnbounded) {
      out_.not_covered.push_back(
          fmt::format("capacity of {}: it is set where the storage runs", tier.name));
    }
  }

  const Scenario& s_;
  EngineFlags out_;
};

}  // namespace

EngineFlags sglang_flags(const Scenario& scenario, const Capacity& capacity,
                         const EnginePreset& release) {
  return SglangFlags(scenario, release).write(capacity);
}

}  // namespace spillway

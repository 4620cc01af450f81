#include "scenarios/planner/answer/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/catalogue/gpu_spec.hpp"
#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kLeastBatchedTokens = 256;
constexpr std::uint32_t kMostBatchedTokens = 65536;
constexpr std::uint32_t kMostSequences = 4096;
constexpr double kHighUtilization = 0.95;    // beyond it vLLM runs out of memory in practice
constexpr std::uint32_t kLengthStep = 1024;  // of max_model_len, as people write it
constexpr std::uint32_t kMostRanks = 8;      // of an instance: one node
constexpr std::ptrdiff_t kGpusTried = 3;
constexpr std::string_view kOpenGate = "always";

class FreeChanges {
 public:
  FreeChanges(const Scenario& scenario, std::uint64_t longest) : s_(scenario), longest_(longest) {}

  std::vector<KeyChange> list() {
    const EngineConfig& e = s_.engine;
    admit_longest();
    if (e.family == EngineFamily::kMooncake) return {};
    if (e.family == EngineFamily::kSglang) {
      around("engine.max_running_requests", e.sglang.max_running_requests, 1, kMostSequences);
      fewer_bits();
      return std::move(out_);
    }
    if (e.family == EngineFamily::kTrtllm) {
      if (!e.chunked_prefill) add("engine.enable_chunked_prefill", "false", "true");
      around("engine.max_num_batched_tokens", e.max_num_batched_tokens, kLeastBatchedTokens,
             kMostBatchedTokens);
      around("engine.max_num_seqs", e.max_num_seqs, 1, kMostSequences);
      fewer_bits();
      return std::move(out_);
    }
    for (KeyChange& change : held_back(s_)) out_.push_back(std::move(change));
    around("engine.max_num_batched_tokens", e.max_num_batched_tokens, kLeastBatchedTokens,
           kMostBatchedTokens);
    around("engine.max_num_seqs", e.max_num_seqs, 1,
           std::min(kMostSequences, e.max_num_batched_tokens));
    chunk_threshold();
    const bool sized = s_.budget && !s_.pool_given;
    if (sized && s_.gpu_memory_utilization < kHighUtilization) {
      add("engine.gpu_memory_utilization", fmt::format("{:g}", s_.gpu_memory_utilization),
          fmt::format("{:g}", kHighUtilization));
    }
    if (!v0() && !e.enable_prefix_caching) add("engine.enable_prefix_caching", "false", "true");
    urgent_first();
    tier_policy();
    newest_release();
    fewer_bits();
    return std::move(out_);
  }

 private:
  bool v0() const { return s_.engine.family == EngineFamily::kVllmV0; }

  void add(const char* key, std::string from, std::string to) {
    out_.push_back({key, std::move(from), std::move(to)});
  }

  /// Half, twice and so on: what a step takes may lie far from what is configured.
  void around(const char* key, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
    const auto tried = [&](std::uint64_t to) {
      if (to < least || to > most || to == value) return;
      add(key, std::to_string(value), std::to_string(to));
    };
    for (const std::uint32_t factor : {2U, 4U, 8U, 16U}) {
      tried(value / factor);
      tried(std::uint64_t{value} * factor);
    }
  }

  void admit_longest() {
    const std::uint64_t limit = s_.engine.max_model_len;
    if (limit == 0 || longest_ <= limit) return;
    const std::uint64_t needed = (longest_ + kLengthStep - 1) / kLengthStep * kLengthStep;
    add("engine.max_model_len", std::to_string(limit), std::to_string(needed));
  }

  void chunk_threshold() {
    const EngineConfig& e = s_.engine;
    if (!e.chunked_prefill || v0()) return;
    const std::uint32_t now = e.long_prefill_token_threshold;
    if (now > 0) {
      add("engine.long_prefill_token_threshold", std::to_string(now), "0");
      return;
    }
    const std::uint32_t quarter = e.max_num_batched_tokens / 4;
    if (quarter >= e.block_tokens) {
      add("engine.long_prefill_token_threshold", "0", std::to_string(quarter));
    }
  }

  /// Classes with priorities that nobody heeds.
  void urgent_first() {
    const std::vector<ClassChoice>& classes = s_.workload->classes;
    const auto ranked = [](const ClassChoice& c) { return c.value.priority != 0; };
    if (s_.engine.priority_scheduling || std::none_of(classes.begin(), classes.end(), ranked)) {
      return;
    }
    add("engine.scheduling_policy", "fcfs", "priority");
  }

  void tier_policy() {
    if (!s_.tier || s_.tier->storage) return;
    const std::string_view now = s_.tier->eviction.name();
    for (const std::string_view other : tier_evictions(s_)) {
      if (other != now) add("tiers.0.eviction", std::string(now), std::string(other));
    }
  }

  void newest_release() {
    const std::span<const EnginePreset> all = engine_presets();
    const EnginePreset& now = find_preset(s_.preset, {});
    const EnginePreset& newest = all.back();
    if (now.family != newest.family || now.name == newest.name || now.vllm > 0) return;
    add("engine.preset", std::string(now.name), std::string(newest.name));
  }

  void fewer_bits() {
    const bool can = s_.gpu == nullptr || s_.gpu->fp8_tflops > 0;
    if (s_.model->spec == nullptr || s_.model->kv_dtype != KvDtype::kBf16 || !can) return;
    add("model.kv_dtype", "bf16", "fp8");
  }

  const Scenario& s_;
  std::uint64_t longest_;
  std::vector<KeyChange> out_;
};

}  // namespace

std::vector<KeyChange> held_back(const Scenario& s) {
  std::vector<KeyChange> out;
  const EngineConfig& e = s.engine;
  const bool v1 = e.family == EngineFamily::kVllmV1;
  if (s.compute->graphs_matter() && s.compute->graph_tokens == 0) {
    out.push_back({"engine.enforce_eager", "true", "false"});
  }
  if (v1 && !e.chunked_prefill) out.push_back({"engine.enable_chunked_prefill", "false", "true"});
  const bool ahead = e.pipeline_parallel == 1 && e.residency == Residency::kFull &&
                     engine_defaults(find_preset(s.preset, {}), s.gpu).async_scheduling;
  if (v1 && ahead && !e.async_scheduling) {
    out.push_back({"engine.async_scheduling", "false", "true"});
  }
  if (e.store_threshold >= 2) {
    out.push_back({"engine.store_threshold", std::to_string(e.store_threshold), "0"});
  }
  if (s.admission.name() != kOpenGate) {
    out.push_back({"policies.admission", std::string(s.admission.name()), std::string(kOpenGate)});
  }
  return out;
}

std::vector<KeyChange> free_changes(const Scenario& scenario, std::uint64_t longest) {
  return FreeChanges(scenario, longest).list();
}

bool times_follow_gpu(const Scenario& s) {
  return s.compute->kind == ComputeChoice::Kind::kComponents && s.gpu != nullptr &&
         s.model->spec != nullptr;
}

std::vector<KeyChange> wider_instances(const Scenario& s) {
  std::vector<KeyChange> out;
  if (!times_follow_gpu(s)) return out;
  const std::uint32_t now = s.engine.tensor_parallel;
  for (std::uint32_t ranks = now * 2; ranks <= kMostRanks; ranks *= 2) {
    out.push_back({"engine.tensor_parallel_size", std::to_string(now), std::to_string(ranks)});
  }
  return out;
}

std::vector<KeyChange> better_gpus(const Scenario& s) {
  std::vector<KeyChange> out;
  if (!times_follow_gpu(s)) return out;
  std::vector<const GpuSpec*> better;
  for (const GpuSpec& gpu : gpu_specs()) {
    const GpuSpec& now = *s.gpu;
    const bool as_good = gpu.bf16_tflops >= now.bf16_tflops && gpu.memory_gbs >= now.memory_gbs &&
                         gpu.fp8_tflops >= now.fp8_tflops && gpu.memory_bytes >= now.memory_bytes;
    const bool faster = gpu.bf16_tflops > now.bf16_tflops || gpu.memory_gbs > now.memory_gbs;
    if (as_good && faster) better.push_back(&gpu);
  }
  std::stable_sort(better.begin(), better.end(), [](const GpuSpec* a, const GpuSpec* b) {
    return std::pair(a->bf16_tflops, a->memory_gbs) < std::pair(b->bf16_tflops, b->memory_gbs);
  });
  // One of those that compute alike: the nearest, and the fastest there is.
  const auto alike = [](const GpuSpec* a, const GpuSpec* b) {
    return a->bf16_tflops == b->bf16_tflops;
  };
  better.erase(std::unique(better.begin(), better.end(), alike), better.end());
  if (std::ssize(better) > kGpusTried)
    better.erase(better.begin() + kGpusTried - 1, better.end() - 1);
  for (const GpuSpec* gpu : better) {
    out.push_back({"gpu", std::string(s.gpu->name), std::string(gpu->name)});
  }
  return out;
}

std::uint64_t longest_request(const Workload& workload) {
  std::uint64_t out = 0;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const RequestId id{r};
    out = std::max(out, std::uint64_t{workload.input_tokens(id)} + workload.output_tokens(id));
  }
  return out;
}

}  // namespace spillway

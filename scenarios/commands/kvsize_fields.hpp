// The results of `spillway kvsize`, and their members by name.
#pragma once

#include <optional>
#include <string>

#include "sim/fields.hpp"

namespace spillway {

constexpr double in_gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

/// The same tokens with a KV head for each query head.
struct KvAllHeads {
  std::int32_t kv_heads = 0;
  std::int64_t bytes = 0;
};

/// The same tokens where sliding layers keep their window only.
struct KvGroupBytes {
  std::uint32_t sliding = 0;
  std::uint32_t full = 0;
  std::uint32_t layers = 0;
  std::uint32_t window = 0;
  std::int64_t page_bytes = 0;
  std::int64_t pages = 0;
  std::int64_t bytes = 0;
};

/// What a GPU holds.
struct KvOnGpu {
  std::string name;
  double gpu_memory_utilization = 0;
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t visible_bytes = 0;
  std::int64_t requested_bytes = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t other_bytes = 0;
  std::int64_t kv_bytes = 0;  ///< negative where nothing is left
  std::int64_t num_gpu_blocks = 0;
  std::int64_t kv_tokens = 0;
};

struct KvSize {
  std::string model;
  std::int64_t tokens = 0;
  int kv_bits = 0;
  std::int64_t bytes_per_token = 0;
  std::int64_t bytes = 0;
  std::string formula;
  std::optional<KvAllHeads> all_heads;
  std::optional<KvGroupBytes> groups;
  std::optional<KvOnGpu> gpu;
};

template <>
struct Fields<KvAllHeads> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kv_heads", r.kv_heads, says("Query heads of the model."));
    f("bytes", r.bytes, says("Bytes of the tokens."));
    f("gib", derived(in_gib(r.bytes)), says("The same in GiB."));
  }
};

template <>
struct Fields<KvGroupBytes> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("sliding", r.sliding, says("Groups of layers with a sliding window."));
    f("full", r.full, says("Groups of layers with full attention."));
    f("layers", r.layers, says("Layers of a group, padding included."));
    f("window", r.window, says("Tokens that a sliding layer reads."));
    f("page_bytes", r.page_bytes, says("Bytes of a page: one block of tokens in one group."));
    f("pages", r.pages, says("Pages of the tokens."));
    f("bytes", r.bytes, says("Bytes of those pages."));
  }
};

template <>
struct Fields<KvOnGpu> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the GPU."));
    f("gpu_memory_utilization", r.gpu_memory_utilization,
      says("Share of the GPU's memory that the engine may use.", 0, 1));
    f("max_num_seqs", r.max_num_seqs, says("Most requests in a batch.", 1));
    f("max_num_batched_tokens", r.max_num_batched_tokens, says("Most tokens in a step.", 1));
    f("visible_bytes", r.visible_bytes, says("Memory that CUDA shows."));
    f("requested_bytes", r.requested_bytes, says("Memory that the engine may use."));
    f("weight_bytes", r.weight_bytes, says("Weights of the model."));
    f("activation_bytes", r.activation_bytes, says("Activations at the profiling peak."));
    f("other_bytes", r.other_bytes, says("CUDA context, workspaces and allocator slack."));
    f("kv_bytes", r.kv_bytes,
      signed_figure("Memory left for the KV cache; negative where nothing is left."));
    f("num_gpu_blocks", r.num_gpu_blocks, says("Blocks of the KV pool."));
    f("kv_tokens", r.kv_tokens, says("Tokens of those blocks."));
  }
};

template <>
struct Fields<KvSize> {
  static constexpr std::string_view kName = "kvsize";
  static constexpr std::string_view kHelp = "KV cache of a model.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("model", r.model, says("Name of the model."));
    f("tokens", r.tokens, says("Number of tokens.", 1));
    f("kv_bits", r.kv_bits, says("Bits of a cached value.", 1));
    f("bytes_per_token", r.bytes_per_token, says("Bytes of one token."));
    f("bytes", r.bytes, says("Bytes of the tokens."));
    f("gib", derived(in_gib(r.bytes)), says("The same in GiB."));
    f("formula", r.formula, says("How the bytes follow from the model's shape."));
    f("all_heads", r.all_heads, if_any("Bytes with a KV head for each query head."));
    f("groups", r.groups, if_any("Bytes where sliding layers keep their window only."));
    f("gpu", r.gpu, if_any("With --gpu: the KV pool that fits the GPU."));
  }
};

}  // namespace spillway

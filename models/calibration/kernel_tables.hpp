// Measured kernel times as plain rows, whatever file they came from: what kernel_fit fits.
//
// Times are microseconds of one kernel of one rank. `held` counts the tokens that one decode
// attends to, the new one included, as StepShape does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"

namespace spillway {

/// Where a row stands, for messages; equal rows of several lines keep the first.
struct RowSource {
  std::uint32_t file = 0;  ///< index into KernelTables::files
  std::uint32_t line = 0;
};

/// One matrix product: rows x inputs by inputs x outputs.
struct ProductRow {
  double rows = 0;
  double inputs = 0;
  double outputs = 0;
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(inputs, outputs, rows); }
};

/// Chunks of equal length, each behind `cached` tokens of its own.
struct PrefillRow {
  double chunks = 0;
  double tokens = 0;
  double cached = 0;
  double q_heads = 0;
  double kv_heads = 0;
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(q_heads, kv_heads, chunks, tokens, cached); }
};

struct DecodeRow {
  double sequences = 0;
  double held = 0;
  double q_heads = 0;
  double kv_heads = 0;
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(q_heads, kv_heads, sequences, held); }
};

/// One chunk together with decodes, in one call.
struct MixedRow {
  double tokens = 0;
  double cached = 0;
  double decodes = 0;
  double held = 0;
  double q_heads = 0;
  double kv_heads = 0;
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(q_heads, kv_heads, tokens, cached, decodes, held); }
};

/// A call whose decodes hold unequal contexts, beside one where each holds their mean.
struct SkewRow {
  double mean_us = 0;
  double skewed_us = 0;
  bool mixed = false;
  RowSource from{};
};

/// The routed experts of one layer, with every expert on this rank or a part of each.
struct ExpertRow {
  double rows = 0;  ///< tokens x experts that each picks
  double activated = 0;
  double hidden = 0;
  double width = 0;  ///< of one expert, on this rank
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(hidden, width, rows, activated); }
};

/// Something that depends on one number: tokens of a batch, sequences that are sampled.
struct CountRow {
  double count = 0;
  double us = 0;
  RowSource from{};

  auto key() const { return std::tuple(count); }
};

/// Attention over a KV cache of one type, heads of one width.
struct AttentionRows {
  std::vector<PrefillRow> prefill;
  std::vector<DecodeRow> decode;
  std::vector<MixedRow> mixed;
};

struct KernelTables {
  const GpuSpec* gpu = nullptr;
  const ModelSpec* model = nullptr;   ///< of whole-layer tables; null: many shapes
  std::uint32_t tensor_parallel = 1;  ///< that whole-layer tables were measured at
  std::vector<std::string> files;
  std::map<std::string, std::vector<ProductRow>> products;  ///< by type of the weights
  std::map<std::pair<std::string, std::uint32_t>, AttentionRows> attention;  ///< KV type, width
  std::map<std::string, std::vector<ExpertRow>> experts;  ///< by type of the weights
  std::vector<CountRow> elementwise;  ///< over tokens: norms, rotary, activation; of one layer
  std::vector<CountRow> sampler;      ///< over sampled sequences
  std::vector<SkewRow> skew;
  std::vector<std::string> notes;  ///< rows left out, columns not read

  bool empty() const {
    return products.empty() && attention.empty() && experts.empty() && elementwise.empty();
  }
};

}  // namespace spillway

// The shapes of published models: what KV bytes, weight bytes and step times follow from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

struct ModelSpec {
  std::string_view name;  ///< as on the model hub
  std::int32_t layers;
  std::int32_t hidden;
  std::int32_t q_heads;
  std::int32_t kv_heads;      ///< 1 for MLA: one latent serves all heads
  std::int32_t head_dim;      ///< 0 for MLA
  std::int32_t intermediate;  ///< of the dense feed-forward layers
  std::int32_t vocab;
  std::int32_t max_position;
  std::int64_t kv_elements_per_token_layer;  ///< keys and values together
  std::int32_t kv_layers;                    ///< layers that keep KV per token
  std::int32_t sliding_layers = 0;           ///< of these, layers that keep only a window
  std::int32_t window = 0;                   ///< tokens of that window
  std::int64_t params_total;
  std::int64_t weight_bytes;              ///< as published
  std::string_view weight_type = "bf16";  ///< as published, of weights.hpp
  std::int32_t experts = 0;               ///< 0: dense
  std::int32_t experts_per_token = 0;
  std::int32_t expert_intermediate = 0;
  std::int32_t shared_experts = 0;
  std::int32_t first_dense_layers = 0;
  std::int32_t kv_lora_rank = 0;  ///< MLA latent width; 0: no MLA
  std::int32_t qk_nope_dim = 0;   ///< of one head's queries and keys, beside qk_rope_dim
  std::int32_t qk_rope_dim = 0;
  std::int32_t v_head_dim = 0;
  std::int32_t q_lora_rank = 0;
  std::int32_t norms = 2;  ///< of a layer's hidden state
  bool qk_norm = false;    ///< queries and keys are normed, too
  std::string_view note = {};

  bool is_mla() const { return kv_lora_rank > 0; }
  bool is_moe() const { return experts > 0; }
};

std::span<const ModelSpec> model_specs();

/// Where the table's facts come from.
std::string_view model_specs_source();

/// By full name, alias, or a suffix that only one model has; case, spaces, '-' and '_' do not
/// count. Throws InputError (exit 2) with the nearest names, or what the name could mean.
const ModelSpec& find_model(std::string_view name, const SourceRef& where);
/// The same; nullptr where no model, or more than one, has that name.
const ModelSpec* known_model_spec(std::string_view name);
bool ambiguous_model(std::string_view name);

}  // namespace spillway

// A model's shape from the config.json beside its weights on the model hub (Hugging Face names).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/catalogue/weights.hpp"
#include "scenarios/scenario/config/key.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

using KeyNames = std::initializer_list<std::string_view>;

constexpr std::int64_t kMostWidth = 1 << 24;
constexpr std::int64_t kMostPosition = 1 << 26;

constexpr std::string_view kConfigKeys[] = {"model_type",
                                            "_name_or_path",
                                            "text_config",
                                            "llm_config",
                                            "language_config",
                                            "num_hidden_layers",
                                            "n_layer",
                                            "num_layers",
                                            "hidden_size",
                                            "n_embd",
                                            "d_model",
                                            "num_attention_heads",
                                            "n_head",
                                            "num_key_value_heads",
                                            "num_kv_heads",
                                            "multi_query_group_num",
                                            "multi_query",
                                            "new_decoder_architecture",
                                            "kv_channels",
                                            "head_dim",
                                            "intermediate_size",
                                            "n_inner",
                                            "ffn_dim",
                                            "ffn_hidden_size",
                                            "vocab_size",
                                            "padded_vocab_size",
                                            "max_position_embeddings",
                                            "n_positions",
                                            "seq_length",
                                            "rope_scaling",
                                            "rope_parameters",
                                            "tie_word_embeddings",
                                            "num_local_experts",
                                            "n_routed_experts",
                                            "num_experts",
                                            "moe_num_experts",
                                            "moe_k",
                                            "moe_num_shared_experts",
                                            "interleave_moe_layer_step",
                                            "intermediate_size_mlp",
                                            "num_experts_per_tok",
                                            "moe_topk",
                                            "moe_intermediate_size",
                                            "n_shared_experts",
                                            "shared_expert_intermediate_size",
                                            "first_k_dense_replace",
                                            "decoder_sparse_step",
                                            "mlp_only_layers",
                                            "kv_lora_rank",
                                            "qk_nope_head_dim",
                                            "qk_rope_head_dim",
                                            "v_head_dim",
                                            "index_topk",
                                            "q_lora_rank",
                                            "layer_types",
                                            "sliding_window",
                                            "attention_chunk_size",
                                            "no_rope_layer_interval",
                                            "max_window_layers",
                                            "attn_type_list",
                                            "hybrid_override_pattern",
                                            "use_sliding_window",
                                            "sliding_window_pattern",
                                            "_sliding_window_pattern",
                                            "full_attention_interval",
                                            "attn_layer_period",
                                            "is_encoder_decoder",
                                            "use_qk_norm",
                                            "quantization_config"};

/// Architectures whose feed-forward layer has two matrices and no gate.
constexpr std::string_view kUngated[] = {"opt",    "gpt2", "gpt_neox",   "gptj",        "bloom",
                                         "falcon", "phi",  "starcoder2", "gpt_bigcode", "mpt"};

/// Families that norm queries and keys, and those that norm what a layer's halves return, too
/// (vllm/model_executor/models/, of the same names). Others say so by use_qk_norm.
constexpr std::string_view kNormedQueries[] = {"qwen3",  "qwen3_moe",   "gemma3", "gemma3_text",
                                               "olmo2",  "minimax_m2",  "exaone4"};
constexpr std::string_view kFourNorms[] = {"gemma2", "gemma3", "gemma3_text", "glm4"};

/// Where a multimodal model keeps its language model.
constexpr std::string_view kInnerConfigs[] = {"text_config", "llm_config", "language_config"};

/// Families whose class shares embeddings and output head where config.json does not say
/// (huggingface/transformers, PretrainedConfig and their configurations).
constexpr std::string_view kTied[] = {"gemma",       "cohere", "falcon", "gpt2",
                                      "gpt_bigcode", "bloom",  "opt"};

/// What a config.json may leave out, as its class in huggingface/transformers has it
/// (models/gemma2/configuration_gemma2.py, models/gemma3/configuration_gemma3.py).
struct ClassDefault {
  std::string_view type;
  std::string_view key;
  std::int64_t value;
};
constexpr ClassDefault kClassDefaults[] = {{"gemma2", "sliding_window_pattern", 2},
                                           {"gemma3_text", "num_attention_heads", 8},
                                           {"gemma3_text", "num_key_value_heads", 4},
                                           {"gemma3_text", "head_dim", 256},
                                           {"gemma3_text", "vocab_size", 262208},
                                           {"gemma3_text", "sliding_window_pattern", 6},
                                           {"gemma3_text", "max_position_embeddings", 131072}};

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

class ConfigReader {
 public:
  ConfigReader(const ObjectReader& top, std::string name)
      : top_(top), own_(std::make_shared<OwnModel>()) {
    own_->name = std::move(name);
    for (const std::string_view inner : kInnerConfigs) {
      if (top.has(inner) && top.value(inner).is_object()) text_ = top.open_object(inner);
    }
  }

  ModelConfig read() {
    const ObjectReader& o = text();
    type_ = o.text("model_type").value_or(top_.text("model_type").value_or(""));
    if (own_->name.empty()) own_->name = top_.text("_name_or_path").value_or("");
    if (own_->name.empty()) own_->name = type_.empty() ? "model" : type_;
    if (o.has("hybrid_override_pattern")) {
      o.fail("hybrid_override_pattern",
             "layers of state-space models between attention are not modelled; expected a "
             "transformer");
    }
    if (o.boolean("is_encoder_decoder").value_or(false)) {
      o.fail("is_encoder_decoder", "encoder-decoder models are not modelled; expected a decoder");
    }
    ModelSpec& m = own_->spec;
    m.name = own_->name;
    m.layers = narrow(need({"num_hidden_layers", "n_layer", "num_layers"}, 1024));
    m.hidden = narrow(need({"hidden_size", "n_embd", "d_model"}, kMostWidth));
    m.q_heads = narrow(need({"num_attention_heads", "n_head"}, 1 << 16));
    m.vocab = narrow(need({"vocab_size", "padded_vocab_size"}, kMostWidth));
    m.kv_layers = m.layers;
    const auto among = [&](std::span<const std::string_view> types) {
      return std::find(types.begin(), types.end(), type_) != types.end();
    };
    m.qk_norm = o.boolean("use_qk_norm").value_or(among(kNormedQueries));
    m.norms = among(kFourNorms) ? 4 : 2;
    read_attention();
    read_feed_forward();
    read_positions();
    read_layers();
    count_weights();
    ModelConfig out;
    out.weights = read_quantization(top_.has("quantization_config") ? top_ : text(), m.layers);
    out.notes = std::move(notes_);
    out.model = std::move(own_);
    return out;
  }

 private:
  const ObjectReader& text() const { return text_ ? *text_ : top_; }

  std::optional<std::int64_t> any(KeyNames names, std::int64_t least, std::int64_t most) const {
    for (const std::string_view name : names) {
      if (const auto value = text().integer(name, least, most)) return value;
    }
    for (const ClassDefault& usual : kClassDefaults) {
      if (usual.type == type_ && std::find(names.begin(), names.end(), usual.key) != names.end()) {
        return usual.value;
      }
    }
    return std::nullopt;
  }
  std::int64_t need(KeyNames names, std::int64_t most) const {
    if (const auto value = any(names, 1, most)) return *value;
    text().missing(*names.begin(),
                   "a whole number, as config.json of the model hub has it; or a model of the "
                   "catalogue by name (spillway list models)");
  }

  void read_attention() {
    ModelSpec& m = own_->spec;
    if (const auto rank = any({"kv_lora_rank"}, 1, kMostWidth)) {
      m.kv_heads = 1;
      m.kv_lora_rank = narrow(*rank);
      m.qk_nope_dim = narrow(need({"qk_nope_head_dim"}, kMostWidth));
      m.qk_rope_dim = narrow(need({"qk_rope_head_dim"}, kMostWidth));
      m.v_head_dim = narrow(need({"v_head_dim"}, kMostWidth));
      m.q_lora_rank = narrow(any({"q_lora_rank"}, 0, kMostWidth).value_or(0));
      m.kv_elements_per_token_layer = m.kv_lora_rank + m.qk_rope_dim;
      return;
    }
    // Falcon: heads are counted where the decoder is the new one (configuration_falcon.py).
    const bool one = text().boolean("multi_query").value_or(false) &&
                     !text().boolean("new_decoder_architecture").value_or(false);
    const auto heads =
        any({"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}, 1, 1 << 16);
    m.kv_heads = narrow(one ? 1 : heads.value_or(m.q_heads));
    const auto width = any({"head_dim", "kv_channels"}, 1, kMostWidth);
    m.head_dim = narrow(width.value_or(m.hidden / m.q_heads));
    if (m.head_dim < 1) text().fail("hidden_size", "expected at least one element a head");
    m.kv_elements_per_token_layer = std::int64_t{2} * m.kv_heads * m.head_dim;
  }

  void read_feed_forward() {
    ModelSpec& m = own_->spec;
    m.intermediate =
        narrow(any({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, 1, kMostWidth)
                   .value_or(std::int64_t{4} * m.hidden));
    if (std::find(std::begin(kUngated), std::end(kUngated), type_) != std::end(kUngated)) {
      m.intermediate = m.intermediate * 2 / 3;  // as many weights in three matrices
    }
    const auto experts =
        any({"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"}, 0, 1 << 16)
            .value_or(0);
    if (experts < 2) return;
    m.experts = narrow(experts);
    m.experts_per_token =
        narrow(any({"num_experts_per_tok", "moe_topk", "moe_k"}, 1, experts).value_or(0));
    if (m.experts_per_token == 0) need({"num_experts_per_tok"}, experts);
    m.expert_intermediate =
        narrow(any({"moe_intermediate_size"}, 1, kMostWidth).value_or(m.intermediate));
    m.shared_experts =
        narrow(any({"n_shared_experts", "moe_num_shared_experts"}, 0, 1 << 12).value_or(0));
    if (const auto shared = any({"shared_expert_intermediate_size"}, 1, kMostWidth)) {
      m.shared_experts = narrow(
          std::max<std::int64_t>(1, (*shared + m.expert_intermediate / 2) / m.expert_intermediate));
    }
    m.first_dense_layers =
        narrow(any({"first_k_dense_replace"}, 0, m.layers).value_or(listed("mlp_only_layers")));
    const auto step = any({"decoder_sparse_step", "interleave_moe_layer_step"}, 1, 1024);
    if (step && *step > 1) m.first_dense_layers = narrow(m.layers - m.layers / *step);
    if (const auto dense = any({"intermediate_size_mlp"}, 1, kMostWidth)) {
      // Llama 4: intermediate_size is an expert's, and each such layer has a shared one
      // (models/llama4/modeling_llama4.py).
      m.expert_intermediate = m.intermediate;
      m.intermediate = narrow(*dense);
      m.shared_experts = 1;
    }
  }

  std::int64_t listed(std::string_view key) const {
    const ObjectReader& o = text();
    return o.has(key) && o.value(key).is_array() ? std::int64_t(o.value(key).size()) : 0;
  }

  /// Entries of a list that are `value`.
  std::int64_t listed_as(std::string_view key, int value) const {
    const ObjectReader& o = text();
    if (!o.has(key) || !o.value(key).is_array()) return 0;
    return std::count(o.value(key).begin(), o.value(key).end(), nlohmann::json(value));
  }

  /// vllm/config/model.py, _get_and_verify_max_len: which scalings lengthen the context.
  void read_positions() {
    ModelSpec& m = own_->spec;
    m.max_position =
        narrow(any({"max_position_embeddings", "n_positions", "seq_length"}, 1, kMostPosition)
                   .value_or(2048));
    for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
      if (!text().has(key) || !text().value(key).is_object()) continue;
      const auto rope = text().open_object(key);
      const std::string type =
          rope->text("rope_type").value_or(rope->text("type").value_or("default"));
      const double factor = rope->number("factor", 1e-3, 1e6).value_or(1);
      double from = m.max_position;
      if (type == "yarn") {
        from = rope->number("original_max_position_embeddings", 1, kMostPosition).value_or(from);
      } else if (type != "linear" && type != "dynamic") {
        continue;
      }
      m.max_position =
          narrow(static_cast<std::int64_t>(std::min(from * factor, double(kMostPosition))));
    }
  }

  /// Which layers keep KV per token, and which of them a window only.
  void read_layers() {
    ModelSpec& m = own_->spec;
    const ObjectReader& o = text();
    const auto chunk = any({"attention_chunk_size"}, 1, kMostPosition);
    const std::int64_t window =
        chunk ? *chunk : any({"sliding_window"}, 1, kMostPosition).value_or(0);
    m.window = narrow(window);
    if (const auto types = o.texts("layer_types")) {
      const auto has = [&](const char* what) {
        return narrow(std::count_if(types->begin(), types->end(), [&](const std::string& type) {
          return type.find(what) != std::string::npos;
        }));
      };
      m.kv_layers = has("attention") - has("linear_attention");
      m.sliding_layers = has("sliding") + has("chunked");
    } else if (const auto every = any({"full_attention_interval", "attn_layer_period"}, 1, 1024)) {
      m.kv_layers = narrow(m.layers / *every);
    } else if (const auto pattern =
                   any({"sliding_window_pattern", "_sliding_window_pattern"}, 1, 1024)) {
      m.sliding_layers = narrow(m.layers - m.layers / *pattern);
    } else if (const std::int64_t softmax = listed_as("attn_type_list", 1); softmax > 0) {
      m.kv_layers = narrow(softmax);  // MiniMax: 0 is linear attention
    } else if (chunk) {
      // Llama 4: each fourth layer reads everything (no_rope_layer_interval's default).
      constexpr std::int64_t kUsualInterval = 4;
      m.sliding_layers = narrow(
          m.layers - m.layers / any({"no_rope_layer_interval"}, 1, 1024).value_or(kUsualInterval));
    } else if (window > 0 && o.boolean("use_sliding_window").value_or(!type_.starts_with("qwen"))) {
      // Qwen's first layers stay full, and none slides unless told (configuration_qwen2.py).
      const bool qwen = type_.starts_with("qwen");
      const auto full = qwen ? any({"max_window_layers"}, 0, m.layers) : std::nullopt;
      m.sliding_layers = narrow(m.layers - full.value_or(0));
    }
    if (m.kv_layers < 1) {
      o.fail("layer_types", "expected at least one layer with attention: others keep no KV");
    }
    if (m.sliding_layers == 0 || m.window == 0) m.sliding_layers = m.window = 0;
    if (chunk && m.sliding_layers > 0) {
      notes_.push_back(
          scenario_note("chunked-attention",
                        {{"model", m.name}, {"layers", m.sliding_layers}, {"window", m.window}}));
    }
    if (o.has("index_topk")) {
      notes_.push_back(scenario_note("sparse-attention", {{"model", m.name}}));
    }
    if (m.kv_layers < m.layers) {
      notes_.push_back(
          scenario_note("layers-without-kv",
                        {{"model", m.name}, {"kv_layers", m.kv_layers}, {"layers", m.layers}}));
    }
  }

  bool usually_tied() const {
    return std::any_of(std::begin(kTied), std::end(kTied),
                       [&](std::string_view family) { return type_.starts_with(family); });
  }

  void count_weights() {
    ModelSpec& m = own_->spec;
    const bool tied = text()
                          .boolean("tie_word_embeddings")
                          .value_or(top_.boolean("tie_word_embeddings").value_or(usually_tied()));
    const double embeddings = double(m.vocab) * m.hidden * (tied ? 1 : 2);
    m.params_total = static_cast<std::int64_t>(matrix_weights(m) + embeddings);
    m.weight_bytes = m.params_total * 2;
    m.weight_type = "bf16";
  }

  const ObjectReader& top_;
  std::optional<ObjectReader> text_;
  std::shared_ptr<OwnModel> own_;
  std::string type_;
  Notes notes_;
};

}  // namespace

ModelConfig read_model_config(const ObjectReader& config, const std::string& name) {
  return ConfigReader(config, name).read();
}

std::span<const std::string_view> model_config_keys() {
  return kConfigKeys;
}

std::span<const std::string_view> inner_config_keys() {
  return kInnerConfigs;
}

}  // namespace spillway

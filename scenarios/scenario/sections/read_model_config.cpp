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
                                            "num_hidden_layers",
                                            "n_layer",
                                            "num_layers",
                                            "hidden_size",
                                            "n_embd",
                                            "d_model",
                                            "num_attention_heads",
                                            "n_head",
                                            "num_key_value_heads",
                                            "multi_query",
                                            "head_dim",
                                            "intermediate_size",
                                            "n_inner",
                                            "ffn_dim",
                                            "ffn_hidden_size",
                                            "vocab_size",
                                            "max_position_embeddings",
                                            "n_positions",
                                            "seq_length",
                                            "rope_scaling",
                                            "rope_parameters",
                                            "tie_word_embeddings",
                                            "num_local_experts",
                                            "n_routed_experts",
                                            "num_experts",
                                            "num_experts_per_tok",
                                            "moe_topk",
                                            "moe_intermediate_size",
                                            "n_shared_experts",
                                            "shared_expert_intermediate_size",
                                            "first_k_dense_replace",
                                            "decoder_sparse_step",
                                            "mlp_only_layers",
                                            "kv_lora_rank",
                                            "qk_rope_head_dim",
                                            "q_lora_rank",
                                            "layer_types",
                                            "sliding_window",
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

/// What a config.json may leave out, as its class in huggingface/transformers has it
/// (models/gemma3/configuration_gemma3.py).
struct ClassDefault {
  std::string_view type;
  std::string_view key;
  std::int64_t value;
};
constexpr ClassDefault kClassDefaults[] = {{"gemma3_text", "num_attention_heads", 8},
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
    for (const std::string_view inner : {"text_config", "llm_config"}) {
      if (top.has(inner) && top.value(inner).is_object()) text_ = top.open_object(inner);
    }
  }

  ModelConfig read() {
    const ObjectReader& o = text();
    type_ = o.text("model_type").value_or(top_.text("model_type").value_or(""));
    if (own_->name.empty()) own_->name = top_.text("_name_or_path").value_or("");
    if (own_->name.empty()) own_->name = type_.empty() ? "model" : type_;
    if (o.boolean("is_encoder_decoder").value_or(false)) {
      o.fail("is_encoder_decoder", "encoder-decoder models are not modelled; expected a decoder");
    }
    ModelSpec& m = own_->spec;
    m.name = own_->name;
    m.layers = narrow(need({"num_hidden_layers", "n_layer", "num_layers"}, 1024));
    m.hidden = narrow(need({"hidden_size", "n_embd", "d_model"}, kMostWidth));
    m.q_heads = narrow(need({"num_attention_heads", "n_head"}, 1 << 16));
    m.vocab = narrow(need({"vocab_size"}, kMostWidth));
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
    out.weight_dtype = quantised_to();
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
      m.qk_rope_dim = narrow(need({"qk_rope_head_dim"}, kMostWidth));
      m.q_lora_rank = narrow(any({"q_lora_rank"}, 0, kMostWidth).value_or(0));
      m.kv_elements_per_token_layer = m.kv_lora_rank + m.qk_rope_dim;
      return;
    }
    const bool one = text().boolean("multi_query").value_or(false);
    m.kv_heads = narrow(any({"num_key_value_heads"}, 1, 1 << 16).value_or(one ? 1 : m.q_heads));
    const auto width = any({"head_dim"}, 1, kMostWidth);
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
        any({"num_local_experts", "n_routed_experts", "num_experts"}, 0, 1 << 16).value_or(0);
    if (experts < 2) return;
    m.experts = narrow(experts);
    m.experts_per_token = narrow(any({"num_experts_per_tok", "moe_topk"}, 1, experts).value_or(0));
    if (m.experts_per_token == 0) need({"num_experts_per_tok"}, experts);
    m.expert_intermediate =
        narrow(any({"moe_intermediate_size"}, 1, kMostWidth).value_or(m.intermediate));
    m.shared_experts = narrow(any({"n_shared_experts"}, 0, 1 << 12).value_or(0));
    if (const auto shared = any({"shared_expert_intermediate_size"}, 1, kMostWidth)) {
      m.shared_experts = narrow(
          std::max<std::int64_t>(1, (*shared + m.expert_intermediate / 2) / m.expert_intermediate));
    }
    m.first_dense_layers =
        narrow(any({"first_k_dense_replace"}, 0, m.layers).value_or(listed("mlp_only_layers")));
    if (const auto step = any({"decoder_sparse_step"}, 1, 1024); step && *step > 1) {
      m.first_dense_layers = narrow(m.layers - m.layers / *step);
    }
  }

  std::int64_t listed(std::string_view key) const {
    const ObjectReader& o = text();
    return o.has(key) && o.value(key).is_array() ? std::int64_t(o.value(key).size()) : 0;
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
    const std::int64_t window = any({"sliding_window"}, 1, kMostPosition).value_or(0);
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
    } else if (window > 0 && o.boolean("use_sliding_window").value_or(true)) {
      m.sliding_layers = m.layers;
    }
    if (m.kv_layers < 1) {
      o.fail("layer_types", "expected at least one layer with attention: others keep no KV");
    }
    if (m.sliding_layers == 0 || m.window == 0) m.sliding_layers = m.window = 0;
    if (m.kv_layers < m.layers) {
      notes_.push_back(
          scenario_note("layers-without-kv",
                        {{"model", m.name}, {"kv_layers", m.kv_layers}, {"layers", m.layers}}));
    }
  }

  void count_weights() {
    ModelSpec& m = own_->spec;
    const bool tied = text()
                          .boolean("tie_word_embeddings")
                          .value_or(top_.boolean("tie_word_embeddings").value_or(false));
    const double embeddings = double(m.vocab) * m.hidden * (tied ? 1 : 2);
    m.params_total = static_cast<std::int64_t>(matrix_weights(m) + embeddings);
    m.weight_bytes = m.params_total * 2;
  }

  /// The name of a weight type; empty: not quantised.
  std::string quantised_to() const {
    const ObjectReader& o = top_.has("quantization_config") ? top_ : text();
    if (!o.has("quantization_config") || !o.value("quantization_config").is_object()) return {};
    const auto q = o.open_object("quantization_config");
    const std::string method = q->text("quant_method").value_or("");
    const auto starts = [&](const char* with) { return method.starts_with(with); };
    const auto whole = [&](const ObjectReader& in, const char* key) {
      const auto bits = in.integer(key, 1, 64);
      if (bits == 4) return std::string("int4");
      if (bits == 8) return std::string("int8");
      in.fail(key, "expected 4 or 8 bits: other widths are not modelled");
    };
    if (method == "fp8" || method == "fbgemm_fp8" || method == "ptpc_fp8") return "fp8";
    if (method == "mxfp4") return "fp4";
    if (starts("awq") || starts("gptq") || starts("auto")) return whole(*q, "bits");
    if (method == "bitsandbytes") {
      return q->boolean("load_in_8bit").value_or(false) ? "int8" : "int4";
    }
    if (starts("modelopt")) {
      const std::string algo = q->text("quant_algo").value_or("FP8");
      return algo.find("FP4") != std::string::npos ? "fp4" : "fp8";
    }
    if (starts("compressed")) return compressed(*q);
    q->fail("quant_method",
            fmt::format("\"{}\" is not modelled; expected fp8, awq, gptq, compressed-tensors, "
                        "modelopt, mxfp4 or bitsandbytes, or model.weight_dtype beside config",
                        method));
  }

  /// compressed-tensors: the first group's weights.
  static std::string compressed(const ObjectReader& q) {
    const auto groups = q.open_object("config_groups");
    if (!groups || groups->keys().empty()) q.missing("config_groups", "groups of weights");
    const auto group = groups->open_object(groups->keys().front());
    const auto weights = group->open_object("weights");
    if (!weights) group->missing("weights", "num_bits and type of the weights");
    const std::int64_t bits = weights->require_integer("num_bits", 4, 8);
    const bool real = weights->text("type").value_or("int") == "float";
    if (bits != 4 && bits != 8) weights->fail("num_bits", "expected 4 or 8");
    return fmt::format("{}{}", real ? "fp" : "int", bits);
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

}  // namespace spillway

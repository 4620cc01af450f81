// In which type a checkpoint keeps its layers, from the quantization_config of its config.json.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/catalogue/weights.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kUsualGroup = 128;  // of AWQ and GPTQ
constexpr std::int64_t kMostGroup = 1 << 20;

/// Where checkpoints list what is left as it was.
constexpr std::string_view kLeftOut[] = {"modules_to_not_convert", "ignore", "ignored_layers",
                                         "exclude_modules", "llm_int8_skip_modules"};

WeightChoice of_type(std::string_view dtype) {
  WeightChoice out;
  out.dtype = dtype;
  out.format = find_weight_type(dtype, {}).format;
  return out;
}

WeightChoice of_bits(const ObjectReader& q, std::string_view key, bool symmetric) {
  const auto bits = q.integer(key, 1, 64);
  if (bits != 4 && bits != 8) q.fail(key, "expected 4 or 8 bits: other widths are not modelled");
  const std::int64_t group = q.integer("group_size", -1, kMostGroup).value_or(kUsualGroup);
  WeightChoice out = of_type(bits == 4 ? "int4" : "int8");
  out.format.bytes = grouped_bytes(static_cast<int>(*bits), group, symmetric);
  return out;
}

/// compressed-tensors: the first group's weights.
WeightChoice compressed(const ObjectReader& q) {
  const auto groups = q.open_object("config_groups");
  if (!groups || groups->keys().empty()) q.missing("config_groups", "groups of weights");
  const auto group = groups->open_object(groups->keys().front());
  const auto weights = group->open_object("weights");
  if (!weights) group->missing("weights", "num_bits and type of the weights");
  const std::int64_t bits = weights->require_integer("num_bits", 4, 8);
  if (bits != 4 && bits != 8) weights->fail("num_bits", "expected 4 or 8");
  const bool inputs =
      group->has("input_activations") && group->value("input_activations").is_object();
  const std::int64_t of = weights->integer("group_size", -1, kMostGroup).value_or(0);
  if (weights->text("type").value_or("int") == "float") {
    WeightChoice out = of_type(bits == 8 ? "fp8" : "fp4");
    constexpr double kScaleBits = 8;
    if (bits == 4 && of > 0) out.format.bytes = (4 + kScaleBits / double(of)) / 8;
    if (!inputs) out.format.as = Multiplied::kWidened;
    return out;
  }
  WeightChoice out = of_type(bits == 4 ? "int4" : inputs ? "w8a8" : "int8");
  const bool symmetric = weights->boolean("symmetric").value_or(true);
  out.format.bytes = grouped_bytes(static_cast<int>(bits), of, symmetric);
  return out;
}

WeightChoice of_method(const ObjectReader& q) {
  const std::string method = q.text("quant_method").value_or("");
  const auto starts = [&](const char* with) { return method.starts_with(with); };
  if (method == "fp8" || method == "fbgemm_fp8" || method == "ptpc_fp8") return of_type("fp8");
  if (method == "mxfp4") return of_type("mxfp4");
  if (starts("awq")) return of_bits(q, "bits", !q.boolean("zero_point").value_or(true));
  if (starts("gptq") || starts("auto")) return of_bits(q, "bits", q.boolean("sym").value_or(true));
  if (method == "bitsandbytes") {
    return of_type(q.boolean("load_in_8bit").value_or(false) ? "int8" : "int4");
  }
  if (starts("modelopt")) {
    const std::string algo = q.text("quant_algo").value_or("FP8");
    return of_type(algo.find("FP4") != std::string::npos ? "fp4" : "fp8");
  }
  if (starts("compressed")) return compressed(q);
  q.fail("quant_method",
         fmt::format("\"{}\" is not modelled; expected fp8, awq, gptq, compressed-tensors, "
                     "modelopt, mxfp4 or bitsandbytes, or model.weight_dtype beside config",
                     method));
}

/// Whether attention's matrices stay as they were: a pattern names them for all layers, or half
/// the layers and more are listed.
bool leaves_attention(const ObjectReader& q, std::int32_t layers) {
  std::int64_t listed = 0;
  for (const std::string_view key : kLeftOut) {
    if (!q.has(key) || !q.value(key).is_array()) continue;
    for (const auto& entry : q.value(key)) {
      const std::string name = entry.is_string() ? entry.get<std::string>() : "";
      if (name.find("attn") == std::string::npos || name.find("norm") != std::string::npos ||
          name.find("vis") != std::string::npos) {
        continue;
      }
      const bool one =
          std::any_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!one) return true;
      ++listed;
    }
  }
  return 2 * listed >= layers;
}

}  // namespace

std::optional<WeightChoice> read_quantization(const ObjectReader& config, std::int32_t layers) {
  constexpr std::string_view kKey = "quantization_config";
  if (!config.has(kKey) || !config.value(kKey).is_object()) return std::nullopt;
  const auto q = config.open_object(kKey);
  WeightChoice out = of_method(*q);
  if (leaves_attention(*q, layers)) out.format.attention = false;
  return out;
}

}  // namespace spillway

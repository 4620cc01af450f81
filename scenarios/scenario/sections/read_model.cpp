// Which model: by name from the catalogue, from its config.json, or its KV bytes alone.
#include <fmt/format.h>

#include <filesystem>

#include "models/catalogue/weights.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr std::string_view kKvDtypes[] = {"auto", "bf16",     "bfloat16", "fp16", "float16",
                                          "fp8",  "fp8_e4m3", "fp8_e5m2", "int8", "fp4"};
constexpr std::string_view kWeightDtypes[] = {"bf16", "fp8", "int8", "int4", "fp4"};
constexpr std::int64_t kMostLayers = 1024;
constexpr Key kModelKeys[] = {
    aside(text_key("name", "Name from spillway list models.")),
    aside(or_form(Key{.name = "config",
                      .form = KeyForm::kObject,
                      .help = "config.json of a model outside the list: its path, or its content."},
                  KeyForm::kText)),
    integer_key("kv_bytes_per_token", 1, std::int64_t{1} << 40,
                "KV bytes of a token over all layers.", "from the model"),
    aside(choice_key("kv_dtype", kKvDtypes, "Data type of the KV cache.",
                     "auto: the type of the model")),
    integer_key("layers", 1, kMostLayers, "Layers with KV. Only without a named model."),
    aside(choice_key("weight_dtype", kWeightDtypes, "Data type of the weights of the layers.",
                     "as published"))};

struct WeightType {
  std::string_view name;
  double bytes;        ///< of one weight of a layer, scales included
  bool bf16_products;  ///< kernels widen the weights, and multiply in BF16
};
// Groups of 128 weights with a 16-bit scale and a 4-bit zero (AWQ, GPTQ): 4.16 bits; of 16 with an
// 8-bit scale (NVFP4): 4.5 bits.
constexpr WeightType kWeightTypes[] = {{"bf16", 2, false},
                                       {"fp8", 1, false},
                                       {"int8", 1, true},
                                       {"int4", 4.16 / 8, true},
                                       {"fp4", 4.5 / 8, false}};

std::string folder_of_model(const Scenario& s) {
  return std::filesystem::path(s.path).parent_path().string();
}

/// model.config: the file, or what stands in it.
ModelConfig config_of(const ObjectReader& model, const Scenario& s) {
  const std::string name = model.text("name").value_or("");
  if (model.value("config").is_object()) {
    return read_model_config(*model.open_object("config"), name);
  }
  const auto path = model.text("config", "the path of a config.json, or an object like it");
  const JsonSource file =
      JsonSource::from_file(path_beside(folder_of_model(s), model.where("config"), *path));
  return read_model_config(ObjectReader(file, "", "the model's config"), name);
}

}  // namespace

const KeyTable ScenarioKeys::kModel = kModelKeys;

std::optional<WeightChoice> weights_in(const std::string& dtype, const ModelSpec& spec,
                                       const SourceRef& where) {
  const WeightType& type =
      find_row(std::span<const WeightType>(kWeightTypes), "weight type", dtype, where);
  if (published_weight_type(spec) == dtype) return std::nullopt;
  WeightChoice out;
  out.dtype = dtype;
  out.bytes = type.bytes;
  out.bf16_products = type.bf16_products;
  out.total = weight_bytes_as(spec, out.bytes);
  return out;
}

void read_model(const ObjectReader& top, Scenario& s) {
  ModelChoice& out = *s.model;
  const auto use = [&](const ModelSpec& spec) {
    out.spec = &spec;
    out.kv_bytes_per_token = kv_bytes_per_token(spec, out.kv_dtype);
    out.layers = static_cast<std::uint32_t>(spec.kv_layers);
  };
  if (top.has("model") && top.value("model").is_string()) {
    return use(find_model(*top.text("model"), top.where("model")));
  }
  const auto model = top.object("model", ScenarioKeys::kModel);
  if (!model) top.missing("model", "a model name, or {\"kv_bytes_per_token\": ...}");
  if (const auto dtype = model->text("kv_dtype")) {
    out.kv_dtype = parse_kv_dtype(*dtype, model->where("kv_dtype"));
  }
  std::string weights;
  if (model->has("config")) {
    ModelConfig config = config_of(*model, s);
    out.own = std::move(config.model);
    weights = std::move(config.weight_dtype);
    s.notes.insert(s.notes.end(), config.notes.begin(), config.notes.end());
    use(out.own->spec);
  } else if (const auto name = model->text("name")) {
    use(find_model(*name, model->where("name")));
  }
  if (out.spec != nullptr) {
    model->refuse({"layers"}, "expected only without a name: a named model has its own");
    weights = model->text("weight_dtype").value_or(weights);
    if (!weights.empty()) {
      out.weights = weights_in(weights, *out.spec, model->where("weight_dtype"));
    }
    if (out.weights && out.weights->bf16_products) {
      s.notes.push_back(
          scenario_note("weights-widened",
                        {{"dtype", out.weights->dtype}, {"bytes_per_weight", out.weights->bytes}}));
    }
  } else {
    model->refuse({"weight_dtype"}, "expected only with a named model");
  }
  assign(out.layers, model->integer("layers"));
  if (const auto bytes = model->integer("kv_bytes_per_token")) {
    out.kv_bytes_per_token = Bytes(*bytes);
  } else if (out.spec == nullptr) {
    model->missing("name", "a model name or kv_bytes_per_token");
  }
}

}  // namespace spillway

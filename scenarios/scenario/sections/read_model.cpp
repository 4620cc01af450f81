// Which model: by name from the catalogue, from its config.json, or its KV bytes alone.
#include <fmt/format.h>

#include <filesystem>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/sections/known_models.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr std::string_view kKvDtypes[] = {"auto", "bf16",     "bfloat16", "fp16", "float16",
                                          "fp8",  "fp8_e4m3", "fp8_e5m2", "int8", "fp4"};
constexpr std::string_view kWeightDtypes[] = {"bf16", "fp8", "int8", "w8a8",
                                              "int4", "fp4", "mxfp4"};
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

std::string folder_of_model(const Scenario& s) {
  return std::filesystem::path(s.path).parent_path().string();
}

/// model.config: the file, or what stands in it.
KnownModel of_config(const ObjectReader& model, const Scenario& s) {
  const std::string name = model.text("name").value_or("");
  if (model.value("config").is_object()) {
    return configured_model(*model.open_object("config"), name);
  }
  const auto path = model.text("config", "the path of a config.json, or an object like it");
  const JsonSource file =
      JsonSource::from_file(path_beside(folder_of_model(s), model.where("config"), *path));
  return configured_model(ObjectReader(file, "", "the model's config"), name);
}

void use(KnownModel&& known, Scenario& s) {
  ModelChoice& out = *s.model;
  out.own = std::move(known.own);
  out.spec = known.spec;
  out.weights = std::move(known.weights);
  out.kv_bytes_per_token = kv_bytes_per_token(*out.spec, out.kv_dtype);
  out.layers = static_cast<std::uint32_t>(out.spec->kv_layers);
  s.notes.insert(s.notes.end(), known.notes.begin(), known.notes.end());
}

}  // namespace

const KeyTable ScenarioKeys::kModel = kModelKeys;

WeightChoice weight_choice(const std::string& dtype, const SourceRef& where) {
  WeightChoice out;
  out.dtype = dtype;
  out.format = find_weight_type(dtype, where).format;
  return out;
}

void read_model(const ObjectReader& top, Scenario& s) {
  ModelChoice& out = *s.model;
  if (top.has("model") && top.value("model").is_string()) {
    return use(known_model(*top.text("model"), top.where("model"), folder_of_model(s)), s);
  }
  const auto model = top.object("model", ScenarioKeys::kModel);
  if (!model) top.missing("model", "a model name, or {\"kv_bytes_per_token\": ...}");
  if (const auto dtype = model->text("kv_dtype")) {
    out.kv_dtype = parse_kv_dtype(*dtype, model->where("kv_dtype"));
  }
  if (model->has("config")) {
    use(of_config(*model, s), s);
  } else if (const auto name = model->text("name")) {
    use(known_model(*name, model->where("name"), folder_of_model(s)), s);
  }
  if (out.spec != nullptr) {
    model->refuse({"layers"}, "expected only without a name: a named model has its own");
    const auto dtype = model->text("weight_dtype");
    // What config.json says of the same type is more exact.
    if (dtype && !(out.weights && out.weights->dtype == *dtype)) {
      out.weights = weights_of(weight_choice(*dtype, model->where("weight_dtype")), *out.spec);
    }
    if (out.weights && out.weights->dtype == "w8a8") {
      s.notes.push_back(scenario_note("products-as-bf16"));
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

#include "scenarios/scenario/intake/intake_model.hpp"

#include <fmt/format.h>

#include <string>

#include "models/catalogue/lookup.hpp"
#include "models/catalogue/model_name.hpp"
#include "models/catalogue/unknown_model.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/sections/known_models.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

using ModelJson = nlohmann::ordered_json;

constexpr const char* kUsualModel = "Llama-3.1-8B";

/// A scenario has no nulls; in a config.json they say what a missing key says.
ModelJson without_nulls(const nlohmann::json& value) {
  if (!value.is_object()) return ModelJson::parse(value.dump());
  ModelJson out = ModelJson::object();
  for (const auto& [key, inner] : value.items()) {
    if (!inner.is_null()) out[key] = without_nulls(inner);
  }
  return out;
}

class ModelChooser {
 public:
  ModelChooser(const ServedModel& served, const IntakeOptions& options,
               const std::optional<JsonSource>& config, Draft& draft)
      : served_(served), options_(options), config_(config), draft_(draft) {}

  IntakeModel choose_and_take() {
    choose();
    return std::move(out_);
  }

 private:
  void choose() {
    if (!options_.model.empty() && !config_ &&
        named_model(options_.model).match != NamedModel::Match::kExact &&
        !own_model(options_.model)) {
      find_model(options_.model, {"--model", 0, ""});
    }
    std::string given = options_.model.empty() ? served_.model : options_.model;
    const std::string written = given;
    while (given.size() > 1 && given.ends_with('/')) given.pop_back();
    const std::string origin = options_.model.empty() ? "the command's model" : "--model";
    const bool open = given.empty() || given.find_first_of("$<>") != std::string::npos;
    std::string weights = weight_dtype_of(served_.quantization);
    if (config_) return from_config(open ? "" : given, weights);
    NamedModel named = open ? NamedModel{} : named_model(given);
    std::optional<KnownModel> own;
    if (!open && named.match != NamedModel::Match::kExact) own = own_model(given);
    if (own) {
      named = {own->spec, NamedModel::Match::kExact, own->weights ? own->weights->dtype : ""};
    }
    if (weights.empty()) weights = named.weight_dtype;
    std::string hub;
    if (names_gguf(given)) {
      hub = " of the original model (a GGUF file holds none)";
    } else if (given.find('/') != std::string::npos && given.front() != '/') {
      hub = fmt::format(" (https://huggingface.co/{}/resolve/main/config.json)", given);
    }
    if (named.spec == nullptr) {
      out_.assumed = true;
      draft_.set("model.name", kUsualModel,
                 "ASSUMED: " + (given.empty() ? "no model is named" : given + " is not known"));
      draft_.remark(Standing::kAssumed,
                    given.empty() ? std::string("model") : fmt::format("model {}", written),
                    fmt::format("not in the catalogue: {} stands in its place. Give --config "
                                "config.json{}, or --model NAME (spillway list models)",
                                kUsualModel, hub));
    } else {
      out_.shape = *named.spec;
      const std::string name(named.spec->name);
      std::string from = origin;
      switch (named.match) {
        case NamedModel::Match::kSize:
          out_.assumed = true;
          from = fmt::format("ASSUMED: the nearest in size to {}", given);
          draft_.remark(Standing::kAssumed, fmt::format("model {}", written),
                        fmt::format("not in the catalogue: {}, the nearest in size, stands in its "
                                    "place. Give --config config.json{}",
                                    name, hub));
          break;
        case NamedModel::Match::kVariant:
          from = fmt::format("{}: {}, whose shape it has", origin, given);
          draft_.remark(Standing::kUsed, written, fmt::format("model.name {}", name));
          break;
        default:
          draft_.remark(Standing::kUsed, written, fmt::format("model.name {}", name));
      }
      draft_.set("model.name", name, from);
    }
    if (!weights.empty()) {
      if (served_.quantization.empty()) {
        draft_.remark(Standing::kUsed, fmt::format("{} in the model's name", weights),
                      "model.weight_dtype");
      }
      draft_.set("model.weight_dtype", weights,
                 served_.quantization.empty() ? "the model's name"
                                              : "--quantization " + served_.quantization);
    }
    if (draft_.at("name") == "served" && !given.empty() && !open) {
      draft_.set("name", given.substr(given.rfind('/') + 1), "the model");
    }
  }

  /// The shape as the file has it, with the members that decide it.
  void from_config(const std::string& given, const std::string& weights) {
    const ObjectReader top(*config_, "", "config.json");
    const std::string name = given.empty() ? "" : given;
    const ModelConfig read = read_model_config(top, name);
    out_.shape = read.model->spec;
    draft_.set("model.name", std::string(read.model->spec.name), "the model");
    ModelJson config = ModelJson::object();
    const auto keep = [](const nlohmann::json& from, ModelJson& to) {
      for (const std::string_view key : model_config_keys()) {
        if (from.contains(key) && !from[std::string(key)].is_null() &&
            !from[std::string(key)].is_object()) {
          to[std::string(key)] = ModelJson::parse(from[std::string(key)].dump());
        }
      }
      for (const char* key : {"rope_scaling", "rope_parameters", "quantization_config"}) {
        if (from.contains(key) && from[key].is_object()) to[key] = without_nulls(from[key]);
      }
    };
    const nlohmann::json& root = config_->root();
    keep(root, config);
    for (const std::string_view key : inner_config_keys()) {
      const std::string inner(key);
      if (!root.contains(inner) || !root[inner].is_object()) continue;
      config[inner] = ModelJson::object();
      keep(root[inner], config[inner]);
    }
    draft_.set("model.config", std::move(config), config_->name());
    const std::string dtype = !weights.empty() ? weights
                              : read.weights   ? read.weights->dtype
                                               : std::string();
    if (!dtype.empty()) {
      draft_.set("model.weight_dtype", dtype,
                 weights.empty() ? "quantization_config" : "--quantization");
    }
    if (draft_.at("name") == "served") {
      draft_.set("name", std::string(read.model->spec.name), "the model");
    }
    draft_.remark(Standing::kUsed, config_->name(), "model.config");
  }

  const ServedModel& served_;
  const IntakeOptions& options_;
  const std::optional<JsonSource>& config_;
  Draft& draft_;
  IntakeModel out_;
};

}  // namespace

IntakeModel choose_model(const ServedModel& served, const IntakeOptions& options,
                         const std::optional<JsonSource>& config, Draft& draft) {
  return ModelChooser(served, options, config, draft).choose_and_take();
}

}  // namespace spillway

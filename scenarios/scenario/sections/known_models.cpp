#include "scenarios/scenario/sections/known_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "models/catalogue/lookup.hpp"
#include "models/catalogue/model_name.hpp"
#include "models/catalogue/unknown_model.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSlash = "--";

std::string model_of_file(const fs::path& path) {
  std::string out = path.stem().string();
  for (std::size_t at = out.find(kSlash); at != std::string::npos; at = out.find(kSlash, at + 1)) {
    out.replace(at, kSlash.size(), "/");
  }
  return out;
}

std::string file_of_model(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '/') {
      out += kSlash;
    } else {
      out += c;
    }
  }
  return out + ".json";
}

/// Whatever a shell or a file system takes amiss is refused.
void check_name(const std::string& name, const SourceRef& where) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  constexpr std::size_t kLongest = 200;
  if (name.empty() || name.size() > kLongest || name.front() == '.' || name.front() == '/' ||
      name.find(kSlash) != std::string::npos || !std::all_of(name.begin(), name.end(), plain)) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("\"{}\" is no name of a model; expected letters, digits and - _ . "
                                 "/, as on the model hub",
                                 name));
  }
}

std::vector<fs::path> own_files() {
  std::vector<fs::path> out;
  const fs::path folder = own_models_folder();
  if (folder.empty()) return out;
  std::error_code none;  // a folder that is not there holds none
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

ListedModel read_own(const fs::path& path, const std::string& name) {
  const JsonSource file = JsonSource::from_file(path.string());
  return {configured_model(ObjectReader(file, "", "the model's config"), name), path.string()};
}

std::optional<ListedModel> listed(std::string_view name) {
  const std::string wanted = folded(name);
  const std::string last = folded(name.substr(name.rfind('/') + 1));
  std::optional<fs::path> by_last;
  for (const fs::path& path : own_files()) {
    const std::string own = model_of_file(path);
    if (folded(own) == wanted) return read_own(path, own);
    if (folded(own.substr(own.rfind('/') + 1)) == last) by_last = path;
  }
  if (!by_last) return std::nullopt;
  return read_own(*by_last, model_of_file(*by_last));
}

Note understood(const std::string& given, const KnownModel& model) {
  const std::string weights =
      model.weights ? model.weights->dtype : std::string(model.spec->weight_type);
  return scenario_note("model-understood",
                       {{"given", given}, {"model", model.spec->name}, {"weights", weights}});
}

/// Without more and more of the marks behind the name. None where one of the catalogue is nearer.
std::optional<ListedModel> listed_stem(const std::string& name, const SourceRef& where) {
  const std::string organisation = name.substr(0, name.rfind('/') + 1);
  const std::vector<NameStem> stems = name_stems(name);
  for (const NameStem& stem : stems) {
    if (known_model_spec(stem.name) != nullptr) return std::nullopt;
    auto found = listed(organisation + stem.name);
    if (!found) continue;
    if (&stem == &stems.front()) return found;
    KnownModel& model = found->model;
    // What config.json says of the same type is more exact.
    const bool said = model.weights && model.weights->dtype == stem.weight_dtype;
    if (!stem.weight_dtype.empty() && !said) {
      model.weights = weights_of(weight_choice(stem.weight_dtype, where), *model.spec);
    }
    model.notes.push_back(understood(name, model));
    return found;
  }
  return std::nullopt;
}

/// The nearest names, and how others are brought.
[[noreturn]] void refuse_unknown(const std::string& name, const SourceRef& where) {
  if (ambiguous_model(name)) find_model(name, where);  // which says what it could mean
  std::vector<std::string> own;
  for (const fs::path& path : own_files()) own.push_back(model_of_file(path));
  std::vector<Alias> known = model_labels();
  for (const std::string& model : own) known.push_back({model, model});
  throw InputError(Fault::kUsage, where,
                   unknown_model(name, std::move(known),
                                 ". For any other model give the path of its config.json, or add "
                                 "it to your list: spillway list models --add config.json"));
}

}  // namespace

std::optional<WeightChoice> weights_of(std::optional<WeightChoice> weights, const ModelSpec& spec) {
  if (!weights || weights->dtype == spec.weight_type) return std::nullopt;
  weights->total = weight_bytes_as(spec, weights->format);
  return weights;
}

KnownModel configured_model(const ObjectReader& config, const std::string& name) {
  ModelConfig read = read_model_config(config, name);
  KnownModel out;
  out.own = std::move(read.model);
  out.spec = &out.own->spec;
  out.weights = weights_of(std::move(read.weights), *out.spec);
  out.notes = std::move(read.notes);
  return out;
}

KnownModel known_model(const std::string& name, const SourceRef& where, const std::string& folder) {
  if (name.ends_with(".json")) {
    const JsonSource file = JsonSource::from_file(path_beside(folder, where, name));
    return configured_model(ObjectReader(file, "", "the model's config"), "");
  }
  KnownModel out;
  out.spec = known_model_spec(name);
  if (out.spec != nullptr) return out;
  if (auto own = listed_stem(name, where)) {
    out = std::move(own->model);
    out.notes.push_back(
        scenario_note("own-model", {{"model", out.spec->name}, {"path", own->path}}));
    return out;
  }
  const NamedModel named = named_model(name);
  const bool same =
      named.match == NamedModel::Match::kExact || named.match == NamedModel::Match::kVariant;
  if (!same) refuse_unknown(name, where);
  out.spec = named.spec;
  if (!named.weight_dtype.empty()) {
    out.weights = weights_of(weight_choice(named.weight_dtype, where), *out.spec);
  }
  out.notes.push_back(understood(name, out));
  return out;
}

std::optional<KnownModel> own_model(const std::string& name) {
  auto found = listed_stem(name, {});
  if (!found) return std::nullopt;
  return std::move(found->model);
}

fs::path own_models_folder() {
  const auto set = [](const char* variable) -> fs::path {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  const fs::path data = set("XDG_DATA_HOME");
  const fs::path home = set("HOME");
  if (data.is_absolute()) return data / "spillway" / "models";  // others count as not set (XDG)
  return home.empty() ? fs::path() : home / ".local" / "share" / "spillway" / "models";
}

std::vector<ListedModel> own_models() {
  std::vector<ListedModel> out;
  for (const fs::path& path : own_files()) out.push_back(read_own(path, model_of_file(path)));
  return out;
}

ListedModel add_own_model(const std::string& config, std::string name) {
  const SourceRef option{"--name", 0, ""};
  const JsonSource file = JsonSource::from_file(config);
  const ObjectReader top(file, "", "the model's config");
  const ModelConfig read = read_model_config(top, name);
  if (name.empty()) {
    if (!top.has("_name_or_path")) {
      throw InputError(Fault::kUsage, option,
                       fmt::format("missing: {} does not say the model's name", config));
    }
    name = read.model->name;
  }
  check_name(name, option);
  if (const ModelSpec* known = known_model_spec(name)) {
    throw InputError(
        Fault::kUsage, option,
        fmt::format("\"{}\" is {} of the catalogue; expected another name", name, known->name));
  }
  if (const auto own = listed(name); own && folded(own->model.own->name) == folded(name)) {
    throw InputError(
        Fault::kUsage, option,
        fmt::format("\"{}\" is already in your list; remove {} to add it again", name, own->path));
  }
  const fs::path folder = own_models_folder();
  if (folder.empty()) {
    throw InputError(Fault::kUsage, option,
                     "no folder for your list; expected HOME or XDG_DATA_HOME to be set");
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  const fs::path path = folder / file_of_model(name);
  write_file(path.string(), file.root().dump(2) + "\n");
  return read_own(path, name);
}

}  // namespace spillway

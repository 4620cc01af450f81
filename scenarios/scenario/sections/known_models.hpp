// Models by name: those of the catalogue, and those of the user's own list.
//
// The list is a folder of config.json files, NAME.json each ("--" in a file's name stands for the
// "/" of the model's): $XDG_DATA_HOME/spillway/models, or ~/.local/share/spillway/models.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/sections/model.hpp"
#include "sim/error.hpp"
#include "sim/note.hpp"

namespace spillway {

class ObjectReader;

struct KnownModel {
  const ModelSpec* spec = nullptr;
  std::shared_ptr<const OwnModel> own;  ///< what `spec` points to, of the user's list
  std::optional<WeightChoice> weights;  ///< that its name or config.json says; none: as published
  Notes notes;                          ///< what was understood of the name
};

/// By a name of the catalogue or the user's list, or one with marks of tuning and packing behind
/// it: "Qwen/Qwen3-14B-AWQ". Or by the path of its config.json, as a scenario in `folder` means it.
/// Throws InputError for any other.
KnownModel known_model(const std::string& name, const SourceRef& where,
                       const std::string& folder = "");
KnownModel configured_model(const ObjectReader& config, const std::string& name);

/// Of the user's list alone, by a name with marks behind it, too.
std::optional<KnownModel> own_model(const std::string& name);

/// Empty where the user has no home.
std::filesystem::path own_models_folder();

struct ListedModel {
  KnownModel model;
  std::string path;
};
/// In the order of their names. Throws InputError for a file that describes no model.
std::vector<ListedModel> own_models();

/// Adds the model of a config.json to the list, as `name` (empty: as the file says), and returns
/// it. Throws InputError where the file describes no model or the name is taken.
ListedModel add_own_model(const std::string& config, std::string name);

/// Sizes what `weights` says of `spec`; nothing where that is what was published.
std::optional<WeightChoice> weights_of(std::optional<WeightChoice> weights, const ModelSpec& spec);

}  // namespace spillway

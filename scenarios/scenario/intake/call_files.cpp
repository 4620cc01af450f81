#include "scenarios/scenario/intake/call_files.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/intake/yaml_nodes.hpp"
#include "sim/input_file.hpp"

namespace spillway {

namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool mentions(const EngineCall& call, const std::string& name) {
  for (const ShellWord& word : call.words) {
    if (word.text.find(name) != std::string::npos) return true;
  }
  for (const auto& [variable, value] : call.environment) {
    if (value.find(name) != std::string::npos) return true;
  }
  return false;
}

bool has_flag(const EngineCall& call, const std::string& flag) {
  return std::any_of(call.words.begin(), call.words.end(), [&](const ShellWord& word) {
    return word.text == flag || word.text.starts_with(flag + "=") ||
           word.text.starts_with(flag + ".");
  });
}

/// A scalar as YAML has it; nested values as JSON, which flags take.
nlohmann::ordered_json json_of(const YAML::Node& node) {
  using Json = nlohmann::ordered_json;
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& entry : node) out[scalar(entry.first)] = json_of(entry.second);
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const YAML::Node& item : node) out.push_back(json_of(item));
    return out;
  }
  if (node.IsNull()) return nullptr;
  Json value = node.Tag() == "!" ? Json() : Json::parse(node.Scalar(), nullptr, false);
  return value.is_primitive() && !value.is_null() && !value.is_discarded() ? value
                                                                           : Json(node.Scalar());
}

/// vllm/utils/argparse_utils.py, load_config_file: true is the flag alone, false is nothing.
void add_config_words(const YAML::Node& root, const std::string& file,
                      std::vector<ShellWord>& words) {
  for (const auto& entry : root) {
    std::string flag = "--" + scalar(entry.first);
    std::replace(flag.begin(), flag.end(), '_', '-');
    const YAML::Node& value = entry.second;
    if (scalar(entry.first).empty()) {
      throw InputError(Fault::kUsage, place_of(value, file, ""), "expected a flag as the key");
    }
    if (value.IsNull() || scalar(value) == "false") continue;
    if (flag == "--model" || flag == "--model-tag") {
      words.push_back({scalar(value)});
      continue;
    }
    words.push_back({flag});
    if (scalar(value) == "true") continue;
    if (value.IsSequence()) {
      for (const std::string& one : texts(value)) words.push_back({one});
    } else {
      words.push_back({value.IsMap() ? json_of(value).dump() : scalar(value)});
    }
  }
}

}  // namespace

std::optional<CallFile> file_of_call(const EngineCall& call, const std::string& path) {
  const std::string base = base_name(path);
  for (const std::string& name : {path, base}) {
    if (const auto found = call.files.find(name); found != call.files.end()) {
      return CallFile{found->first, found->second};
    }
  }
  for (const auto& [name, text] : call.files) {
    if (base_name(name) == base) return CallFile{name, text};
  }
  const std::filesystem::path folder = std::filesystem::path(call.where.file).parent_path();
  std::error_code none;
  for (const std::filesystem::path& one :
       {std::filesystem::path(path), folder / path, folder / base}) {
    if (std::filesystem::is_regular_file(one, none)) {
      return CallFile{one.string(), read_text_file(one.string())};
    }
  }
  return std::nullopt;
}

bool add_settings(const EngineCall& settings, EngineCall& call) {
  call.files.insert(settings.files.begin(), settings.files.end());
  if (mentions(call, base_name(settings.settings))) return true;
  if (call.engine != settings.engine) return false;
  for (std::size_t i = 0; i < settings.words.size(); ++i) {
    const bool pair =
        i + 1 < settings.words.size() && !settings.words[i + 1].text.starts_with("--");
    if (!has_flag(call, settings.words[i].text)) {
      call.words.push_back(settings.words[i]);
      if (pair) call.words.push_back(settings.words[i + 1]);
    }
    if (pair) ++i;
  }
  call.environment.insert(settings.environment.begin(), settings.environment.end());
  call.places.insert(settings.places.begin(), settings.places.end());
  return true;
}

ConfiguredWords configured_words(const EngineCall& call) {
  ConfiguredWords out;
  out.words = call.words;
  std::string path;
  for (std::size_t i = 0; i < call.words.size(); ++i) {
    const std::string& word = call.words[i].text;
    if (word == "--config" && i + 1 < call.words.size()) path = call.words[i + 1].text;
    if (word.starts_with("--config=")) path = word.substr(9);
  }
  if (path.empty()) return out;
  const std::optional<CallFile> file = file_of_call(call, path);
  if (!file) return out;
  std::vector<ShellWord> more;
  try {
    const YAML::Node root = YAML::Load(file->text);
    if (root.IsDefined() && !root.IsNull()) {
      if (!root.IsMap()) {
        throw InputError(Fault::kUsage, {file->name, 1, ""}, "expected a mapping of flags");
      }
      add_config_words(root, file->name, more);
    }
  } catch (const YAML::Exception& e) {
    throw InputError(Fault::kUsage, {file->name, e.mark.line + 1, ""},
                     fmt::format("not YAML: {}", e.msg));
  }
  const bool model = !out.words.empty() && !out.words.front().text.starts_with("-");
  if (model && !more.empty() && !more.front().text.starts_with("-")) more.erase(more.begin());
  out.first = model ? 1 : 0;
  out.of_file = more.size();
  out.file = file->name;
  out.words.insert(out.words.begin() + static_cast<std::ptrdiff_t>(out.first), more.begin(),
                   more.end());
  return out;
}

}  // namespace spillway

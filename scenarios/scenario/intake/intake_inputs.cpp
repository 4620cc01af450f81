#include "scenarios/scenario/intake/intake_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/catalogue/lookup.hpp"
#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/input_kinds.hpp"
#include "scenarios/scenario/intake/mooncake_master.hpp"
#include "scenarios/scenario/intake/store_variables.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

void take_config(IntakeInputs& inputs, JsonSource source) {
  if (inputs.config) {
    throw InputError(
        Fault::kUsage, {source.name(), 0, ""},
        fmt::format("is a second config.json, beside {}; expected one", inputs.config->name()));
  }
  inputs.config = std::move(source);
}

/// A YAML file is no command line: whoever reads manifests tells what is wrong with it.
EngineCalls calls_in(const IntakeText& input) {
  const InputKind& kind = input_kind_of(input.text);
  const bool yaml = input.name.ends_with(".yaml") || input.name.ends_with(".yml");
  if (yaml && kind.read == calls_in_command) return calls_in_manifest(input.text, input.name);
  return kind.read(input.text, input.name);
}

bool is_worker(const EngineCall& call) {
  return std::any_of(call.words.begin(), call.words.end(),
                     [](const ShellWord& word) { return word.text == "--headless"; });
}

std::size_t picked(const std::vector<EngineCall>& starts, const IntakeOptions& options,
                   Draft& draft) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const EngineCall& one = starts[i];
    names.push_back(fmt::format(
        "{} ({}{})", i + 1, one.place.empty() ? "line " : one.place + ", line ", one.where.line));
  }
  if (!options.pick.empty()) {
    const std::size_t number = parse_whole<std::size_t>(options.pick).value_or(0);
    if (number >= 1 && number <= starts.size()) return number - 1;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if ((starts[i].place + ",").find(" " + options.pick + ",") != std::string::npos) return i;
    }
    throw InputError(
        Fault::kUsage, {"--pick", 0, ""},
        fmt::format("expected one of {}, found \"{}\"", fmt::join(names, "; "), options.pick));
  }
  std::size_t first = 0;
  while (first + 1 < starts.size() && is_worker(starts[first])) ++first;
  if (starts.size() > 1) {
    draft.remark(
        Standing::kAssumed, fmt::format("{} starts of vLLM", starts.size()),
        fmt::format("used {}; --pick takes another: {}", names[first], fmt::join(names, "; ")));
  }
  return first;
}

std::string model_of(const EngineCall& call) {
  if (call.words.empty() || call.words.front().text.starts_with("-")) return {};
  std::string name = call.words.front().text;
  while (name.ends_with('/')) name.pop_back();
  return folded(name.substr(name.rfind('/') + 1));
}

void add_log(const EngineCall& log, EngineCall& to) {
  const std::string logged = model_of(log);
  const std::string given = model_of(to);
  if (!logged.empty() && !given.empty() && logged != given) {
    throw InputError(Fault::kUsage, log.where,
                     fmt::format("is the log of {}, and {} starts {}; expected files of one "
                                 "engine",
                                 log.words.front().text, to.where.file, to.words.front().text));
  }
  if (to.version.empty()) {
    to.version = log.version;
    to.version_from = log.version_from;
  }
  if (to.gpu.empty()) to.gpu = log.gpu;
  to.pool_tokens = log.pool_tokens;
  to.pool_blocks = log.pool_blocks;
}

/// A master's file beside a command that names it belongs to that command; else it is a start of
/// the master by itself.
void join_master_files(std::vector<EngineCall>& stores) {
  const auto is_file = [](const EngineCall& one) { return !one.settings.empty(); };
  const auto command = std::find_if(stores.begin(), stores.end(), [&](const EngineCall& one) {
    return one.engine == kMooncakeMaster && !is_file(one);
  });
  if (command == stores.end()) return;
  for (const EngineCall& file : stores) {
    if (!is_file(file)) continue;
    if (!command->files.contains(file.settings)) command->files.insert(*file.files.begin());
    const bool named = std::any_of(
        command->words.begin(), command->words.end(),
        [](const ShellWord& word) { return word.text.find("config_path") != std::string::npos; });
    if (!named) command->words.push_back(file.words.front());
  }
  std::erase_if(stores, is_file);
}

}  // namespace

IntakeInputs read_inputs(const std::vector<IntakeText>& texts, const IntakeOptions& options) {
  IntakeInputs out;
  for (const IntakeText& input : texts) {
    if (input_kind_of(input.text).read == nullptr) {
      take_config(out, JsonSource::from_text(input.name, input.text));
      continue;
    }
    EngineCalls found = calls_in(input);
    for (std::vector<EngineCall>* list : {&found.calls, &found.stores}) {
      for (EngineCall& call : *list) call.places = places_of_variables(input.text, call);
    }
    out.calls.insert(out.calls.end(), found.calls.begin(), found.calls.end());
    out.stores.insert(out.stores.end(), found.stores.begin(), found.stores.end());
    for (std::string& note : found.notes) out.notes.push_back(std::move(note));
  }
  if (!options.config.empty()) take_config(out, JsonSource::from_file(options.config));
  return out;
}

EngineCall choose_call(IntakeInputs& inputs, const std::vector<IntakeText>& texts,
                       const IntakeOptions& options, Draft& draft) {
  join_master_files(inputs.stores);
  if (inputs.calls.empty() && !inputs.stores.empty()) {
    EngineCall alone;
    alone.engine = "mooncake";
    alone.where = inputs.stores.front().where;
    alone.place = "Mooncake Store";
    alone.stores = inputs.stores;
    return alone;
  }
  if (inputs.calls.empty()) {
    EngineCall none;
    none.where = {texts.empty() ? "--model" : texts.front().name, 0, ""};
    if (!inputs.config && options.model.empty()) {
      throw InputError(Fault::kUsage, none.where,
                       "expected a command, a manifest, a log, a config.json, or --model");
    }
    return none;
  }
  std::vector<EngineCall> starts;
  std::vector<EngineCall> logs;
  std::vector<EngineCall> settings;
  for (EngineCall& call : inputs.calls) {
    auto& list = !call.settings.empty() ? settings : call.place == "server log" ? logs : starts;
    list.push_back(std::move(call));
  }
  if (starts.empty()) std::swap(starts, logs);
  if (starts.empty()) {
    starts.push_back(std::move(settings.front()));
    settings.erase(settings.begin());
  }
  // An image without arguments is a start of its own only where there is no other.
  const auto bare = [](const EngineCall& call) { return call.words.empty(); };
  if (!std::all_of(starts.begin(), starts.end(), bare)) std::erase_if(starts, bare);
  EngineCall chosen = starts[picked(starts, options, draft)];
  chosen.stores = inputs.stores;
  if (!logs.empty()) add_log(logs.front(), chosen);
  for (const EngineCall& one : settings) {
    if (add_settings(one, chosen)) continue;
    draft.remark(
        Standing::kNotModelled, one.settings,
        fmt::format("settings of another engine than {} starts: left out", chosen.where.file));
  }
  return chosen;
}

}  // namespace spillway

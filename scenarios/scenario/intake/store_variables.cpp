#include "scenarios/scenario/intake/store_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/scenario/intake/aibrix_settings.hpp"
#include "scenarios/scenario/intake/flexkv_settings.hpp"
#include "scenarios/scenario/intake/kvbm_settings.hpp"
#include "scenarios/scenario/intake/mooncake_settings.hpp"
#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

namespace {

bool has_preset(const Draft& draft, std::string_view name) {
  const nlohmann::ordered_json preset = draft.at("engine.preset");
  return preset.is_string() && preset.get_ref<const std::string&>().starts_with(name);
}

/// A store, and how its variables are known.
struct StoreVariables {
  std::string_view prefix;
  std::string_view store;
  std::span<const SettingRow> (*rows)();
  bool (*used)(const Draft& draft);  ///< the scenario has it
  std::string_view unused;           ///< why its variables decide nothing then
};
constexpr StoreVariables kStores[] = {
    {"DYN_KVBM_", "KVBM", kvbm_variables,
     [](const Draft& draft) { return has_preset(draft, "kvbm"); },
     "no connector of KVBM is named: --kv-transfer-config has to name DynamoConnector"},
    {"KVBM_", "KVBM v2", kvbm_v2_variables,
     [](const Draft& draft) { return has_preset(draft, "kvbm@2.0"); },
     "no connector of KVBM v2 is named: --kv-transfer-config has to name DynamoConnector of the "
     "module kvbm.v2.vllm.connector"},
    {"AIBRIX_KV_CACHE_OL_", "AIBrix KVCache", aibrix_variables,
     [](const Draft& draft) { return has_preset(draft, "aibrix"); },
     "no connector of AIBrix is named: --kv-transfer-config has to name "
     "AIBrixOffloadingConnectorV1Type1"},
    {"FLEXKV_", "FlexKV", flexkv_variables,
     [](const Draft& draft) { return has_preset(draft, "flexkv"); },
     "no connector of FlexKV is named: --kv-transfer-config has to name FlexKVConnectorV1"},
    {"MOONCAKE_", "Mooncake Store", mooncake_variables,
     [](const Draft& draft) {
       return draft.has("tiers.1.segments") || has_preset(draft, "mooncake");
     },
     "no Mooncake Store is simulated here: SGLang needs --enable-hierarchical-cache and "
     "--hicache-storage-backend mooncake, vLLM a MooncakeStoreConnector"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Some remark speaks of it.
bool told(const Draft& draft, const std::string& written) {
  return std::any_of(draft.remarks().begin(), draft.remarks().end(), [&](const Remark& one) {
    return one.what.starts_with(written) &&
           (one.what.size() == written.size() || one.what[written.size()] == ',');
  });
}

void remark_variable(const StoreVariables& store, const StoreSetting& one, Draft& draft) {
  if (told(draft, one.written)) return;
  const SettingRow* row = setting_row(store.rows(), one.name);
  if (row == nullptr) {
    return remark_unknown(one, store.store, names_of_rows(store.rows()), store.prefix, draft);
  }
  if (!store.used(draft)) {
    return draft.remark(Standing::kNotModelled, one.written, std::string(store.unused));
  }
  if (row->use == SettingUse::kRead) return;
  const std::string word = lower_case(one.value);
  const bool off = word.empty() || word == "0" || word == "false";
  const bool matters = row->use == SettingUse::kNotModelled && !off;
  draft.remark(matters ? Standing::kNotModelled : Standing::kNoEffect, one.written,
               std::string(row->why));
}

}  // namespace

bool any_store_variable(const ShellVariables& variables) {
  return std::any_of(variables.begin(), variables.end(), [](const auto& one) {
    return std::any_of(std::begin(kStores), std::end(kStores), [&](const StoreVariables& store) {
      return one.first.starts_with(store.prefix);
    });
  });
}

std::map<std::string, SourceRef, std::less<>> places_of_variables(std::string_view text,
                                                                  const EngineCall& call) {
  std::map<std::string, SourceRef, std::less<>> out;
  for (const auto& [name, value] : call.environment) {
    std::int64_t line = 1;
    std::int64_t found = 0;
    std::size_t counted = 0;
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + name.size())) {
      const std::size_t end = at + name.size();
      if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
      line += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                         text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      counted = at;
      found = line;
      if (line >= call.where.line) break;
    }
    if (found > 0) out[name] = {call.where.file, found, name};
  }
  return out;
}

void remark_store_variables(const EngineCall& call, Draft& draft) {
  for (const StoreVariables& store : kStores) {
    for (const StoreSetting& one : settings_of(call, store.prefix))
      remark_variable(store, one, draft);
    for (const EngineCall& process : call.stores) {
      for (const StoreSetting& one : settings_of(process, store.prefix)) {
        remark_variable(store, one, draft);
      }
    }
  }
}

}  // namespace spillway

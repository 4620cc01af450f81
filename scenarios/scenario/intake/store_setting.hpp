// Settings of stores that are attached to an engine: variables of its environment, keys of a file
// or flags, each with its place. What a store would refuse is an error that says what it expects.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "sim/error.hpp"

namespace spillway {

struct StoreSetting {
  std::string name;  ///< as it is known: "CHUNK_SIZE"
  std::string value;
  std::string written;  ///< as people find it: "AIBRIX_KV_CACHE_OL_CHUNK_SIZE=512"
  SourceRef where{};

  /// "serve.sh:3".
  std::string place() const;
};

/// What becomes of a setting, by its name.
enum class SettingUse : std::uint8_t {
  kRead,         ///< decides something: its store's reader tells what
  kNoEffect,     ///< neither what is stored nor its times depend on it
  kNotModelled,  ///< they do: `why` has the consequence
};
struct SettingRow {
  std::string_view name;  ///< all that begin so where it ends with '_'
  SettingUse use;
  std::string_view why;  ///< of kRead: empty
};
constexpr SettingRow read_row(std::string_view name) {
  return {name, SettingUse::kRead, ""};
}
constexpr SettingRow idle_row(std::string_view name, std::string_view why) {
  return {name, SettingUse::kNoEffect, why};
}
constexpr SettingRow left_row(std::string_view name, std::string_view why) {
  return {name, SettingUse::kNotModelled, why};
}

const SettingRow* setting_row(std::span<const SettingRow> rows, std::string_view name);
std::vector<std::string_view> names_of_rows(std::span<const SettingRow> rows);

using StoreSettings = std::vector<StoreSetting>;

/// Variables that begin with `prefix`, by the name behind it.
StoreSettings settings_of(const EngineCall& call, std::string_view prefix);
/// The last of that name; nullptr: none.
const StoreSetting* find_setting(const StoreSettings& settings, std::string_view name);
/// Where a variable of `call` stands.
SourceRef place_of_variable(const EngineCall& call, const std::string& name);

/// All throw InputError (exit 2).
[[noreturn]] void refuse_setting(const StoreSetting& setting, std::string_view expected);
std::int64_t whole_setting(const StoreSetting& setting, std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());
double real_setting(const StoreSetting& setting, double least, double most);
bool truth_setting(const StoreSetting& setting);
/// A row of `names`, in whatever case.
std::size_t choice_setting(const StoreSetting& setting, std::span<const std::string_view> names);

/// "did you mean X? ", or nothing. `prefix` goes in front of the name that is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known,
                         std::string_view prefix);
/// The remark on a name that a store does not have, and therefore ignores.
void remark_unknown(const StoreSetting& setting, std::string_view store,
                    std::span<const std::string_view> known, std::string_view prefix, Draft& draft);

/// A number for a scenario: whole where it is.
nlohmann::ordered_json number_as_json(double value);

std::string lower_case(std::string_view text);

}  // namespace spillway

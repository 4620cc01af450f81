// What a document says, key by key, by its tables: a new row appears here by itself.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/key.hpp"

namespace spillway {

/// In rows of numbers, what a null there means: documents have none.
inline constexpr char kUnlimited[] = "inf";

struct Settings {
  /// As written, with defaults that are values: a document that may be read again.
  nlohmann::json values;
  /// The same to be compared: quantities in one unit, and nothing that is `aside`.
  nlohmann::json meaning;
  /// "line 12", "--set", or what holds in words, by dotted key; without one it is its default.
  std::map<std::string, std::string> origins;
};

/// Of a document that was read and found sound.
Settings settings_of(const JsonSource& source, KeyTable keys);

/// What holds without the key, as it would be written; null where only words say it.
nlohmann::json default_of(const Key& key);

/// Equal for values that mean the same: "1GiB" and "1024MiB", 5 and 5.0. Throws InputError for a
/// quantity that is none.
nlohmann::json meaning_of(const Key& key, const nlohmann::json& value, const SourceRef& where);

}  // namespace spillway

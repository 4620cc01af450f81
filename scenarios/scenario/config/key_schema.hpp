// What a table of keys says, for editors and readers: JSON Schema, dotted names, a reference page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/key.hpp"

namespace spillway {

/// The JSON Schema (2020-12) of a document with these keys. `id` is its file name.
nlohmann::ordered_json key_schema(KeyTable keys, std::string_view id, std::string_view title,
                                  std::string_view help);

struct DottedKey {
  std::string name;  ///< "engine.block_tokens", "tiers.0.capacity", as --set names it
  const Key* key = nullptr;
};
/// Every key that holds a value; the first member stands for those of a list.
std::vector<DottedKey> dotted_keys(KeyTable keys);

/// A page in Markdown: a section for each object, a row for each key.
std::string key_reference(KeyTable keys, std::string_view title, std::string_view help);

}  // namespace spillway

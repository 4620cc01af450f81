// Parts of a document's inputs, which a reader may find missing or of another kind.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace spillway {

/// The object under `key`; an empty one where there is none.
inline nlohmann::json object_at(const nlohmann::json& from, const char* key) {
  if (!from.is_object()) return nlohmann::json::object();
  const auto at = from.find(key);
  return at != from.end() && at->is_object() ? *at : nlohmann::json::object();
}

/// A string as it is, anything else as JSON; empty where there is nothing.
inline std::string text_at(const nlohmann::json& from, const char* key) {
  if (!from.is_object()) return "";
  const auto at = from.find(key);
  if (at == from.end()) return "";
  if (at->is_string()) return at->get<std::string>();
  return at->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace spillway

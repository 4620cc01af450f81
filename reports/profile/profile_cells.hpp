// The cells of a hardware profile as its document has them, and their sizes and rates in words.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"

namespace spillway {

inline std::string text_of(const nlohmann::json& row, const char* key) {
  return row.value(key, "");
}
inline std::int64_t whole_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? 0 : whole<std::int64_t>(*found);
}
inline bool is_valid(const nlohmann::json& row) {
  return !row.contains("state") || row.at("state").value("valid", true);
}
inline const nlohmann::json& rows_of(const nlohmann::json& r, const char* key) {
  static const nlohmann::json none = nlohmann::json::array();
  const auto it = r.find(key);
  return it == r.end() ? none : *it;
}
inline const nlohmann::json& compute_rows(const nlohmann::json& r, const char* key) {
  static const nlohmann::json none = nlohmann::json::object();
  return rows_of(r.contains("compute") ? r.at("compute") : none, key);
}

/// "4 KiB", "64 MiB": sizes of a sweep are round.
inline std::string size_text(std::int64_t bytes) {
  const std::string text = format_bytes(static_cast<double>(bytes));
  const std::size_t zeros = text.find(".00 ");
  return zeros == std::string::npos ? text : text.substr(0, zeros) + text.substr(zeros + 3);
}
inline std::string rate_text(double gbs) {
  return gbs < 10 ? fmt::format("{:.2f}", gbs) : fmt::format("{:.1f}", gbs);
}

}  // namespace spillway

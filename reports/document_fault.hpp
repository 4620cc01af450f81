// What a document says that cannot be, for whoever knows its file to tell.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace spillway {

/// The id of exceptions whose text is for people as it stands.
inline constexpr int kDocumentFault = 501;

[[noreturn]] inline void document_fault(const std::string& message) {
  throw nlohmann::json::other_error::create(kDocumentFault, message, nullptr);
}

/// The text of one without nlohmann's "[json.exception...] ".
inline std::string fault_text(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

/// A whole number; throws where T does not hold it, or it is no number.
template <std::integral T>
T whole(const nlohmann::json& value) {
  if (value.is_number_float()) {
    constexpr double kPast = static_cast<double>((std::numeric_limits<T>::max() >> 1) + 1) * 2;
    const double real = value.get<double>();
    const double least = std::is_signed_v<T> ? -kPast : 0;
    if (!(real >= least && real < kPast)) {
      document_fault(fmt::format("expected a whole number, found {}", value.dump()));
    }
  }
  return value.get<T>();
}

/// Throws unless `value`, which stands at `field`, is the index of one of `count` `things`.
inline void check_index(const nlohmann::json& value, std::string_view field, std::size_t count,
                        std::string_view things) {
  const bool whole =
      value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0);
  if (whole && value.get<std::uint64_t>() < count) return;
  const std::string found =
      value.is_structured() ? value.type_name() : value.dump(-1, ' ', true).substr(0, 40);
  document_fault(
      fmt::format("{}: expected the index of one of {} {}, found {}", field, count, things, found));
}

}  // namespace spillway

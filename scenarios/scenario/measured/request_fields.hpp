// The columns of a request log: which names mean what, and in which unit its times are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

enum class RequestField : std::uint8_t {
  kInput,
  kOutput,
  kArrival,  ///< the five times are clock readings, in the order in which they happen
  kQueued,
  kScheduled,
  kFirstToken,
  kLastToken,
  kTtft,  ///< durations since the arrival
  kE2el,
  kId,
  kStatus,
};
inline constexpr std::size_t kRequestFields = 11;

struct RequestColumn {
  RequestField field;
  double seconds = 1;  ///< of one unit of a time
};

/// What a column of this name holds; nothing for a name that is not known. Times end in their unit
/// (_s, _ms, _us, _ns) or are vLLM's own, which are in seconds (_ts, _time).
std::optional<RequestColumn> request_column(std::string_view name);

/// The name to use for a field in errors about files that lack it.
std::string_view name_of(RequestField field);

}  // namespace spillway

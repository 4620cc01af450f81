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
  kSent,         ///< by the client, in place of the arrival, which is when it wanted to
  kServerInput,  ///< tokens as the server counts them, in place of the input; 0: it did not
};
inline constexpr std::size_t kRequestFields = 13;

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

// A time stamp as a trace spells it, to integer nanoseconds without going through a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

/// floor(number * 10^power) nanoseconds (`power` 6 for milliseconds, 9 for seconds), or nothing
/// when the text is no number or lies outside 0..kMaxArrivalNs.
std::optional<std::int64_t> arrival_time(std::string_view number, int power);

}  // namespace spillway

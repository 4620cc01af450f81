// Quantities as people write them: sizes and rates carry a unit, always.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

/// "64GiB", "64GB", "1000blocks", "inf".
struct Capacity {
  enum class Kind : std::uint8_t { kBytes, kBlocks, kUnbounded };
  Kind kind = Kind::kBytes;
  std::int64_t count = 0;
};

/// All throw InputError (exit 2) at `where` with what was expected. Fractions are exact: "1.5GiB".
Capacity parse_capacity(std::string_view text, const SourceRef& where);
/// What parse_capacity() reads as this: "1000B", "7blocks", "inf".
std::string capacity_text(const Capacity& capacity);
Bytes parse_bytes(std::string_view text, const SourceRef& where);
/// What parse_bytes() reads as these bytes: "64GiB", "512MiB", else "1000B".
std::string bytes_text(std::int64_t bytes);
/// Bytes per second from "25GB/s", "400Gbps" (bits), rounded down; at least 1.
std::int64_t parse_bandwidth(std::string_view text, const SourceRef& where);
/// Seconds from "500ms", "60s", "10min", "1.5h"; more than 0.
double parse_seconds(std::string_view text, const SourceRef& where);

/// Rounded up to a nanosecond.
Duration microseconds_up(double us);

}  // namespace spillway

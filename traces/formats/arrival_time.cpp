#include "traces/formats/arrival_time.hpp"

#include <stdexcept>

#include "sim/decimal.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

std::optional<std::int64_t> arrival_time(std::string_view number, int power) {
  const auto decimal = parse_decimal(number);
  if (!decimal || decimal->digits < 0) return std::nullopt;
  try {
    const std::int64_t ns = floor_scaled(*decimal, power);
    return ns > kMaxArrivalNs ? std::nullopt : std::optional(ns);
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

}  // namespace spillway

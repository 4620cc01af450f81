// The latencies that one request may take, as the targets of an SLO say; those of a tenant bind its
// requests beside everyone's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/observer.hpp"

namespace spillway {

/// (e2el - ttft) / (output - 1), rounded to the nanosecond. Precondition: completed, two tokens or
/// more.
inline Duration tpot_of(const RequestRecord& r) {
  const auto gaps = static_cast<std::int64_t>(r.output_tokens - 1);
  return (r.finish - r.first_token + Duration(gaps / 2)) / gaps;
}

struct LatencyTargets {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2el_ms;

  /// Whether a completed request keeps to all of them.
  bool met_by(const RequestRecord& r) const {
    const auto within = [](const std::optional<double>& target, Duration value) {
      return !target || milliseconds_of(value) <= *target;
    };
    return within(ttft_ms, r.first_token - r.arrival) && within(e2el_ms, r.finish - r.arrival) &&
           (r.output_tokens < 2 || within(tpot_ms, tpot_of(r)));
  }
};

/// Those of each request.
struct RequestTargets {
  LatencyTargets all;                       ///< where no tenant has targets of its own
  std::vector<LatencyTargets> of_tenant{};  ///< everyone's included; empty: all alike
  std::span<const std::uint32_t> tenant{};  ///< of each request

  const LatencyTargets& of(RequestId request) const {
    return of_tenant.empty() ? all : of_tenant[tenant[raw(request)]];
  }
};

}  // namespace spillway

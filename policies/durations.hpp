// Parameters that count seconds, as durations.
#pragma once

#include <string_view>

#include "policies/params.hpp"
#include "sim/units.hpp"

namespace spillway {

/// The nearest nanosecond. Precondition: the policy has a kReal of that name, of at most 1e9.
inline Duration duration_of(const Params& params, std::string_view name) {
  return Duration(static_cast<Duration::rep>(params.real(name) * 1e9 + 0.5));
}

}  // namespace spillway

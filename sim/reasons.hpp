// Why requests of a run did not complete, counted.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace spillway {

/// How many ended for this reason.
inline std::uint64_t count_of(const std::vector<ReasonCount>& reasons, Reason which) {
  for (const ReasonCount& reason : reasons) {
    if (reason.reason == name_of(which)) return reason.count;
  }
  return 0;
}

}  // namespace spillway

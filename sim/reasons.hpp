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

/// Of the requests, those that no server of this configuration takes: longer than max_model_len, or
/// than the whole pool.
inline double not_admitted_share(const RunResult& run) {
  if (run.requests == 0) return 0;
  const std::uint64_t never = count_of(run.failed_reasons, Reason::kTooLong) +
                              count_of(run.rejected_reasons, Reason::kExceedsPool);
  return static_cast<double>(never) / static_cast<double>(run.requests);
}

}  // namespace spillway

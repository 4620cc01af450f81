// The link of a run that rests least.
#pragma once

#include "sim/result.hpp"

namespace spillway {

/// The link that is busy most of the time; null: there is none.
inline const LinkResult* busiest_link(const RunResult& run) {
  const LinkResult* out = nullptr;
  for (const LinkResult& link : run.links) {
    if (out == nullptr || link.busy_fraction > out->busy_fraction) out = &link;
  }
  return out;
}

}  // namespace spillway

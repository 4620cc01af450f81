// Sizes to try where a plan lists none: from nothing to the most that the workload can use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

struct AutoSizes {
  std::vector<std::string> sizes;  ///< ascending, the first is none at all
  std::int64_t useful_bytes = 0;   ///< beyond it nothing more is hit
  Note method;                     ///< how they came about
  bool bounded = false;            ///< they end at the host's memory, before that
};

/// One pass over the workload gives LRU's hits at every capacity; the largest size that still adds
/// hits, with room for answers, bounds the grid, or else the host's memory (4 TiB where the
/// scenario does not say). Below that sizes halve. They are what can be bought: multiples of
/// plan.round_to, else powers of two below a top in whole modules.
/// Model: an upper bound in practice, as HBM keeps a part; policies that evict better than LRU need
/// less.
AutoSizes auto_sizes(const Scenario& scenario, const Workload& workload);

}  // namespace spillway

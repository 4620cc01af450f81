// Several traces as one, each a tenant of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct MergePart {
  std::string tenant;  ///< a tenant x within the part becomes "tenant/x"
  Workload workload;
  std::int64_t offset_ns = 0;  ///< added to its arrivals, which stay at or above 0
  /// Ids that mean the same in every part, by the part's own numbers; empty: blocks of this part
  /// are nobody else's.
  std::vector<std::uint64_t> block_names{};
};

/// Rows in order of time, those of one instant in the order of the parts. Sessions, links and, but
/// for `block_names`, blocks of different parts never meet. Throws InputError (exit 2) for parts
/// of different block sizes, or two of one name. `source` has the parts' notes, each once.
Workload merge_traces(std::span<const MergePart> parts);

}  // namespace spillway

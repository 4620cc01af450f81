// What a sample takes or leaves as a whole: sessions, and prefix trees.
//
// Reuse within a unit stays whole in a sample. A session is never cut. Requests that share a block
// belong together too, unless so many share it that the whole trace would be one unit: then the
// block is trunk, and the trees above it are units of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct SampleUnits {
  std::vector<std::uint32_t> of;  ///< each request's unit, numbered by first appearance
  std::uint32_t count = 0;
};

/// A tree is a unit when the requests in it have at most `most_references`; sessions that share
/// trees are joined up to the same bound. A single session may be larger.
SampleUnits sample_units(const Workload& workload, std::uint64_t most_references);

}  // namespace spillway

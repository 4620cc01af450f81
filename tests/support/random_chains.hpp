// Requests of one to six blocks that share some and bring others, for replays against plain counts.
#pragma once

#include <string_view>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {

inline Workload random_chains(std::string_view purpose, std::uint64_t seed, int requests) {
  Stream random(seed, purpose);
  std::vector<Row> rows;
  std::uint64_t next = 100;
  for (int i = 0; i < requests; ++i) {
    std::vector<std::uint64_t> chain;
    const std::uint64_t length = 1 + random.below(6);
    for (std::uint64_t k = 0; k < length; ++k) {
      chain.push_back(random.chance(0.7) ? 10 * k + random.below(4) : next++);
    }
    rows.push_back({i, static_cast<std::uint32_t>(16 * length), 1, chain});
  }
  return workload_of(rows, 16);
}

}  // namespace spillway::test

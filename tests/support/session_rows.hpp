// Workloads whose requests wait for one another, written request by request.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"
#include "traces/workload_builder.hpp"

namespace spillway::test {

struct Turn {
  std::int64_t arrival_ms = 0;
  std::uint32_t input_tokens = 64;
  std::uint32_t output_tokens = 4;
  std::vector<std::uint64_t> after{};  ///< positions of the requests it waits for
  std::int64_t think_ms = -1;          ///< -1: not recorded
  std::vector<std::uint64_t> blocks{};
};

/// In order of arrival, so that a request's position is its id.
inline Workload workload_of_turns(const std::vector<Turn>& turns, std::uint32_t block_tokens) {
  WorkloadBuilder builder("turns", block_tokens);
  TraceRow row;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    row.clear();
    row.line = static_cast<std::int64_t>(i) + 1;
    row.arrival_ns = turns[i].arrival_ms * 1'000'000;
    row.input_tokens = turns[i].input_tokens;
    row.output_tokens = turns[i].output_tokens;
    row.id = i;
    row.after = turns[i].after;
    row.think_ns = turns[i].think_ms < 0 ? kThinkUnknown : turns[i].think_ms * 1'000'000;
    row.blocks = turns[i].blocks;
    builder.add(row);
  }
  return builder.build({"turns", "test", {}});
}

}  // namespace spillway::test

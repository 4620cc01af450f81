// The future of a workload, for the offline optimum: where each reference's block is used next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/replay_order.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct NextUse {
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  /// By position in the trace's references: the position of the block's next use. Of whole requests
  /// that is its first position in the next request with the block; what a position holds that
  /// repeats a block within its request is then not used.
  std::vector<std::uint32_t> next;
  std::span<const std::uint64_t> chain_begin;  ///< the workload's; requests + 1 positions
  Atomicity atomicity = Atomicity::kRequest;
};

/// One backward pass: four bytes a reference and a unique block. Throws InputError (exit 7) beyond
/// 2^32 - 2 references. The workload outlives the result.
NextUse next_use(const Workload& workload, Atomicity atomicity);

}  // namespace spillway

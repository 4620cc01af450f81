// The result rows of a replay, for its document (reports/trace/replay_report.cpp shows them).
#pragma once

#include <optional>
#include <vector>

#include "scenarios/replay/row_fields.hpp"
#include "scenarios/replay/tier_list.hpp"

namespace spillway {

/// What all rows have in common.
struct ReplayRowFacts {
  bool prefix = false;  ///< semantics of `hits`
  std::uint32_t unique_blocks = 0;
  std::vector<ReplayTierSpec> tiers;              ///< where there are several
  std::optional<std::uint64_t> kv_bytes_a_block;  ///< where the user has said
};

ReplayRow replay_row(const ReplayCell& cell, const ReplayRowFacts& facts,
                     const std::optional<ReplayBounds>& bounds);

}  // namespace spillway

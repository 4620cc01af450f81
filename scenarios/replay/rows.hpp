// The result rows of a replay, for its document and for the terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "scenarios/replay/bounds.hpp"
#include "scenarios/replay/tier_list.hpp"

namespace spillway {

/// What all rows have in common.
struct ReplayRowFacts {
  bool prefix = false;  ///< semantics of `hits`
  std::uint32_t unique_blocks = 0;
  std::vector<ReplayTierSpec> tiers;              ///< where there are several
  std::optional<std::uint64_t> kv_bytes_a_block;  ///< where the user has said
};

/// "inf" or a count.
nlohmann::json capacity_json(std::uint64_t capacity_blocks);

/// One element of "results".
nlohmann::json replay_row(const ReplayCell& cell, const ReplayRowFacts& facts,
                          const std::optional<ReplayBounds>& bounds);

/// Tables of such rows, at most 100 columns wide where names are short.
Report replay_report(const nlohmann::json& rows, const std::string& title);

}  // namespace spillway

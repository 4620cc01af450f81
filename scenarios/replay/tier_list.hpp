// The tiers of a replay as they are written on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tiered_replay.hpp"

namespace spillway {

inline constexpr std::size_t kMostReplayTiers = 4;

/// `NAME=CAPACITY`, or `NAME=CAPACITY/POLICY`, nearest first.
struct ReplayTierSpec {
  std::string name;
  std::uint64_t capacity_blocks = kUnboundedCache;
  std::optional<EvictionChoice> policy;  ///< its own, else that of the row
};

/// "1000blocks" or "inf". Throws InputError (exit 2) at `where`.
std::uint64_t parse_block_count(std::string_view text, const SourceRef& where);

/// Throws InputError (exit 2): too many tiers, a name given twice, a capacity or a policy that
/// cannot be.
std::vector<ReplayTierSpec> parse_replay_tiers(const std::vector<std::string>& texts);

/// The tiers of one row. Throws InputError (exit 2) where a policy that needs the future would not
/// see every reference.
std::vector<ReplayTierSetup> tiers_with(const std::vector<ReplayTierSpec>& tiers,
                                        const EvictionChoice& policy, Inclusion inclusion);

}  // namespace spillway

// What FlexKV is told (docs/eviction_policy/README_en.md, flexkv/common/config.py), and the orders
// of eviction that it has (csrc/eviction_strategy.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/units.hpp"

namespace spillway {

enum class FlexkvEviction : std::uint8_t { kLru, kLfu, kSlru, kFifo, kMru, kFilo };
inline constexpr std::string_view kFlexkvEvictions[] = {"lru",  "lfu", "slru",
                                                        "fifo", "mru", "filo"};

/// Shares are in parts of 10^9, which decimals of nine digits are exactly.
struct FlexkvConfig {
  static constexpr std::size_t kMostTiers = 3;  ///< host memory, a disk, a remote store
  static constexpr std::int64_t kWhole = 1'000'000'000;

  std::int64_t start_threshold = 700'000'000;  ///< evict_start_threshold, of the slots
  std::int64_t evict_ratio = 50'000'000;       ///< of the slots
  Duration hit_reward{0};                      ///< hit_reward_seconds
  std::uint32_t protected_hits = 2;            ///< slru_protected_threshold
  std::array<FlexkvEviction, kMostTiers> eviction{};
};

}  // namespace spillway

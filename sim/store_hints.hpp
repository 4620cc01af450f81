// What a request asks of an object store for its KV: pins for what it puts there, and rounds of
// questions before it looks its prefix up (Mooncake's ReplicateConfig, with_soft_pin and
// with_hard_pin).
#pragma once

#include <compare>
#include <cstdint>

#include "sim/units.hpp"

namespace spillway {

struct StoreHints {
  Duration poll_interval{0};
  std::uint32_t polls = 0;  ///< rounds, each so much after the one before
  std::uint32_t pins = 0;   ///< bits, as below
  auto operator<=>(const StoreHints&) const = default;

  static constexpr std::uint32_t kSoft = 1;
  static constexpr std::uint32_t kHard = 2;
  bool soft() const { return (pins & kSoft) != 0; }
  bool hard() const { return (pins & kHard) != 0; }
};
static_assert(sizeof(StoreHints) == 16);  // a column of traces in memory and in files

inline constexpr std::uint32_t kMostPolls = 1'000'000;
inline constexpr char kSoftPinKey[] = "soft_pin";
inline constexpr char kHardPinKey[] = "hard_pin";
inline constexpr char kPollKey[] = "poll_ms";

}  // namespace spillway

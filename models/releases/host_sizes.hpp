// In what unit, and for whom, each engine is told the size of its host memory: "100" means between
// 100 and 859 GB where eight GPUs serve together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace spillway {

struct HostSize {
  std::string_view engine;
  std::string_view flag;
  std::int64_t unit;  ///< bytes of a value of 1
  bool per_rank;      ///< else of all ranks of an engine together
  bool whole;         ///< units only; else any number of bytes
  std::string_view source;

  /// Over all ranks of an engine.
  constexpr std::int64_t bytes(std::int64_t value, std::uint32_t ranks) const {
    return value * unit * (per_rank ? ranks : 1);
  }
  /// The least value that gives `bytes` over all ranks.
  constexpr std::int64_t value_for(std::int64_t bytes, std::uint32_t ranks) const {
    const std::int64_t one = unit * (per_rank ? ranks : 1);
    return (bytes + one - 1) / one;
  }
};

std::span<const HostSize> host_sizes();
/// Precondition: there is one.
const HostSize& host_size_of(std::string_view engine);

}  // namespace spillway

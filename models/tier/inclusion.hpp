// Whether a block that is wanted again stays where it was.
#pragma once

#include <cstdint>
#include <string_view>

namespace spillway {

enum class Inclusion : std::uint8_t {
  kInclusive,
  kExclusive,  ///< it leaves its tier as it moves up
};
inline constexpr std::string_view kInclusions[] = {"inclusive", "exclusive"};

}  // namespace spillway

// Puts the turns of many sessions in one order, so that each follows the turn before it in its
// session by about the number of requests it should.
#pragma once

#include <cstdint>
#include <vector>

namespace spillway {

struct InterleavedTurn {
  std::uint32_t session = 0;
  std::uint32_t turn = 0;  ///< in its session
};

struct InterleavedSession {
  std::uint32_t id = 0;
  std::uint32_t start = 0;           ///< how many requests should stand before its first turn
  std::vector<std::uint32_t> steps;  ///< requests from each turn to the next, at least 1
};

/// `sessions` in order of their starts. Every place in the order is taken by one turn. Where
/// several want it, it goes to the one for which waiting changes most in proportion, and slowly to
/// the one that is latest; where none wants it, to the one that comes least too early.
std::vector<InterleavedTurn> interleave(const std::vector<InterleavedSession>& sessions);

}  // namespace spillway

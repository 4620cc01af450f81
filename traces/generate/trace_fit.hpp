// What a trace is like, in a form that new traces can be drawn from: when requests arrive, how long
// they and their answers are, and where each one's prompt was seen before.
//
// Every request becomes a turn: the prefix it takes over from an earlier request, and what it adds.
// Turns that plainly continue each other form a session (the trace's own sessions where it names
// them), so that a conversation keeps its course; a prefix shared across sessions is described by
// its depth, by how many requests ago it was last used and how often. The trace's block ids,
// session ids and names are not part of the fit.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct FittedTurn {
  enum class Prefix : std::uint8_t {
    kNone,     ///< no block was seen before
    kSession,  ///< last used by an earlier turn of the session, `back` turns ago
    kShared,   ///< last used by a request of another session
  };
  Prefix prefix = Prefix::kNone;
  std::uint32_t rows_since = 0;  ///< requests since the session's turn before; 0: its first
  std::uint32_t back = 0;
  std::uint32_t depth = 0;    ///< blocks taken over
  std::int32_t left = 0;      ///< the parent's full blocks not taken; -1: its partial one is, too
  std::uint32_t gap = 0;      ///< requests since the prefix was last used as a whole
  std::uint32_t fresher = 0;  ///< blocks at its front that were used more recently
  std::uint32_t uses = 0;     ///< requests that have used it
  std::uint32_t beyond = 0;   ///< requests that have used the parent's next block; 0: it has none
  std::uint32_t added = 0;    ///< blocks behind the prefix
  std::int32_t slack = 0;     ///< prompt tokens less those of its blocks, were all full
  std::uint32_t output_tokens = 1;
  std::int64_t think_ns = -1;
};

struct FittedSession {
  std::uint32_t row = 0;    ///< where its first request stands
  std::uint32_t begin = 0;  ///< its turns in TraceFit::turns
  std::uint32_t end = 0;
  std::uint32_t tenant = 0;
};

struct TraceFit {
  std::uint32_t block_tokens = 0;
  bool identified = false;    ///< the trace says which blocks are shared
  bool sessions = false;      ///< the trace names its sessions
  std::uint32_t tenants = 0;  ///< 0: the trace names none
  std::int64_t first_ns = 0;
  std::vector<std::int64_t> gaps_ns;  ///< from each arrival to the next
  std::vector<FittedSession> by_start;
  std::vector<FittedTurn> turns;
};

TraceFit fit_trace(const Workload& workload);

}  // namespace spillway

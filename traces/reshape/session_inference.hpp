// Sessions of a trace that names none, from prefixes: a chat's next turn sends its former prompt
// again, so a prompt that begins with all full blocks of an earlier one probably continues it.
//
// The rule. A request follows an earlier one when that one's full blocks head its own chain, it is
// longer, and it arrives later (never at the same instant: an answer lies between) but within the
// window. Among such the longest prefix counts, then the most recent. A session is a chain: each
// request has one successor at most. Where every request that ended at the longest prefix has its
// successor already, the new one is a branch (an answer asked for again, a question about the same
// document) and starts a session: a client has one turn in flight, and many readers of one document
// do not become one conversation. Blocks that many conversations share, such as system prompts, say
// nothing about who speaks, so that at least one other full block must be shared.
#pragma once

#include <cstdint>

#include "sim/workload.hpp"

namespace spillway {

struct SessionInference {
  std::int64_t window_ns = 1'800'000'000'000;  ///< longest time from a turn to the next, by arrival
  /// Blocks in more than this share of all conversations are ignored. A conversation is a prompt
  /// that no other one extends: counting requests instead would take the first turns of a long
  /// session in a short trace for a system prompt.
  double common_share = 0.01;
};

/// The workload with a session for every request, and every later turn waiting for the one before
/// it; says in `source` what was found. One that names sessions or links is left alone, which a
/// note says. Takes time linear in the references.
Workload infer_sessions(Workload workload, const SessionInference& options);

}  // namespace spillway

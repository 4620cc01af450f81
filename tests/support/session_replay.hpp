// Sessions by request, and replays of chains that name theirs: for policies that know sessions.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/cache_replay.hpp"
#include "tests/support/catch.hpp"
#include "traces/workload_builder.hpp"

namespace spillway::test {

/// Request i belongs to session sessions[i].
inline RequestFacts facts_of_sessions(const std::vector<std::uint32_t>& sessions) {
  RequestFacts out;
  out.session.assign(sessions.size(), SessionId{});
  out.turn.assign(sessions.size(), 0);
  out.category.assign(sessions.size(), 0);
  for (std::uint32_t i = 0; i < sessions.size(); ++i) {
    out.session[RequestId{i}] = SessionId{sessions[i]};
    out.sessions = std::max(out.sessions, sessions[i] + 1);
  }
  out.sessions_named = true;
  return out;
}

struct SessionTurn {
  std::int64_t arrival_ms = 0;
  std::uint64_t session = 0;
  std::vector<std::uint64_t> blocks{};  ///< each full
};

inline constexpr std::uint32_t kTurnBlockTokens = 16;

inline Workload workload_of_sessions(const std::vector<SessionTurn>& turns) {
  WorkloadBuilder builder("sessions", kTurnBlockTokens);
  TraceRow row;
  for (const SessionTurn& turn : turns) {
    const std::int64_t line = row.line + 1;
    row.clear();
    row.line = line;
    row.arrival_ns = turn.arrival_ms * 1'000'000;
    row.input_tokens = static_cast<std::int64_t>(kTurnBlockTokens * turn.blocks.size());
    row.output_tokens = 1;
    row.session = turn.session;
    row.blocks = turn.blocks;
    builder.add(row);
  }
  return builder.build({"sessions", "test", {}});
}

/// The first block first, each looked up, counted and brought by itself, as decode reads them.
inline ReplayCounts read_forward(const Workload& workload, std::string_view policy,
                                 std::uint64_t capacity) {
  return replay_cache(workload, parse_eviction(policy, {}), capacity, TouchOrder::kForward,
                      Atomicity::kReference);
}

}  // namespace spillway::test

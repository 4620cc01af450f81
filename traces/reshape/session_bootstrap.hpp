// Other days of a recorded trace: its sessions drawn again, with replacement.
//
// One trace on a deterministic simulator has no sampling error. Replicates of it give one: whole
// sessions are drawn with replacement (the bootstrap, Efron 1979, over sessions instead of
// requests, as turns and prefixes depend on each other) within strata of time, and each drawn
// session takes the place of a recorded start. So the process of session starts is the recording's
// to the nanosecond, a session keeps its turns, lengths, pauses and tenant, and what varies is
// which sessions come, how often, and when within the stratum.
//
// workload_sessions.hpp says what a session and a stratum are.
//
// A recording that is too short is drawn several times in a row: each draw begins a span of starts
// (and a mean gap) later, the sessions of the one before go on into it, and a replicate of two
// recordings begins with the replicate of one.
//
// Blocks. Those of one session alone get fresh ids with each further copy of it, in any recording,
// so that a session drawn twice does not find its own prompt in the cache. Blocks that several
// sessions share keep their ids: those that sessions far apart share (system prompts) in all
// recordings, those whose sessions start within half of the recording in one.
//
// Model: bias, measured over ten replicates of three traces. Reuse within sessions is unbiased. A
// block of k sessions is used k - 1 + e^-k times again on average, for a copy shares what its
// original shared: 14% too often at k = 2, 2.5% at 3, nothing for system prompts (content-bound
// reuse of conversations +1.6% of itself, of retrieval +0.4%). Sharing that is close in time (a
// document asked about by several within minutes) is spread over its stratum. A recording ends in
// the middle of its last sessions; drawn for a later start these go on behind its end (span +7% of
// an hour, 0.05% of four days). Links between sessions are forgotten. Several recordings in a row,
// against generated chat of that length: requests and lengths within 0.6%, reuse 2% too low for
// three of 15 minutes and 0.4% for three of an hour (each cuts sessions at both ends), span +2%.
// Latencies near saturation lie above the recording's: loads vary around the recorded one, and a
// queue gains more from a heavier draw than it loses in a lighter one.
#pragma once

#include <cstdint>
#include <string>

#include "sim/workload.hpp"
#include "traces/reshape/workload_sessions.hpp"

namespace spillway {

class SessionBootstrap {
 public:
  /// Keeps a reference to `workload`.
  explicit SessionBootstrap(const Workload& workload);

  /// Replicate number `index` of `recordings` draws in a row, the same for equal arguments and
  /// workload. May be called from several threads. Notes and counts of rows are the original's.
  Workload replicate(std::uint64_t seed, std::uint64_t index, std::uint32_t recordings = 1) const;

  std::uint32_t sessions() const { return sessions_.count(); }
  std::uint32_t strata() const { return static_cast<std::uint32_t>(sessions_.strata.size()); }
  /// How sessions and strata came about, in one sentence.
  const std::string& method() const { return method_; }

 private:
  const Workload& workload_;
  WorkloadSessions sessions_;
  std::string method_;
};

}  // namespace spillway

// Other days of a recorded trace: its sessions drawn again, with replacement.
//
// One trace on a deterministic simulator has no sampling error. Replicates of it give one: whole
// sessions are drawn with replacement (the bootstrap, Efron 1979, over sessions instead of
// requests, as turns and prefixes depend on each other) within strata of time, and each drawn
// session takes the place of a recorded start. So the process of session starts is the recording's
// to the nanosecond, a session keeps its turns, lengths, pauses and tenant, and what varies is
// which sessions come, how often, and when within the stratum.
//
// Sessions are the trace's own; where it names none, chains of answers that were waited for; where
// it has neither, those that shared prefixes suggest (session_inference.hpp), and every other
// request is one by itself. Strata are the hours of the day (of the trace's clock) where it covers
// a day or more and each hour that has sessions has at least ten; else up to ten stretches of
// equally many session starts, at least twenty in each.
//
// Blocks. Those of one session alone get fresh ids with each further copy of it, so that a session
// drawn twice does not find its own prompt in the cache. Blocks that several sessions share keep
// their ids.
//
// Model: bias, measured over ten replicates of three traces. Reuse within sessions is unbiased. A
// block of k sessions is used k - 1 + e^-k times again on average, for a copy shares what its
// original shared: 14% too often at k = 2, 2.5% at 3, nothing for system prompts (content-bound
// reuse of conversations +1.6% of itself, of retrieval +0.4%). Sharing that is close in time (a
// document asked about by several within minutes) is spread over its stratum. A recording ends in
// the middle of its last sessions; drawn for a later start these go on behind its end (span +7% of
// an hour, 0.05% of four days). Links between sessions are forgotten. Latencies near saturation lie
// above the recording's: loads vary around the recorded one, and a queue gains more from a heavier
// draw than it loses in a lighter one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

class SessionBootstrap {
 public:
  /// Keeps a reference to `workload`.
  explicit SessionBootstrap(const Workload& workload);

  /// Replicate number `index`, the same for equal (workload, seed, index). May be called from
  /// several threads. Notes and counts of rows are the original's.
  Workload replicate(std::uint64_t seed, std::uint64_t index) const;

  std::uint32_t sessions() const { return static_cast<std::uint32_t>(start_ns_.size()); }
  std::uint32_t strata() const { return static_cast<std::uint32_t>(members_.size()); }
  /// How sessions and strata came about, in one sentence.
  const std::string& method() const { return method_; }

 private:
  std::vector<std::uint32_t> find_sessions();
  void find_strata();
  bool strata_by_hour();

  const Workload& workload_;
  std::string who_;   ///< what a session is here
  std::string when_;  ///< what a stratum is
  std::string method_;
  std::vector<std::uint32_t> session_;                ///< of each request, in order of start
  std::vector<std::vector<std::uint32_t>> requests_;  ///< of each session
  std::vector<std::int64_t> start_ns_;                ///< of each session
  std::vector<std::uint32_t> stratum_;                ///< of each session
  std::vector<std::vector<std::uint32_t>> members_;   ///< sessions of each stratum
  std::vector<bool> shared_;                          ///< blocks of two sessions or more
};

}  // namespace spillway

// Who speaks in a workload, and when: its sessions in order of start, strata of starts that are
// alike, and the blocks that several sessions share.
//
// Sessions are the trace's own; where it names none, chains of answers that were waited for; where
// it has neither, those that shared prefixes suggest (session_inference.hpp), and every other
// request is one by itself. Strata are the hours of the day (of the trace's clock) where it covers
// a day or more and each hour that has sessions has at least ten; else up to ten stretches of
// equally many session starts, at least twenty in each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct WorkloadSessions {
  std::vector<std::uint32_t> of;                     ///< of each request, in order of start
  std::vector<std::vector<std::uint32_t>> requests;  ///< of each session
  std::vector<std::int64_t> start_ns;                ///< of each session
  std::vector<std::uint32_t> stratum;                ///< of each session
  std::vector<std::vector<std::uint32_t>> strata;    ///< sessions of each stratum
  std::vector<bool> shared;                          ///< blocks of two sessions or more
  std::vector<bool> lasting;  ///< of these, those whose sessions start half of all starts apart
  bool by_hour = false;       ///< what strata are
  std::string who;            ///< what a session is here
  std::string when;           ///< what a stratum is

  std::uint32_t count() const { return static_cast<std::uint32_t>(start_ns.size()); }
  /// The sessions that may stand for session `s`.
  const std::vector<std::uint32_t>& like(std::uint32_t s) const { return strata[stratum[s]]; }
  /// The stretch of time around the start of session `s` over which its stratum is taken to be
  /// alike: from the stratum's first start to the next one's, or the hour of that day.
  struct Stretch {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
  };
  Stretch stretch(std::uint32_t s) const;
  /// From the first start to where the next recording of the same length would have its first: the
  /// last start and a mean gap.
  std::int64_t span_ns() const;
};

/// Precondition: at least one request.
WorkloadSessions find_sessions(const Workload& workload);
/// Which blocks are shared, again: the same requests have other blocks now.
void find_shared_blocks(const Workload& workload, WorkloadSessions& sessions);

}  // namespace spillway

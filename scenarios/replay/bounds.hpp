// What no policy can do better than, beside every result of a replay: an unbounded cache, the
// offline optimum of the same capacity, and the LRU cache to compare with.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "scenarios/replay/cell.hpp"

namespace spillway {

/// Hits that bound those of a row, whose semantics they follow where nothing else is said.
struct ReplayBounds {
  std::uint64_t content = 0;         ///< block semantics: everything ever seen
  std::uint64_t content_prefix = 0;  ///< prefix semantics
  /// The most leading hits of any cache of that capacity, in a trace whose requests are prefix
  /// chains: of whole requests, any block may be passed by. What may be kept block by block may be
  /// kept of whole requests too, so that it bounds both.
  std::uint64_t strict_prefix_optimum = 0;
  /// The most block hits: of whole requests, any may be passed by; by reference, none.
  std::uint64_t belady = 0;
  std::uint64_t lru = 0;

  /// The unbounded cache and the optimum under one semantics.
  std::uint64_t content_for(bool prefix) const { return prefix ? content_prefix : content; }
  std::uint64_t optimum_for(bool prefix) const { return prefix ? strict_prefix_optimum : belady; }
};

/// The cells that bounds are read from, at each capacity of some rows.
class BoundCells {
 public:
  /// `setup` is that of the rows, with facts that know the future; the workload outlives this. Rows
  /// that replay what a bound needs serve it as well.
  BoundCells(const Workload& workload, const std::vector<ReplayCell*>& rows,
             const ReplaySetup& setup);

  /// To be run, beside the rows.
  std::vector<ReplayCell*> cells();
  ReplayBounds at(std::uint64_t capacity, bool prefix) const;

 private:
  struct AtCapacity {
    const ReplayCell* lru;
    const ReplayCell* optimum;
    const ReplayCell* of_requests;  ///< the optimum, request by request
  };
  const ReplayCell* cell(const std::vector<ReplayCell*>& rows, const EvictionChoice& policy,
                         const ReplaySetup& setup);

  ReplayFacts by_request_;  ///< where the rows go by reference
  std::deque<ReplayCell> own_;
  const ReplayCell* unbounded_ = nullptr;
  std::map<std::uint64_t, AtCapacity> at_;
};

}  // namespace spillway

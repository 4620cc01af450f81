// What a run remembers of its times to first token, stage by stage: sums by how long the time was,
// and the slowest requests. Memory does not grow with the run.
//
// Model: times are summed in buckets of 1/64 of their octave. A band's edge within a bucket takes a
// share of that bucket's sums, so that a band has exactly its part of the requests, and each of its
// means is within 1.6% of what sorting them all would give at the edges, exact elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/observer.hpp"
#include "sim/ttft_stages.hpp"

namespace spillway {

class TtftRecord {
 public:
  static constexpr std::size_t kSlowest = 10;

  /// A completed request.
  void add(const RequestRecord& record);

  /// "all", then by quantile; bands without a request are left out.
  std::vector<TtftBand> bands() const;
  /// The slowest first, of equals the one that comes first in the workload.
  std::vector<SlowRequest> slowest(std::size_t tiers) const;

 private:
  struct Bucket {
    std::uint64_t requests = 0;
    std::array<std::int64_t, kTtftStages> stages{};  ///< sums in ns
  };
  std::vector<Bucket> buckets_;
  std::vector<RequestRecord> slowest_;  ///< a heap: the least slow on top
};

}  // namespace spillway

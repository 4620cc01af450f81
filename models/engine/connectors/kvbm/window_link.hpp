// One hop of KVBM: a job's blocks go in batches, a few of which are under way at once
// (lib/llm/src/block_manager/offload/pending.rs: LocalTransferManager behind TransferBatcher).
//
// Batch i starts at the later of its submission and the end of batch i - window. Its latency passes
// beside those of others; its bytes follow those of the batch before. Model: one after another, as
// on a copy engine. With a window of 1 it is the affine link of the scenario: so with v2, where a
// job is one batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/engine/connectors/attached_tiers.hpp"
#include "models/releases/chunk_connectors.hpp"
#include "sim/observer.hpp"

namespace spillway {

class WindowLink {
 public:
  WindowLink(AttachedWay way, const KvbmConfig& config)
      : way_(std::move(way)),
        batch_(config.v2 ? ~0U : config.max_batch),
        ends_(config.max_transfers) {}

  /// A job of so many blocks is submitted: when it ends. `batches`: what there is to tell of each
  /// then, none of which is in service before the one ahead of it has ended.
  Time submit(std::uint32_t blocks, Time now, std::vector<TransferRecord>& batches) {
    batches.clear();
    for (std::uint32_t left = blocks; left > 0;) {
      const std::uint32_t n = std::min(batch_, left);
      const std::uint32_t copies = n * way_.copies;
      const Bytes bytes = way_.block * std::int64_t{n};
      const Time start = std::max(now, ends_[next_]);
      const Time served = std::max(start, last_);
      last_ = std::max(start + way_.latency, last_) + way_.model->service_time(bytes, copies) -
              way_.latency;
      batches.push_back(
          {way_.link, bytes, copies, now, served, last_, way_.model->reach(bytes, copies)});
      ends_[next_] = last_;
      next_ = (next_ + 1) % ends_.size();
      left -= n;
    }
    return last_;
  }

 private:
  AttachedWay way_;
  std::uint32_t batch_;
  std::vector<Time> ends_;  ///< of the last batches, as many as may be under way
  std::size_t next_ = 0;    ///< among them, the oldest
  Time last_{};             ///< end of the last batch
};

}  // namespace spillway

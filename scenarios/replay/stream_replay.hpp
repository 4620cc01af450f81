// Requests that pass by in batches, on their way to the cells of a replay: while these work on one
// piece of the trace, the next one is read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scenarios/replay/cell.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Requests copied out of batches that do not stay.
class KeptRequests final : public WorkloadStorage {
 public:
  void add(const RequestBatch& batch);
  /// References and requests.
  std::size_t weight() const { return chain_.size() + arrival_ns_.size(); }
  RequestBatch batch() const;
  /// Precondition: these are a trace's first requests.
  WorkloadColumns columns(std::uint32_t block_tokens) const;

 private:
  RequestId first_{};
  std::vector<std::int64_t> arrival_ns_;
  std::vector<std::uint32_t> input_tokens_;
  std::vector<std::uint32_t> output_tokens_;
  std::vector<std::uint64_t> chain_begin_{0};
  std::vector<TraceBlockId> chain_;
  std::uint32_t blocks_ = 0;
};

/// Memory: one large first piece at most, then two small ones, however long the trace is.
class StreamReplay {
 public:
  /// A trace of fewer than `patience` references and requests is kept whole, and nothing runs.
  StreamReplay(std::vector<ReplayCell*> cells, unsigned threads, std::size_t patience);

  void add(const RequestBatch& batch);
  /// The whole trace where it was short enough; else none, and all cells have seen all of it.
  std::unique_ptr<KeptRequests> finish();

 private:
  void hand_over();
  void wait();

  struct Work {
    StreamReplay* stream;
    void operator()(std::size_t i) const { stream->cells_[i].run(stream->running_->batch()); }
  };

  CellRun cells_;
  std::size_t helpers_;
  std::size_t patience_;
  bool begun_ = false;
  std::unique_ptr<KeptRequests> filling_ = std::make_unique<KeptRequests>();
  std::unique_ptr<KeptRequests> running_;
  std::optional<ParallelFor<Work>> work_;  ///< on `running_`; last, so that it ends first
};

}  // namespace spillway

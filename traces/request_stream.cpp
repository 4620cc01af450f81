#include "traces/request_stream.hpp"

#include <algorithm>
#include <vector>

#include "traces/interner.hpp"
#include "traces/row_sequence.hpp"

namespace spillway {

namespace {

class Batcher {
 public:
  Batcher(const std::string& path, const std::function<void(const RequestBatch&)>& use)
      : sequence_(path, RowOrder::kFile), use_(use) {}

  void add(const TraceRow& row) {
    sequence_.add(row);
    arrival_ns_.push_back(row.arrival_ns);
    input_tokens_.push_back(static_cast<std::uint32_t>(row.input_tokens));
    output_tokens_.push_back(recorded_output_tokens(row));
    chain_.add(row.blocks, row.own_blocks);
    chain_begin_.push_back(chain_begin_.front() + chain_.size());
    // Requests of no whole block count too, or a batch of them would have no end.
    if (chain_.size() + arrival_ns_.size() >= kBatchReferences) flush();
  }
  void flush() {
    if (arrival_ns_.empty()) return;
    const GrowingColumn<TraceBlockId>& chain = chain_.ids();
    const RequestBatch batch{RequestId{begun_}, arrival_ns_, input_tokens_,         output_tokens_,
                             chain_begin_,      chain,       chain_.unique_blocks()};
    hash_.add(batch);
    use_(batch);
    begun_ = sequence_.size();
    arrival_ns_.clear();
    input_tokens_.clear();
    output_tokens_.clear();
    chain_begin_.assign(1, chain_begin_.back());
    chain_.clear();
  }
  std::uint32_t unique_blocks() const { return chain_.unique_blocks(); }
  std::uint64_t hash(std::uint32_t block_tokens) const { return hash_.value(block_tokens); }

 private:
  RowSequence sequence_;
  const std::function<void(const RequestBatch&)>& use_;
  RequestsHash hash_;
  std::uint32_t begun_ = 0;  ///< requests before this batch
  std::vector<std::int64_t> arrival_ns_;
  std::vector<std::uint32_t> input_tokens_;
  std::vector<std::uint32_t> output_tokens_;
  std::vector<std::uint64_t> chain_begin_{0};
  ChainColumn chain_;
};

}  // namespace

StreamedTrace stream_requests(TraceFile& trace,
                              const std::function<void(const RequestBatch&)>& use) {
  KV_ASSERT(trace.streams(), "{} cannot be streamed", trace.path());
  Batcher batches(trace.path(), use);
  WorkloadSource source = trace.read([&](const TraceRow& row) { batches.add(row); });
  batches.flush();
  const std::uint32_t block_tokens = trace.reader().block_tokens();
  return {std::move(source), block_tokens, batches.unique_blocks(), batches.hash(block_tokens)};
}

}  // namespace spillway

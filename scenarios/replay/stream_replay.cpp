#include "scenarios/replay/stream_replay.hpp"

#include <algorithm>

namespace spillway {

namespace {

/// References and requests in a piece, the last batch's aside.
constexpr std::size_t kPiece = std::size_t{1} << 18;

template <class T>
void append(std::vector<T>& out, std::span<const T> more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

void KeptRequests::add(const RequestBatch& batch) {
  if (arrival_ns_.empty()) first_ = batch.first;
  append(arrival_ns_, batch.arrival_ns);
  append(input_tokens_, batch.input_tokens);
  append(output_tokens_, batch.output_tokens);
  // The last offset so far is the first of the batch.
  chain_begin_.pop_back();
  append(chain_begin_, batch.chain_begin);
  append(chain_, batch.chain);
  blocks_ = batch.blocks;
}

RequestBatch KeptRequests::batch() const {
  return {first_, arrival_ns_, input_tokens_, output_tokens_, chain_begin_, chain_, blocks_};
}

WorkloadColumns KeptRequests::columns(std::uint32_t block_tokens) const {
  WorkloadColumns out;
  out.arrival_ns = arrival_ns_;
  out.input_tokens = input_tokens_;
  out.output_tokens = output_tokens_;
  out.chain_begin = chain_begin_;
  out.chain = chain_;
  out.block_tokens = block_tokens;
  out.unique_blocks = blocks_;
  return out;
}

StreamReplay::StreamReplay(std::vector<ReplayCell*> cells, unsigned threads, std::size_t patience)
    : cells_(std::move(cells)),
      helpers_(std::min<std::size_t>(threads, cells_.size()) - 1),
      patience_(std::max(patience, kPiece)) {}

void StreamReplay::add(const RequestBatch& batch) {
  filling_->add(batch);
  if (filling_->weight() >= (begun_ ? kPiece : patience_)) hand_over();
}

void StreamReplay::hand_over() {
  wait();
  begun_ = true;
  running_ = std::exchange(filling_, std::make_unique<KeptRequests>());
  work_.emplace(cells_.size(), helpers_, Work{this});
  if (helpers_ == 0) wait();
}

void StreamReplay::wait() {
  if (!work_) return;
  work_->finish();
  work_.reset();
  running_.reset();
}

std::unique_ptr<KeptRequests> StreamReplay::finish() {
  if (!begun_) return std::move(filling_);
  hand_over();
  wait();
  parallel_for(cells_.size(), static_cast<unsigned>(helpers_ + 1),
               [this](std::size_t i) { cells_[i].conclude(); });
  return nullptr;
}

}  // namespace spillway

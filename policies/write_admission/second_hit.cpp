// A block is written once it has been seen `threshold` times, as vLLM's `store_threshold` has it
// (vllm/v1/kv_offload/cpu/manager.py): counts live in a tracker of bounded size, from which the
// block seen longest ago falls out. A sighting is an offer to store (`count=offers`, upstream since
// pull request 52227), or a look-up that reaches the block (`count=lookups`, before): that walk
// ends at the first miss, so a cold chain becomes known one block a request.
//
// Model: upstream counts each poll of a request that waits; here a request's look-up counts once an
// admission, and its offer once however often its batch is repeated for want of room.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/index_list.hpp"

namespace spillway {

namespace {

/// Counts of the blocks seen last.
class Tracker {
 public:
  /// At most `entries`, of block ids below `blocks`.
  Tracker(std::uint64_t entries, std::uint32_t blocks) : most_(entries), order_(0) { grow(blocks); }
  void grow(std::uint32_t blocks) {
    entry_of_.resize(blocks, kNone);
    entries_.resize(std::min<std::uint64_t>(most_, blocks));
    order_.grow(static_cast<std::uint32_t>(entries_.size()));
  }

  std::uint32_t count(BlockId block) const {
    const std::uint32_t entry = entry_of_[raw(block)];
    return entry == kNone ? 0 : entries_[entry].count;
  }
  void see(BlockId block) {
    std::uint32_t& entry = entry_of_[raw(block)];
    if (entry != kNone) {
      order_.erase(entry);
      ++entries_[entry].count;
    } else {
      entry = used_ < entries_.size() ? used_++ : forget_oldest();
      entries_[entry] = {block, 1};
    }
    order_.push_back(entry);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    BlockId block = kNoBlock;
    std::uint32_t count = 0;
  };

  std::uint32_t forget_oldest() {
    const std::uint32_t entry = order_.front();
    order_.erase(entry);
    entry_of_[raw(entries_[entry].block)] = kNone;
    return entry;
  }

  std::uint64_t most_;
  std::vector<std::uint32_t> entry_of_;  ///< by block
  std::vector<Entry> entries_;
  IndexList order_;  ///< of entries, seen longest ago first
  std::uint32_t used_ = 0;
};

class SecondHit final : public WriteAdmissionPolicy {
 public:
  SecondHit(std::uint32_t threshold, bool count_lookups, std::uint64_t entries,
            std::uint32_t blocks)
      : threshold_(threshold), count_lookups_(count_lookups), tracker_(entries, blocks) {}

  void decide(const WriteOffer& offer, std::span<WriteVerdict> verdicts) override {
    for (std::size_t i = 0; i < offer.blocks.size(); ++i) {
      const BlockId block = offer.blocks[i];
      if (!count_lookups_ && i >= offer.repeated) tracker_.see(block);
      verdicts[i] =
          tracker_.count(block) >= threshold_ ? WriteVerdict::kWrite : WriteVerdict::kFirstSighting;
    }
  }
  void grow(std::uint32_t blocks) override { tracker_.grow(blocks); }
  bool wants_lookups() const override { return count_lookups_; }
  void on_lookup(BlockSpan blocks) override {
    for (const BlockId block : blocks) tracker_.see(block);
  }

 private:
  std::uint32_t threshold_;
  bool count_lookups_;
  Tracker tracker_;
};

}  // namespace

std::unique_ptr<WriteAdmissionPolicy> make_second_hit(const WriteAdmissionContext& context,
                                                      const Params& params, const SourceRef&) {
  return std::make_unique<SecondHit>(static_cast<std::uint32_t>(params.whole("threshold")),
                                     params.text("count") == "lookups", params.whole("tracker"),
                                     context.blocks);
}

}  // namespace spillway

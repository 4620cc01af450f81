// A block is written once its count reaches `threshold`, as KVBM's filter before its disk tier has
// it (NVIDIA Dynamo, lib/llm/src/block_manager/offload/filter.rs): an offer starts a block's count
// at 1 and doubles it from then on; every `decay_s` all counts lose 1, and a count of 0 is
// forgotten. When more than `entries` blocks have a count, all lose 1 until they fit, and the next
// decrement is due `decay_s` later.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class Frequency final : public WriteAdmissionPolicy {
 public:
  Frequency(std::uint32_t threshold, Duration decay, std::uint64_t entries, std::uint32_t blocks)
      : threshold_(threshold), decay_(decay), most_(entries), count_(blocks, 0) {
    counted_.reserve(blocks);
  }

  void decide(const WriteOffer& offer, std::span<WriteVerdict> verdicts) override {
    decay_until(offer.now);
    for (std::size_t i = 0; i < offer.blocks.size(); ++i) {
      std::uint32_t& count = count_[raw(offer.blocks[i])];
      if (i >= offer.repeated) see(offer.blocks[i], count);
      verdicts[i] = count >= threshold_ ? WriteVerdict::kWrite : WriteVerdict::kInfrequent;
    }
    if (counted_.size() > most_) make_fit(offer.now);
  }
  void grow(std::uint32_t blocks) override {
    count_.resize(blocks, 0);
    counted_.reserve(blocks);
  }

 private:
  static constexpr std::uint32_t kMostCount = 1U << 31;

  void see(BlockId block, std::uint32_t& count) {
    if (count == 0) counted_.push_back(block);
    count = count == 0 ? 1 : std::min(count, kMostCount / 2) * 2;
  }
  void decay_until(Time now) {
    const std::int64_t ticks = (now - decayed_) / decay_;
    if (ticks == 0) return;
    decayed_ += ticks * decay_;
    lower(static_cast<std::uint32_t>(std::min<std::int64_t>(ticks, kMostCount)));
  }
  void lower(std::uint32_t by) {
    const auto forgotten = [&](BlockId block) {
      std::uint32_t& count = count_[raw(block)];
      count -= std::min(count, by);
      return count == 0;
    };
    counted_.erase(std::remove_if(counted_.begin(), counted_.end(), forgotten), counted_.end());
  }
  void make_fit(Time now) {
    while (counted_.size() > most_) {
      std::uint32_t least = kMostCount;
      for (const BlockId block : counted_) least = std::min(least, count_[raw(block)]);
      lower(least);  // nothing leaves earlier
    }
    decayed_ = now;
  }

  std::uint32_t threshold_;
  Duration decay_;
  std::uint64_t most_;
  std::vector<std::uint32_t> count_;  ///< by block
  std::vector<BlockId> counted_;      ///< those with a count, in order of their first sighting
  Time decayed_{};
};

}  // namespace

std::unique_ptr<WriteAdmissionPolicy> make_frequency(const WriteAdmissionContext& context,
                                                     const Params& params, const SourceRef&) {
  const auto decay_ns = static_cast<std::int64_t>(params.real("decay_s") * 1e9 + 0.5);
  return std::make_unique<Frequency>(static_cast<std::uint32_t>(params.whole("threshold")),
                                     Duration(decay_ns), params.whole("entries"), context.blocks);
}

}  // namespace spillway

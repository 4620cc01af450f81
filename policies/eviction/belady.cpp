// The offline optimum: what is used again last, or never, leaves first (L. A. Belady, "A study of
// replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966; optimal
// by R. L. Mattson et al., "Evaluation techniques for storage hierarchies", ibid. 9(2), 1970).
//
// Of whole requests a block may also stay out: one whose next use is farther than that of all that
// are kept is passed by. By reference every block comes in, as in the classic replay.
//
// Each resident block is filed under the position of its next use in the trace. The positions form
// a set of bits with a known highest, which is the victim's; blocks never used again wait aside and
// go first. Within a request the deepest block has the highest position, so a chain loses its tail
// before its head: where requests are prefix chains, what is kept of each is then a prefix, and the
// leading hits are all hits.
//
// A replay knows no pins, so that remove() never comes.
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/bit_tree.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kNever = NextUse::kNever;

class Belady final : public EvictionPolicy {
 public:
  explicit Belady(const EvictionContext& context)
      : contents_(*context.contents),
        future_(*context.future),
        by_request_(future_.atomicity == Atomicity::kRequest),
        uses_(future_.next.size()),
        slot_at_(std::make_unique_for_overwrite<SlotId[]>(future_.next.size())) {
    grow(context.slots, context.blocks);
  }

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access& access) override {
    const auto begin = static_cast<std::uint32_t>(future_.chain_begin[raw(access.request)]);
    if (!by_request_) {
      cursor_ = begin;
      return;
    }
    // A block is resident exactly when its position is filed. One that repeats is not filed at its
    // second position, whether resident or not; that its next use is noted does no harm.
    std::uint32_t position = begin;
    for (const BlockId block : chain) {
      if (uses_.contains(position)) {
        file(slot_at_[position], future_.next[position]);
      } else {
        coming_[raw(block)] = future_.next[position];
      }
      ++position;
    }
    uses_.erase(begin, position);
    cursor_ = position;
  }

  void touch(SlotSpan slots, const Access&) override {
    if (by_request_) return;  // on_lookup() has filed them anew
    for (const SlotId slot : slots) {
      const std::uint32_t position = cursor_++;
      uses_.erase(position);
      file(slot, future_.next[position]);
    }
  }
  void add(SlotSpan slots, const Access&) override {
    if (filed_ahead_) {
      filed_ahead_ = false;
      return;
    }
    for (const SlotId slot : slots) {
      file(slot, by_request_ ? coming_[raw(contents_[slot])] : future_.next[cursor_++]);
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access&) override {
    KV_ASSERT(out.size() == incoming.size(), "newcomers whose future is not known");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint32_t use = by_request_ ? coming_[raw(incoming[i])] : future_.next[cursor_++];
      out[i] = stays_out(use) ? kNoSlot : pop();
      if (out[i] == kNoSlot) continue;
      file(out[i], use);
      filed_ahead_ = true;
    }
  }
  /// Newcomers are filed as their places are named: the next one may push them out.
  bool pops_ahead() const override { return true; }
  void remove(SlotSpan, RemoveCause) override {
    KV_ASSERT(false, "a pinned or lost block in a replay that knows the future");
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    dead_.reserve(slots);
    if (by_request_) coming_.resize(blocks, kNever);
  }

 private:
  void file(SlotId slot, std::uint32_t use) {
    if (use == kNever) {
      dead_.push_back(slot);
      return;
    }
    uses_.insert(use);
    slot_at_[use] = slot;
  }
  /// A use that is past was noted by an earlier request: the block was there at the look-up and has
  /// left since, which it did as the one worth least.
  bool stays_out(std::uint32_t use) const {
    if (!by_request_) return false;
    return use < cursor_ || use == kNever || (dead_.empty() && use > uses_.highest());
  }
  SlotId pop() {
    if (!dead_.empty()) {
      const SlotId victim = dead_.back();
      dead_.pop_back();
      return victim;
    }
    const std::uint32_t use = uses_.highest();
    uses_.erase(use);
    return slot_at_[use];
  }

  const SlotContents& contents_;
  const NextUse& future_;
  bool by_request_;
  BitTree uses_;                       ///< positions at which resident blocks are used next
  std::unique_ptr<SlotId[]> slot_at_;  ///< by such a position: which slot; elsewhere never read
  std::vector<SlotId> dead_;           ///< resident and never used again
  std::vector<std::uint32_t> coming_;  ///< by block of this request: its next use, where absent
  /// By request: where the next request begins. By reference: the position of the slot that is
  /// touched or added next.
  std::uint32_t cursor_ = 0;
  bool filed_ahead_ = false;  ///< what is added next took the places named last
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_belady(const EvictionContext& context, const Params&,
                                            const SourceRef&) {
  return std::make_unique<Belady>(context);
}

}  // namespace spillway

// ARC as vLLM's CPU tier has it (vllm/v1/kv_offload/cpu/policies/arc.py), which is not the paper's
// (arc.cpp).
//
// T1 holds what came lately, T2 what was looked for since; B1 and B2 remember what left them. What
// comes goes into T1 whatever its ghost, which is forgotten and teaches nothing. A look-up moves
// what is ready into T2, what is still being written to T1's end; for a block that has left it
// moves the target size of T1: up for a ghost in B1, down for one in B2, so that a request that
// looks again and again while it waits moves it again and again. A victim comes from T1 while that
// holds its target or more, else from T2; where T2 has none to give the whole eviction fails, even
// if T1 has. What is written, read or spared keeps its place and counts towards T1's size.
//
// In a tier that never asks for more than the plain contract (HBM, a replay) nothing can be
// refused: there T1 gives what T2 has not. Blocks without a name leave no ghost and leave first.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/tagged_lists.hpp"

namespace spillway {

namespace {

class VllmArc final : public EvictionPolicy {
 public:
  explicit VllmArc(const EvictionContext& context)
      : contents_(*context.contents),
        capacity_(context.capacity),
        resident_(context.slots),
        state_(context.slots, State::kWritten),
        ghosts_(context.blocks) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      if (resident_.list_of(raw(slot)) == resident_.kNone) enter(slot);
      state_[raw(slot)] = State::kEvictable;
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) use(slot);
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      state_[raw(slot)] = State::kRead;
      if (cause == RemoveCause::kInvalidated) resident_.erase(raw(slot));
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      Scan scan(*this);
      Candidate next = scan.next();
      if (next.slot == kNoSlot) next = {scan.of(kT1), kT1};
      victim = next.slot;
      evict(next);
    }
    trim();
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    resident_.grow(slots);
    state_.resize(slots, State::kWritten);
    ghosts_.grow(blocks);
  }

  bool orders_all() const override { return true; }
  void insert(SlotId slot) override {
    enter(slot);
    state_[raw(slot)] = State::kWritten;
  }
  bool touch_all(BlockSpan blocks, SlotSpan slots) override {
    bool adapted = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (slots[i] != kNoSlot) {
        use(slots[i]);
      } else if (ghosts_.list_of(raw(blocks[i])) != ghosts_.kNone) {
        adapt(raw(blocks[i]));
        adapted = true;
      }
    }
    return adapted;
  }
  bool try_pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    Scan scan(*this);
    chosen_.clear();
    while (chosen_.size() < out.size()) {
      chosen_.push_back(scan.next());
      if (chosen_.back().slot == kNoSlot) return false;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = chosen_[i].slot;
      evict(chosen_[i]);
    }
    trim();
    return true;
  }

 private:
  enum Resident : std::uint8_t { kT1, kT2, kNameless };
  enum Ghost : std::uint8_t { kB1, kB2 };
  /// Of a slot that is in a list.
  enum class State : std::uint8_t { kWritten, kRead, kEvictable };
  struct Candidate {
    SlotId slot;
    Resident list;
  };

  /// Names victims one after another without touching the lists.
  class Scan {
   public:
    explicit Scan(const VllmArc& arc) : arc_(arc), left_in_t1_(arc.resident_.size(kT1)) {
      for (std::uint8_t list = 0; list < kLists; ++list) at_[list] = arc.resident_.first(list);
    }
    /// kNoSlot: none that may be had.
    Candidate next() {
      if (const SlotId slot = of(kNameless); slot != kNoSlot) return {slot, kNameless};
      if (left_in_t1_ >= static_cast<std::uint64_t>(arc_.target_)) {
        if (const SlotId slot = of(kT1); slot != kNoSlot) {
          --left_in_t1_;
          return {slot, kT1};
        }
      }
      return {of(kT2), kT2};
    }
    /// The next evictable slot of a list; kNoSlot at its end.
    SlotId of(Resident list) {
      std::uint32_t& at = at_[list];
      while (at != Lists::kEnd) {
        const std::uint32_t slot = at;
        at = arc_.resident_.next(slot);
        if (arc_.state_[slot] == State::kEvictable) return SlotId{slot};
      }
      return kNoSlot;
    }

   private:
    const VllmArc& arc_;
    std::uint64_t left_in_t1_;
    std::uint32_t at_[3];
  };
  static constexpr std::uint8_t kLists = 3;
  using Lists = TaggedLists<kLists>;

  void enter(SlotId slot) {
    const BlockId block = contents_[slot];
    resident_.push_back(block == kNoBlock ? kNameless : kT1, raw(slot));
    forget(block);
  }
  void forget(BlockId block) {
    if (block != kNoBlock && ghosts_.list_of(raw(block)) != ghosts_.kNone) {
      ghosts_.erase(raw(block));
    }
  }
  void use(SlotId slot) {
    const std::uint8_t list = resident_.list_of(raw(slot));
    if (list == kNameless) return;
    const bool stays = list == kT1 && state_[raw(slot)] == State::kWritten;
    resident_.move_to_back(stays ? kT1 : kT2, raw(slot));
  }
  /// A look-up met a ghost.
  void adapt(std::uint32_t block) {
    const double b1 = ghosts_.size(kB1);
    const double b2 = ghosts_.size(kB2);
    const std::uint8_t list = ghosts_.list_of(block);
    if (list == kB1) {
      target_ = std::min(target_ + std::max(1.0, b2 / b1), static_cast<double>(capacity_));
    } else {
      target_ = std::max(target_ - std::max(1.0, b1 / b2), 0.0);
    }
    ghosts_.move_to_back(list, block);
  }
  void evict(const Candidate& victim) {
    resident_.erase(raw(victim.slot));
    const BlockId block = contents_[victim.slot];
    if (victim.list == kNameless) return;
    forget(block);  // of another slot with it
    ghosts_.push_back(victim.list == kT1 ? kB1 : kB2, raw(block));
  }
  void trim() {
    for (const Ghost list : {kB1, kB2}) {
      while (ghosts_.size(list) > capacity_) ghosts_.pop_front(list);
    }
  }

  const SlotContents& contents_;
  std::uint64_t capacity_;
  double target_ = 0;         ///< size of T1
  Lists resident_;            ///< slots by Resident, least recent first
  std::vector<State> state_;  ///< by slot
  TaggedLists<2> ghosts_;     ///< blocks by Ghost, least recent first
  std::vector<Candidate> chosen_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_vllm_arc(const EvictionContext& context, const Params&,
                                              const SourceRef&) {
  return std::make_unique<VllmArc>(context);
}

}  // namespace spillway

// Session-budget: while sessions hold more than their budget, the one farthest above gives its
// least recently used block; else the least recently used of all leaves.
//
// The rule is an operators' one, without a paper: one long session must not push out many short
// ones. A block belongs to the session that used it last, and only evictable blocks count. Ties go
// to the session with the lower id.
#include <algorithm>
#include <limits>

#include "policies/containers/index_heap.hpp"
#include "policies/containers/index_list.hpp"
#include "policies/containers/index_lists.hpp"
#include "policies/eviction/layers.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

class SessionBudget final : public EvictionPolicy {
 public:
  SessionBudget(const EvictionContext& context, std::uint64_t budget)
      : budget_(static_cast<std::uint32_t>(std::min<std::uint64_t>(budget, kMost))),
        requests_(*context.requests),
        all_(context.slots),
        of_session_(requests_.sessions, context.slots),
        owner_(context.slots),
        count_(requests_.sessions),
        above_(requests_.sessions) {}

  void add(SlotSpan slots, const Access& access) override {
    const std::uint32_t session = raw(requests_.session[access.request]);
    for (const SlotId slot : slots) {
      all_.push_back(raw(slot));
      give(slot, session);
    }
    changed(session);
  }
  void touch(SlotSpan slots, const Access& access) override {
    all_.move_to_back(slots);
    const std::uint32_t session = raw(requests_.session[access.request]);
    for (const SlotId slot : slots) {
      take(slot);
      give(slot, session);
    }
    changed(session);
  }
  void remove(SlotSpan slots, RemoveCause) override {
    for (const SlotId slot : slots) {
      all_.erase(raw(slot));
      take(slot);
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      rank(unranked_);
      victim = SlotId{above_.empty() ? all_.front() : of_session_.front(above_.front())};
      remove({&victim, 1}, RemoveCause::kInvalidated);
    }
  }
  void grow(std::uint32_t slots, std::uint32_t) override {
    all_.grow(slots);
    of_session_.grow(slots);
    owner_.resize(slots);
  }
  BlockRange excess_of(std::uint64_t blocks) const override {
    return {std::min<std::uint64_t>(budget_, blocks), blocks};
  }

 private:
  static constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

  void give(SlotId slot, std::uint32_t session) {
    of_session_.push_back(session, raw(slot));
    owner_[raw(slot)] = session;
    ++count_[session];
  }
  void take(SlotId slot) {
    const std::uint32_t session = owner_[raw(slot)];
    of_session_.erase(raw(slot));
    --count_[session];
    changed(session);
  }
  /// Ranks late: a session that gives a block and takes another has not moved.
  void changed(std::uint32_t session) {
    if (session == unranked_) return;
    rank(unranked_);
    unranked_ = session;
  }
  /// The farthest above has the least key; of those, the lower session.
  void rank(std::uint32_t session) {
    const bool ranked = above_.contains(session);
    if (count_[session] <= budget_) {
      if (ranked) above_.erase(session);
      return;
    }
    const std::uint64_t below_most = kMost - (count_[session] - budget_);
    const std::uint64_t key = below_most << 32 | session;
    if (ranked) {
      above_.rekey(session, key);
    } else {
      above_.push(session, key);
    }
  }

  std::uint32_t budget_;  ///< in blocks
  const RequestFacts& requests_;
  IndexList all_;          ///< least recently used first
  IndexLists of_session_;  ///< the same by session
  std::vector<std::uint32_t> owner_;
  std::vector<std::uint32_t> count_;
  IndexHeap above_;
  std::uint32_t unranked_ = 0;  ///< the one session whose rank may not be its count's
};

}  // namespace

std::unique_ptr<EvictionPolicy> session_budget(const EvictionContext& context,
                                               std::uint64_t budget_tokens) {
  KV_ASSERT(context.requests != nullptr, "sessions of no requests");
  return std::make_unique<SessionBudget>(context, budget_tokens / context.block_tokens);
}

// The default is a long chat's context; what fits depends on the tier.
extern const ParamSpec kSessionBudgetParams[1];
const ParamSpec kSessionBudgetParams[1] = {{"budget_tokens",
                                            "tokens that a session may keep while others want room",
                                            16384, 1, kMostTokens, ParamSpec::Kind::kWhole}};

std::unique_ptr<EvictionPolicy> make_session_budget(const EvictionContext& context,
                                                    const Params& params, const SourceRef&) {
  return session_budget(context, params.whole("budget_tokens"));
}

}  // namespace spillway

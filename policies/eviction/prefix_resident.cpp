// Prefix-resident: the blocks within a chain's first tokens stay until nothing else is left, and so
// do those that a number of sessions share, such as a template longer than that.
//
// The rule is an operators' one, without a paper: a prefix is worth more than what follows, for
// without it nothing behind it can be reused. Where a block stands and who uses it is learned from
// the chains as they pass: exactly, and for good. A block whose sessions are counted keeps the ids
// of all but the last that it takes: 4 bytes each.
#include <limits>

#include "policies/eviction/hold_back.hpp"
#include "policies/eviction/layers.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

class PrefixResident final : public HoldBack {
 public:
  PrefixResident(std::unique_ptr<EvictionPolicy> base, const EvictionContext& context,
                 std::uint64_t prefix_blocks, std::uint64_t sessions)
      : HoldBack(std::move(base), context),
        prefix_blocks_(prefix_blocks),
        counts_sessions_(sessions > 0),
        remembered_(sessions > 0 ? sessions - 1 : 0),
        users_(context.blocks * remembered_, kNobody),
        requests_(context.requests) {
    KV_ASSERT(!counts_sessions_ || requests_ != nullptr, "sessions of no requests");
  }

  BlockRange excess_of(std::uint64_t blocks) const override {
    return excess_within(std::min(prefix_blocks_, blocks), blocks);
  }

 private:
  static constexpr SessionId kNobody{std::numeric_limits<std::uint32_t>::max()};

  void hear(BlockSpan chain, const Access& access) override {
    const std::size_t first = std::min<std::uint64_t>(prefix_blocks_, chain.size());
    for (const BlockId block : chain.first(first)) keep(block, access);
    if (!counts_sessions_) return;
    const SessionId session = requests_->session[access.request];
    for (const BlockId block : chain.subspan(first)) {
      if (!claimed(block) && completes(block, session)) keep(block, access);
    }
  }
  void grow_further(std::uint32_t, std::uint32_t blocks) override {
    users_.resize(blocks * remembered_, kNobody);
  }

  void keep(BlockId block, const Access& access) {
    if (!claimed(block)) claim(block, access);
  }
  /// Whether `session` is the last of as many as it takes.
  bool completes(BlockId block, SessionId session) {
    SessionId* const known = users_.data() + raw(block) * remembered_;
    for (std::size_t i = 0; i < remembered_; ++i) {
      if (known[i] == session) return false;
      if (known[i] == kNobody) {
        known[i] = session;
        return false;
      }
    }
    return true;
  }

  std::uint64_t prefix_blocks_;
  bool counts_sessions_;
  std::size_t remembered_;        ///< sessions by block
  std::vector<SessionId> users_;  ///< the first sessions of each block
  const RequestFacts* requests_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> prefix_resident_over(std::unique_ptr<EvictionPolicy> base,
                                                     const EvictionContext& context,
                                                     std::uint64_t prefix_blocks,
                                                     std::uint64_t sessions) {
  if (prefix_blocks == 0 && sessions == 0) return base;
  return std::make_unique<PrefixResident>(std::move(base), context, prefix_blocks, sessions);
}

extern const ParamSpec kPrefixResidentParams[3];
const ParamSpec kPrefixResidentParams[3] = {kPrefixTokens, kPrefixSessions, kOver};

std::unique_ptr<EvictionPolicy> make_prefix_resident(const EvictionContext& context,
                                                     const Params& params, const SourceRef& where) {
  const Reserved reserved =
      reserve("prefix-resident", kPrefixResidentParams, params, context, where);
  return prefix_resident_over(make_base(params, context, where), context, reserved.prefix,
                              params.whole(kPrefixSessions.name));
}

}  // namespace spillway

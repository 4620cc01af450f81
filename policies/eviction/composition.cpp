// The composition of the published fleet: resident first tokens, pinned last tokens, and LRU
// between them, within a budget for each session where there is one.
//
// Prefix-resident over tail-pin over session-budget or LRU: with nothing else left, tails leave
// before prefixes. A session's budget counts its blocks in the middle and those of its prefix and
// tail that had no reason yet to be set aside (see hold_back.hpp).
#include "policies/eviction/layers.hpp"

namespace spillway {

extern const ParamSpec kCompositionParams[5];
const ParamSpec kCompositionParams[5] = {
    kPrefixTokens,
    kTailTokens,
    kTtl,
    kPrefixSessions,
    {"budget_tokens", "tokens that a session may keep between the two; 0: no budget", 0, 0,
     kMostTokens, ParamSpec::Kind::kWhole}};

std::unique_ptr<EvictionPolicy> make_composition(const EvictionContext& context,
                                                 const Params& params, const SourceRef& where) {
  const Reserved reserved = reserve("composition", kCompositionParams, params, context, where);
  const std::uint64_t budget = params.whole("budget_tokens");
  std::unique_ptr<EvictionPolicy> middle =
      budget == 0 ? EvictionChoice().make(context) : session_budget(context, budget);
  return prefix_resident_over(
      tail_pin_over(std::move(middle), context, reserved.tail, ttl_of(params)), context,
      reserved.prefix, params.whole(kPrefixSessions.name));
}

}  // namespace spillway

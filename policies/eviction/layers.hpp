// Prefix-resident, tail-pin and session-budget as layers, so that each stands alone in the
// catalogue and the composition is made of the same.
#pragma once

#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

/// What layers set apart of a tier, in its blocks.
struct Reserved {
  std::uint64_t prefix = 0;
  std::uint64_t tail = 0;
};

/// Reads prefix_tokens and tail_tokens, whichever of them `policy` has. Throws InputError (exit 2)
/// at `where` when those given take more blocks than the tier has; defaults take what is left.
Reserved reserve(std::string_view policy, std::span<const ParamSpec> specs, const Params& params,
                 const EvictionContext& context, const SourceRef& where);

/// The policy that `over` names. Throws InputError (exit 2) where it cannot be a base.
std::unique_ptr<EvictionPolicy> make_base(const Params& params, const EvictionContext& context,
                                          const SourceRef& where);

/// Nothing to hold back: the base itself. `sessions`: as many share a block that stays; 0: off.
std::unique_ptr<EvictionPolicy> prefix_resident_over(std::unique_ptr<EvictionPolicy> base,
                                                     const EvictionContext& context,
                                                     std::uint64_t prefix_blocks,
                                                     std::uint64_t sessions);
/// A time to live of 0 is none.
std::unique_ptr<EvictionPolicy> tail_pin_over(std::unique_ptr<EvictionPolicy> base,
                                              const EvictionContext& context,
                                              std::uint64_t tail_blocks, Duration ttl);
std::unique_ptr<EvictionPolicy> session_budget(const EvictionContext& context,
                                               std::uint64_t budget_tokens);
Duration ttl_of(const Params& params);

/// Far above any tier; such that sums and nanoseconds fit 63 bits.
inline constexpr double kMostTokens = 1e12;
inline constexpr double kMostSeconds = 1e9;

// The defaults are the fleet's of the published policy: 2,048 first and 512 last tokens.
inline constexpr ParamSpec kPrefixTokens{
    "prefix_tokens",        "a chain's first tokens, which leave last", 2048, 0, kMostTokens,
    ParamSpec::Kind::kWhole};
inline constexpr ParamSpec kPrefixSessions{
    "sessions", "blocks that as many sessions share leave last too; 0: off",
    0,          0,
    16,         ParamSpec::Kind::kWhole};
inline constexpr ParamSpec kTailTokens{
    "tail_tokens", "a session's last tokens, which stay until it is back",
    512,           0,
    kMostTokens,   ParamSpec::Kind::kWhole};
inline constexpr ParamSpec kTtl{"ttl_s", "seconds after which a session is given up; 0: never", 600,
                                0, kMostSeconds};
inline constexpr ParamSpec kOver{
    "over", "the policy that orders the blocks", 0, 0, 0, ParamSpec::Kind::kText, "lru"};

}  // namespace spillway

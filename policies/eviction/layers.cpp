#include "policies/eviction/layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

/// One of the two, as a user would have written it.
struct Part {
  std::string_view name;
  std::uint64_t tokens = 0;
  std::uint64_t blocks = 0;
  bool given = false;
};

Part read_part(std::string_view name, std::span<const ParamSpec> specs, const Params& params,
               std::uint32_t block_tokens) {
  const bool known = std::any_of(specs.begin(), specs.end(),
                                 [&](const ParamSpec& spec) { return spec.name == name; });
  if (!known) return {name};
  const std::uint64_t tokens = params.whole(name);
  return {name, tokens, (tokens + block_tokens - 1) / block_tokens, params.is_given(name)};
}

}  // namespace

Reserved reserve(std::string_view policy, std::span<const ParamSpec> specs, const Params& params,
                 const EvictionContext& context, const SourceRef& where) {
  Part tail = read_part(kTailTokens.name, specs, params, context.block_tokens);
  Part prefix = read_part(kPrefixTokens.name, specs, params, context.block_tokens);
  std::uint64_t asked = 0;
  std::string what;
  for (const Part& part : {prefix, tail}) {
    if (!part.given) continue;
    asked += part.blocks;
    what += fmt::format("{}{}={} ({} blocks)", what.empty() ? "" : " and ", part.name, part.tokens,
                        part.blocks);
  }
  if (asked > context.capacity) {
    throw InputError(
        Fault::kUsage, where,
        fmt::format("{}: expected no more than the tier holds, {} blocks of {} tokens ({} tokens), "
                    "found {}",
                    policy, context.capacity, context.block_tokens,
                    context.capacity * context.block_tokens, what));
  }
  std::uint64_t left = context.capacity - asked;
  for (Part* part : {&tail, &prefix}) {
    if (part->given) continue;
    part->blocks = std::min(part->blocks, left);
    left -= part->blocks;
  }
  return {prefix.blocks, tail.blocks};
}

std::unique_ptr<EvictionPolicy> make_base(const Params& params, const EvictionContext& context,
                                          const SourceRef& where) {
  const EvictionChoice base = parse_eviction(params.text(kOver.name), where);
  if (base.needs().future || base.holds_back()) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{}: expected a policy that neither holds blocks back itself nor "
                                 "needs the future, found \"{}\"",
                                 kOver.name, base.name()));
  }
  return base.make(context);
}

Duration ttl_of(const Params& params) {
  constexpr double kNanoseconds = 1e9;
  return Duration(static_cast<Duration::rep>(params.real(kTtl.name) * kNanoseconds));
}

}  // namespace spillway

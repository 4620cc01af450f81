#include "scenarios/replay/tier_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/quantities.hpp"

namespace spillway {

namespace {

SourceRef here() {
  return {"--tiers", 0, ""};
}

ReplayTierSpec parse_tier(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw InputError(Fault::kUsage, here(),
                     fmt::format("expected NAME=CAPACITY or NAME=CAPACITY/POLICY, e.g. "
                                 "dram=10000blocks, found \"{}\"",
                                 text));
  }
  ReplayTierSpec out;
  out.name = text.substr(0, equals);
  const std::size_t slash = std::min(text.find('/', equals), text.size());
  out.capacity_blocks = parse_block_count(
      std::string_view(text).substr(equals + 1, slash - equals - 1), {"--tiers", 0, out.name});
  if (slash < text.size()) out.policy = parse_eviction(text.substr(slash + 1), here());
  return out;
}

}  // namespace

std::uint64_t parse_block_count(std::string_view text, const SourceRef& where) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    throw InputError(
        Fault::kUsage, where,
        fmt::format("expected a number of blocks with its unit, e.g. {}blocks, or inf, "
                    "found \"{}\"",
                    text, text));
  }
  const Capacity capacity = parse_capacity(text, where);
  if (capacity.kind == Capacity::Kind::kUnbounded) return kUnboundedCache;
  if (capacity.kind == Capacity::Kind::kBytes) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("a replay counts trace blocks; expected e.g. 1000blocks or inf, "
                                 "found \"{}\"",
                                 text));
  }
  if (capacity.count < 1) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected at least one block, found \"{}\"", text));
  }
  return static_cast<std::uint64_t>(capacity.count);
}

std::vector<ReplayTierSpec> parse_replay_tiers(const std::vector<std::string>& texts) {
  if (texts.size() > kMostReplayTiers) {
    throw InputError(
        Fault::kUsage, here(),
        fmt::format("expected at most {} tiers, found {}", kMostReplayTiers, texts.size()));
  }
  std::vector<ReplayTierSpec> out;
  for (const std::string& text : texts) {
    ReplayTierSpec tier = parse_tier(text);
    const auto same = [&](const ReplayTierSpec& other) { return other.name == tier.name; };
    if (std::any_of(out.begin(), out.end(), same)) {
      throw InputError(
          Fault::kUsage, here(),
          fmt::format("two tiers are called \"{}\"; expected differing names", tier.name));
    }
    out.push_back(std::move(tier));
  }
  return out;
}

std::vector<ReplayTierSetup> tiers_with(const std::vector<ReplayTierSpec>& tiers,
                                        const EvictionChoice& policy, Inclusion inclusion) {
  std::vector<ReplayTierSetup> out;
  for (const ReplayTierSpec& tier : tiers) {
    out.push_back({tier.policy.value_or(policy), tier.capacity_blocks});
    if (inclusion == Inclusion::kExclusive && out.size() > 1 && out.back().policy.needs().future) {
      throw InputError(Fault::kUsage, {"--tiers", 0, tier.name},
                       fmt::format("{} needs to see every reference, and of exclusive tiers only "
                                   "the first does; expected another policy, e.g. {}={}/lru",
                                   out.back().policy.name(), tier.name,
                                   tier.capacity_blocks == kUnboundedCache
                                       ? "inf"
                                       : fmt::format("{}blocks", tier.capacity_blocks)));
    }
  }
  return out;
}

}  // namespace spillway

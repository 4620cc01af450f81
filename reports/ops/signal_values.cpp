#include "reports/ops/signal_values.hpp"

#include <algorithm>

namespace spillway {

namespace {

using S = Signal;

/// The storage that a metric is of: the first tier behind host memory, or the first of the kind.
const TierResult* storage_of(const RunResult& run, const EngineMetric& metric) {
  for (std::size_t i = 2; i < run.tiers.size(); ++i) {
    if (metric.part.empty() || run.tiers[i].kind == metric.part) return &run.tiers[i];
  }
  return nullptr;
}

/// Over the links of all engines; an empty name stands for any tier.
double bytes_between(const RunResult& run, std::string_view from, std::string_view to) {
  std::int64_t bytes = 0;
  for (const LinkResult& link : run.links) {
    const bool between = (from.empty() || link.from == from) && (to.empty() || link.to == to);
    if (between && !link.medium) bytes += link.bytes;
  }
  return static_cast<double>(bytes);
}

double found(const TierResult& tier) {
  return static_cast<double>(tier.hits + tier.hits_resumed);
}

std::optional<double> ratio_of(const TierResult& tier) {
  if (tier.queries == 0) return std::nullopt;
  return static_cast<double>(tier.hits) / static_cast<double>(tier.queries);
}

/// Tokens of prompts: what tiers below HBM supplied, and with `asked` what was computed as well.
double tokens_below(const RunResult& run, bool asked) {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < run.prompt_tokens_by_source.size(); ++i) {
    if (i > 1 || (i == 0 && asked)) tokens += run.prompt_tokens_by_source[i].second;
  }
  return static_cast<double>(tokens);
}

double misses_below(const RunResult& run) {
  std::uint64_t hits = 0;
  for (std::size_t i = 1; i < run.tiers.size(); ++i) hits += run.tiers[i].hits;
  const std::uint64_t asked = run.tiers[1].queries;
  return static_cast<double>(asked > hits ? asked - hits : 0);
}

std::optional<double> of_storage(const RunResult& run, const EngineMetric& metric) {
  const TierResult* tier = storage_of(run, metric);
  if (tier == nullptr) return std::nullopt;
  switch (metric.signal) {
    case S::kTierHitRatio:
      return ratio_of(*tier);
    case S::kTierLoadBlocks:
      return found(*tier);
    case S::kTierStoreBlocks:
      return static_cast<double>(tier->stores);
    case S::kTierLoadBytes:
      return bytes_between(run, tier->name, {});
    case S::kTierStoreBytes:
      return bytes_between(run, {}, tier->name);
    default:
      return std::nullopt;
  }
}

/// Of the first tier below HBM. An unbounded one has no size to compare with.
std::optional<double> size_of(const TierResult& tier, Signal signal) {
  if (signal == S::kHostBytes) return tier.mean_bytes;
  if (tier.unbounded || tier.capacity_bytes <= 0) return std::nullopt;
  const auto bytes = static_cast<double>(tier.capacity_bytes);
  const auto blocks = static_cast<double>(tier.capacity_blocks);
  switch (signal) {
    case S::kHostKvUsage:
      return tier.mean_bytes / bytes;
    case S::kHostBytesTotal:
      return bytes;
    case S::kHostBlocksTotal:
      return blocks;
    case S::kHostBlocksFree:
      return blocks * std::max(0.0, 1 - tier.mean_bytes / bytes);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> simulated_value(const RunResult& run, const EngineMetric& metric) {
  if (run.tiers.size() < 2) return std::nullopt;
  const TierResult& host = run.tiers[1];
  switch (metric.signal) {
    case S::kExternalQueries:
      return tokens_below(run, true);
    case S::kExternalHits:
      return tokens_below(run, false);
    case S::kExternalMisses:
      return misses_below(run);
    case S::kHitRatio:
      return ratio_of(host);
    case S::kHostHits:
    case S::kLoadBlocks:
      return found(host);
    case S::kStoreBlocks:
      return static_cast<double>(host.stores);
    case S::kStoresRefused:
      return static_cast<double>(host.store_failures);
    case S::kHostEvictions:
      return static_cast<double>(host.evictions);
    case S::kLoadBytes:
      return bytes_between(run, host.name, run.tiers[0].name);
    case S::kStoreBytes:
      return bytes_between(run, run.tiers[0].name, host.name);
    default:
      break;
  }
  const std::optional<double> size = size_of(host, metric.signal);
  return size ? size : of_storage(run, metric);
}

}  // namespace spillway

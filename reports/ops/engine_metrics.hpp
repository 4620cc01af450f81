// What engines export to Prometheus, by engine and release: the names that alerts and dashboards
// are made of. A name stands here only where upstream's file or documentation shows it for that
// release; what is not known is absent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// What is measured, whatever an engine calls it.
enum class Signal {
  kTtft,
  kTpot,  ///< of a request: its decode time by its tokens
  kItl,   ///< between two outputs
  kE2e,
  kQueueTime,
  kRunning,
  kWaiting,
  kSwapped,
  kKvUsage,
  kHostKvUsage,
  kPreemptions,
  kPrefixQueries,
  kPrefixHits,
  kExternalQueries,
  kExternalHits,
  kHitRatio,  ///< as the engine computes it
  kRequests,  ///< completed
  kPromptTokens,
  kOutputTokens,
  kCachedTokens,  ///< of these, from all levels together
  kLoadBytes,
  kLoadTime,
  kLoadSpeed,
  kStoreBytes,
  kStoreTime,
  kStoresRefused,
  kEvictions,
  kTierQueries,
  kTierHits,
  kHostBytes,
  kHostTokens,
  kHostTokensTotal,  ///< for which there is room
  kLoadTokens,
  kHostMemoryAvailable,
  kHostMemoryTotal,
  // Of stores attached to an engine. "Host" is the first tier below HBM, "storage" those behind it.
  kHostBytesTotal,
  kHostBlocksFree,
  kHostBlocksTotal,
  kHostHits,
  kHostEvictions,
  kExternalMisses,
  kLoadBlocks,
  kStoreBlocks,
  kTierHitRatio,
  kTierLoadBlocks,
  kTierStoreBlocks,
  kTierLoadBytes,
  kTierStoreBytes,
};
std::string_view name_of(Signal signal);

enum class MetricKind { kGauge, kCounter, kHistogram };
std::string_view name_of(MetricKind kind);

struct EngineVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const EngineVersion&) const = default;
};

struct EngineMetric {
  std::string_view engine;
  /// Of which part of the engine, where that has to be in use for the metric to be there:
  /// "connector" (any), "offload" (OffloadingConnector), "tiering", "swap"; of a store the kind of
  /// a tier ("nvme"); empty: always.
  std::string_view part;
  Signal signal = Signal::kTtft;
  std::string_view name;  ///< as scraped; of a histogram without _bucket, _sum, _count
  MetricKind kind = MetricKind::kGauge;
  std::string_view unit;
  std::string_view matchers;  ///< label matchers that belong to it, e.g. transfer_type="CPU_to_GPU"
  EngineVersion from{};       ///< first release known to have it; 0.0: of no known beginning
  EngineVersion to{};         ///< last one; 0.0: still there
  std::span<const double> buckets{};  ///< upper bounds of a histogram, where they are known
  std::string_view source;
};
std::span<const EngineMetric> engine_metrics();

/// An engine of the table, its release, and the parts in use.
struct EngineRelease {
  std::string engine;
  EngineVersion version{};  ///< 0.0: the newest known
  std::vector<std::string> parts{};

  bool uses(std::string_view part) const;
  std::string text() const;  ///< "vllm@0.25"
};

/// "vllm@0.25", "sglang"; nothing for what is no engine of the table with a version behind it.
std::optional<EngineRelease> read_release(std::string_view text);
/// The same; throws InputError (exit 2) at `option` for an engine that the table does
/// not have, and for a version that is none.
EngineRelease engine_release(std::string_view text, std::string_view option);

bool exports(const EngineRelease& release, const EngineMetric& metric);
/// The metric of a signal; nullptr where this release has none that is known.
const EngineMetric* find_metric(const EngineRelease& release, Signal signal);

/// The least bound of the histogram's buckets at or above `value`, as finely as a quantile of it
/// can be told; `value` itself where the bounds are not known, nothing (0) beyond the last.
double bucket_above(const EngineMetric& metric, double value);
/// The largest bound at or below `value`: above it a quantile is known to be above it, too. `value`
/// itself where the bounds are not known, nothing (0) below the first.
double bucket_below(const EngineMetric& metric, double value);

}  // namespace spillway

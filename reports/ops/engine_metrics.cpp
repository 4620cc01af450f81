#include "reports/ops/engine_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using S = Signal;

struct SignalName {
  Signal signal;
  std::string_view name;
};
constexpr SignalName kSignalNames[] = {
    {S::kTtft, "time to first token"},
    {S::kTpot, "time per output token"},
    {S::kItl, "inter-token latency"},
    {S::kE2e, "end-to-end latency"},
    {S::kQueueTime, "time in queue"},
    {S::kRunning, "requests running"},
    {S::kWaiting, "requests waiting"},
    {S::kSwapped, "requests swapped out"},
    {S::kKvUsage, "KV cache in use"},
    {S::kHostKvUsage, "host KV cache in use"},
    {S::kPreemptions, "preemptions"},
    {S::kPrefixQueries, "prefix cache: asked"},
    {S::kPrefixHits, "prefix cache: found"},
    {S::kExternalQueries, "below HBM: asked"},
    {S::kExternalHits, "below HBM: found"},
    {S::kHitRatio, "hit ratio"},
    {S::kRequests, "requests completed"},
    {S::kPromptTokens, "prompt tokens"},
    {S::kOutputTokens, "output tokens"},
    {S::kCachedTokens, "prompt tokens from caches"},
    {S::kLoadBytes, "bytes loaded"},
    {S::kLoadTime, "time of loads"},
    {S::kLoadSpeed, "speed of loads"},
    {S::kStoreBytes, "bytes stored"},
    {S::kStoreTime, "time of stores"},
    {S::kStoresRefused, "stores refused"},
    {S::kEvictions, "evictions"},
    {S::kTierQueries, "storage tiers: asked"},
    {S::kTierHits, "storage tiers: found"},
    {S::kHostBytes, "host bytes in use"},
    {S::kHostTokens, "host KV tokens in use"},
    {S::kHostTokensTotal, "host KV tokens"},
    {S::kLoadTokens, "tokens loaded"},
    {S::kHostMemoryAvailable, "host memory available"},
    {S::kHostMemoryTotal, "host memory"},
    {S::kHostBytesTotal, "host bytes"},
    {S::kHostBlocksFree, "host blocks free"},
    {S::kHostBlocksTotal, "host blocks"},
    {S::kHostHits, "host tier: blocks found"},
    {S::kHostEvictions, "host tier: evictions"},
    {S::kExternalMisses, "below HBM: blocks not found"},
    {S::kLoadBlocks, "blocks loaded from the host tier"},
    {S::kStoreBlocks, "blocks stored to the host tier"},
    {S::kTierHitRatio, "storage tiers: hit ratio"},
    {S::kTierLoadBlocks, "storage tiers: blocks loaded"},
    {S::kTierStoreBlocks, "storage tiers: blocks stored"},
    {S::kTierLoadBytes, "storage tiers: bytes read"},
    {S::kTierStoreBytes, "storage tiers: bytes written"},
};

std::vector<std::string_view> engine_names() {
  std::vector<std::string_view> out;
  for (const EngineMetric& metric : engine_metrics()) {
    if (out.empty() || out.back() != metric.engine) out.push_back(metric.engine);
  }
  return out;
}

/// "0.25", "0.25.1", "1.2.0rc3": the first two numbers.
bool read_version(std::string_view text, EngineVersion& out) {
  const char* end = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data(), end, out.major);
  if (first != std::errc() || dot == end || *dot != '.') return false;
  const auto [rest, second] = std::from_chars(dot + 1, end, out.minor);
  if (second != std::errc() || out.major < 0 || out.minor < 0) return false;
  return rest == end || *rest == '.' || std::string_view(rest, end).starts_with("rc");
}

}  // namespace

std::string_view name_of(Signal signal) {
  for (const SignalName& row : kSignalNames) {
    if (row.signal == signal) return row.name;
  }
  return "";
}

std::string_view name_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "";
}

bool EngineRelease::uses(std::string_view part) const {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

std::string EngineRelease::text() const {
  if (version == EngineVersion{}) return engine;
  return fmt::format("{}@{}.{}", engine, version.major, version.minor);
}

std::optional<EngineRelease> read_release(std::string_view text) {
  EngineRelease out;
  const std::size_t at = std::min(text.find('@'), text.size());
  out.engine = text.substr(0, at);
  const std::vector<std::string_view> known = engine_names();
  if (std::find(known.begin(), known.end(), out.engine) == known.end()) return std::nullopt;
  if (at < text.size() && !read_version(text.substr(at + 1), out.version)) return std::nullopt;
  return out;
}

EngineRelease engine_release(std::string_view text, std::string_view option) {
  if (std::optional<EngineRelease> out = read_release(text)) return *out;
  const SourceRef where{std::string(option), 0, ""};
  const std::string_view engine = text.substr(0, text.find('@'));
  const std::vector<std::string_view> known = engine_names();
  if (std::find(known.begin(), known.end(), engine) == known.end()) {
    throw InputError(Fault::kUsage, where, unknown_name("engine", engine, known));
  }
  throw InputError(
      Fault::kUsage, where,
      fmt::format("expected a release as in {}@0.25, found \"{}\"", engine, text.substr(0, 64)));
}

bool exports(const EngineRelease& release, const EngineMetric& metric) {
  if (metric.engine != release.engine) return false;
  if (!metric.part.empty() && !release.uses(metric.part)) return false;
  if (release.version == EngineVersion{}) return metric.to == EngineVersion{};
  return release.version >= metric.from &&
         (metric.to == EngineVersion{} || release.version <= metric.to);
}

const EngineMetric* find_metric(const EngineRelease& release, Signal signal) {
  const EngineMetric* found = nullptr;
  for (const EngineMetric& metric : engine_metrics()) {
    if (metric.signal == signal && exports(release, metric)) found = &metric;
  }
  return found;
}

double bucket_above(const EngineMetric& metric, double value) {
  if (metric.buckets.empty()) return value;
  const auto at = std::lower_bound(metric.buckets.begin(), metric.buckets.end(), value);
  return at == metric.buckets.end() ? 0 : *at;
}

double bucket_below(const EngineMetric& metric, double value) {
  if (metric.buckets.empty()) return value;
  const auto above = std::upper_bound(metric.buckets.begin(), metric.buckets.end(), value);
  return above == metric.buckets.begin() ? 0 : *std::prev(above);
}

}  // namespace spillway

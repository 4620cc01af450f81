#include "reports/ops/metric_history.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace spillway {

namespace {

using S = Signal;
using Values = std::vector<double>;

/// Bins double as a run gets longer, each series for itself. All of them in the widest one's.
class Intervals {
 public:
  Intervals(const RunResult& run, const MetricLog& log) {
    for (const Series& s : run.series) cover(s.bin_s, s.values.size());
    for (const S signal : kLatencySignals) cover(log.latency(signal).seconds());
    for (std::size_t i = 0; i < run.tiers.size(); ++i) {
      cover(log.cached_tokens(i));
      cover(log.stored_blocks(i));
      cover(log.evicted_blocks(i));
    }
    for (std::size_t i = 0; i < run.links.size(); ++i) cover(log.transfer_seconds(i));
    for (const BinnedSeries* s :
         {&log.prompt_tokens(), &log.output_tokens(), &log.finished(), &log.preemptions()}) {
      cover(*s);
    }
    count_ = static_cast<std::size_t>(std::ceil(end_s_ / width_s_));
  }

  double width_s() const { return width_s_; }
  Values nothing() const { return Values(count_, 0); }

  /// What fell into each interval, `factor` times.
  Values amounts(const BinnedSeries& from, double factor = 1) const {
    return merged(seconds_of(from.bin_width()), from.bins(), factor);
  }
  Values means(const Series& level) const {
    return merged(level.bin_s, level.values, level.bin_s / width_s_);
  }

 private:
  void cover(const BinnedSeries& s) { cover(seconds_of(s.bin_width()), s.bins().size()); }
  void cover(double bin_s, std::size_t bins) {
    width_s_ = std::max(width_s_, bin_s);
    end_s_ = std::max(end_s_, bin_s * static_cast<double>(bins));
  }
  Values merged(double bin_s, const Values& bins, double factor) const {
    const auto each = static_cast<std::size_t>(std::lround(width_s_ / bin_s));
    Values out = nothing();
    for (std::size_t i = 0; i < bins.size(); ++i) out[i / each] += bins[i] * factor;
    return out;
  }

  double width_s_ = 1;
  double end_s_ = 0;
  std::size_t count_ = 0;
};

void add(const Values& more, Values& to, double factor = 1) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * more[i];
}

class HistoryMaker {
 public:
  HistoryMaker(const OpsFigures& figures, const MetricLog& log, std::int64_t block_tokens)
      : figures_(figures),
        run_(*figures.run),
        log_(log),
        intervals_(run_, log),
        block_tokens_(static_cast<double>(block_tokens)) {}

  double width_s() const { return intervals_.width_s(); }

  std::optional<MetricHistory> of(const EngineMetric& metric) const {
    MetricHistory out;
    out.metric = &metric;
    if (metric.kind == MetricKind::kHistogram) {
      if (!is_latency(metric.signal)) return std::nullopt;
      histogram(out);
      return out;
    }
    std::optional<Values> values = of_engine(metric);
    if (!values && run_.tiers.size() > 1) values = below(metric);
    if (!values) return std::nullopt;
    out.values = *std::move(values);
    return out;
  }

 private:
  static bool is_latency(S signal) {
    return std::find(kLatencySignals.begin(), kLatencySignals.end(), signal) !=
           kLatencySignals.end();
  }

  void histogram(MetricHistory& out) const {
    const BinnedHistogram& from = log_.latency(out.metric->signal);
    const auto& known = out.metric->buckets;
    out.bounds = known.empty() ? from.bounds() : Values(known.begin(), known.end());
    out.buckets.assign(out.bounds.size() + 1, intervals_.nothing());
    out.values = intervals_.nothing();
    for (std::size_t i = 0; i <= from.bounds().size(); ++i) {
      const auto bucket =
          i == from.bounds().size()
              ? out.bounds.end()
              : std::lower_bound(out.bounds.begin(), out.bounds.end(), from.bounds()[i]);
      const Values counts = intervals_.amounts(from.bucket(i));
      add(counts, out.buckets[static_cast<std::size_t>(bucket - out.bounds.begin())]);
      add(counts, out.values);
    }
    out.sums = intervals_.amounts(from.seconds());
  }

  std::optional<Values> level(std::string_view name, double factor) const {
    for (const Series& s : run_.series) {
      if (s.name != name) continue;
      Values out = intervals_.means(s);
      for (double& value : out) value *= factor;
      return out;
    }
    return std::nullopt;
  }

  std::optional<Values> share_of(const TierResult& tier) const {
    if (tier.unbounded || tier.capacity_bytes <= 0) return std::nullopt;
    return level(tier.name, 1.0 / static_cast<double>(tier.capacity_bytes));
  }

  /// Prompt tokens found in tiers [from, to).
  Values cached(std::size_t from, std::size_t to) const {
    Values out = intervals_.nothing();
    for (std::size_t i = from; i < std::min(to, run_.tiers.size()); ++i) {
      add(intervals_.amounts(log_.cached_tokens(i)), out);
    }
    return out;
  }
  Values cached_from(std::size_t tier) const { return cached(tier, run_.tiers.size()); }
  Values prompts() const { return intervals_.amounts(log_.prompt_tokens()); }
  /// Prompt tokens that tiers above `tier` did not have.
  Values asked(std::size_t tier) const {
    Values out = prompts();
    add(cached(0, tier), out, -1);
    return out;
  }
  Values blocks(Values tokens) const {
    for (double& value : tokens) value /= block_tokens_;
    return tokens;
  }
  /// Of an interval; where nobody asked it stays.
  static Values ratio(const Values& found, const Values& asked) {
    Values out(found.size(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = asked[i] > 0 ? found[i] / asked[i] : (i > 0 ? out[i - 1] : 0);
    }
    return out;
  }

  std::optional<Values> of_engine(const EngineMetric& metric) const {
    switch (metric.signal) {
      case S::kRunning:
        return level("running", 1);
      case S::kWaiting:
        return level("waiting", 1);
      case S::kKvUsage:
        return share_of(run_.tiers[0]);
      case S::kPreemptions:
        return intervals_.amounts(log_.preemptions());
      case S::kRequests:
        return intervals_.amounts(log_.finished());
      case S::kOutputTokens:
        return intervals_.amounts(log_.output_tokens());
      case S::kPrefixQueries:
      case S::kPromptTokens:
        return prompts();
      case S::kPrefixHits:
        return cached(0, 1);
      case S::kCachedTokens:
        return cached_from(0);
      case S::kEvictions:
        return intervals_.amounts(log_.evicted_blocks(0), block_tokens_);
      case S::kHitRatio:
        if (metric.engine != figures_.engine.engine) return std::nullopt;
        return ratio(cached_from(0), prompts());
      default:
        return std::nullopt;
    }
  }

  std::optional<Values> below(const EngineMetric& metric) const {
    switch (metric.signal) {
      case S::kExternalQueries:
        return asks_for_all() ? prompts() : asked(1);
      case S::kExternalHits:
        // SGLang tells tiers apart.
        return metric.matchers.empty() || figures_.engine.engine != "sglang" ? cached_from(1)
                                                                             : cached(1, 2);
      case S::kExternalMisses:
        return blocks(asked(run_.tiers.size()));
      case S::kHitRatio:
        return ratio(cached(1, 2), asked(1));
      case S::kLoadTokens:
        return cached(1, 2);
      case S::kHostHits:
      case S::kLoadBlocks:
        return blocks(cached(1, 2));
      case S::kStoreBlocks:
        return intervals_.amounts(log_.stored_blocks(1));
      case S::kHostEvictions:
        return intervals_.amounts(log_.evicted_blocks(1));
      case S::kTierQueries:
        return blocks(asked(2));
      case S::kTierHits:
        return blocks(cached_from(2));
      case S::kLoadBytes:
        return link_bytes(run_.tiers[1].name, run_.tiers[0].name);
      case S::kStoreBytes:
        return link_bytes(run_.tiers[0].name, run_.tiers[1].name);
      case S::kLoadTime:
        return link_time(run_.tiers[1].name, run_.tiers[0].name);
      case S::kStoreTime:
        return link_time(run_.tiers[0].name, run_.tiers[1].name);
      default:
        return host_level(metric.signal).has_value() ? host_level(metric.signal) : storage(metric);
    }
  }

  std::optional<Values> host_level(S signal) const {
    const TierResult& host = run_.tiers[1];
    if (signal == S::kHostBytes) return level(host.name, 1);
    if (signal == S::kHostKvUsage) return share_of(host);
    if (host.unbounded || host.capacity_blocks == 0) return std::nullopt;
    const auto bytes = static_cast<double>(host.capacity_bytes);
    const auto count = static_cast<double>(host.capacity_blocks);
    const auto constant = [&](double value) { return Values(intervals_.nothing().size(), value); };
    switch (signal) {
      case S::kHostBytesTotal:
        return constant(bytes);
      case S::kHostBlocksTotal:
        return constant(count);
      case S::kHostTokensTotal:
        return constant(count * block_tokens_);
      case S::kHostTokens:
        return level(host.name, count * block_tokens_ / bytes);
      case S::kHostBlocksFree: {
        std::optional<Values> out = level(host.name, -count / bytes);
        if (out) add(constant(count), *out);
        return out;
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<Values> storage(const EngineMetric& metric) const {
    std::size_t tier = 2;
    while (tier < run_.tiers.size() && !metric.part.empty() &&
           run_.tiers[tier].kind != metric.part) {
      ++tier;
    }
    if (tier >= run_.tiers.size()) return std::nullopt;
    switch (metric.signal) {
      case S::kTierHitRatio:
        return ratio(cached(tier, tier + 1), asked(tier));
      case S::kTierLoadBlocks:
        return blocks(cached(tier, tier + 1));
      case S::kTierStoreBlocks:
        return intervals_.amounts(log_.stored_blocks(tier));
      case S::kTierLoadBytes:
        return link_bytes(run_.tiers[tier].name, {});
      case S::kTierStoreBytes:
        return link_bytes({}, run_.tiers[tier].name);
      default:
        return std::nullopt;
    }
  }

  /// Before vLLM #30522 (0.16) all tokens of a prompt count as asked.
  bool asks_for_all() const {
    const EngineRelease& engine = figures_.engine;
    return engine.engine == "vllm" && engine.version != EngineVersion{} &&
           engine.version < EngineVersion{0, 16};
  }

  template <class Each>
  Values over_links(std::string_view from, std::string_view to, const Each& each) const {
    Values out = intervals_.nothing();
    for (std::size_t i = 0; i < run_.links.size(); ++i) {
      const LinkResult& link = run_.links[i];
      const bool between = (from.empty() || link.from == from) && (to.empty() || link.to == to);
      if (between && !link.medium) add(each(i), out);
    }
    return out;
  }
  Values link_bytes(std::string_view from, std::string_view to) const {
    return over_links(from, to, [&](std::size_t i) {
      return intervals_.amounts(log_.transfer_bytes(i), run_.links[i].ranks);
    });
  }
  Values link_time(std::string_view from, std::string_view to) const {
    return over_links(from, to,
                      [&](std::size_t i) { return intervals_.amounts(log_.transfer_seconds(i)); });
  }

  const OpsFigures& figures_;
  const RunResult& run_;
  const MetricLog& log_;
  Intervals intervals_;
  double block_tokens_;
};

}  // namespace

MetricHistories metric_histories(const OpsFigures& figures, const MetricLog& log,
                                 std::int64_t block_tokens) {
  const HistoryMaker make(figures, log, block_tokens);
  MetricHistories out{make.width_s(), {}};
  for (const EngineMetric& metric : engine_metrics()) {
    if (!exports(figures.engine, metric) && !exports(figures.cache, metric)) continue;
    if (std::optional<MetricHistory> history = make.of(metric)) {
      out.metrics.push_back(*std::move(history));
    }
  }
  return out;
}

}  // namespace spillway

// Which alerts a run's figures give, and from which figure each threshold comes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/format.hpp"
#include "reports/ops/alerts.hpp"
#include "reports/ops/promql.hpp"
#include "reports/plan/limits.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

namespace {

// Model: the margins below are judgement. llm-d's guide calls a KV cache above 0.9 nearly full
// (llm-d.ai: operations/observability/model-server-metrics).
constexpr double kUsage = 0.9;
constexpr double kLinkShare = 0.8;
constexpr double kHitShare = 0.8;       ///< of the simulated hit ratio
constexpr double kTrafficShare = 1.25;  ///< of the simulated rate of requests
constexpr double kLeastHitRatio = 0.02;
constexpr double kLeastMemoryShare = 0.05;
constexpr double kPressureMost_s = 3600;
/// Of fewer requests a percentile says nothing: a night with three slow ones wakes nobody.
constexpr double kFewestRequests = 100;

/// Fast and slow window of a rule about requests.
struct Windows {
  double fast_s;
  const char* fast;
  const char* slow;
};
constexpr Windows kWindows[] = {{300, "5m", "1h"},   {600, "10m", "2h"},  {900, "15m", "3h"},
                                {1800, "30m", "6h"}, {3600, "1h", "12h"}, {7200, "2h", "1d"},
                                {21600, "6h", "3d"}};

struct LatencySignal {
  std::string_view key;  ///< as in p99_ttft_ms
  Signal signal;
  Signal instead;  ///< where the engine has none
  std::string_view name;
  std::string_view text;
};
constexpr LatencySignal kLatencies[] = {
    {"ttft", Signal::kTtft, Signal::kTtft, "Ttft", "time to first token"},
    {"tpot", Signal::kTpot, Signal::kItl, "Tpot", "time per output token"},
    {"itl", Signal::kItl, Signal::kTpot, "Itl", "inter-token latency"},
    {"e2el", Signal::kE2e, Signal::kE2e, "EndToEnd", "end-to-end latency"},
};

struct Statistic {
  std::string_view key;
  double quantile;  ///< 0: the mean
  std::string_view name;
};
constexpr Statistic kStatistics[] = {{"mean", 0, "Mean"},  {"median", 0.5, "P50"},
                                     {"p50", 0.5, "P50"},  {"p90", 0.9, "P90"},
                                     {"p95", 0.95, "P95"}, {"p99", 0.99, "P99"}};

bool in_host_memory(const TierResult& tier) {
  return tier.kind.empty() || tier.kind == "dram";
}

std::string seconds(double value) {
  return format_ms(value * 1000);
}

class RuleMaker {
 public:
  explicit RuleMaker(const OpsFigures& figures) : f_(figures), run_(*figures.run) {}

  AlertRules make() {
    about_traffic();
    absent();
    for (const SloResult& slo : run_.slo) latency(slo);
    queue();
    traffic();
    kv_usage();
    preemptions();
    swapped();
    external_hits();
    link_load();
    stores_refused();
    cold_blocks();
    host_memory();
    return std::move(out_);
  }

 private:
  /// What the simulated figures are of.
  const char* one_run() const {
    return f_.plan == nullptr ? "this run" : "one run of the workload itself";
  }
  const EngineMetric* need(Signal signal, std::string_view alert) {
    const EngineMetric* metric = f_.metric(signal);
    if (metric == nullptr) {
      skip(fmt::format("{}: {} has no metric for it that is known ({})", alert, engine(),
                       name_of(signal)));
    }
    return metric;
  }
  std::string engine() const {
    if (!f_.engine.engine.empty()) return f_.engine.text();
    return f_.cache.engine.empty() ? "the engine, whose release is not known," : f_.cache.text();
  }
  void skip(std::string what) { out_.not_armed.push_back(std::move(what)); }
  void add(AlertRule rule) {
    rule.name.insert(0, "Spillway");
    out_.rules.push_back(std::move(rule));
  }

  /// Where the plan itself says that it ends.
  std::optional<FactorLimit> planned_end(std::string_view factor, bool above) const {
    if (f_.plan == nullptr) return std::nullopt;
    return factor_limit(*f_.plan, factor, above);
  }

  std::optional<FactorLimit> planned_traffic() const {
    if (f_.plan == nullptr) return std::nullopt;
    return traffic_limit(*f_.plan);
  }

  Selector select(const char* window = "5m") const {
    return {f_.alerts.matcher, window, "model_name"};
  }
  std::string series(const EngineMetric& metric) const { return series_of(metric, select()); }

  double requests_per_s() const {
    return run_.duration_s > 0 ? static_cast<double>(run_.completed) / run_.duration_s : 0;
  }
  /// The shortest, from `least_s` on, that the planned traffic fills twice over.
  const Windows& windows(double least_s = 0) const {
    for (const Windows& w : kWindows) {
      if (w.fast_s >= least_s && requests_per_s() * w.fast_s >= 2 * kFewestRequests) return w;
    }
    return kWindows[std::size(kWindows) - 1];
  }
  /// " and ... > 100": only where enough requests came to tell.
  std::string enough(const EngineMetric& counted, const Windows& w) const {
    const double planned = requests_per_s() * w.fast_s;
    const double fewest = std::max(1.0, std::min(kFewestRequests, std::floor(planned / 2)));
    return fmt::format(" and sum by (model_name) (increase({}[{}])) > {}",
                       series_of(counted, select(), "_count"), w.fast, number(fewest));
  }
  void about_traffic() {
    const Windows& w = windows();
    out_.notes.push_back(fmt::format(
        "Rules on latencies and hits need requests to judge by, {} in their shorter window: {} at "
        "the planned {} requests/s",
        number(
            std::max(1.0, std::min(kFewestRequests, std::floor(requests_per_s() * w.fast_s / 2)))),
        w.fast, format_real(requests_per_s())));
  }

  void absent() {
    const EngineMetric* metric = need(Signal::kRunning, "EngineAbsent");
    if (metric == nullptr) return;
    add({"EngineAbsent", fmt::format("absent({})", series(*metric)), "5m", "critical",
         "no series for 5 min",
         fmt::format("{} exports {} while it serves", engine(), metric->name),
         "No engine reports its metrics.", "apply"});
  }

  /// A target of the SLO. Fast and slow window together: a burst alone does not wake anybody, and
  /// the alert ends soon after its cause.
  void latency(const SloResult& slo) {
    const std::string label = target_label(slo.name, slo.tenant);
    const std::size_t under = slo.name.find('_');
    const std::size_t last = slo.name.rfind('_');
    const LatencySignal* latency = nullptr;
    const Statistic* statistic = nullptr;
    if (under != std::string::npos && last > under && slo.name.substr(last) == "_ms") {
      const std::string what = slo.name.substr(under + 1, last - under - 1);
      for (const LatencySignal& l : kLatencies) {
        if (l.key == what) latency = &l;
      }
      for (const Statistic& s : kStatistics) {
        if (s.key == slo.name.substr(0, under)) statistic = &s;
      }
    }
    if (latency == nullptr || statistic == nullptr) {
      skip(
          fmt::format("target {}: it is of throughput or of a figure that engines do not export, "
                      "and falls whenever there is less to do",
                      label));
      return;
    }
    if (!slo.tenant.empty()) {
      skip(fmt::format("target {}: the engine's metrics do not tell tenants apart", label));
      return;
    }
    const EngineMetric* metric = f_.metric(latency->signal);
    const bool instead = metric == nullptr;
    if (instead) metric = need(latency->instead, fmt::format("target {}", label));
    if (metric == nullptr) return;
    add_latency(slo, *latency, *statistic, *metric, instead);
  }

  void add_latency(const SloResult& slo, const LatencySignal& latency, const Statistic& statistic,
                   const EngineMetric& metric, bool instead) {
    const double target = slo.target / 1000;
    const bool mean = statistic.quantile == 0;
    const double above = mean ? target : bucket_above(metric, target);
    if (above == 0) {
      skip(fmt::format("target {}: the buckets of {} end below it", slo.name, metric.name));
      return;
    }
    // Between two bounds a quantile is a guess: only above the lower one it is known to be.
    const double below = mean ? target : bucket_below(metric, target);
    const bool guessed = below <= healthy(slo) / 1000;
    const double limit = guessed ? target : below;
    const Windows& w = windows();
    const auto over = [&](const char* window) {
      return fmt::format("{} > {}",
                         mean ? mean_of(metric, select(window))
                              : quantile_of(metric, statistic.quantile, select(window)),
                         number(limit));
    };
    std::string why = fmt::format("the target {} <= {}; simulated {} in {}", slo.name,
                                  seconds(target), seconds(slo.value / 1000), one_run());
    if (above != below) {
      why += guessed ? fmt::format(
                           "; {} counts in buckets, and between their bounds {} and {} Prometheus "
                           "guesses the figure",
                           metric.name, seconds(below), seconds(above))
                     : fmt::format(
                           "; {} counts in buckets, and {} is the last bound at or below the "
                           "target: from there on it might be missed",
                           metric.name, seconds(limit));
    }
    why += fmt::format("; judged over {} and {}", w.fast, w.slow);
    if (instead) why += fmt::format("; {} stands for {}", name_of(metric.signal), latency.text);
    add({fmt::format("{}{}AboveTarget", latency.name, statistic.name),
         fmt::format("{} and {}{}", over(w.fast), over(w.slow), enough(metric, w)), "2m",
         "critical", seconds(limit), why,
         limit < target ? fmt::format("The {} {} is above {}, near or beyond its target of {}.",
                                      statistic.key, latency.text, seconds(limit), seconds(target))
                        : fmt::format("The {} {} is above its target of {}.", statistic.key,
                                      latency.text, seconds(target)),
         "time"});
  }

  /// What a target's figure was where it was met, at its highest: in the one run, and over a plan's
  /// replicates.
  double healthy(const SloResult& slo) const {
    double out = slo.value;
    if (f_.point == nullptr) return out;
    for (const TargetEstimate& t : f_.point->targets) {
      if (t.name == slo.name && t.tenant == slo.tenant) out = std::max(out, t.value);
    }
    return out;
  }

  void queue() {
    const EngineMetric* metric = need(Signal::kQueueTime, "QueueTimeAbovePlan");
    if (metric == nullptr) return;
    const double planned = run_.queue_time.p99_ms / 1000;
    const double limit = bucket_above(*metric, planned);
    if (limit == 0) {
      skip(fmt::format("QueueTimeAbovePlan: the buckets of {} end below the simulated {}",
                       metric->name, seconds(planned)));
      return;
    }
    std::string why = fmt::format("simulated p99 of the time in queue: {}", seconds(planned));
    if (limit > planned) why += ", rounded up to a bound of the metric's buckets";
    const Windows& w = windows(1800);
    add({"QueueTimeAbovePlan",
         fmt::format("{} > {}{}", quantile_of(*metric, 0.99, select(w.fast)), number(limit),
                     enough(*metric, w)),
         "15m", "warning", seconds(limit), why,
         "Requests wait longer before they run than in the simulated run.", "time"});
  }

  /// More requests than were simulated: then nothing else here holds.
  void traffic() {
    const EngineMetric* metric = need(Signal::kTtft, "TrafficAbovePlan");
    if (metric == nullptr || run_.duration_s <= 0) return;
    const double mean = static_cast<double>(run_.completed) / run_.duration_s;
    const double tokens = largest_mean(run_, "scheduled_tokens", run_.duration_s);
    const double worst = largest_mean(run_, "scheduled_tokens", 3600);
    const double burst = tokens > 0 ? std::max(1.0, worst / tokens) : 1;
    double limit = mean * burst * kTrafficShare;
    std::string why = fmt::format(
        "simulated {} requests/s on average and {} times that in the busiest hour, "
        "and a quarter more",
        format_real(mean), format_real(burst));
    if (const auto end = planned_traffic()) {
      const double most = end->holds > 1 ? end->holds : end->end();
      const double planned = most * run_.request_throughput;
      if (planned < limit) {
        // The simulated run itself was healthy in its busiest hour.
        limit = std::max(planned, mean * burst);
        const bool faster = end->factor == "arrival rate";
        why = fmt::format("the plan {} the SLO at {} times the simulated {} requests/s{}{}",
                          end->holds > 1 ? "meets" : "misses", format_real(most),
                          format_real(run_.request_throughput), faster ? "" : ", of more sessions,",
                          end->holds > 1 && end->misses
                              ? fmt::format(" and misses it at {} times", format_real(*end->misses))
                              : std::string());
        if (limit > planned) why += "; the simulated run's busiest hour has more than that";
      }
    }
    limit = rounded_down(limit) < mean * burst ? rounded_up(limit) : rounded_down(limit);
    add({"TrafficAbovePlan",
         fmt::format("{} > {}", rate_of(*metric, select("1h"), "_count"), number(limit)), "30m",
         "warning", format_real(limit) + " requests/s", std::move(why),
         "More requests arrive than were planned for.", "workload"});
  }

  void kv_usage() {
    const EngineMetric* usage = need(Signal::kKvUsage, "KvCacheFull");
    const EngineMetric* waiting = f_.metric(Signal::kWaiting);
    if (usage == nullptr || waiting == nullptr) return;
    const double pressure = longest_pressure(run_, kUsage);
    if (pressure > kPressureMost_s) {
      skip(
          fmt::format("KvCacheFull: the simulated run itself had the KV cache above {} with "
                      "requests waiting for {} at a stretch",
                      format_percent(kUsage), seconds(pressure)));
      return;
    }
    const double minutes = std::max(10.0, std::ceil(2 * pressure / 60));
    add({"KvCacheFull",
         fmt::format("{} > {} and {} > 0", series(*usage), number(kUsage), series(*waiting)),
         fmt::format("{}m", minutes), "warning", format_percent(kUsage),
         fmt::format(
             "above it the cache is nearly full (llm-d's line); the simulated run was above "
             "it with requests waiting for at most {}",
             pressure > 0 ? seconds(pressure) : "0 s"),
         "The KV cache in HBM is nearly full while requests wait.", "knee"});
  }

  void preemptions() {
    const EngineMetric* metric = need(Signal::kPreemptions, "PreemptionsAbovePlan");
    if (metric == nullptr) return;
    const double mean = per_second(f_, static_cast<double>(run_.preemptions));
    const double worst = std::max(mean, largest_mean(run_, "preemptions", 900) / f_.engines);
    const double limit = rounded_down(60 * std::max(2 * worst, 1.0 / 60));
    add({"PreemptionsAbovePlan",
         fmt::format("60 * rate({}[15m]) > {}", series(*metric), number(limit)), "15m", "warning",
         fmt::format("{} a minute", format_real(limit)),
         fmt::format(
             "twice the simulated worst quarter of an hour ({} a minute and engine), and no "
             "less than 1 a minute",
             format_real(worst * 60)),
         "Requests are preempted more often than in the simulated run.", "knee"});
  }

  void swapped() {
    if (!run_.swap) return;
    const EngineMetric* metric = need(Signal::kSwapped, "SwappedAbovePlan");
    if (metric == nullptr) return;
    const auto peak = static_cast<double>(run_.swap->peak_swapped);
    add({"SwappedAbovePlan", fmt::format("{} > {}", series(*metric), number(peak)), "10m",
         "warning", format_real(peak) + " requests",
         "the most that were swapped out at once when simulated",
         "More requests are swapped out than in the simulated run.", "knee"});
  }

  void external_hits() {
    if (run_.tiers.size() < 2) return;
    const EngineMetric* asked = need(Signal::kExternalQueries, "HitRatioBelowPlan");
    const EngineMetric* found = f_.metric(Signal::kExternalHits);
    if (asked == nullptr || found == nullptr) return;
    const std::optional<double> ratio = external_ratio(f_);
    if (!ratio || *ratio < kLeastHitRatio) {
      skip("HitRatioBelowPlan: the simulated run found next to nothing below HBM");
      return;
    }
    double limit = kHitShare * *ratio;
    std::string why = fmt::format("{} of the simulated {} of what was asked below HBM",
                                  format_percent(kHitShare), format_percent(*ratio));
    if (const auto end = planned_end("reuse", false)) {
      // Nothing between what is there and what misses was tried: noise must not raise it.
      const double kept = end->holds < 1 ? end->holds : end->end();
      const double then = external_ratio(f_, kept).value_or(0);
      if (kept < 1 && then > limit) {
        limit = then;
        why = fmt::format(
            "with reuse at {} times what it is, at which the plan {} the SLO, about {} of what is "
            "asked below HBM would be found; simulated {}",
            format_real(kept), end->holds < 1 ? "still meets" : "misses", format_percent(then),
            format_percent(*ratio));
      }
    }
    limit = std::min(rounded_up(limit), *ratio);
    const Windows& w = windows(3600);
    const EngineMetric* requests = f_.metric(Signal::kTtft);
    add({"HitRatioBelowPlan",
         fmt::format("{} / {} < {}{}", rate_of(*found, select(w.fast)),
                     rate_of(*asked, select(w.fast)), number(limit),
                     requests == nullptr ? std::string() : enough(*requests, w)),
         "1h", "warning", format_percent(limit),
         why + "; the simulated run started with empty tiers, as a restart does",
         "Less is found below HBM than in the simulated run.", "workload"});
  }

  void link_load() {
    const LinkResult* link = load_link(run_);
    if (link == nullptr || link->capacity_bytes_per_s <= 0) return;
    const EngineMetric* metric = need(Signal::kLoadBytes, "LoadNearLinkCapacity");
    if (metric == nullptr) return;
    const double capacity = link->capacity_bytes_per_s;
    const double worst = largest_mean(run_, link->name, 300);
    if (worst > kLinkShare * capacity) {
      skip(
          fmt::format("LoadNearLinkCapacity: the simulated run itself loaded at {} of what link {} "
                      "carries for 5 minutes",
                      format_percent(worst / capacity), link->name));
      return;
    }
    const double limit = rounded_down(kLinkShare * capacity);
    add({"LoadNearLinkCapacity", fmt::format("rate({}[5m]) > {}", series(*metric), number(limit)),
         "10m", "warning", format_bytes(limit) + "/s",
         fmt::format(
             "{} of what link {} carries ({}/s per engine); simulated {}/s in the busiest 5 "
             "minutes",
             format_percent(kLinkShare), link->name, format_bytes(capacity), format_bytes(worst)),
         "Loads from host memory come near what the link carries: a larger tier would not help.",
         "knee"});
  }

  void stores_refused() {
    if (run_.tiers.size() < 2) return;
    const EngineMetric* metric = f_.metric(Signal::kStoresRefused);
    if (metric == nullptr) {
      if (f_.metric(Signal::kHostEvictions) != nullptr) return;
      skip(
          fmt::format("evictions from {}: {} does not count them; what they cost shows as "
                      "HitRatioBelowPlan",
                      run_.tiers[1].name, engine()));
      return;
    }
    const double planned = per_second(f_, static_cast<double>(run_.tiers[1].store_failures));
    const double limit = rounded_down(60 * std::max(2 * planned, 1.0 / 60));
    add({"StoresRefusedAbovePlan",
         fmt::format("60 * rate({}[15m]) > {}", series(*metric), number(limit)), "15m", "warning",
         fmt::format("{} a minute", format_real(limit)),
         fmt::format(
             "twice what was simulated ({} a minute and engine), and no less than 1 a minute",
             format_real(planned * 60)),
         "The tier below HBM refuses stores: none of it may be freed.", "host"});
  }

  void cold_blocks() {
    if (run_.cold_blocks_per_token_mean <= 0) return;
    skip(fmt::format(
        "blocks that decoding reads from below HBM: no engine known here exports them; "
        "simulated {} per token on average, {} at p99",
        format_real(run_.cold_blocks_per_token_mean), format_real(run_.cold_blocks_per_token_p99)));
  }

  void host_memory() {
    if (run_.tiers.size() < 2 || !in_host_memory(run_.tiers[1])) return;
    const EngineRelease node{"node_exporter", {}, {}};
    const EngineMetric* available = find_metric(node, Signal::kHostMemoryAvailable);
    const EngineMetric* total = find_metric(node, Signal::kHostMemoryTotal);
    add({"HostMemoryLow",
         fmt::format("{} / {} < {}", available->name, total->name, number(kLeastMemoryShare)),
         "10m", "warning", format_percent(kLeastMemoryShare) + " of the host",
         fmt::format("{} holds up to {} of host memory; the kernel's own need is not simulated "
                     "(metrics of node_exporter)",
                     run_.tiers[1].name,
                     format_bytes(static_cast<double>(run_.tiers[1].peak_bytes))),
         "The host runs out of memory beside the tier.", "host"});
  }

  const OpsFigures& f_;
  const RunResult& run_;
  AlertRules out_;
};

}  // namespace

AlertRules alert_rules(const OpsFigures& figures) {
  if (figures.run == nullptr || figures.provisional) {
    return {{},
            {"anything: the plan recommends no configuration, so that no run shows what is "
             "healthy"}};
  }
  return RuleMaker(figures).make();
}

}  // namespace spillway

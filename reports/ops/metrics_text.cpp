#include "reports/ops/metrics_text.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <utility>
#include <vector>

#include "reports/ops/ops_text.hpp"

namespace spillway {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

class MetricsWriter {
 public:
  MetricsWriter(const OpsFigures& figures, std::ostream& out) : f_(figures), out_(out) {
    prefix_ = fmt::format("spillway_{}_", f_.kind);
    common_ = {{"scenario", f_.scenario}};
    if (f_.point != nullptr) common_.emplace_back("cell", f_.point->name);
  }

  void write() {
    info();
    if (f_.plan != nullptr) plan(*f_.plan);
    if (f_.run == nullptr) return;
    // A plan has figures over replicates as well.
    of_one_run_ = f_.plan != nullptr;
    latencies(*f_.run);
    requests(*f_.run);
    tiers(*f_.run);
    links(*f_.run);
    targets(*f_.run);
  }

 private:
  void family(std::string_view name, std::string_view help) {
    fmt::print(out_, "# HELP {}{} {}{}\n# TYPE {}{} gauge\n", prefix_, name, help,
               of_one_run_ ? " In one run of the workload itself." : "", prefix_, name);
    name_ = name;
  }

  /// What the plan's own figures are taken over.
  std::string over() const {
    if (f_.point == nullptr || f_.point->replications == 0) return "in one run of the workload";
    return fmt::format("over {} replicates of the workload", f_.point->replications);
  }

  void sample(double value, const Labels& labels = {}) {
    sample_text(fmt::format("{}", value), labels);
  }
  void unbounded(const Labels& labels) { sample_text("+Inf", labels); }

  void sample_text(std::string_view value, const Labels& labels) {
    std::string text;
    for (const Labels& from : {common_, labels}) {
      for (const auto& [key, value_of] : from) {
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", key, label_value(value_of));
      }
    }
    fmt::print(out_, "{}{}{{{}}} {}\n", prefix_, name_, text, value);
  }

  void info() {
    family("info", "What the figures are of; always 1.");
    sample(1, {{"digest", f_.digest}, {"engine", f_.engine.text()}});
  }

  void plan(const PlanResult& p) {
    family("feasible", "Whether a configuration is recommended.");
    sample(p.recommended >= 0 ? 1 : 0);
    family("undecided", "Whether the budget ended before a verdict.");
    sample(p.undecided ? 1 : 0);
    if (p.recommended >= 0) {
      const bool endless = p.points[static_cast<std::size_t>(p.recommended)].unbounded;
      const auto size = [&](std::int64_t bytes) {
        endless ? unbounded({{"tier", p.tier}})
                : sample(static_cast<double>(bytes), {{"tier", p.tier}});
      };
      family("recommended_size_bytes", "Recommended size of the tier, of one instance.");
      size(p.recommended_bytes);
      family("recommended_total_size_bytes", "Recommended size of the tier, of all instances.");
      size(p.recommended_total_bytes);
    }
    if (p.recommended >= 0) {
      family("headroom_ratio",
             fmt::format("Least distance to a target, as a share of it, {}.", over()));
      sample(p.headroom);
    }
    if (f_.point == nullptr || f_.point->replications == 0) return;
    family("attainment_ratio",
           fmt::format("Share of requests that meet every latency target, {}.", over()));
    sample(f_.point->attainment);
    family("attainment_bound_ratio",
           fmt::format("One-sided lower confidence bound of that share, {}.", over()));
    sample(f_.point->attainment_low);
  }

  void latencies(const RunResult& run) {
    const auto row = [&](std::string_view name, std::string_view help, const LatencyStats& s) {
      family(name, help);
      const std::pair<const char*, double> all[] = {{"mean", s.mean_ms}, {"p50", s.median_ms},
                                                    {"p90", s.p90_ms},   {"p95", s.p95_ms},
                                                    {"p99", s.p99_ms},   {"max", s.max_ms}};
      for (const auto& [statistic, ms] : all) sample(ms / 1000, {{"statistic", statistic}});
    };
    row("ttft_seconds", "Simulated time to first token.", run.ttft);
    row("tpot_seconds", "Simulated time per output token, of requests.", run.tpot);
    row("itl_seconds", "Simulated time between two tokens.", run.itl);
    row("e2e_latency_seconds", "Simulated time from arrival to last token.", run.e2el);
    family("queue_time_seconds", "Simulated time from arrival to the first scheduled tokens.");
    sample(run.queue_time.mean_ms / 1000, {{"statistic", "mean"}});
    sample(run.queue_time.median_ms / 1000, {{"statistic", "p50"}});
    sample(run.queue_time.p99_ms / 1000, {{"statistic", "p99"}});
  }

  void requests(const RunResult& run) {
    family("requests", "Simulated requests by what became of them.");
    sample(static_cast<double>(run.completed), {{"outcome", "completed"}});
    sample(static_cast<double>(run.rejected), {{"outcome", "rejected"}});
    sample(static_cast<double>(run.failed), {{"outcome", "failed"}});
    sample(static_cast<double>(run.stuck), {{"outcome", "stuck"}});
    family("requests_per_second", "Simulated completed requests per second.");
    sample(run.request_throughput);
    family("goodput_requests_per_second",
           "Simulated requests per second that meet every latency target.");
    sample(run.goodput);
    family("output_tokens_per_second", "Simulated output tokens per second.");
    sample(run.output_throughput);
    family("preemptions_per_second", "Simulated preemptions per second, of one engine.");
    sample(per_second(f_, static_cast<double>(run.preemptions)));
  }

  void tiers(const RunResult& run) {
    const auto each = [&](std::string_view name, std::string_view help, auto value) {
      family(name, help);
      for (const TierResult& tier : run.tiers) {
        if (const std::optional<double> v = value(tier)) sample(*v, {{"tier", tier.name}});
      }
    };
    family("tier_capacity_bytes", "Capacity of the tier.");
    for (const TierResult& tier : run.tiers) {
      const Labels labels = {{"tier", tier.name}};
      tier.unbounded ? unbounded(labels) : sample(static_cast<double>(tier.capacity_bytes), labels);
    }
    each("tier_peak_bytes", "Most bytes in the tier at once.", [](const TierResult& t) {
      return std::optional<double>(static_cast<double>(t.peak_bytes));
    });
    each("tier_mean_bytes", "Bytes in the tier on average.",
         [](const TierResult& t) { return std::optional<double>(t.mean_bytes); });
    each("tier_hit_ratio", "Blocks found by blocks asked for.",
         [](const TierResult& t) { return hit_ratio(t); });
    each("tier_evictions_per_second", "Blocks evicted per second.", [&](const TierResult& t) {
      return std::optional<double>(
          run.duration_s > 0 ? static_cast<double>(t.evictions) / run.duration_s : 0);
    });
  }

  void links(const RunResult& run) {
    if (run.links.empty()) return;
    const auto each = [&](std::string_view name, std::string_view help, auto value) {
      family(name, help);
      for (const LinkResult& link : run.links) {
        sample(value(link), {{"link", link.name}, {"from", link.from}, {"to", link.to}});
      }
    };
    each("link_busy_ratio", "Share of the time in which the link is busy.",
         [](const LinkResult& l) { return l.busy_fraction; });
    each("link_capacity_bytes_per_second", "What the link carries at best.",
         [](const LinkResult& l) { return l.capacity_bytes_per_s; });
    each("link_bytes_per_second", "What the link carries on average.", [&](const LinkResult& l) {
      return run.duration_s > 0 ? static_cast<double>(l.bytes) / run.duration_s : 0;
    });
    each("link_peak_bytes_per_second", "Most that the link carries in one bin of the run's series.",
         [](const LinkResult& l) { return l.peak_bytes_per_s; });
  }

  /// In base units: what is called ..._ms is given in seconds.
  void targets(const RunResult& run) {
    if (run.slo.empty()) return;
    const auto each = [&](std::string_view name, std::string_view help, auto value) {
      family(name, help);
      for (const SloResult& slo : run.slo) {
        Labels labels = {{"slo", slo.name}, {"bound", slo.at_least ? "min" : "max"}};
        if (!slo.tenant.empty()) labels.emplace_back("tenant", slo.tenant);
        sample(value(slo), labels);
      }
    };
    const auto base = [](const SloResult& slo, double v) {
      return slo.name.ends_with("_ms") ? v / 1000 : v;
    };
    each("slo_target", "Target of the service level objective, in seconds where it is a time.",
         [&](const SloResult& slo) { return base(slo, slo.target); });
    each("slo_value", "Simulated figure that the target bounds, in the same unit.",
         [&](const SloResult& slo) { return base(slo, slo.value); });
    each("slo_passed", "Whether the simulated figure meets the target.",
         [](const SloResult& slo) { return slo.passed ? 1.0 : 0.0; });
  }

  const OpsFigures& f_;
  std::ostream& out_;
  std::string prefix_;
  std::string_view name_;
  bool of_one_run_ = false;
  Labels common_;
};

}  // namespace

void write_metrics(const OpsFigures& figures, std::ostream& out) {
  MetricsWriter(figures, out).write();
}

}  // namespace spillway

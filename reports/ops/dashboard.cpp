#include "reports/ops/dashboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "reports/ops/ops_text.hpp"
#include "reports/ops/promql.hpp"
#include "reports/ops/signal_values.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 41;  // Grafana 12, and as production-stack's dashboards
constexpr int kColumns = 24;
constexpr int kWidth = 12;
constexpr int kHeight = 8;

Json data_source() {
  return {{"type", "prometheus"}, {"uid", "${datasource}"}};
}

struct Query {
  std::string expr;
  std::string legend;
};

struct Panel {
  std::string title;
  std::string description;
  std::string unit;  ///< of Grafana: s, percentunit, Bps, binBps, reqps, short
  std::vector<Query> queries;
  std::optional<double> limit{};  ///< drawn as a threshold
  std::string type = "timeseries";
};

class DashboardMaker {
 public:
  explicit DashboardMaker(const OpsFigures& figures) : f_(figures), run_(figures.run) {
    select_.matchers = "job=~\"$job\",instance=~\"$instance\"";
    select_.window = "$__rate_interval";
  }

  Json make() {
    latency("Time to first token", Signal::kTtft, Signal::kTtft, &RunResult::ttft, "ttft");
    latency("Time per output token", Signal::kTpot, Signal::kItl, &RunResult::tpot, "tpot");
    queue();
    concurrency();
    kv_usage();
    hit_ratios();
    transfers();
    moved_tokens();
    preemptions();
    traffic();
    host();
    if (f_.cache.engine == "lmcache") lmcache();
    if (!f_.cache.engine.starts_with("lmcache")) store();
    return document();
  }

 private:
  static std::string plan_word(std::string_view what) { return fmt::format("plan {}", what); }
  static Query line(double value, std::string_view what) {
    return {fmt::format("vector({})", number(value)), plan_word(what)};
  }
  static std::string by_model(std::string_view what) {
    return fmt::format("{} {{{{model_name}}}}", what);
  }
  /// The panel's queries of the plan are there where the plan has a run.
  void plan_line(Panel& panel, double value, std::string_view what) const {
    if (run_ != nullptr) panel.queries.push_back(line(value, what));
  }

  void latency(const char* title, Signal signal, Signal instead, LatencyStats RunResult::*stats,
               std::string_view key) {
    const EngineMetric* metric = f_.metric(signal);
    if (metric == nullptr) metric = f_.metric(instead);
    if (metric == nullptr) return;
    Panel panel{
        title, fmt::format("{}, p50 and p99, beside the simulated ones.", metric->name), "s", {}};
    panel.queries = {{quantile_of(*metric, 0.5, select_), by_model("p50")},
                     {quantile_of(*metric, 0.99, select_), by_model("p99")}};
    if (run_ != nullptr) {
      plan_line(panel, (run_->*stats).median_ms / 1000, "p50");
      plan_line(panel, (run_->*stats).p99_ms / 1000, "p99");
      const std::string name = fmt::format("p99_{}_ms", key);
      for (const SloResult& slo : run_->slo) {
        if (slo.name == name && slo.tenant.empty()) panel.limit = slo.target / 1000;
      }
    }
    panels_.push_back(std::move(panel));
  }

  void queue() {
    const EngineMetric* metric = f_.metric(Signal::kQueueTime);
    if (metric == nullptr) return;
    Panel panel{"Time in queue", "Arrival to first scheduled tokens.", "s", {}};
    panel.queries = {{quantile_of(*metric, 0.99, select_), by_model("p99")}};
    if (run_ != nullptr) plan_line(panel, run_->queue_time.p99_ms / 1000, "p99");
    panels_.push_back(std::move(panel));
  }

  double series_mean(std::string_view name) const {
    for (const Series& s : run_->series) {
      if (s.name != name || s.values.empty()) continue;
      double sum = 0;
      for (const double v : s.values) sum += v;
      return sum / static_cast<double>(s.values.size());
    }
    return 0;
  }

  void concurrency() {
    Panel panel{"Requests running and waiting", "Of all engines together.", "short", {}};
    const auto add = [&](Signal signal, const char* what) {
      const EngineMetric* metric = f_.metric(signal);
      if (metric == nullptr) return;
      panel.queries.push_back({fmt::format("sum({})", series_of(*metric, select_)), what});
      const bool known = signal == Signal::kRunning || signal == Signal::kWaiting;
      if (run_ != nullptr && known)
        plan_line(panel, series_mean(what), fmt::format("{}, mean", what));
    };
    add(Signal::kRunning, "running");
    add(Signal::kWaiting, "waiting");
    add(Signal::kSwapped, "swapped out");
    if (!panel.queries.empty()) panels_.push_back(std::move(panel));
  }

  void kv_usage() {
    const EngineMetric* metric = f_.metric(Signal::kKvUsage);
    if (metric == nullptr) return;
    Panel panel{"KV cache in use",
                "Share of the blocks in HBM that requests hold.",
                "percentunit",
                {{series_of(*metric, select_), "{{instance}} {{engine}}"}},
                0.9};
    if (run_ != nullptr && !run_->tiers.empty() && run_->tiers[0].capacity_bytes > 0) {
      const TierResult& hbm = run_->tiers[0];
      const auto capacity = static_cast<double>(hbm.capacity_bytes);
      plan_line(panel, hbm.mean_bytes / capacity, "mean");
      plan_line(panel, static_cast<double>(hbm.peak_bytes) / capacity, "peak");
    }
    if (const EngineMetric* host = f_.metric(Signal::kHostKvUsage)) {
      panel.queries.push_back({series_of(*host, select_), "host {{instance}}"});
    }
    const EngineMetric* used = f_.metric(Signal::kHostTokens);
    const EngineMetric* total = f_.metric(Signal::kHostTokensTotal);
    if (used != nullptr && total != nullptr) {
      panel.queries.push_back(
          {fmt::format("{} / {}", series_of(*used, select_), series_of(*total, select_)),
           "host {{instance}}"});
    }
    panels_.push_back(std::move(panel));
  }

  void hit_ratios() {
    Panel panel{"Hit ratios", "Found by asked, per tier.", "percentunit", {}};
    const auto ratio = [&](Signal found, Signal asked, const char* what) {
      const EngineMetric* hits = f_.metric(found);
      const EngineMetric* queries = f_.metric(asked);
      if (hits == nullptr || queries == nullptr) return;
      panel.queries.push_back(
          {fmt::format("{} / {}", rate_of(*hits, select_), rate_of(*queries, select_)),
           by_model(what)});
    };
    ratio(Signal::kPrefixHits, Signal::kPrefixQueries, "HBM");
    if (run_ != nullptr && !panel.queries.empty() && !run_->tiers.empty()) {
      if (const auto planned = hit_ratio(run_->tiers[0])) plan_line(panel, *planned, "HBM");
    }
    const std::size_t before = panel.queries.size();
    ratio(Signal::kExternalHits, Signal::kExternalQueries, "below HBM");
    if (run_ != nullptr && panel.queries.size() > before) {
      if (const auto planned = external_ratio(f_)) plan_line(panel, *planned, "below HBM");
    }
    if (panel.queries.size() == before) share_below(panel, ratio);
    const std::size_t both = panel.queries.size();
    ratio(Signal::kCachedTokens, Signal::kPromptTokens, "all caches");
    if (run_ != nullptr && panel.queries.size() > both) {
      plan_line(panel, cached_share(*run_, 0), "all caches");
    }
    if (const EngineMetric* own = f_.metric(Signal::kHitRatio)) {
      panel.queries.push_back({series_of(*own, select_), "{{instance}}"});
    }
    tier_ratios(panel);
    if (!panel.queries.empty()) panels_.push_back(std::move(panel));
  }

  /// Of all that was asked, where an engine does not count what was asked below HBM.
  template <class Ratio>
  void share_below(Panel& panel, const Ratio& ratio) const {
    const std::size_t before = panel.queries.size();
    ratio(Signal::kExternalHits, Signal::kPrefixQueries, "below HBM, of all");
    if (panel.queries.size() == before || run_ == nullptr || run_->tiers.size() < 2) return;
    const auto asked = static_cast<double>(run_->tiers[0].queries);
    const auto found = static_cast<double>(run_->tiers[1].hits);
    if (asked > 0) plan_line(panel, found / asked, "below HBM, of all");
  }

  /// Storage tiers behind host memory: one series each, told apart by the label `tier`.
  void tier_ratios(Panel& panel) const {
    const EngineMetric* hits = f_.metric(Signal::kTierHits);
    const EngineMetric* queries = f_.metric(Signal::kTierQueries);
    if (hits == nullptr || queries == nullptr) return;
    Selector by_tier = select_;
    by_tier.by = "tier";
    panel.queries.push_back(
        {fmt::format("{} / {}", rate_of(*hits, by_tier), rate_of(*queries, by_tier)), "{{tier}}"});
    if (run_ == nullptr) return;
    for (std::size_t i = 2; i < run_->tiers.size(); ++i) {
      const auto planned = hit_ratio(run_->tiers[i]);
      if (planned) plan_line(panel, *planned, one_line(run_->tiers[i].name));
    }
  }

  void transfers() {
    const EngineMetric* loads = f_.metric(Signal::kLoadBytes);
    const EngineMetric* stores = f_.metric(Signal::kStoreBytes);
    if (loads == nullptr || stores == nullptr) return;
    const auto per_engine = [&](const EngineMetric& metric) {
      return fmt::format("rate({}[{}])", series_of(metric, select_), select_.window);
    };
    Panel panel{"Bytes to and from host memory",
                "Per engine, beside what the link carries at best.",
                "binBps",
                {{per_engine(*loads), "loads {{instance}} {{engine}}"},
                 {per_engine(*stores), "stores {{instance}} {{engine}}"}}};
    const LinkResult* link = run_ == nullptr ? nullptr : load_link(*run_);
    if (link != nullptr) {
      plan_line(panel, link->capacity_bytes_per_s, "link capacity");
      if (run_->duration_s > 0) {
        plan_line(panel, static_cast<double>(link->bytes) / run_->duration_s, "loads, mean");
      }
      panel.limit = 0.8 * link->capacity_bytes_per_s;
    }
    panels_.push_back(std::move(panel));
  }

  /// Of an engine that counts tokens, not bytes.
  void moved_tokens() {
    Panel panel{"Tokens loaded and evicted", "Per second and engine.", "short", {}};
    const auto add = [&](Signal signal, const char* what, double pages) {
      const EngineMetric* metric = f_.metric(signal);
      if (metric == nullptr) return;
      panel.queries.push_back(
          {fmt::format("rate({}[{}])", series_of(*metric, select_), select_.window),
           fmt::format("{} {{{{instance}}}}", what)});
      if (run_ == nullptr) return;
      plan_line(panel, per_second(f_, pages * static_cast<double>(f_.page_tokens)),
                fmt::format("{}, mean", what));
    };
    const bool below = run_ != nullptr && run_->tiers.size() > 1;
    add(Signal::kLoadTokens, "loaded from host memory",
        below ? static_cast<double>(run_->tiers[1].hits + run_->tiers[1].hits_resumed) : 0);
    add(Signal::kEvictions, "evicted from HBM",
        run_ != nullptr && !run_->tiers.empty() ? static_cast<double>(run_->tiers[0].evictions)
                                                : 0);
    if (!panel.queries.empty()) panels_.push_back(std::move(panel));
  }

  void preemptions() {
    const EngineMetric* metric = f_.metric(Signal::kPreemptions);
    if (metric == nullptr) return;
    Panel panel{"Preemptions",
                "Per second and engine.",
                "cps",
                {{fmt::format("rate({}[{}])", series_of(*metric, select_), select_.window),
                  "{{instance}} {{engine}}"}}};
    if (run_ != nullptr) {
      plan_line(panel, per_second(f_, static_cast<double>(run_->preemptions)), "mean");
    }
    panels_.push_back(std::move(panel));
  }

  void traffic() {
    const EngineMetric* metric = f_.metric(Signal::kTtft);
    if (metric == nullptr) return;
    Panel panel{"Requests per second",
                "Requests that got their first token.",
                "reqps",
                {{rate_of(*metric, select_, "_count"), by_model("all")}}};
    if (run_ != nullptr) plan_line(panel, run_->request_throughput, "mean");
    panels_.push_back(std::move(panel));
  }

  void host() {
    if (run_ == nullptr || run_->tiers.size() < 2) return;
    const EngineRelease node{"node_exporter", {}, {}};
    const EngineMetric* available = find_metric(node, Signal::kHostMemoryAvailable);
    Panel panel{"Host memory available",
                "Of node_exporter; all hosts that it watches.",
                "bytes",
                {{std::string(available->name), "{{instance}}"}}};
    panels_.push_back(std::move(panel));
  }

  /// The panels of production-stack (vllm-project/production-stack:
  /// observability/lmcache-dashboard-cm.yaml), so that both can be laid side by side.
  void lmcache() {
    const EngineRelease& c = f_.cache;
    const EngineMetric* asked = find_metric(c, Signal::kExternalQueries);
    const EngineMetric* found = find_metric(c, Signal::kExternalHits);
    const EngineMetric* speed = find_metric(c, Signal::kLoadSpeed);
    const EngineMetric* held = find_metric(c, Signal::kHostBytes);
    if (const EngineMetric* ttft = f_.metric(Signal::kTtft)) {
      panels_.push_back({"LMCache: average time to first token",
                         "Mean of all requests.",
                         "s",
                         {{mean_of(*ttft, select_), by_model("mean")}}});
      if (run_ != nullptr)
        panels_.back().queries.push_back(line(run_->ttft.mean_ms / 1000, "mean"));
    }
    Selector all = select_;
    all.by.clear();
    panels_.push_back(
        {"LMCache: hit ratio",
         "Tokens hit by tokens requested.",
         "percentunit",
         {{fmt::format("{} / {}", rate_of(*found, all), rate_of(*asked, all)), "all"}}});
    panels_.push_back({"LMCache: retrieve speed",
                       "Tokens per second of a retrieval.",
                       "short",
                       {{mean_of(*speed, all), "mean"}}});
    panels_.push_back({"LMCache: local CPU cache in use",
                       "Bytes.",
                       "bytes",
                       {{series_of(*held, select_), "{{instance}}"}}});
    panels_.push_back({"LMCache: tokens requested, in total",
                       "Since the engine started.",
                       "short",
                       {{series_of(*asked, select_), "{{instance}}"}},
                       {},
                       "stat"});
    panels_.push_back({"LMCache: tokens hit, in total",
                       "Since the engine started.",
                       "short",
                       {{series_of(*found, select_), "{{instance}}"}},
                       {},
                       "stat"});
  }

  /// A store attached to the engine: a panel for each of its metrics that the run has a figure for.
  void store() {
    for (const EngineMetric& metric : engine_metrics()) {
      if (!exports(f_.cache, metric) || metric.kind == MetricKind::kHistogram) continue;
      const std::optional<double> value =
          run_ == nullptr ? std::nullopt : simulated_value(*run_, metric);
      if (run_ != nullptr && !value) continue;
      const bool counter = metric.kind == MetricKind::kCounter;
      const std::string series = series_of(metric, select_);
      Panel panel{fmt::format("{}: {}", f_.cache.engine, name_of(metric.signal)),
                  fmt::format("{}{}.", metric.name, counter ? ", per second and instance" : ""),
                  store_unit(metric),
                  {{counter ? fmt::format("rate({}[{}])", series, select_.window) : series,
                    "{{instance}}"}}};
      if (value) plan_line(panel, counter ? per_second(f_, *value) : *value, "mean");
      panels_.push_back(std::move(panel));
    }
  }

  /// Grafana's name of a unit.
  static std::string store_unit(const EngineMetric& metric) {
    if (metric.unit == "bytes") return metric.kind == MetricKind::kCounter ? "binBps" : "bytes";
    return metric.unit == "ratio" ? "percentunit" : "short";
  }

  Json panel_json(const Panel& panel, int index) const {
    Json steps = Json::array();
    steps.push_back({{"color", "green"}, {"value", nullptr}});
    if (panel.limit) steps.push_back({{"color", "red"}, {"value", *panel.limit}});
    Json out = {{"id", index + 1},
                {"type", panel.type},
                {"title", panel.title},
                {"description", panel.description},
                {"datasource", data_source()},
                {"gridPos",
                 {{"h", kHeight},
                  {"w", kWidth},
                  {"x", index * kWidth % kColumns},
                  {"y", index * kWidth / kColumns * kHeight}}}};
    Json defaults = {
        {"unit", panel.unit}, {"min", 0}, {"thresholds", {{"mode", "absolute"}, {"steps", steps}}}};
    if (panel.type == "timeseries") {
      defaults["custom"] = {{"drawStyle", "line"},
                            {"fillOpacity", 0},
                            {"thresholdsStyle", {{"mode", panel.limit ? "line" : "off"}}}};
    }
    out["fieldConfig"] = {{"defaults", defaults}, {"overrides", overrides(panel)}};
    out["targets"] = Json::array();
    char ref = 'A';
    for (const Query& query : panel.queries) {
      out["targets"].push_back({{"refId", std::string(1, ref++)},
                                {"datasource", data_source()},
                                {"expr", query.expr},
                                {"legendFormat", query.legend},
                                {"range", true}});
    }
    return out;
  }

  /// Lines of the plan are dashed, so that they need no colour to be told apart.
  static Json overrides(const Panel& panel) {
    if (panel.type != "timeseries") return Json::array();
    Json dashed = {{"id", "custom.lineStyle"}, {"value", {{"fill", "dash"}, {"dash", {10, 10}}}}};
    return Json::array({{{"matcher", {{"id", "byRegexp"}, {"options", "/^plan /"}}},
                         {"properties", Json::array({dashed})}}});
  }

  Json variables() const {
    Json out = Json::array();
    out.push_back({{"name", "datasource"},
                   {"label", "Data source"},
                   {"type", "datasource"},
                   {"query", "prometheus"},
                   {"current", Json::object()}});
    const EngineMetric* running = f_.metric(Signal::kRunning);
    const EngineMetric* any = running != nullptr ? running : f_.metric(Signal::kTtft);
    // A store's client alone has neither.
    for (const EngineMetric& metric : engine_metrics()) {
      if (any == nullptr && exports(f_.cache, metric)) any = &metric;
    }
    const auto add = [&](const char* name, const char* label, const std::string& query) {
      out.push_back({{"name", name},
                     {"label", label},
                     {"type", "query"},
                     {"datasource", data_source()},
                     {"query", {{"query", query}, {"refId", name}}},
                     {"refresh", 2},
                     {"sort", 1},
                     {"multi", true},
                     {"includeAll", true},
                     {"allValue", ".*"},
                     {"current", {{"text", "All"}, {"value", "$__all"}}}});
    };
    if (any == nullptr) return out;
    const std::string name = any->kind == MetricKind::kHistogram ? std::string(any->name) + "_count"
                                                                 : std::string(any->name);
    add("job", "Job", fmt::format("label_values({}, job)", name));
    add("instance", "Instance", fmt::format("label_values({}{{job=~\"$job\"}}, instance)", name));
    return out;
  }

  /// What production is drawn beside.
  std::string dashed() const {
    if (f_.run == nullptr) {
      return fmt::format("Production alone: {} recommends nothing", f_.subject());
    }
    return fmt::format("Dashed: {}{}", f_.subject(), f_.provisional ? ", which is undecided" : "");
  }

  Json document() const {
    Json out = {{"title", one_line(fmt::format("Plan and production: {}", f_.scenario))},
                {"uid", "spillway-" + f_.digest.substr(0, 16)},
                {"description", one_line(fmt::format("{}. Metrics as {} exports them.", dashed(),
                                                     f_.engine.engine.empty() ? "no known engine"
                                                                              : f_.engine.text()))},
                {"tags", {"spillway"}},
                {"schemaVersion", kSchemaVersion},
                {"editable", true},
                {"graphTooltip", 1},
                {"refresh", "30s"},
                {"time", {{"from", "now-6h"}, {"to", "now"}}},
                {"templating", {{"list", variables()}}}};
    out["panels"] = Json::array();
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      out["panels"].push_back(panel_json(panels_[i], static_cast<int>(i)));
    }
    return out;
  }

  const OpsFigures& f_;
  const RunResult* run_;
  Selector select_;
  std::vector<Panel> panels_;
};

}  // namespace

Json dashboard(const OpsFigures& figures) {
  return DashboardMaker(figures).make();
}

void write_dashboard(const OpsFigures& figures, std::ostream& out) {
  out << dashboard(figures).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace spillway

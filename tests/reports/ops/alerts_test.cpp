// Alert rules: thresholds from the simulated run, only by metrics that the release exports, and
// text from inputs that is neither YAML nor a template. tests/promtool runs them.
#include "reports/ops/alerts.hpp"

#include <algorithm>

#include "reports/format.hpp"
#include "reports/ops/ops_formats.hpp"
#include "reports/ops/promql.hpp"

#include "reports/provenance.hpp"
#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const AlertRule* rule_of(const AlertRules& alerts, const std::string& name) {
  const auto found = std::find_if(alerts.rules.begin(), alerts.rules.end(),
                                  [&](const AlertRule& r) { return r.name == "Spillway" + name; });
  return found == alerts.rules.end() ? nullptr : &*found;
}

bool not_armed(const AlertRules& alerts, const std::string& what) {
  return std::any_of(alerts.not_armed.begin(), alerts.not_armed.end(),
                     [&](const std::string& text) { return text.find(what) != text.npos; });
}

std::string yaml_of(const OpsFigures& figures) {
  std::ostringstream out;
  write_alerts(figures, out);
  return out.str();
}

TEST_CASE("a target's threshold is the last bucket bound at or below it", "[reports]") {
  const RunResult run = ops_run();
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  const AlertRule* ttft = rule_of(alerts, "TtftP99AboveTarget");
  REQUIRE(ttft != nullptr);
  CHECK_THAT(ttft->expr, ContainsSubstring("histogram_quantile(0.99, sum by (le, model_name) "
                                           "(rate(vllm:time_to_first_token_seconds_bucket[5m])))"));
  CHECK_THAT(ttft->expr, ContainsSubstring("> 1 and "));
  CHECK_THAT(ttft->expr, ContainsSubstring("[1h]"));
  CHECK_THAT(ttft->why, ContainsSubstring("the target p99_ttft_ms <= 2.00 s; simulated 69.0 ms"));
  CHECK_THAT(ttft->why, ContainsSubstring("1.00 s is the last bound at or below the target"));
  CHECK(ttft->summary ==
        "The p99 time to first token is above 1.00 s, near or beyond its target of 2.00 s.");
  const AlertRule* tpot = rule_of(alerts, "TpotP99AboveTarget");
  REQUIRE(tpot != nullptr);
  CHECK_THAT(tpot->expr, ContainsSubstring("vllm:request_time_per_output_token_seconds_bucket"));
  CHECK_THAT(tpot->expr, ContainsSubstring("> 0.1 and"));
}

TEST_CASE("a healthy figure above that bound is judged by Prometheus' guess", "[reports]") {
  RunResult run = ops_run();
  run.slo = {{"p99_ttft_ms", false, 2000, 1500, true}};
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  const AlertRule* ttft = rule_of(alerts, "TtftP99AboveTarget");
  REQUIRE(ttft != nullptr);
  CHECK_THAT(ttft->expr, ContainsSubstring("> 2 and "));
  CHECK_THAT(ttft->why, ContainsSubstring("between their bounds 1.00 s and 2.50 s Prometheus"));
}

TEST_CASE("rules about requests wait for enough of them, in windows that hold them", "[reports]") {
  RunResult run = ops_run();
  const auto ttft = [&] {
    return rule_of(alert_rules(figures_of(run, provenance_with("vllm@0.25"))), "TtftP99AboveTarget")
        ->expr;
  };
  // 16 requests/s: 5 minutes hold thousands.
  CHECK(
      ttft().ends_with(" and sum by (model_name) (increase("
                       "vllm:time_to_first_token_seconds_count[5m])) > 100"));
  run.duration_s = static_cast<double>(run.completed) / 0.2;  // 180 in 15 minutes, 360 in 30
  CHECK_THAT(ttft(), ContainsSubstring("[30m]") && ContainsSubstring("[6h]") &&
                         ContainsSubstring("_count[30m])) > 100"));
  run.duration_s = static_cast<double>(run.completed) / 0.005;  // 108 in 6 hours
  CHECK_THAT(ttft(), ContainsSubstring("_count[6h])) > 54"));
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  CHECK_THAT(rule_of(alerts, "HitRatioBelowPlan")->expr, ContainsSubstring("_count[6h])) > 54"));
  CHECK_THAT(alerts.notes.front(), ContainsSubstring("6h at the planned 0.005"));
}

TEST_CASE("thresholds are what a person would type, on the safe side", "[reports]") {
  CHECK(rounded_down(17.7) == 17.7);
  CHECK(rounded_down(10.05) == 10);
  CHECK(rounded_down(19840000000) == 19800000000);
  CHECK(rounded_down(1.0 / 60) == 0.0166);
  CHECK(rounded_up(0.45921385434366885) == 0.46);
  CHECK(rounded_up(0.1 + 0.2) == 0.3);
  CHECK(rounded_up(0) == 0);
  CHECK(rounded_down(1) == 1);
}

TEST_CASE("a matcher stands in every expression about the engine", "[reports]") {
  const RunResult run = ops_run();
  OpsFigures figures = figures_of(run, provenance_with("vllm@0.25"));
  figures.alerts = {read_matcher(" model_name=\"llama\" , namespace=~\"pr.*\"", "--matcher"),
                    "https://wiki.example/kv?a=1#b"};
  for (const AlertRule& rule : alert_rules(figures).rules) {
    INFO(rule.expr);
    const bool host = rule.name == "SpillwayHostMemoryLow";
    const bool matched =
        rule.expr.find("model_name=\"llama\",namespace=~\"pr.*\"") != std::string::npos;
    CHECK(matched != host);
  }
  const std::string text = yaml_of(figures);
  CHECK_THAT(text, ContainsSubstring("runbook_url: \"https://wiki.example/kv?a=1#b\"\n"));
  CHECK_THAT(text, ContainsSubstring("# They watch the engines with model_name=\"llama\","));
}

TEST_CASE("what is no matcher is refused", "[reports]") {
  for (const char* text :
       {"", "llama", "model_name", "model_name=llama", "model_name=\"a", "1=\"a\"", "a=\"b\",",
        "a=\"b\" c=\"d\"", "a==\"b\"", "a=\"b\"}", "a=\"b\n\""}) {
    INFO(text);
    CHECK_THROWS_AS(read_matcher(text, "--matcher"), InputError);
  }
  CHECK(read_matcher("a=\"x\\\"y\"", "") == "a=\"x\\\"y\"");
}

TEST_CASE("the load alert is at 80% of what the link carries", "[reports]") {
  const RunResult run = ops_run();
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  const AlertRule* load = rule_of(alerts, "LoadNearLinkCapacity");
  REQUIRE(load != nullptr);
  // 0.8 * 25 GB/s
  CHECK(load->expr == "rate(vllm:kv_offload_load_bytes_total[5m]) > 20000000000");
  const AlertRules older = alert_rules(figures_of(run, provenance_with("vllm@0.23")));
  CHECK(rule_of(older, "LoadNearLinkCapacity")->expr ==
        "rate(vllm:kv_offload_total_bytes_total{transfer_type=\"CPU_to_GPU\"}[5m]) > 20000000000");
}

TEST_CASE("the hit ratio's bound is a fifth below the simulated one", "[reports]") {
  const RunResult run = ops_run();
  // dram: 187 of 319 asked; 0.8 * 0.586 = 0.469
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  const AlertRule* hits = rule_of(alerts, "HitRatioBelowPlan");
  REQUIRE(hits != nullptr);
  CHECK(hits->threshold == "47.0%");
  // Before #30522 the engine counts all 600 as asked: 0.8 * 187 / 600
  const AlertRules older = alert_rules(figures_of(run, provenance_with("vllm@0.12")));
  CHECK(rule_of(older, "HitRatioBelowPlan")->threshold == "25.0%");
}

/// Of a plan whose recommended cell ends at more requests and at less reuse.
PlanResult limited_plan(double rate_holds, std::optional<double> rate_misses, double reuse_holds,
                        std::optional<double> reuse_misses) {
  PlanResult plan = ops_plan();
  plan.sensitivity.emplace();
  plan.sensitivity->margin = 0.3;
  plan.sensitivity->replicates = 1;
  SensitivityRow rate;
  rate.factor = "arrival rate";
  rate.low.factor = 0.8;
  rate.high.factor = 1.2;
  rate.low.met = rate.high.met = true;
  rate.changes_above = rate_holds;
  rate.missed_above = rate_misses;
  SensitivityRow reuse;
  reuse.factor = "reuse";
  reuse.low.factor = 0.8;
  reuse.high.factor = 1;
  reuse.high.met = true;
  reuse.changes_below = reuse_holds;
  reuse.missed_below = reuse_misses;
  plan.sensitivity->rows = {rate, reuse};
  return plan;
}

TEST_CASE("traffic and hits raise an alert no later than the plan says that it ends", "[reports]") {
  const PlanResult plan = limited_plan(1.1, 1.15, 1, 0.95);
  const AlertRules alerts = alert_rules(figures_of(plan, provenance_with("vllm@0.25")));
  const AlertRule* traffic = rule_of(alerts, "TrafficAbovePlan");
  REQUIRE(traffic != nullptr);
  // 1.1 * 16.1/s, where a quarter more than 990 in 61.25 s would be 20.2.
  CHECK(traffic->threshold == "17.7 requests/s");
  CHECK_THAT(traffic->why, ContainsSubstring("meets the SLO at 1.10 times the simulated 16.1") &&
                               ContainsSubstring("misses it at 1.15 times"));
  // 0.95 * 187 found of 319 + 0.05 * (600 - 319) asked; four fifths of 187 / 319 would be 46.9%.
  const AlertRule* hits = rule_of(alerts, "HitRatioBelowPlan");
  REQUIRE(hits != nullptr);
  CHECK(hits->threshold == "54.0%");
  CHECK_THAT(hits->why, ContainsSubstring("reuse at 0.95 times what it is"));
}

TEST_CASE("limits beyond an alert's own bound do not loosen it", "[reports]") {
  const PlanResult plan = limited_plan(1.9, {}, 0.5, {});
  const RunResult run = ops_run();
  const AlertRules with = alert_rules(figures_of(plan, provenance_with("vllm@0.25")));
  const AlertRules alone = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  for (const char* name : {"TrafficAbovePlan", "HitRatioBelowPlan"}) {
    CHECK(rule_of(with, name)->threshold == rule_of(alone, name)->threshold);
  }
}

TEST_CASE("what a release does not export is not armed, and said", "[reports]") {
  const RunResult run = ops_run();
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.12")));
  CHECK(rule_of(alerts, "LoadNearLinkCapacity") == nullptr);
  CHECK(not_armed(alerts, "LoadNearLinkCapacity: vllm@0.12 has no metric"));
  CHECK(not_armed(alerts, "blocks that decoding reads from below HBM"));
  Provenance simple = provenance_with("vllm@0.25");
  simple.inputs["configuration"]["engine"]["offload_connector"] = "simple";
  CHECK(not_armed(alert_rules(figures_of(run, simple)), "LoadNearLinkCapacity"));
  const AlertRules unknown = alert_rules(figures_of(run, provenance_with("other@1.0")));
  CHECK(rule_of(unknown, "EngineAbsent") == nullptr);
  CHECK(rule_of(unknown, "HostMemoryLow") != nullptr);
}

TEST_CASE("a store that counts refused puts raises an alert on them", "[reports]") {
  const RunResult run = ops_run();
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("mooncake-client")));
  const AlertRule* refused = rule_of(alerts, "StoresRefusedAbovePlan");
  REQUIRE(refused != nullptr);
  CHECK_THAT(refused->expr, ContainsSubstring("rate(master_put_start_alloc_failures_total[15m])"));
  const AlertRule* load = rule_of(alerts, "LoadNearLinkCapacity");
  REQUIRE(load != nullptr);
  CHECK(load->expr == "rate(mooncake_transfer_read_bytes[5m]) > 20000000000");
  CHECK(not_armed(alerts, "EngineAbsent: mooncake has no metric"));
  // KVBM runs on vLLM, whose counters tell what was found below HBM.
  const AlertRules kvbm = alert_rules(figures_of(run, provenance_with("kvbm@1.0")));
  CHECK_THAT(rule_of(kvbm, "HitRatioBelowPlan")->expr,
             ContainsSubstring("vllm:external_prefix_cache_hits_total"));
}

TEST_CASE("a state that the simulated run was in raises nothing", "[reports]") {
  RunResult run = ops_run();
  const auto capacity = static_cast<double>(run.tiers[0].capacity_bytes);
  // An hour and 10 minutes with a full cache and a queue, in bins of 10 s.
  run.series = {{"waiting", "requests", 10, std::vector<double>(420, 5)},
                {"hbm", "bytes", 10, std::vector<double>(420, 0.95 * capacity)},
                {"h2d", "bytes/s", 10, std::vector<double>(420, 2.4e10)}};
  const OpsFigures figures = figures_of(run, provenance_with("vllm@0.25"));
  CHECK(longest_pressure(run, 0.9) == 4200);
  CHECK(not_armed(alert_rules(figures), "KvCacheFull: the simulated run itself"));
  CHECK(not_armed(alert_rules(figures), "LoadNearLinkCapacity: the simulated run itself"));
  run.series[1].values.assign(420, 0.5 * capacity);
  run.series[1].values[7] = capacity;
  CHECK(rule_of(alert_rules(figures), "KvCacheFull")->lasts == "10m");
}

TEST_CASE("targets that no metric shows are named", "[reports]") {
  RunResult run = ops_run();
  run.slo = {{"output_throughput", true, 50, 60, true},
             {"p99_ttft_ms", false, 2000, 69, true, "gold"},
             {"p99_ttft_ms", false, 1e9, 69, true}};
  const AlertRules alerts = alert_rules(figures_of(run, provenance_with("vllm@0.25")));
  CHECK(not_armed(alerts, "target output_throughput"));
  CHECK(not_armed(alerts, "target p99_ttft_ms of gold: the engine's metrics do not tell tenants"));
  CHECK(not_armed(alerts, "target p99_ttft_ms: the buckets of"));
}

TEST_CASE("a plan that recommends nothing has a file without rules", "[reports]") {
  PlanResult plan = ops_plan();
  plan.recommended = -1;
  plan.flags.reset();
  const std::string text = yaml_of(figures_of(plan, provenance_with("vllm@0.25")));
  CHECK_THAT(text, ContainsSubstring("groups: []\n"));
  CHECK_THAT(text, ContainsSubstring("# Not armed: anything: the plan recommends no"));
  CHECK_THAT(without_alerts(&plan), ContainsSubstring("no size meets the SLO: "));
  plan.provisional = 1;
  plan.undecided = true;
  CHECK_THAT(yaml_of(figures_of(plan, provenance_with("vllm@0.25"))),
             ContainsSubstring("groups: []\n"));
  CHECK_THAT(without_alerts(&plan), ContainsSubstring("the plan is not decided: "));
  CHECK(without_alerts(nullptr).empty());
}

TEST_CASE("names from inputs stay within their strings", "[reports]") {
  const RunResult run = ops_run();
  const std::string name = "x\"\n  - alert: Owned\n#{{ $labels.y }}{{{z}}}\\ \xe2\x80\xa8";
  const std::string text = yaml_of(figures_of(run, provenance_with("vllm@0.25", name)));
  CHECK(text.find("\n  - alert: Owned") == std::string::npos);
  CHECK(text.find("{{ $labels.y") == std::string::npos);
  CHECK(text.find("\xe2\x80\xa8") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("{{ $value | humanize }}"));
  // Every line is a comment, or has the shape that this file's rules have.
  for (const std::string& line : split_lines(text)) {
    const std::size_t at = line.find_first_not_of(" -");
    CHECK((at == std::string::npos || line[at] == '#' || line.find(':', at) != line.npos));
  }
}

TEST_CASE("equal results give equal files", "[reports]") {
  const RunResult run = ops_run();
  const OpsFigures figures = figures_of(run, provenance_with("vllm@0.25"));
  CHECK(yaml_of(figures) == yaml_of(figures));
}

}  // namespace
}  // namespace spillway::test

// A result as metrics: base units, one HELP and TYPE per name, labels that stay labels.
#include "reports/ops/metrics_text.hpp"

#include <set>

#include "reports/format.hpp"
#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::string text_of(const OpsFigures& figures) {
  std::ostringstream out;
  write_metrics(figures, out);
  return out.str();
}

TEST_CASE("a run's figures are gauges in base units", "[reports]") {
  const RunResult run = ops_run();
  const std::string text = text_of(figures_of(run, provenance_with("vllm@0.25")));
  // 6 * 11.5 ms
  CHECK_THAT(text, ContainsSubstring(
                       "spillway_run_ttft_seconds{scenario=\"chat\",statistic=\"p99\"} 0.069\n"));
  CHECK_THAT(text,
             ContainsSubstring("tier_capacity_bytes{scenario=\"chat\",tier=\"dram\"} +Inf\n"));
  CHECK_THAT(text,
             ContainsSubstring("link_capacity_bytes_per_second{scenario=\"chat\",link=\"h2d\","
                               "from=\"dram\",to=\"hbm\"} 25000000000\n"));
  CHECK_THAT(text,
             ContainsSubstring("slo_target{scenario=\"chat\",slo=\"p99_ttft_ms\",bound=\"max\"}"
                               " 2\n"));
  CHECK_THAT(text,
             ContainsSubstring("slo_passed{scenario=\"chat\",slo=\"p99_ttft_ms\",bound=\"max\"}"
                               " 1\n"));
}

TEST_CASE("a plan's figures are those of the recommended cell", "[reports]") {
  PlanResult plan = ops_plan();
  plan.points[1].replications = 10;
  plan.points[1].attainment = 0.999;
  plan.points[1].attainment_low = 0.995;
  const std::string text = text_of(figures_of(plan, provenance_with("vllm@0.25")));
  CHECK_THAT(text, ContainsSubstring("spillway_plan_recommended_size_bytes{scenario=\"chat\",cell="
                                     "\"16GiB\",tier=\"dram\"} 17179869184\n"));
  CHECK_THAT(text, ContainsSubstring("attainment_ratio{scenario=\"chat\",cell=\"16GiB\"} 0.999\n"));
  CHECK_THAT(text,
             ContainsSubstring("attainment_bound_ratio{scenario=\"chat\",cell=\"16GiB\"} 0.995\n"));
  // Whose figures these are stands beside each.
  CHECK_THAT(text, ContainsSubstring("as a share of it, over 10 replicates of the workload.\n"));
  CHECK_THAT(text, ContainsSubstring("Simulated time to first token. In one run of the workload "
                                     "itself.\n"));
  plan.recommended = -1;
  const std::string none = text_of(figures_of(plan, provenance_with("vllm@0.25")));
  CHECK_THAT(none, ContainsSubstring("spillway_plan_feasible{scenario=\"chat\"} 0\n"));
  CHECK(none.find("ttft") == std::string::npos);
}

TEST_CASE("each metric is described once, before its samples", "[reports]") {
  const PlanResult plan = ops_plan();
  std::set<std::string> described;
  std::string current;
  for (const std::string& line : split_lines(text_of(figures_of(plan, provenance_with("vllm"))))) {
    INFO(line);
    if (line.starts_with("# HELP ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      CHECK(described.insert(current).second);
      CHECK(line.size() > 8 + current.size());
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line == "# TYPE " + current + " gauge");
    } else {
      CHECK(line.starts_with(current + "{"));
    }
  }
}

TEST_CASE("labels are escaped", "[reports]") {
  RunResult run = ops_run();
  run.tiers[1].name = "a\"b\\c\nd";
  const std::string text = text_of(figures_of(run, provenance_with("vllm@0.25", "\"} 1\nx 2")));
  CHECK_THAT(text, ContainsSubstring("scenario=\"\\\"} 1?x 2\""));
  CHECK_THAT(text, ContainsSubstring("tier=\"a\\\"b\\\\c?d\""));
}

}  // namespace
}  // namespace spillway::test

// A benchmark tool's names beside our figures.
#include "reports/run/tool_names.hpp"

#include "reports/run/run_report.hpp"
#include "reports/sections.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using namespace test;

nlohmann::json inputs_of(const char* tool) {
  return {{"configuration", {{"workload", {{"benchmark", {{"tool", tool}}}}}}}};
}

TEST_CASE("figures stand under the name that a benchmark tool prints", "[reports]") {
  Table table = latency_table(sample_run());
  add_tool_names("guidellm", table);
  CHECK(table.header.back() == "as guidellm prints it");
  CHECK(table.rows[0].back() == "time_to_first_token_ms");
  // GuideLLM's inter-token latency is a mean over an answer.
  CHECK(table.rows[1].back() == "inter_token_latency_ms");
  CHECK(table.rows[2].back() == "-");
  for (const auto& row : table.rows) CHECK(row.size() == table.header.size());
}

TEST_CASE("a workload that is no known tool's has no such column", "[reports]") {
  Table table = latency_table(sample_run());
  add_tool_names("", table);
  add_tool_names("wrk", table);
  CHECK(table.header == latency_table(sample_run()).header);
  CHECK(benchmark_tool_of({{"configuration", 3}}).empty());
}

TEST_CASE("a run's report has the names of its benchmark tool", "[reports]") {
  Provenance provenance = sample_provenance();
  provenance.inputs.update(inputs_of("vllm-bench"));
  const std::string text = rendered(run_report(sample_run(), provenance), "csv");
  for (const char* name : {"Output token throughput (tok/s)", "\"Mean, Median, P99 TTFT (ms)\"",
                           "\"Mean, Median, P99 ITL (ms)\"", "as vllm-bench prints it"}) {
    INFO(name);
    CHECK(text.find(name) != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway

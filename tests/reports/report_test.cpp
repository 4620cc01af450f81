// What reports say: the decision of a plan, the figures of a run, and where they come from.

#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/profile/profile_report.hpp"
#include "reports/provenance.hpp"
#include "reports/run/run_report.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const std::vector<std::string> kFormats = {"html", "md", "text", "csv"};

/// A number that is not one: "nan", but not "provenance".
bool says_nan(const std::string& text) {
  for (const char* form : {"nan%", "nan ", "nan\"", "nan<", "nan,", "-nan", "nan\n"}) {
    if (text.find(form) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> cells_of(const Table& table, std::size_t row) {
  return table.rows.at(row);
}

TEST_CASE("a plan's report opens with the verdict and names what binds", "[reports]") {
  const Report report = plan_report(sample_plan(), sample_provenance());
  CHECK(report.title == "Plan: sample");
  CHECK(report.subtitle == sample_plan().verdict);
  const Section& first = report.sections.at(0);
  CHECK(first.facts.at(0).label == "Buy");
  CHECK(first.tables.at(0).rows.at(0).at(1) == "The trace is too short for 64 GiB.");
  std::vector<std::string> said;
  for (const Section& part : first.parts) {
    if (part.heading == "In full") said = part.paragraphs;
  }
  REQUIRE(said.size() == 5);
  CHECK_THAT(said[0], ContainsSubstring("Confidence: none. "));
  CHECK(said[1] == "The trace is too short for 64 GiB.");
  CHECK(said[2] == "Limiting resource: capacity. A smaller tier misses the p99 TTFT limit.");
  CHECK(said[3] == "Sweet spot (knee): a DRAM tier above 16 GiB gains little.");
  CHECK(said[4] == "Sizes between those listed were not tried.");
}

TEST_CASE("verdict, knee and recommendation reach every format that has text", "[reports]") {
  const Report report = plan_report(sample_plan(), sample_provenance());
  for (const char* format : {"html", "md", "text"}) {
    INFO(format);
    const std::string text = rendered(report, format);
    CHECK_THAT(text, ContainsSubstring("16GiB of dram is the smallest size"));
    CHECK_THAT(text, ContainsSubstring("tier above 16 GiB"));
  }
}

TEST_CASE("a plan's table has a row per size and marks the recommendation", "[reports]") {
  const Table table = plan_table(sample_plan());
  REQUIRE(table.rows.size() == 3);
  CHECK(table.highlight == 1);
  // 4,500 of 10,000 prompt tokens from HBM and 3,000 from DRAM; the busier link at 12.5%.
  CHECK(cells_of(table, 1) == std::vector<std::string>{"16 GiB", "met (one run)", "23.0 ms",
                                                       "69.0 ms", "7.50 ms", "45.0%", "30.0%", "7",
                                                       "12.5%", "10"});
  CHECK(cells_of(table, 0).at(1) == "missed (one run)");
  for (const auto& row : table.rows) CHECK(row.size() == table.header.size());
}

const Table& every_size(const Section& page) {
  for (const Section& part : page.parts) {
    if (part.heading == "Every size") return part.tables.at(0);
  }
  throw std::runtime_error("no table of every size");
}

TEST_CASE("a plan without an answer has no knee and no highlight", "[reports]") {
  PlanResult plan = sample_plan();
  plan.recommended = plan.knee = -1;
  plan.binding.clear();
  const Section page = plan_report(plan, sample_provenance()).sections.at(0);
  CHECK(every_size(page).highlight == -1);
  for (const Fact& fact : page.facts) CHECK(fact.label != "Limiting resource");
  CHECK(plan_report(plan, sample_provenance()).sections.at(2).charts.at(0).regions.empty());
}

TEST_CASE("the report repeats the table of all cells", "[reports]") {
  const Report report = plan_report(sample_plan(), sample_provenance());
  CHECK(every_size(report.sections.at(0)).rows == plan_table(sample_plan()).rows);
}

TEST_CASE("a run's report shows targets first, then latencies, tokens and tiers", "[reports]") {
  const Report report = run_report(sample_run(), sample_provenance());
  std::vector<std::string> titles;
  for (const Section& section : report.sections) {
    for (const Table& table : section.tables) titles.push_back(table.title);
  }
  CHECK(titles == std::vector<std::string>{"Service level objectives", "Latency",
                                           "Requests and tokens", "Where prompt tokens came from",
                                           "Tiers (counts in engine blocks)",
                                           "Blocks that were not written", "Links", "", ""});
  CHECK_THAT(report.subtitle, ContainsSubstring("1,000 requests, 61.2 simulated seconds"));
  CHECK_THAT(report.subtitle, ContainsSubstring("TTFT p99 69.0 ms"));
}

TEST_CASE("objectives say which side of the target is good", "[reports]") {
  const Table table = slo_table(sample_run().slo);
  CHECK(cells_of(table, 0) ==
        std::vector<std::string>{"p99 TTFT", "at most 100 ms", "69 ms", "met"});
  CHECK(cells_of(table, 1) == std::vector<std::string>{"output throughput",
                                                       "at least 50.0 tokens/s", "38.3 tokens/s",
                                                       "missed"});
}

TEST_CASE("latencies stand under their percentiles", "[reports]") {
  const Table table = latency_table(sample_run());
  CHECK(table.header ==
        std::vector<std::string>{"metric", "mean", "p50", "p90", "p95", "p99", "max"});
  CHECK(cells_of(table, 0) == std::vector<std::string>{"Time to first token", "11.5 ms", "23.0 ms",
                                                       "46.0 ms", "57.5 ms", "69.0 ms", "80.5 ms"});
}

TEST_CASE("an unbounded tier is inf, shares add up to the prompt", "[reports]") {
  const std::string text = rendered(run_report(sample_run(), sample_provenance()), "csv");
  CHECK_THAT(text, ContainsSubstring("dram,inf,65.19 GiB,"));
  CHECK_THAT(text, ContainsSubstring("computed,\"2,500\",25.0%\r\nhbm,\"4,500\",45.0%\r\n"
                                     "dram,\"3,000\",30.0%\r\n"));
}

TEST_CASE("every report names tool, digest, seed, trace and assumptions", "[reports]") {
  for (const Report& report : {run_report(sample_run(), sample_provenance()),
                               plan_report(sample_plan(), sample_provenance())}) {
    const std::string text = rendered(report, "text");
    for (const char* part : {"spillway 0.1.0 test", "fedcba9876543210", "t.jsonl", "feed",
                             "link h2d: default", "sample"}) {
      INFO(part);
      CHECK_THAT(text, ContainsSubstring(part));
    }
  }
}

TEST_CASE("a report names what was simulated", "[reports]") {
  Provenance p = sample_provenance();
  p.inputs["configuration"] = nlohmann::json::parse(R"({
    "model": {"name": "M-8B", "kv_bits": 8}, "gpu": "G",
    "engine": {"preset": "vllm@0.25", "num_gpu_blocks": 1025, "block_tokens": 16,
               "block_bytes": 1048576, "max_num_seqs": 256},
    "workload": {"arrival": "trace", "speed": 0.35}})");
  for (const Report& report : {run_report(sample_run(), p), plan_report(sample_plan(), p)}) {
    const std::string text = rendered(report, "text");
    // 1025 blocks less the null block, of 1 MiB.
    for (const char* part : {"M-8B", "vllm@0.25", "1,024 blocks of 16 tokens, 1.00 GiB", "0.35"}) {
      INFO(text);
      CHECK_THAT(text, ContainsSubstring(part));
    }
  }
}

TEST_CASE("a report says which requests were measured", "[reports]") {
  const auto setup = [](const char* workload) {
    Provenance p = sample_provenance();
    p.inputs["configuration"] = {{"workload", nlohmann::json::parse(workload)}};
    return rendered(run_report(sample_run(), p), "text");
  };
  CHECK_THAT(setup("{}"), ContainsSubstring("all requests"));
  CHECK_THAT(setup(R"({"warmup_s": 60.0})"),
             ContainsSubstring("requests that arrive from 60.0 s on; counters of steps, tiers and "
                               "links cover the whole run"));
  CHECK_THAT(setup(R"({"horizon_s": 90})"), ContainsSubstring("requests due by 90.0 s, to their"));
  CHECK_THAT(setup(R"({"warmup_s": 60, "horizon_s": 90, "sessions": "wait"})"),
             ContainsSubstring("requests that arrive from 60.0 s on and are due by 90.0 s"));
  CHECK_THAT(setup(R"({"sessions": "wait"})"), ContainsSubstring("wait"));
  // A tool that stops without waiting, and one that waits for what it has sent.
  CHECK_THAT(setup(R"({"horizon_s": 90, "benchmark": {"tool": "guidellm"}})"),
             ContainsSubstring("ended by 90.0 s"));
  CHECK_THAT(setup(R"({"horizon_s": 90, "benchmark": {"tool": "lmbenchmark"}})"),
             ContainsSubstring("due by 90.0 s, to their end"));
}

TEST_CASE("time at clients, the warm-up and what was not sent are shown where there is any",
          "[reports]") {
  for (const std::string& format : kFormats) {
    const std::string text = rendered(run_report(sample_run(), sample_provenance()), format);
    for (const char* part : {"held back by clients p50", "held back by clients p99",
                             "warm-up, not measured", "not sent (beyond the horizon)"}) {
      INFO(format << ": " << part);
      CHECK_THAT(text, ContainsSubstring(part));
    }
  }
  CHECK_THAT(rendered(run_report(RunResult{}, Provenance{}), "text"),
             !ContainsSubstring("clients") && !ContainsSubstring("not sent"));
}

TEST_CASE("requests that did not complete are counted by reason", "[reports]") {
  RunResult run = sample_run();
  run.completed = run.requests - 5;
  run.rejected_reasons = {};
  run.failed_reasons = {{"too_long", 3}};
  run.stuck_reasons = {{"deadlock", 2}};
  CHECK_THAT(
      rendered(run_report(run, sample_provenance()), "text"),
      ContainsSubstring("requests did not complete: 3 failed (too_long), 2 stuck (deadlock)"));
  PlanResult plan = sample_plan();
  for (PlanPoint& p : plan.points) p.run.completed = p.run.requests;
  CHECK_THAT(rendered(plan_report(plan, sample_provenance()), "text"),
             !ContainsSubstring("incomplete"));
  plan.points[0].run.requests = plan.points[0].run.completed + 7;
  CHECK_THAT(rendered(plan_report(plan, sample_provenance()), "text"),
             ContainsSubstring("incomplete"));
}

TEST_CASE("results of nothing are reported without a division by zero", "[reports]") {
  for (const std::string& format : kFormats) {
    INFO(format);
    CHECK_FALSE(says_nan(rendered(run_report(RunResult{}, Provenance{}), format)));
    CHECK_FALSE(says_nan(rendered(plan_report(PlanResult{}, Provenance{}), format)));
  }
}

TEST_CASE("rendering twice gives the same bytes", "[reports]") {
  const Report report = plan_report(sample_plan(), sample_provenance());
  for (const std::string& format : kFormats) {
    CHECK(rendered(report, format) == rendered(report, format));
  }
}

TEST_CASE("the catalogue of renderers is complete and documented", "[reports]") {
  std::vector<std::string> names;
  for (const Format& entry : renderers()) {
    names.emplace_back(entry.name);
    CHECK(entry.summary.ends_with('.'));
    CHECK(entry.make({}) != nullptr);
  }
  CHECK(names == kFormats);
}

TEST_CASE("an unknown format is answered with the nearest and all known ones", "[reports]") {
  const InputError error = error_of([] { rendered(Report{}, "htlm"); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("unknown renderer \"htlm\"; did you mean \"html\"? "
                                             "known: csv, html, md, text"));
}

}  // namespace
}  // namespace spillway::test

// Where the time goes, for people: waterfall, slowest requests, links over time.
#include "reports/run/stages.hpp"

#include "reports/run/run_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("the waterfall has a bar for each band, with a part for each stage", "[reports]") {
  const Chart chart = ttft_chart(sample_run());
  CHECK(chart.kind == ChartKind::kStacks);
  CHECK(chart.part_names ==
        std::vector<std::string>{"queue", "load wait", "load", "recompute", "step"});
  REQUIRE(chart.stacks.size() == 2);
  CHECK(chart.stacks[0].name == "all requests");
  CHECK(chart.stacks[0].parts == std::vector<double>{4, 0.5, 1.5, 0.25, 5.25});
  CHECK(chart.stacks[1].name == "slowest 1%");
  CHECK(chart.unit == "ms");
  CHECK_THAT(chart.note, ContainsSubstring("The slowest 1% (10 requests) wait 3.20 s on average: "
                                           "2.90 s in the queue, "));
}

TEST_CASE("long waits are drawn in seconds", "[reports]") {
  RunResult run = sample_run();
  run.ttft_bands[1].ttft_ms = 32'000;
  run.ttft_bands[1].stage_ms = {29'000, 1'000, 500, 250, 1'250};
  const Chart chart = ttft_chart(run);
  CHECK(chart.unit == "s");
  CHECK(chart.stacks[1].parts[0] == 29);
}

TEST_CASE("a slow request is explained stage by stage, the longest first", "[reports]") {
  const std::vector<std::string> said = slowest_sentences(sample_run(), 3);
  REQUIRE(said.size() == 2);
  // 25 ms of 3.2 s is worth a word, 0.5% of it.
  CHECK(said[0] ==
        "Request 812 waited 3.20 s: 2.90 s in the queue, 125 ms in the steps that computed its "
        "prompt, 100 ms for a busy link, 50.0 ms loading from below HBM and 25.0 ms making up for "
        "a preemption. It arrived at 12.5 s with a prompt of 3,000 tokens, 1,536 of them cached, "
        "and was preempted once.");
  CHECK(said[1] ==
        "Request 7 waited 900 ms: 900 ms in the steps that computed its prompt. It arrived at "
        "3.25 s with a prompt of 8,000 tokens, 0 of them cached.");
  CHECK(slowest_sentences(sample_run(), 1).size() == 1);
}

TEST_CASE("the table of slow requests has a row for each", "[reports]") {
  const Table table = slowest_table(sample_run());
  REQUIRE(table.rows.size() == 2);
  for (const auto& row : table.rows) CHECK(row.size() == table.header.size());
  CHECK(table.rows[0][0] == "812");
  CHECK(table.rows[0][3] == "2.90 s");
}

TEST_CASE("front end and collectives are named where they take a share that matters", "[reports]") {
  const auto glance = [](const RunResult& run) {
    return rendered(run_glance(run, "chat"), "text");
  };
  const auto totals = [](const RunResult& run) {
    return rendered(run_report(run, sample_provenance()), "csv");
  };
  RunResult run = sample_run();
  run.front_end.reset();
  run.collective_share.reset();
  CHECK_THAT(glance(run), !ContainsSubstring("Front end") && !ContainsSubstring("Collectives"));
  run.front_end.emplace();
  run.ttft_bands[0].ttft_ms = 1000;
  run.ttft_bands[0].stage_ms.back() = 20;  // just 2%
  run.collective_share = 0.14;
  CHECK_THAT(glance(run), ContainsSubstring("Front end: 20.0 ms of TTFT on average."));
  CHECK_THAT(glance(run), ContainsSubstring("Collectives: 14.0% of the time of steps."));
  CHECK_THAT(totals(run), ContainsSubstring("mean TTFT in the front end,20.0 ms"));
  CHECK_THAT(totals(run), ContainsSubstring("time of steps in collectives,14.0%"));
  run.ttft_bands[0].stage_ms.back() = 19;
  run.collective_share = 0.019;
  CHECK_THAT(glance(run), !ContainsSubstring("Front end") && !ContainsSubstring("Collectives"));
  CHECK_THAT(totals(run),
             !ContainsSubstring("in the front end,") && !ContainsSubstring("steps in collectives"));
}

TEST_CASE("links over time are in percent of what each carries, in few columns", "[reports]") {
  RunResult run = sample_run();
  Series d2h{"d2h", "bytes/s", 0.5, std::vector<double>(1000, 1.25e10)};  // half of 25 GB/s
  d2h.values[999] = 2.5e10;
  run.series.push_back(d2h);
  run.series.push_back({"h2d", "bytes/s", 1, {2.5e10}});  // then nothing
  const Chart chart = link_heatmap(run);
  CHECK(chart.y_names == std::vector<std::string>{"d2h", "h2d"});
  REQUIRE(chart.x_names.size() == 120);
  REQUIRE(chart.cells.size() == 2);
  for (const auto& row : chart.cells) REQUIRE(row.size() == 120);
  CHECK(chart.cells[0][0] == Approx(50));
  // 500 s in 120 columns of 4.1667 s, the last of which has half a second at twice the rate.
  CHECK(chart.cells[0][119] == Approx(50 * (1 + 0.5 / (500.0 / 120))));
  CHECK(chart.cells[1][0] == Approx(100 * 1 / (500.0 / 120)));
  CHECK(chart.cells[1][1] == 0);
  CHECK_THAT(chart.note, ContainsSubstring("d2h at "));
}

TEST_CASE("what a run lacks has no bars, rows or cells", "[reports]") {
  const RunResult none;
  CHECK(ttft_chart(none).stacks.empty());
  CHECK(slowest_table(none).rows.empty());
  CHECK(slowest_sentences(none, 10).empty());
  CHECK(link_heatmap(none).cells.empty());
}

TEST_CASE("a run's report has six pages, each with its id", "[reports]") {
  const Report report = run_report(sample_run(), sample_provenance());
  std::vector<std::string> ids;
  for (const Section& section : report.sections) ids.push_back(section.id);
  CHECK(ids ==
        std::vector<std::string>{"answer", "time", "timeline", "memory", "setup", "provenance"});
  REQUIRE(report.sections[0].facts.size() == 5);
  CHECK(report.status == Status::kMissed);
  CHECK(report.sections[0].facts[0].value == "Missed");
  CHECK_THAT(report.sections[0].facts[0].detail,
             StartsWith("1 of 2 targets, in this one run: output throughput "));
  CHECK(report.sections[0].facts[1].value == "1,000");
}

TEST_CASE("a result without stages says so instead of showing an empty chart", "[reports]") {
  RunResult old = sample_run();
  old.ttft_bands.clear();
  old.slowest.clear();
  const Section page = run_report(old, sample_provenance()).sections.at(1);
  CHECK(page.charts.empty());
  CHECK_THAT(page.paragraphs.back(), ContainsSubstring("did not record stages"));
}

}  // namespace
}  // namespace spillway::test

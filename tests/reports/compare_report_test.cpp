// A comparison's report: who is best, by how much, how sure that is, and the intervals behind it.
#include "reports/compare/compare_report.hpp"

#include <cmath>

#include "reports/compare/compare_figures.hpp"
#include "reports/compare/compare_json.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

ComparedMetric metric(const char* name, double mean, double difference, Verdict verdict,
                      bool interval) {
  ComparedMetric out;
  out.name = name;
  out.mean = mean;
  out.values = {mean - 1, mean + 1};
  out.difference.mean = difference;
  out.difference.variance = 4;
  out.difference.any = difference != 0;
  if (interval) out.difference.interval = DifferenceInterval{difference - 5, difference + 5, 0.01};
  out.adjusted_p = interval ? 0.02 : 1;
  out.verdict = verdict;
  return out;
}

/// lru at 100 ms, arc at 80, fifo at 110.
CompareResult compared(bool intervals = true) {
  CompareResult out;
  out.metric = "p99_ttft_ms";
  out.replications = intervals ? 10 : 2;
  out.replicates = "generated with seeds 1 to 10";
  out.tests = intervals ? 4 : 0;
  out.verdict = "arc has the best mean";
  const Verdict better = intervals ? Verdict::kBetter : Verdict::kNotTested;
  const Verdict open = intervals ? Verdict::kUndecided : Verdict::kNotTested;
  out.variants.resize(3);
  out.variants[0].name = "lru";
  out.variants[0].metrics = {metric("p99_ttft_ms", 100, 0, Verdict::kBaseline, false),
                             metric("preemptions", 0, 0, Verdict::kBaseline, false)};
  out.variants[1].name = "arc";
  out.variants[1].metrics = {metric("p99_ttft_ms", 80, -20, better, intervals),
                             metric("preemptions", 2, 2, open, intervals)};
  out.variants[1].reason = "more prompt tokens from dram";
  out.variants[1].moved = {{"prompt tokens from dram", MovedQuantity::Unit::kShare, 0.2, 0.3,
                            PairedDifference(), 0.1, true}};
  out.variants[2].name = "fifo";
  out.variants[2].metrics = {metric("p99_ttft_ms", 110, 10, open, intervals),
                             metric("preemptions", 0, 0, Verdict::kEqual, false)};
  out.ranking = {1, 0, 2};
  return out;
}

const Fact& fact(const std::vector<Fact>& facts, const std::string& label) {
  for (const Fact& one : facts) {
    if (one.label == label) return one;
  }
  throw std::runtime_error("no fact " + label);
}

TEST_CASE("a comparison opens with the best, by how much, and how sure that is", "[reports]") {
  const std::vector<Fact> facts = answer_facts(compared());
  CHECK(fact(facts, "Best").value == "arc");
  CHECK(fact(facts, "Best").detail == "against lru: better, and not by chance");
  CHECK(fact(facts, "By").value == "-20.0% p99 TTFT");
  CHECK(fact(facts, "By").detail ==
        "p99 TTFT 80.0 ms against 100 ms; the difference is -25.0 ms to -15.0 ms with 95% "
        "confidence");
  CHECK(fact(facts, "Confidence").value == "95% over 10 replications");
}

TEST_CASE("what is not told from chance is undecided, whoever has the better mean", "[reports]") {
  CompareResult result = compared();
  result.variants[1].metrics[0] = metric("p99_ttft_ms", 80, -20, Verdict::kUndecided, true);
  result.variants[1].metrics[0].adjusted_p = 1;
  for (const bool baseline_first : {false, true}) {
    result.ranking =
        baseline_first ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{1, 0, 2};
    const std::vector<Fact> facts = answer_facts(result);
    CHECK(fact(facts, "Best").value == "Undecided");
    CHECK_FALSE(has_best(result));
    CHECK_THAT(fact(facts, "Best").detail, ContainsSubstring("arc and lru are not told apart"));
    CHECK_THAT(fact(facts, "Difference so far, not shown").detail,
               ContainsSubstring("its 95% interval by itself: -25.0 ms to -15.0 ms"));
    CHECK(fact(facts, "Confidence").value == "Below 95%");
    CHECK_THAT(fact(facts, "Confidence").detail,
               StartsWith("p 1.00 over 10 replications, 4 tests"));
  }
  result.variants[1].metrics[0] = metric("p99_ttft_ms", 100, 0, Verdict::kEqual, false);
  result.ranking = {1, 0, 2};
  CHECK(fact(answer_facts(result), "Best").value == "No difference");
}

TEST_CASE("the ranking of a comparison fits a page, other figures stand below it", "[reports]") {
  CompareResult result = compared();
  for (ComparedVariant& variant : result.variants) {
    variant.metrics[0].recorded = 1;
    variant.metrics.push_back(metric("rejected", 1, 0, Verdict::kEqual, false));
  }
  const Section answer = compare_report(result, sample_provenance()).sections.front();
  REQUIRE(answer.tables.size() == 2);
  CHECK(answer.tables[0].header.size() == 7);
  CHECK(answer.tables[0].highlight == 0);
  CHECK(answer.tables[1].header.back() == "rejected");
  CHECK(answer.tables[1].rows[0][0] == "arc");
}

TEST_CASE("where the baseline is best the next is told beside it", "[reports]") {
  CompareResult result = compared();
  result.baseline = 1;
  result.ranking = {1, 0, 2};
  result.variants[0].metrics[0] = metric("p99_ttft_ms", 100, 20, Verdict::kWorse, true);
  result.variants[1].metrics[0] = metric("p99_ttft_ms", 80, 0, Verdict::kBaseline, false);
  const std::vector<Fact> facts = answer_facts(result);
  CHECK(fact(facts, "Best").detail == "the baseline: no variant has a better p99 TTFT");
  CHECK(fact(facts, "Next").value == "lru");
  CHECK(fact(facts, "By").value == "+25.0% p99 TTFT");
}

TEST_CASE("too few replications have no interval, and the first page says so", "[reports]") {
  const std::vector<Fact> facts = answer_facts(compared(false));
  CHECK(fact(facts, "Confidence").value == "None: 2 replications");
  CHECK_THAT(fact(facts, "Best").detail, ContainsSubstring("not tested"));
  const Chart chart = difference_chart(compared(false));
  CHECK(chart.series.at(0).low.empty());
  CHECK_THAT(chart.note, ContainsSubstring("without intervals"));
}

TEST_CASE("differences are drawn as points with their intervals", "[reports]") {
  const Chart chart = difference_chart(compared());
  CHECK(chart.kind == ChartKind::kScatter);
  CHECK(chart.x_names == std::vector<std::string>{"arc", "fifo"});
  CHECK(chart.series.at(0).y == std::vector<double>{-20, 10});
  CHECK(chart.series.at(0).low == std::vector<double>{-25, 5});
  CHECK(chart.limits.at(0).second == 0);
  CHECK_THAT(chart.note, StartsWith("Below 0 is better than lru"));
  // In percent of the baseline; of nothing there are no percents.
  const Chart metrics = metrics_chart(compared());
  CHECK(metrics.series.at(0).y.at(0) == Approx(-20));
  CHECK(metrics.series.at(0).high.at(0) == Approx(-15));
  CHECK(std::isnan(metrics.series.at(0).y.at(1)));
}

TEST_CASE("a comparison's pages have names, also of one variant alone", "[reports]") {
  CompareResult alone = compared();
  alone.variants.resize(1);
  alone.ranking = {0};
  for (const CompareResult& result : {compared(), compared(false), alone}) {
    const Report report = compare_report(result, sample_provenance());
    std::vector<std::string> ids;
    for (const Section& section : report.sections) ids.push_back(section.id);
    CHECK(ids == std::vector<std::string>{"answer", "differences", "moved", "setup", "provenance"});
    for (const char* format : {"html", "md", "text", "csv"}) {
      CHECK_FALSE(rendered(report, format).empty());
    }
  }
}

TEST_CASE("a comparison without a ranking is shown without an answer", "[reports]") {
  CompareResult result = compared();
  result.ranking.clear();
  CHECK(answer_facts(result).empty());
  CHECK_FALSE(rendered(compare_report(result, sample_provenance()), "html").empty());
}

TEST_CASE("names of variants are text, whatever they hold", "[reports]") {
  CompareResult result = compared();
  for (ComparedVariant& variant : result.variants) {
    variant.name += "</script><img src=x>\"'&" + std::string(300, 'w');
    variant.reason = "<b>" + variant.name;
  }
  const std::string html = rendered(compare_report(result, sample_provenance()), "html");
  CHECK(html.find("<img src=x") == std::string::npos);
}

}  // namespace
}  // namespace spillway::test

// The document and the reports of `spillway trace stats`.
#include "tests/cli/scene.hpp"
#include "tests/reports/markup.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

/// Four requests, the last a minute after the first; block 1 three times.
std::string small_trace(const Scene& scene, const std::string& name = "small.jsonl") {
  return scene.file(
      name, test::row("0", "600", "5", "[1, 2]") + test::row("1000", "600", "5", "[1, 3]") +
                test::row("2000", "100", "5", "[4]") + test::row("60000", "600", "5", "[1, 2]"));
}

TEST_CASE("the document of trace stats holds every statistic", "[cli]") {
  const Scene scene;
  const json r = test::document_of({"trace", "stats", small_trace(scene)})["results"];
  CHECK(r["input_tokens"]["p95"] == 600);
  CHECK(r["input_tokens"]["std"].get<double>() == Approx(216.506));  // sqrt(3) / 4 * 500
  CHECK(r["input_tokens"]["percentiles"].size() == 101);
  CHECK(r["arrivals"]["verdict"] == "too few to tell");
  CHECK(r["arrivals"]["binned"] == false);
  CHECK(r["arrivals"]["requests_per_interval"] == json({3, 1}));
  CHECK(r["arrivals"]["dispersion"].size() == 2);  // windows of 1 s and 10 s
  CHECK(r["single_use_share"] == 0.5);             // 3 and 4 of four blocks
  // Stack after three requests: 4 1 3 2, so that 1 is at 1 and 2 at 3.
  CHECK(r["reuse"]["lru_curve"].back()["capacity_blocks"] == 4);
  CHECK(r["reuse"]["lru_curve"].back()["share_of_unique_blocks"] == 1);
  CHECK(r["reuse"]["lru_curve"].back()["hit_ratio"] == r["infinite_cache_hit_ratio"]);
  CHECK(r["reuse"]["median_distance_blocks"] == 1);  // of 0 (1 in the second request), 1 and 3
  CHECK(r["reuse"]["median_gap_s"] == 59);           // of 1, 59 and 60
  CHECK(r["working_set"]["unique_blocks_per_interval"].size() == 48);
  CHECK(r["working_set"]["cumulative_unique_blocks"].back() == 4);
  CHECK(r["working_set"]["peak_live_tokens"] == 2 * 512);
  CHECK(r["stationarity"]["verdict"] == "too short to tell");
  CHECK(r["with_predecessor"] == 0);
  for (const char* absent : {"sessions", "turns_per_session", "turn_gap_s", "think_s", "tenants"}) {
    CHECK_FALSE(r.contains(absent));
  }
}

TEST_CASE("trace stats takes traces of one request and of one instant", "[cli]") {
  const Scene scene;
  for (const std::string& rows : {test::good_row("7"), test::good_row("7") + test::good_row("7")}) {
    const std::string trace = scene.file("one.jsonl", rows);
    const json r = test::document_of({"trace", "stats", trace})["results"];
    CHECK(r["span_s"] == 0);
    CHECK_FALSE(r["arrivals"].contains("gap_cv"));
    CHECK(r["stationarity"]["reason"] == "all requests arrive at once");
    CHECK(test::spillway({"trace", "stats", trace}).code == 0);
    const std::string html = scene.path("one.html");
    REQUIRE(test::spillway({"trace", "stats", trace, "--output", "kind=html,path=" + html}).code ==
            0);
    CHECK(test::read_markup(test::read_file(html)).problem == "");
  }
}

TEST_CASE("trace stats --output renders each kind", "[cli]") {
  const Scene scene;
  const std::string trace = small_trace(scene);
  const auto output = [&](const std::string& kind) {
    const std::string path = scene.path("o." + kind);
    REQUIRE(test::spillway({"trace", "stats", trace, "--output", "kind=" + kind + ",path=" + path})
                .code == 0);
    return test::read_file(path);
  };
  const std::string html = output("html");
  const test::Markup markup = test::read_markup(html);
  CHECK(markup.problem == "");
  std::size_t drawings = 0;
  for (const test::Element& element : markup.elements) {
    drawings += element.name == "svg" && element.attribute("role") == "img" ? 1 : 0;
  }
  CHECK(drawings >= 4);
  for (const char* title :
       {"Hit ratio of LRU by capacity", "Requests per minute", "Working set", "Lengths"}) {
    CHECK_THAT(html, ContainsSubstring("<figcaption>" + std::string(title) + "</figcaption>"));
  }
  CHECK_THAT(output("md"), ContainsSubstring("# " + trace));
  CHECK_THAT(output("csv"), ContainsSubstring("unique blocks,4"));
  CHECK_THAT(output("text"), ContainsSubstring("Hit ratio of LRU"));
  // The same from its document.
  const std::string document = scene.path("d.json");
  REQUIRE(test::spillway({"trace", "stats", trace, "--json", document}).code == 0);
  CHECK(test::spillway({"report", document, "--format", "html"}).out == html);
  CHECK(test::spillway({"trace", "stats", trace, "--output", "kind=html,path=-"}).out == html);
  refused({"trace", "stats", trace, "--output", "kind=requests,path=x"}, 2,
          "unknown output kind \"requests\"");
  refused({"trace", "stats", trace, "--output", "kind=html,path=-", "--json", "-"}, 2,
          "standard output already takes the JSON document of --json -");
}

TEST_CASE("names in a trace cannot become markup", "[cli]") {
  const Scene scene;
  const std::string trace = small_trace(scene, "<script>alert(1)<b onload=x>.jsonl");
  const std::string path = scene.path("d.json");
  REQUIRE(test::spillway({"trace", "stats", trace, "--json", path}).code == 0);
  json document = json::parse(test::read_file(path));
  document["results"]["tenants"] = {
      {{"name", "<img src=x onerror=alert(1)>"}, {"requests", 4}, {"input_tokens", 1900}}};
  const std::string edited = scene.file("e.json", document.dump());
  const std::string html = test::spillway({"report", edited, "--format", "html"}).out;
  const test::Markup page = test::read_markup(html);
  CHECK(page.problem == "");
  CHECK(page.scripts.size() == 3);  // the charting code, its data, the page's own
  CHECK(page.count("img") == 0);
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK_THAT(html, ContainsSubstring("&lt;script&gt;"));
  CHECK_THAT(html, ContainsSubstring("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST_CASE("a document of trace stats with parts missing is refused by report", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("d.json");
  REQUIRE(test::spillway({"trace", "stats", small_trace(scene), "--json", path}).code == 0);
  const json whole = json::parse(test::read_file(path));
  for (const char* part : {"requests", "arrivals", "input_tokens", "stationarity", "references"}) {
    json document = whole;
    document["results"].erase(part);
    refused({"report", scene.file("e.json", document.dump())}, 2, "not a complete result document");
    document["results"][part] = "text";
    refused({"report", scene.file("e.json", document.dump())}, 2, "not a complete result document");
  }
}

TEST_CASE("trace stats names sessions and the verdicts on the terminal", "[cli]") {
  const Scene scene;
  const test::CliResult result =
      test::spillway({"trace", "stats", test::source_path("traces/samples/chat.jsonl.gz")});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("\nArrivals: "));
  CHECK_THAT(result.out, ContainsSubstring("\nOver time, in windows of "));
  CHECK_THAT(result.out, ContainsSubstring("\nturns per session "));
  CHECK_THAT(result.out, ContainsSubstring("\nseconds between turns "));
  CHECK_THAT(result.out, ContainsSubstring("of the requests wait for another's answer."));
}

}  // namespace
}  // namespace spillway

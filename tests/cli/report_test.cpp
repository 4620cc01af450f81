// `spillway report`: a result document as HTML, Markdown, text and CSV.
#include "reports/renderers/html/assets.hpp"
#include "tests/cli/scene.hpp"
#include "tests/reports/markup.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

std::string plan_document(const Scene& scene) {
  REQUIRE(test::spillway({"plan", scene.scenario, "--json", scene.path("p.json")}).code == 0);
  return scene.path("p.json");
}

std::string rendered(const std::string& document, const char* format) {
  const CliResult result = test::spillway({"report", document, "--format", format});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  return result.out;
}

/// A page that loads nothing: its scripts stand in it, nothing refers to anything but itself.
void self_contained(const std::string& html) {
  CHECK(html.rfind("<!DOCTYPE html>", 0) == 0);
  const test::Markup page = test::read_markup(html);
  CHECK(page.problem == "");
  for (const char* element : {"link", "iframe", "object", "embed", "img", "base", "form"}) {
    INFO(element);
    CHECK(page.count(element) == 0);
  }
  std::string policy;
  for (const test::Element& element : page.elements) {
    INFO(element.name);
    const std::string directive = element.attribute("http-equiv");
    CHECK((directive.empty() || directive == "Content-Security-Policy"));
    if (!directive.empty()) policy = element.attribute("content");
    for (const auto& [key, value] : element.attributes) {
      CHECK(key != "src");
      CHECK(key != "style");
      CHECK(key.rfind("on", 0) != 0);
      CHECK((key != "href" || value.rfind('#', 0) == 0));
      CHECK(value.find("//") == std::string::npos);
      CHECK(value.find("javascript:") == std::string::npos);
    }
  }
  for (const std::string& style : page.styles) {
    CHECK(style.find("url(") == std::string::npos);
    CHECK(style.find("@import") == std::string::npos);
  }
  // Only the scripts that the page was written with may run, and they may fetch nothing.
  CHECK_THAT(policy, ContainsSubstring("default-src 'none'; script-src 'sha256-"));
  for (const auto& [element, text] : page.scripts) {
    if (element.attribute("type") == "application/json") continue;
    CHECK_THAT(policy, ContainsSubstring(policy_hash(text)));
  }
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(policy.find("http") == std::string::npos);
  CHECK(policy.find('*') == std::string::npos);
}

TEST_CASE("HTML reports load nothing from anywhere", "[cli]") {
  const Scene scene;
  self_contained(rendered(scene.result(), "html"));
  self_contained(rendered(plan_document(scene), "html"));
}

TEST_CASE("--sections keeps the pages that are named, of every kind of report", "[cli]") {
  const Scene scene;
  const std::string plan = plan_document(scene);
  const CliResult some =
      test::spillway({"report", plan, "--format", "md", "--sections", "knee,decision"});
  REQUIRE(some.code == 0);
  CHECK_THAT(some.out, ContainsSubstring("## Decision") && ContainsSubstring("## Size against"));
  CHECK(some.out.find("## Cost") == std::string::npos);
  refused({"report", plan, "--sections", "kne"}, 2, "did you mean \"knee\"? known: decision, ");
  const CliResult run =
      test::spillway({"report", scene.result(), "--format", "md", "--sections", "setup"});
  CHECK(run.code == 0);
  CHECK_THAT(run.out, ContainsSubstring("## Setup"));
}

TEST_CASE("text from inputs cannot become markup", "[cli]") {
  const Scene scene;
  const std::string name = "<script>alert(1)</script><img src=x onerror=alert(1)>";
  const std::string path = scene.path("r.json");
  for (const char* verb : {"run", "plan"}) {
    REQUIRE(test::spillway({verb, scene.scenario, "--set", "name=" + name, "--json", path}).code ==
            0);
    const std::string html = rendered(path, "html");
    const test::Markup page = test::read_markup(html);
    CHECK(page.problem == "");
    CHECK(page.scripts.size() == 3);  // the charting code, its data, the page's own
    CHECK(page.count("img") == 0);
    CHECK(html.find("<script>alert") == std::string::npos);
    CHECK_THAT(page.text, ContainsSubstring(name));
    CHECK(rendered(path, "md").find("<script") == rendered(path, "md").find("\\<script") + 1);
  }
}

TEST_CASE("report without --format is HTML", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  CHECK(test::spillway({"report", document}).out == rendered(document, "html"));
}

TEST_CASE("report is what the run itself would have written", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("out");
  Args call = {"run", scene.scenario, "--out", out};
  for (const std::string format : {"html", "md", "csv", "text"}) {
    call = call + Args{"--output", fmt::format("kind={},path={}", format, scene.path(format))};
  }
  REQUIRE(test::spillway(call).code == 0);
  const std::string html = test::read_file(scene.path("html"));
  CHECK((test::read_file(out + "/report.html") == html));
  for (const char* format : {"html", "md", "csv", "text"}) {
    INFO(format);
    const std::string again = rendered(out + "/result.json", format);
    CHECK((again == test::read_file(scene.path(format))));
  }
}

TEST_CASE("a plan's report is what the plan itself wrote", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("out");
  REQUIRE(test::spillway({"plan", scene.scenario, "--out", out}).code == 0);
  const std::string again = rendered(out + "/plan.json", "html");
  CHECK((again == test::read_file(out + "/report.html")));
}

TEST_CASE("a document that nobody edited is reported without a warning", "[cli]") {
  const Scene scene;
  for (const std::string& document : {scene.result(), plan_document(scene)}) {
    const std::string text = rendered(document, "text");
    CHECK(text.find("the results do not match their digest") == std::string::npos);
  }
}

TEST_CASE("every format carries the figures of the document", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  CHECK_THAT(rendered(document, "md"), ContainsSubstring("# Run: small\n"));
  CHECK_THAT(rendered(document, "md"),
             ContainsSubstring("| p99 TTFT |"));
  CHECK_THAT(rendered(document, "text"), ContainsSubstring("Time to first token"));
  const std::string csv = rendered(document, "csv");
  CHECK_THAT(csv, ContainsSubstring("metric,mean,p50,p90,p95,p99,max\r\n"));
  CHECK_THAT(csv, ContainsSubstring("\r\ncompleted,6\r\n"));
  const json r = json::parse(test::read_file(document));
  for (const char* format : {"html", "md", "text"}) {
    CHECK_THAT(rendered(document, format), ContainsSubstring(r["digest"].get<std::string>()));
  }
}

TEST_CASE("CSV cells that a spreadsheet would run are defused", "[cli]") {
  const Scene scene;
  const std::string tier = "=1+1";
  REQUIRE(test::spillway({"run", scene.scenario, "--set", "tiers.0.name=" + tier, "--set",
                          "links.0.to=" + tier, "--set", "links.1.from=" + tier, "--set",
                          "plan=null", "--json", scene.path("r.json")})
              .code == 0);
  const std::string csv = rendered(scene.path("r.json"), "csv");
  CHECK(csv.find("\n=1+1") == std::string::npos);
  CHECK(csv.find(",=1+1") == std::string::npos);
  CHECK_THAT(csv, ContainsSubstring("'=1+1"));
}

TEST_CASE("report --out writes every format and names the files", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  const std::string out = scene.path("made/out");
  const CliResult result =
      test::spillway({"report", document, "--format", "html,md,csv,text", "--out", out});
  CHECK(result.code == 0);
  CHECK(result.out ==
        fmt::format("{0}/report.html\n{0}/report.md\n{0}/report.csv\n{0}/report.txt\n", out));
  CHECK(test::read_file(out + "/report.md") == rendered(document, "md"));
  CHECK(test::read_file(out + "/report.txt") == rendered(document, "text"));
}

TEST_CASE("report --json hands on the checked document", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  const json original = json::parse(test::read_file(document));
  CHECK(test::document_of({"report", document}) == original);
  const std::string copy = scene.path("copy.json");
  const CliResult result = test::spillway({"report", document, "--format", "md", "--json", copy});
  CHECK(result.out == rendered(document, "md"));
  CHECK(json::parse(test::read_file(copy)) == original);
}

TEST_CASE("an edited document is reported with a warning", "[cli]") {
  const Scene scene;
  json document = json::parse(test::read_file(scene.result()));
  document["results"]["completed"] = 5;
  const std::string edited = scene.file("e.json", document.dump());
  for (const char* format : {"html", "md", "text"}) {
    CHECK_THAT(rendered(edited, format),
               ContainsSubstring("do not match their digest"));
  }
}

TEST_CASE("what is no result document is exit 2", "[cli]") {
  const Scene scene;
  const json good = json::parse(test::read_file(scene.result()));
  const auto with = [&](const char* key, const json& value) {
    json document = good;
    document[key] = value;
    return scene.file("d.json", document.dump());
  };
  const auto without = [&](const char* key) {
    json document = good;
    document.erase(key);
    return scene.file("d.json", document.dump());
  };
  refused({"report", scene.scenario}, 2,
          scene.scenario + ": expected a result document of spillway, with \"kind\"");
  refused({"report", scene.file("d.json", "")}, 2, "d.json:1: ");
  refused({"report", scene.file("d.json", "[]")}, 2, "expected a result document");
  refused({"report", scene.file("d.json", good.dump().substr(0, 500))}, 2,
          "d.json:1: the JSON ends early, inside ");
  refused({"report", with("schema_version", 2)}, 2, "expected schema_version 1, found 2");
  refused({"report", without("schema_version")}, 2, "expected schema_version 1, found none");
  refused({"report", with("kind", "fit")}, 2,
          "no report for documents of kind \"fit\"; known: run, plan, compare, trace-stats");
  refused({"report", with("results", json::object())}, 2, "not a complete result document");
  refused({"report", with("kind", "plan")}, 2, "not a complete result document");
  for (const char* key : {"kind", "results"}) {
    refused({"report", without(key)}, 2, "expected a result document");
  }
  for (const char* key : {"inputs", "warnings", "digest", "tool"}) {
    refused({"report", without(key)}, 2, "not a complete result document");
  }
  for (const char* key : {"kind", "schema_version", "inputs", "warnings", "digest", "tool"}) {
    refused({"report", with(key, json::array({1}))}, 2, "d.json: ");
  }
}

TEST_CASE("a result's parts of the wrong type are exit 2", "[cli]") {
  // Nothing of a document that somebody edited may end in a crash.
  const Scene scene;
  const json good = json::parse(test::read_file(scene.result()));
  for (const auto& item : good["results"].items()) {
    json document = good;
    document["results"].erase(item.key());
    INFO(item.key());
    const int code = test::spillway({"report", scene.file("d.json", document.dump())}).code;
    // Results of earlier builds lack some.
    const bool optional = item.key() == "sim" || item.key() == "load_choice" ||
                          item.key() == "binding" || item.key() == "ttft_bands" ||
                          item.key() == "slowest" || item.key() == "peak_waiting";
    CHECK((code == 2 || (optional && code == 0)));
    document["results"][item.key()] = "text";
    CHECK(test::spillway({"report", scene.file("d.json", document.dump())}).code == 2);
  }
}

TEST_CASE("report's bad formats are refused before anything is written", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  refused({"report", document, "--format", "pdf"}, 2,
          "--format: no PDF is written: make html, open it in a browser and print it to a file");
  refused({"report", document, "--format", "pdf"}, 2, "formats: alerts, csv, grafana, html");
  refused({"report", document, "--format", "htm"}, 2, "did you mean \"html\"?");
  refused({"report", document, "--format", "html,md"}, 2,
          "--format: several formats need --out DIR to be written to");
  refused({"report", document, "--format", "html,pdf", "--out", scene.path("o")}, 2, "no PDF");
  CHECK(scene.listing() == "r.json s.json t.jsonl");
}

TEST_CASE("report writes what operations need, beside the report", "[cli]") {
  const Scene scene;
  const std::string document = plan_document(scene);
  const std::string out = scene.path("ops");
  const CliResult result = test::spillway(
      {"report", document, "--format", "json,prometheus,alerts,grafana", "--out", out});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out == fmt::format("{0}/result.json\n{0}/metrics.prom\n{0}/alerts.yml\n"
                                  "{0}/dashboard.json\n",
                                  out));
  CHECK(json::parse(test::read_file(out + "/result.json")) ==
        json::parse(test::read_file(document)));
  CHECK(json::parse(test::read_file(out + "/dashboard.json"))["panels"].size() > 5);
  CHECK(test::read_file(out + "/alerts.yml") == rendered(document, "alerts"));
  CHECK_THAT(rendered(document, "prometheus"),
             ContainsSubstring("# TYPE spillway_plan_info gauge"));
  CHECK(json::parse(rendered(scene.result(), "perfetto")).contains("traceEvents"));
}

TEST_CASE("a run and a plan write the same files themselves", "[cli]") {
  const Scene scene;
  for (const std::string verb : {"run", "plan"}) {
    Args call = {verb, scene.scenario, "--json", scene.path("d.json"), "--quiet"};
    for (const std::string kind : {"prometheus", "alerts", "grafana", "json"}) {
      call = call + Args{"--output", fmt::format("kind={},path={}", kind, scene.path(kind))};
    }
    REQUIRE(test::spillway(call).code == 0);
    for (const char* kind : {"prometheus", "alerts", "grafana"}) {
      INFO(verb << " " << kind);
      CHECK((test::read_file(scene.path(kind)) == rendered(scene.path("d.json"), kind)));
    }
    CHECK(test::read_file(scene.path("json")) == test::read_file(scene.path("d.json")));
  }
}

TEST_CASE("a format that does not fit the result says which results it fits", "[cli]") {
  const Scene scene;
  REQUIRE(test::spillway({"mrc", "--trace", scene.trace, "--json", scene.path("m.json")}).code ==
          0);
  refused({"report", scene.path("m.json"), "--format", "alerts"}, 2,
          "--format: alerts is made of a result of kind run,plan, and this is one of kind mrc; for "
          "that: html, md, text, csv, json");
  refused({"report", plan_document(scene), "--format", "html,perfetto", "--out", scene.path("o")},
          2, "--format: perfetto is made of a result of kind run, and this is one of kind plan");
  CHECK(scene.listing() == "m.json p.json s.json t.jsonl");
  refused({"mrc", "--trace", scene.trace, "--output", "kind=alerts,path=" + scene.path("a")}, 2,
          "--output: alerts is made of a result of kind run,plan");
  refused({"run", scene.scenario, "--output", "kind=alert,path=" + scene.path("a")}, 2,
          "unknown output kind \"alert\"; did you mean \"alerts\"?");
}

TEST_CASE("the metrics of another engine can be asked for", "[cli]") {
  const Scene scene;
  const std::string document = scene.result();
  const CliResult other =
      test::spillway({"report", document, "--format", "alerts", "--engine", "sglang"});
  CHECK(other.code == 0);
  CHECK_THAT(other.out, ContainsSubstring("sglang:time_to_first_token_seconds_bucket"));
  CHECK(other.out.find("vllm:") == std::string::npos);
  refused({"report", document, "--format", "alerts", "--engine", "vllm@0.25,lmcash"}, 2,
          "--engine: unknown engine \"lmcash\"; did you mean \"lmcache\"?");
}

TEST_CASE("report never writes over the document it reads", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("d");
  REQUIRE(test::spillway({"run", scene.scenario, "--out", out}).code == 0);
  refused({"report", out + "/result.json", "--format", "json", "--out", out}, 2,
          "is the input itself; expected another file");
}

TEST_CASE("a plan without an answer has no alert rules, and the other formats", "[cli]") {
  const Scene scene;
  const std::string plan = scene.path("p.json");
  const std::string ops = scene.path("ops");
  const Args make = {"plan", scene.scenario, "--json", plan, "--set"};
  CHECK(test::spillway(make + Args{"slo.0.max=0.001"}).code == 4);
  const Args call = {"report", plan, "--format", "alerts,prometheus", "--out", ops};
  const CliResult several = test::spillway(call);
  CHECK(several.code == 4);
  CHECK(several.out == ops + "/metrics.prom\n");
  CHECK_THAT(several.err, ContainsSubstring("no size meets the SLO: no run shows what is healthy"));
  CHECK_FALSE(std::filesystem::exists(ops + "/alerts.yml"));
  refused({"report", plan, "--format", "alerts"}, 4, "so there are no alert rules");
  CHECK(test::spillway({"report", plan, "--format", "grafana"}).code == 0);
  CHECK(test::spillway(
            {"plan", scene.scenario, "--json", plan, "--replications", "10", "--max-runs", "3"})
            .code == 5);
  refused({"report", plan, "--format", "alerts"}, 5, "the plan is not decided: ");
}

TEST_CASE("alert rules take a matcher and a runbook, checked before anything is written", "[cli]") {
  const Scene scene;
  const std::string plan = plan_document(scene);
  const Args call = {"report", plan, "--format", "alerts", "--engine", "vllm@0.25"};
  const CliResult result = test::spillway(
      call + Args{"--matcher", "model_name=\"llama\"", "--runbook-url", "https://wiki.example/kv"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("absent(vllm:num_requests_running{model_name="));
  CHECK_THAT(result.out, ContainsSubstring("runbook_url: \"https://wiki.example/kv\""));
  refused(call + Args{"--matcher", "llama"}, 2, "--matcher: expected label matchers as in ");
  refused(call + Args{"--runbook-url", "wiki/kv"}, 2, "--runbook-url: expected a URL as in ");
  refused(call + Args{"--runbook-url", "https://"}, 2, "--runbook-url: expected a URL as in ");
  refused({"report", plan, "--format", "md", "--matcher", "a=\"b\""}, 2,
          "--matcher: is for --format alerts");
}

}  // namespace
}  // namespace spillway

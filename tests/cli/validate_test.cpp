// `spillway validate`: measured beside simulated, limits, and data that is not there.
#include "reports/validation/validation_report.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

TEST_CASE("validate sets a measured run beside its simulation", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  const json results = test::document_of({"validate", path})["results"];
  REQUIRE(results["cases"].size() == 1);
  const json& c = results["cases"][0];
  CHECK(c["name"] == "small case");
  CHECK(c["requests"] == 6);
  CHECK(c["unexplained"].empty());
  // TTFT was 17 ms. Simulated: a step of 2 ms + 600 x 20 us + 600 x 5 ns = 14.003 ms.
  CHECK(c["metrics"][0]["name"] == "mean_ttft_ms");
  CHECK(c["metrics"][0]["measured"] == Approx(17));
  CHECK(c["metrics"][0]["simulated"] == Approx(14.003));
  CHECK(c["metrics"][0]["error_percent"] == Approx(100 * (14.003 / 17 - 1)).epsilon(1e-4));
  CHECK(c["regime"]["name"] == "idle");
  const auto text = test::spillway({"validate", path}).out;
  CHECK_THAT(text, ContainsSubstring("mean_ttft_ms") && ContainsSubstring("-17.6%"));
}

TEST_CASE("validate --first compares the earliest requests, and simulates all", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  const json all = test::document_of({"validate", path})["results"]["cases"][0];
  const json some = test::document_of({"validate", path, "--first", "2"})["results"]["cases"][0];
  CHECK(some["requests"] == 6);
  CHECK(some["scored"] == 2);
  CHECK(some["first"] == 2);
  CHECK(some["simulated"] == all["simulated"]);
}

TEST_CASE("validate --halves fits to each half and scores the other", "[cli]") {
  const Scene scene;
  // 100 requests a second apart, alone in an engine whose steps take 7 ms, prompts 3 ms and 20 us a
  // token: about what an H100 takes for 16 GB of weights.
  std::string log = "input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s\n";
  for (int i = 0; i < 100; ++i) {
    const double first = i + 3e-3 + 20e-6 * (500 + 10 * i);
    log += fmt::format("{},51,{}.0,{}.0001,{:.6f},{:.6f}\n", 500 + 10 * i, i, i, first,
                       first + 50 * 7e-3);
  }
  scene.file("log.csv", log);
  const std::string path = scene.file("case.json", R"({"name": "c", "measured": ["log.csv"],
    "scenario": {"model": "Llama-3.1-8B", "gpu": "H100",
                 "engine": {"preset": "vllm", "num_gpu_blocks": 4000}}})");
  const json c = test::document_of({"validate", path, "--halves"})["results"]["cases"][0];
  REQUIRE(c["halves"].size() == 2);
  CHECK(c["halves"][0]["fitted"] == "first");
  CHECK(c["halves"][0]["scored"] == 50);
  CHECK(c["halves"][1]["scored"] == 50);
  for (const json& half : c["halves"]) {
    for (const json& metric : half["metrics"]) {
      if (metric["name"] == "mean_tpot_ms") {
        CHECK(std::abs(metric["error_percent"].get<double>()) < 5);
      }
    }
  }
  CHECK_THAT(test::spillway({"validate", path, "--halves"}).out,
             ContainsSubstring("fitted on the first half (50 requests scored)"));
}

TEST_CASE("each metric's error is a bar from none, to the left where too little is simulated",
          "[cli]") {
  const Scene scene;
  const json results = test::document_of({"validate", scene.validation_case()})["results"];
  const json& metrics = results["cases"][0]["metrics"];
  std::vector<Chart> charts;
  for (const Section& section : validation_report(results).sections) {
    charts.insert(charts.end(), section.charts.begin(), section.charts.end());
  }
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].kind == ChartKind::kTornado);
  CHECK(charts[0].bars_from == 0);
  CHECK_FALSE(charts[0].note.empty());
  REQUIRE(charts[0].bars.size() == metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const ChartBar& bar = charts[0].bars[i];
    const double error = metrics[i]["error_percent"];
    INFO(bar.name);
    CHECK(bar.name == metrics[i]["name"].get<std::string>());
    CHECK((error < 0 ? bar.low : bar.high) == error);
    CHECK((error < 0 ? bar.high : bar.low) == 0);
  }
}

TEST_CASE("validate --gate exits with 99 where a tolerance is exceeded", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  CHECK(test::spillway({"validate", path, "--gate"}).code == 0);
  std::string text = test::small_case();
  text.replace(text.find("\"means\": 90"), 11, "\"means\": 3");
  const std::string strict = scene.file("strict.json", text);
  const auto without = test::spillway({"validate", strict});
  CHECK(without.code == 0);  // said all the same
  CHECK_THAT(without.err, ContainsSubstring("mean TTFT is off by -17.6% (tolerance 3.0%)"));
  CHECK(test::spillway({"validate", strict, "--gate"}).code == 99);
}

TEST_CASE("a gate that compares nothing does not open", "[cli]") {
  const Scene scene;
  scene.validation_case();
  std::string text = test::small_case();
  text.replace(text.find("\"means\": 90"), 11, "\"counters\": 5");
  const std::string idle = scene.file("idle.json", text);
  const auto checked = test::spillway({"validate", idle, "--gate"});
  CHECK(checked.code == 99);
  CHECK_THAT(checked.err, ContainsSubstring("tolerance.counters bounds nothing"));
  CHECK(test::spillway({"validate", idle}).code == 0);

  const std::string folder = scene.path("cases");
  std::filesystem::create_directory(folder);
  text.replace(text.find("m.csv"), 5, "nowhere.csv");
  text.replace(text.find("\"s.json\""), 8, "\"../s.json\"");
  scene.file("cases/c.json", text);
  const auto none = test::spillway({"validate", folder, "--gate"});
  CHECK(none.code == 99);
  CHECK_THAT(none.err, ContainsSubstring("No case was checked"));
}

TEST_CASE("validate finds measured files under --data, and skips a case without", "[cli]") {
  const Scene scene;
  const std::string cases = scene.path("cases");
  const std::string data = scene.path("data");
  std::filesystem::create_directory(cases);
  std::filesystem::create_directory(data);
  std::string text = test::small_case();
  text.replace(text.find("\"s.json\""), 8, "\"../s.json\"");
  const std::string path = scene.file("cases/c.json", text);
  // Named alone it is an error; among others it is skipped by name.
  refused({"validate", path}, 7, "m.csv is neither beside the case nor under --data");
  const auto skipped = test::spillway({"validate", cases});
  CHECK(skipped.code == 0);
  CHECK_THAT(skipped.err, ContainsSubstring("small case is skipped: m.csv is neither"));
  scene.file("data/m.csv", test::small_request_log());
  CHECK(test::document_of({"validate", cases, "--data", data})["results"]["cases"].size() == 1);
  CHECK(test::spillway({"validate", path, "--data", data}).code == 0);
  const auto empty = scene.path("empty");
  std::filesystem::create_directory(empty);
  refused({"validate", empty}, 2, "holds no case");
}

TEST_CASE("validate --out writes the whole report, and never over its case", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  const std::string report = scene.path("RESULTS.md");
  CHECK(test::spillway({"validate", path, "--out", report}).code == 0);
  const std::string text = test::read_file(report);
  CHECK_THAT(text, ContainsSubstring("# Accuracy against measured runs") &&
                       ContainsSubstring("## small case") && ContainsSubstring("Regime: idle.") &&
                       ContainsSubstring("No case has: ") &&
                       ContainsSubstring("| compute.step_us | 2000 | a fit |"));
  // A document that was kept renders to the same text.
  const std::string kept = scene.path("v.result.json");
  CHECK(test::spillway({"validate", path, "--json", kept}).code == 0);
  CHECK(test::spillway({"report", kept, "--format", "md"}).out == text);
  refused({"validate", path, "--out", path}, 2, "is the input itself");
  refused({"validate", path, "--out", "-", "--json", "-"}, 2, "expected a file");
}

TEST_CASE("validate --set changes every scenario, for a look at what a parameter does", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  const json c =
      test::document_of({"validate", path, "--set", "compute.step_us=5000"})["results"]["cases"][0];
  CHECK(c["metrics"][0]["simulated"] == Approx(17.003));
}

TEST_CASE("validate --profiles adds the scores of compute profiles", "[cli]") {
  const Scene scene;
  const std::string path = scene.validation_case();
  const std::string folder = scene.path("profiles");
  std::filesystem::create_directory(folder);
  ComputeProfile profile;
  profile.name = "box";
  profile.gpu = "H100-SXM5-80GB";
  FitScore score;
  score.part = "products/bf16";
  score.points = 100;
  score.held_out = 20;
  score.mape = 2;
  score.form_mape = 8;
  score.held_out_mape = 4.5;
  score.held_out_p95 = 11;
  profile.scores.push_back(score);
  scene.file("profiles/box.json", render_compute_profile(compute_profile_document(profile)));
  scene.file("profiles/other.json", "{\"kind\": \"hardware-profile\"}");
  const std::string report = scene.path("RESULTS.md");
  CHECK(test::spillway({"validate", path, "--profiles", folder, "--out", report}).code == 0);
  CHECK_THAT(test::read_file(report),
             ContainsSubstring("**box (H100-SXM5-80GB)**") &&
                 ContainsSubstring("| products/bf16 | 100 | 8.0% | 2.0% | 4.5% | 20 | 11.0% |"));
  refused({"validate", path, "--profiles", scene.path("none")}, 7, "expected one of profiles");
}

/// Means as a benchmark might publish them: 8 points of one GPU, and one of two.
std::string small_points() {
  std::string out =
      "backend,precision,isl,osl,concurrency,tp_size,silicon_ttft_ms,silicon_tpot_ms\n";
  for (int clients = 1; clients <= 8; ++clients) {
    out += fmt::format("vllm,bf16,256,16,{},1,{},{}\n", clients, 20 + 4 * clients,
                       6.5 + 0.1 * clients);
  }
  return out + "vllm,bf16,256,16,2,2,20,4.5\ntrtllm,bf16,256,16,2,2,20,1\n";
}

TEST_CASE("validate fits serving points of one GPU and scores the others apart", "[cli]") {
  const Scene scene;
  scene.file("points.csv", small_points());
  const std::string path = scene.file("points.json", R"({
    "kind": "points", "measured": ["points.csv"],
    "points": {"backend": "vllm", "precision": "bf16"},
    "scenario": {"model": "Llama-3.1-8B", "gpu": "H100", "engine": {"preset": "vllm@0.14"}},
    "tolerance": {"tpot_mape": 100},
    "parameters": [{"name": "model", "from": "what is served"},
                   {"name": "gpu", "from": "the machine"},
                   {"name": "engine", "from": "its version"},
                   {"name": "compute.profile", "from": "the points of one GPU"}]
  })");
  const json c = test::document_of({"validate", path})["results"]["cases"][0];
  CHECK(c["scored"] == 9);  // the other engine's point is not asked for
  CHECK(c["unexplained"].empty());
  CHECK(c["coverage"]["ranks"] == 2);
  CHECK_FALSE(c.contains("regime"));
  const json& scores = c["serving"]["scores"];
  CHECK(scores[0]["name"] == "tpot_mape");
  CHECK(scores[0]["points"] == 9);
  CHECK(scores[2]["name"] == "tpot_mape_held_out");
  CHECK(scores[2]["points"] == 1);
  // Points stand in the order of the file, without the folder that it lies in.
  CHECK(c["serving"]["points"][0]["what"] == "line 2: 256 + 16 tokens, 1 clients, 1 GPUs");
  CHECK(c["serving"]["points"][8]["fitted"] == false);
  CHECK(c["checked"][0]["exceeds_tolerance"] == false);
  CHECK_THAT(test::spillway({"validate", path}).out, ContainsSubstring("tpot_mape_held_out"));
}

TEST_CASE("a parameter that no entry accounts for is named", "[cli]") {
  const Scene scene;
  scene.validation_case();
  const std::string path =
      scene.file("bare.json", "{\"measured\": [\"m.csv\"], \"scenario\": \"s.json\"}");
  CHECK_THAT(test::spillway({"validate", path}).err,
             ContainsSubstring("no entry of parameters says where a user would get compute.kind, "
                               "compute.kv_token_ns, compute.step_us and 31 more"));
}

}  // namespace
}  // namespace spillway

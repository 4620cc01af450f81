// `spillway trace import`: from a log of a real engine to a trace that `run` takes.
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

TEST_CASE("trace import writes a run's requests as a trace", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", test::small_log());
  const auto result =
      test::spillway({"trace", "import", log, "--out", scene.path("t.jsonl"), "--notes"});
  REQUIRE(result.code == 0);
  // TTFT 50, 60 and 70 ms; TPOT 20 ms each.
  CHECK(result.out ==
        "log.csv: 3 requests, mean_ttft_ms 60.0, mean_tpot_ms 20.0, mean_e2el_ms "
        "106.7\n");
  CHECK_THAT(result.err, ContainsSubstring("A request log names no blocks"));
  const json run = test::document_of({"run", scene.scenario});
  CHECK(run["results"]["completed"] == 3);
}

TEST_CASE("a measured run is a document that can be read back", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", test::small_log());
  const std::string out = scene.path("run.json");
  REQUIRE(test::spillway({"trace", "import", log, "--out", out}).code == 0);
  const json first = test::parse_document(test::read_file(out));
  CHECK(first["kind"] == "measured-run");
  CHECK(first["results"]["requests"][1]["first_token_s"] == 1.06);
  CHECK(first["results"]["metrics"]["mean_ttft_ms"].get<double>() == Approx(60));
  json again = test::document_of({"trace", "import", out, "--out", scene.path("again.jsonl")});
  again["results"]["files"] = first["results"]["files"];
  CHECK(again["results"] == first["results"]);
}

TEST_CASE("trace import leaves warm-up out where it is asked to", "[cli]") {
  const Scene scene;
  std::string log = "input_toks,output_toks,arrival_s,first_token_s,last_token_s\n8,2,0,1,1.1\n";
  for (int i = 0; i < 12; ++i)
    log += fmt::format("{},2,{},{}.1,{}.2\n", 9 + i, 60 + i, 60 + i, 60 + i);
  const Args call = {"trace", "import", scene.file("log.csv", log), "--out", scene.path("t.jsonl")};
  CHECK_THAT(test::spillway(call).err, ContainsSubstring("--skip-warmup leaves 1 request out"));
  CHECK_THAT(test::spillway(call + Args{"--skip-warmup"}).out, ContainsSubstring("12 requests"));
}

TEST_CASE("trace import notes missing requests instead", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", test::small_log());
  const std::string meta =
      scene.file("meta.json", "{\"engine_kwargs\": {}, \"num_requests\": 4}\n");
  const Args call = {"trace", "import", log, meta, "--out", scene.path("t.jsonl")};
  refused(call, 3, "4: requests are missing from the log");
  const auto result = test::spillway(call + Args{"--allow-missing"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("note: ") && ContainsSubstring("are missing"));
}

TEST_CASE("trace import refuses what it cannot read or write", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", test::small_log());
  refused({"trace", "import", log, "--out", log}, 2, "is the input itself");
  refused({"trace", "import", scene.path("none.csv"), "--out", scene.path("t.jsonl")}, 7,
          "cannot open");
  const std::string meta = scene.file("meta.json", "{\"engine_kwargs\": {}}\n");
  refused({"trace", "import", meta, "--out", scene.path("t.jsonl")}, 3,
          "expected a request log among the files");
  CHECK(test::spillway({"trace", "import", meta, "--out", scene.path("r.json")}).code == 0);
}

}  // namespace
}  // namespace spillway

// `spillway init`, and the command line of an engine in place of a scenario.
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

constexpr const char* kServe = "vllm serve Qwen/Qwen3-14B --max-num-seqs 64 --port 8000";

TEST_CASE("init prints a scenario that runs as it is", "[cli]") {
  const Scene scene;
  const auto made = test::spillway({"init", "--vllm", kServe, "--gpu", "H200"});
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\"max_num_seqs\": 64"));
  CHECK_THAT(made.out, ContainsSubstring("// --max-num-seqs 64"));
  CHECK_THAT(made.out, ContainsSubstring("\"gpu\": \"H200\""));
  CHECK_THAT(made.err, ContainsSubstring("workload: "));
  const std::string path = scene.file("made.json", made.out);
  CHECK(test::spillway({"run", path, "--set", "workload.limit=20"}).code == 0);
}

TEST_CASE("init reads a file, and says what became of each part", "[cli]") {
  const Scene scene;
  const std::string script = scene.file("serve.sh", std::string(kServe) + " --no-such-flag 7\n");
  const std::string out = scene.path("new/made.json");
  const auto made = test::spillway({"init", script, "--out", out});
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("Assumed: check these first"));
  CHECK_THAT(made.out, ContainsSubstring("--no-such-flag 7"));
  const json results = test::document_of({"init", script})["results"];
  CHECK(results["scenario"]["engine"]["max_num_seqs"] == 64);
  CHECK(results["unknown"][0]["what"] == "--no-such-flag 7");
  CHECK(results["no_effect"][0]["what"] == "--port 8000");
}

TEST_CASE("init takes what the input does not say", "[cli]") {
  const Scene scene;
  const std::string config = scene.file(
      "config.json",
      R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,)"
      R"( "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,)"
      R"( "vocab_size": 32000, "max_position_embeddings": 4096})");
  const json shaped = test::document_of({"init", "--vllm", "vllm serve org/unheard", "--config",
                                         config, "--release", "0.19.1", "--trace", scene.trace});
  CHECK(shaped["results"]["scenario"]["engine"]["preset"] == "vllm@0.19");
  CHECK(shaped["results"]["scenario"]["workload"]["trace"] == scene.trace);
  CHECK_FALSE(shaped["results"]["model_assumed"]);
  const json named =
      test::document_of({"init", "--vllm", "vllm serve $MODEL", "--model", "Qwen3-8B"});
  CHECK(named["results"]["scenario"]["model"]["name"] == "Qwen/Qwen3-8B");
  refused({"init", "--vllm", kServe, "--trace", scene.path("none.jsonl")}, 7,
          "--trace: cannot open");
}

TEST_CASE("init --pick chooses among several starts", "[cli]") {
  const Scene scene;
  const std::string both = scene.file("both.sh", "vllm serve Qwen3-8B\nvllm serve Qwen3-14B\n");
  const auto model = [&](const Args& more) {
    return test::document_of(Args{"init", both} + more)["results"]["scenario"]["model"]["name"];
  };
  CHECK(model({}) == "Qwen/Qwen3-8B");
  CHECK(model({"--pick", "2"}) == "Qwen/Qwen3-14B");
  refused({"init", both, "--pick", "3"}, 2, "--pick: expected one of 1 (line 1); 2 (line 2)");
}

TEST_CASE("init never writes over a scenario that somebody changed", "[cli]") {
  const Scene scene;
  const std::string mine = scene.file("mine.json", "{\"mine\": true}");
  refused({"init", "--vllm", kServe, "--out", mine}, 2, "is there already and differs");
  CHECK(test::read_file(mine) == "{\"mine\": true}");
  CHECK(test::spillway({"init", "--vllm", kServe, "--out", mine, "--force"}).code == 0);
  CHECK(test::spillway({"init", "--vllm", kServe, "--out", mine}).code == 0);  // the same again
}

TEST_CASE("plan and run take a command line", "[cli]") {
  const Scene scene;
  const Args call = {"--vllm",    "vllm serve Qwen/Qwen3-0.6B",
                     "--gpu",     "L4",
                     "--trace",   scene.trace,
                     "--release", "0.25",
                     "--set",     "workload.limit=10"};
  CHECK(test::document_of(Args{"run"} + call)["inputs"]["configuration"]["gpu"] == "L4-24GB");
  // A model outside the catalogue by its config.json.
  const std::string config = scene.file(
      "config.json", R"({"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8,)"
                     R"( "vocab_size": 32000, "max_position_embeddings": 4096})");
  CHECK(test::document_of({"run", "--vllm", "vllm serve org/unheard", "--config", config, "--trace",
                           scene.trace})["inputs"]["configuration"]["model"]["shape"]["layers"] ==
        8);
  const auto plan = test::spillway(Args{"plan", "--replications", "1"} + call);
  CHECK((plan.code == 0 || plan.code == 4));
  refused({"plan", "--vllm", "vllm serve $MODEL"}, 2, "model $MODEL: not in the catalogue");
  refused({"run", scene.scenario, "--vllm", kServe}, 2, "--vllm");
  refused({"run", scene.scenario, "--gpu", "L4"}, 2, "--gpu: needs --from-engine-config or --vllm");
}

TEST_CASE("run and plan take the file of an engine, KVBM's disk without links of its own",
          "[cli]") {
  // The disk has no link in the file: published figures of an NVMe stand for it.
  const Scene scene;
  const std::string script = scene.file(
      "kvbm.sh",
      "DYN_KVBM_CPU_CACHE_GB=20 DYN_KVBM_DISK_CACHE_GB=100 vllm serve Qwen/Qwen3-8B "
      "--kv-transfer-config '{\"kv_connector\": \"DynamoConnector\", \"kv_role\": \"kv_both\", "
      "\"kv_connector_module_path\": \"kvbm.vllm_integration.connector\"}'\n");
  const json ran = test::document_of({"run", "--from-engine-config", script, "--gpu", "H100",
                                      "--set", "workload.limit=10"})["inputs"]["configuration"];
  CHECK(ran["engine"]["preset"] == "kvbm@1.0");
  CHECK(ran["tiers"].size() == 2);
  CHECK(test::spillway({"scenario", "from", script, "--gpu", "H100"}).code == 0);
}

}  // namespace
}  // namespace spillway

// spillway fit: from kernel tables to a profile that a scenario takes.
#include <algorithm>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

/// A layer's products of Llama-3.1-8B on two ranks, at 20% of an H100's rate.
std::string layer_table() {
  std::string out = "layer,tokens,time_us\n";
  for (const double tokens : {1, 16, 64, 256, 1024}) {
    const auto add = [&](const char* layer, double inputs, double outputs) {
      out +=
          fmt::format("{},{},{}\n", layer, tokens,
                      5 + 2 * tokens * inputs * outputs / (0.2 * 989e6) + inputs * outputs / 1e6);
    };
    add("qkv_proj", 4096, 3072);
    add("o_proj", 2048, 4096);
    add("gate_up_proj", 4096, 14336);
    add("down_proj", 7168, 4096);
  }
  return out;
}

TEST_CASE("fit makes a profile that a scenario takes", "[cli]") {
  const Scene scene;
  const std::string data = scene.file("gemm.csv", test::kernel_table());
  const std::string out = scene.path("h100.json");
  const auto made = test::spillway({"fit", data, "--gpu", "H100", "--out", out});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("products/bf16"));
  const json profile = json::parse(test::read_file(out));
  CHECK(profile["kind"] == "compute-profile");
  CHECK(profile["results"]["gpu"] == "H100-SXM5-80GB");
  CHECK(profile["inputs"]["command"] == "spillway fit gemm.csv --gpu H100");
  // The table is half an H100, with 5 us a product.
  const json& products = profile["results"]["products"][0];
  CHECK(products["flop_efficiency"].get<double>() == Approx(0.5).epsilon(0.05));
  CHECK(products["byte_efficiency"].get<double>() == Approx(0.5).epsilon(0.05));
  CHECK(products["overhead_us"].get<double>() == Approx(5).epsilon(0.1));

  const std::string scenario =
      scene.file("p.json", R"({"name": "p", "model": {"name": "Llama-3.1-8B"}, "gpu": "H100",
                    "engine": {"preset": "vllm"},
                    "compute": {"kind": "profile", "profile": "h100.json"},
                    "workload": {"trace": "t.jsonl", "arrival": "trace"}})");
  const auto ran = test::spillway({"run", scenario});
  INFO(ran.err);
  CHECK(ran.code == 0);
}

TEST_CASE("tables of a slower GPU are doubted", "[cli][fit]") {
  const Scene scene;
  const std::string data = scene.file("gemm.csv", test::kernel_table());
  // Half of an H100's bandwidth, more than all of an L40S's.
  const auto slow = test::spillway({"fit", data, "--gpu", "H100"});
  CHECK(slow.code == 0);
  CHECK_THAT(slow.err, ContainsSubstring("rows of another GPU"));
  CHECK_THAT(slow.err, ContainsSubstring("products/bf16: byte_efficiency is 0.5 of the data sheet, "
                                         "far below the 0.77 to 0.94"));
}

TEST_CASE("fit --model and --tp say whose layers a table is of", "[cli]") {
  const Scene scene;
  const std::string data = scene.file("dense.csv", layer_table());
  refused({"fit", data, "--gpu", "H100"}, 2, "expected --model NAME");
  const json document =
      test::document_of({"fit", data, "--gpu", "H100", "--model", "llama-3.1-8b", "--tp", "2"});
  CHECK(document["results"]["profile"]["model"] == "meta-llama/Meta-Llama-3.1-8B");
  CHECK(document["results"]["profile"]["tensor_parallel"] == 2);
  const std::string named = scene.file("dense_tp4_.csv", layer_table());
  refused({"fit", named, "--gpu", "H100", "--model", "llama-3.1-8b", "--tp", "2"}, 2,
          "is named as measured on 4 ranks");
}

TEST_CASE("fit --weights chooses the products to fit", "[cli]") {
  const Scene scene;
  const std::string both = test::kernel_table() + test::kernel_table().substr(23);
  std::string text = test::kernel_table();
  for (std::string_view rest = std::string_view(both).substr(text.size()); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    text += "fp8" + std::string(rest.substr(8, end - 8)) + "\n";
    rest.remove_prefix(end + 1);
  }
  const std::string data = scene.file("both.csv", text);
  const auto parts = [&](const Args& more) {
    std::string out;
    const json document = test::document_of(Args{"fit", data, "--gpu", "H100"} + more);
    for (const json& part : document["results"]["parts"]) {
      const std::string name = part["part"];
      if (name == "products/bf16" || name == "products/fp8") out += name + " ";
    }
    return out;
  };
  CHECK(parts({}) == "products/bf16 products/fp8 ");
  CHECK(parts({"--weights", "fp8"}) == "products/fp8 ");
  refused({"fit", data, "--gpu", "H100", "--weights", "int3"}, 2, "int3");
}

TEST_CASE("fit --name and --source are the profile's", "[cli]") {
  const Scene scene;
  const std::string data = scene.file("gemm.csv", test::kernel_table());
  const std::string out = scene.path("h100.json");
  const auto results = [&](const Args& more) {
    REQUIRE(test::spillway(Args{"fit", data, "--gpu", "H100", "--out", out} + more).code == 0);
    return json::parse(test::read_file(out))["results"];
  };
  CHECK(results({})["name"] == "h100");
  CHECK(results({})["source"] == "gemm.csv");
  const json named = results({"--name", "lab", "--source", "our lab, CC0"});
  CHECK(named["name"] == "lab");
  CHECK(named["source"] == "our lab, CC0");
}

TEST_CASE("fit --explain shows the points furthest off", "[cli]") {
  const Scene scene;
  const std::string data = scene.file("gemm.csv", test::kernel_table());
  const Args call = {"fit", data, "--gpu", "H100"};
  CHECK_FALSE(test::document_of(call)["results"].contains("worst"));
  const json worst = test::document_of(call + Args{"--explain"})["results"]["worst"];
  REQUIRE_FALSE(worst.empty());
  CHECK_THAT(worst[0]["point"].get<std::string>(), ContainsSubstring("gemm.csv:"));
  CHECK_THAT(test::spillway(call + Args{"--explain"}).out,
             ContainsSubstring("Points furthest off"));
}

/// The log that an engine would write whose steps take 2 ms, and 20 us a token besides: requests a
/// second apart, alone in it.
std::string request_log(int requests, int from = 0) {
  std::string out = "input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s\n";
  for (int i = 0; i < requests; ++i) {
    const double first = from + i + 2e-3 + 20e-6 * (500 + 10 * i);
    out += fmt::format("{},{},{}.0,{}.0001,{:.6f},{:.6f}\n", 500 + 10 * i, 51, from + i, from + i,
                       first, first + 50 * 8e-3);
  }
  return out;
}

TEST_CASE("fit says which engine it assumed, and refuses to be contradicted", "[cli][fit]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", request_log(60));
  const std::string scenario =
      scene.file("e.json", R"({"name": "e", "model": {"name": "Llama-3.1-8B"}, "gpu": "H100",
                    "engine": {"preset": "vllm", "num_gpu_blocks": 4000},
                    "workload": {"trace": "none"}})");
  const Args bare = {"fit", log, "--model", "Llama-3.1-8B", "--gpu", "H100"};
  const auto set = test::spillway(bare + Args{"--set", "engine.num_gpu_blocks=4000"});
  CHECK_THAT(set.err, ContainsSubstring("no --scenario"));
  CHECK_THAT(set.err, ContainsSubstring("with 4000 blocks of 16 tokens;"));
  refused(bare + Args{"--set", "engine.foo=1"}, 2, "foo");
  const Args given = {"fit", log, "--scenario", scenario};
  refused(given + Args{"--gpu", "A100"}, 2, "the scenario's H100-SXM5-80GB");
  refused(given + Args{"--model", "Llama-3.2-1B"}, 2, "the scenario's");
  const auto same = test::spillway(given + Args{"--gpu", "H100"});
  CHECK(same.code == 0);
  CHECK_THAT(same.err, !ContainsSubstring("no --scenario"));
  const std::string table = scene.file("gemm.csv", test::kernel_table());
  const auto tables =
      test::spillway({"fit", table, "--gpu", "H100", "--set", "engine.foo=1", "--notes"});
  CHECK(tables.code == 0);
  CHECK_THAT(tables.err, ContainsSubstring("--set changes nothing"));
}

TEST_CASE("fit --scenario and --first fit a request log", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", request_log(60));
  const std::string scenario =
      scene.file("e.json", R"({"name": "e", "model": {"name": "Llama-3.1-8B"}, "gpu": "H100",
                    "engine": {"preset": "vllm", "num_gpu_blocks": 4000}})");
  refused({"fit", log}, 2, "expected --scenario FILE, or --model and --gpu");
  const Args call = {"fit", log, "--scenario", scenario};
  const json all = test::document_of(call);
  CHECK(all["results"]["overhead_fitted"] == true);
  CHECK(all["results"]["profile"]["gpu"] == "H100-SXM5-80GB");
  const json some = test::document_of(call + Args{"--first", "40"});
  CHECK(some["inputs"]["command"] == "spillway fit log.csv --scenario e.json --first 40");
  const auto points = [](const json& document) {
    return document["results"]["parts"][0]["points"].get<int>();
  };
  CHECK(points(some) < points(all));
  // The same engine by name, and kernels from a table: then factors of them are fitted.
  const std::string table = scene.file("gemm.csv", test::kernel_table());
  const json both =
      test::document_of({"fit", log, table, "--model", "Llama-3.1-8B", "--gpu", "H100"});
  CHECK(both["results"]["parts"][0]["part"] == "products/bf16");
  CHECK(both["results"]["overhead_fitted"] == true);
  const json& parts = both["results"]["parts"];
  const auto answers = std::find_if(parts.begin(), parts.end(), [](const json& part) {
    return part["part"] == "requests/answers";
  });
  REQUIRE(answers != parts.end());
  CHECK((*answers)["parameters"].contains("memory_scale"));
  CHECK_FALSE((*answers)["parameters"].contains("collective_scale"));  // one rank
}

TEST_CASE("fit leaves warm-up out by itself, and --keep-warmup keeps it", "[cli][fit]") {
  const Scene scene;
  // The first request took 3 s to its first token, 60 others like it about 12 ms.
  std::string text = request_log(60, 9);
  const std::size_t first = text.find('\n') + 1;
  text.insert(first, "500,51,0.0,0.0001,3.0,3.4\n");
  const std::string log = scene.file("log.csv", text);
  const Args call = {"fit", log, "--model", "Llama-3.1-8B", "--gpu", "H100", "--notes"};
  const auto without = test::spillway(call);
  INFO(without.err);
  CHECK_THAT(without.err, ContainsSubstring("left out 1 request as warm-up"));
  CHECK_THAT(without.err, ContainsSubstring("--keep-warmup keeps it"));
  const auto kept = test::spillway(call + Args{"--keep-warmup"});
  CHECK_THAT(kept.err, !ContainsSubstring("left out 1 request"));
}

TEST_CASE("layers of other ranks than the engine's are no kernels of its", "[cli][fit]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", request_log(60));
  const std::string table = scene.file("Llama-3.1-8B_H100_tp2_dense.csv", layer_table());
  refused({"fit", log, table, "--model", "Llama-3.1-8B", "--gpu", "H100"}, 2,
          "holds layers on 2 ranks, the scenario's engine has tensor_parallel_size 1; expected "
          "tables of 1 rank, or --tp 1");
}

TEST_CASE("fit says of an unknown file which columns it lacks", "[cli][fit]") {
  const Scene scene;
  const auto says = [&](const std::string& text, const std::string& what) {
    refused({"fit", scene.file("data.csv", text), "--gpu", "H100", "--model", "Llama-3.1-8B"}, 3,
            what);
  };
  says("", "is empty; expected one of: a kernel table of products (dtype,m,n,k,latency_ms); ");
  says("time,decodes,decode_context\n900,1,100\n",
       "is closest to step times, which needs time_us,decodes,decode_context; missing: time_us;");
  says("batch_size,isl,heads,num_kv,head_dim,latency_ms\n1,128,32,8,128,0.1\n",
       "missing: num_heads,num_key_value_heads;");
  says("alpha,beta\n1,2\n", "expected the columns of one of: a kernel table of products (");
  says("input_toks,output_toks,arrival,last_token_s\n1,1,0,1\n",
       "arrival: expected the unit of time in the name, arrival_s, arrival_ms,");
  says("input_toks,output_toks,arrival_s,e2el\n1,1,0,1\n", "e2el_s, e2el_ms,");
}

TEST_CASE("a faulty row of measured data is no fault of a trace", "[cli][fit]") {
  const Scene scene;
  const std::string steps = scene.file("steps.csv", "time_us,decodes,decode_context\nfast,1,100\n");
  const auto result =
      test::spillway({"fit", steps, "--gpu", "H100", "--model", "meta-llama/Llama-3.1-8B"});
  CHECK(result.code == 3);
  CHECK_THAT(result.err, ContainsSubstring("steps.csv:2: time_us: expected a time"));
  CHECK(result.err.find("spillway trace check") == std::string::npos);
}

TEST_CASE("fit refuses data that decides the same parameters", "[cli]") {
  const Scene scene;
  const std::string log = scene.file("log.csv", request_log(5));
  const std::string steps =
      scene.file("steps.csv", "time_us,decodes,decode_context,prefill_tokens\n5000,1,100,\n");
  refused({"fit", log, steps, "--model", "Llama-3.1-8B", "--gpu", "H100"}, 2,
          "expected one of them");
}

TEST_CASE("fit writes nothing where it fails, and never over its data", "[cli]") {
  const Scene scene;
  const std::string data = scene.file("gemm.csv", test::kernel_table());
  const std::string few =
      scene.file("few.csv", "dtype,m,n,k,latency_ms\nbfloat16,1,1024,1024,0.006\n");
  const std::string before = scene.listing();
  refused({"fit", few, "--gpu", "H100", "--out", scene.path("p.json")}, 3,
          "1 points are too few to fit; expected at least 16");
  refused({"fit", data, "--gpu", "H100", "--out", data}, 2, "is the input itself");
  refused({"fit", data, data, "--gpu", "H100"}, 2, "is named twice");
  refused({"fit", data, "--out", scene.path("p.json")}, 2, "expected its name");
  refused({"fit", data, "--gpu", "H1000"}, 2, "unknown GPU \"H1000\"");
  refused({"fit", scene.path("none.csv"), "--gpu", "H100"}, 7, "none.csv");
  CHECK(scene.listing() == before);
}

TEST_CASE("fit tells from two runs what a connector costs", "[cli][fit]") {
  const Scene scene;
  const std::string scenario = scene.file("pair.json", R"({"name": "pair",
    "model": "Llama-3.1-8B", "gpu": "H100", "compute": {"kind": "components"},
    "engine": {"preset": "vllm@0.12", "num_gpu_blocks": 3000, "async_scheduling": false},
    "tiers": [{"name": "dram", "kind": "dram", "capacity": "20GB"}],
    "workload": {"arrival": "trace", "sessions": "ignore",
      "synthetic": {"requests": 60, "sessions_per_s": 0.6, "turns": 3, "user_tokens": 500,
                    "answer_tokens": 100, "block_tokens": 16}}})");
  const std::string without = scene.path("without.csv");
  const std::string with = scene.path("with.csv");
  const auto logged = [&](const std::string& set, const std::string& path) {
    const auto ran =
        test::spillway({"run", scenario, "--set", set, "--output", "kind=requests,path=" + path});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
  };
  logged("tiers.0.capacity=0GB", without);
  logged(R"(engine.connector_costs={"step_us": 4000})", with);
  const std::string results = scene.path("costs.json");
  const auto fitted =
      test::spillway({"fit", "--pair", without, with, "--scenario", scenario, "--json", results});
  INFO(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK_THAT(fitted.out, ContainsSubstring("engine.connector_costs={\"step_us\": "));
  const json costs = json::parse(test::read_file(results))["results"]["connector_costs"];
  CHECK(costs["step_us"].get<double>() == Approx(4000).epsilon(0.05));

  const auto fails = [](const Args& args, const std::string& text) {
    const auto run = test::spillway(args);
    CHECK(run.code == 2);
    CHECK_THAT(run.err, ContainsSubstring(text));
  };
  fails({"fit", "--pair", without, "--scenario", scenario}, "takes two logs");
  fails({"fit", "--pair", without, with}, "needs --scenario");
  fails({"fit", "--pair", without, with, "--scenario", scenario, "--out", scene.path("o.json")},
        "prints costs");
}

}  // namespace
}  // namespace spillway

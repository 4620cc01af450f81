// `spillway kvsize`, `list` and `schema`: what the tool knows.
#include <cstdlib>
#include <filesystem>
#include <set>

#include "models/releases/engine_knobs.hpp"
#include "scenarios/commands/schemas.hpp"
#include "sim/output_file.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

// ---- kvsize

TEST_CASE("kvsize of Llama-3.1-70B at 8,192 tokens", "[cli]") {
  // 2 x 8 heads x 128 x 80 layers x 2 bytes = 327,680 bytes a token; x 8,192 = 2.5 GiB.
  const Args call = {"kvsize", "--model", "Llama-3.1-70B", "--tokens", "8192"};
  const CliResult result = test::spillway(call);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("8,192 tokens take 2.5 GiB of KV cache"));
  CHECK_THAT(result.out,
             ContainsSubstring("2 (K and V) x 8 KV heads x 128 head dim x 80 layers x 8192 tokens "
                               "x 16 bits / 8 = 2684354560 bytes"));
  CHECK_THAT(result.out,
             ContainsSubstring("With 64 KV heads, one per query head, it would be 20 GiB"));
  const json r = test::document_of(call)["results"];
  CHECK(r["bytes"] == 2684354560);
  CHECK(r["gib"] == 2.5);
  CHECK(r["bytes_per_token"] == 327680);
  CHECK(r["all_heads"]["kv_heads"] == 64);
  CHECK(r["all_heads"]["gib"] == 20);
  CHECK_THAT(r["formula"].get<std::string>(), ContainsSubstring("= 2684354560 bytes"));
}

TEST_CASE("kvsize of a model with sliding layers tells what their window leaves", "[cli]") {
  // Pages of 12 layers x 1,024 elements x 2 bytes x 16 tokens; 2,048 of full attention and 8 of the
  // window of the last token.
  const Args call = {"kvsize", "--model", "gpt-oss-20b", "--tokens", "32768"};
  const json r = test::document_of(call)["results"];
  CHECK(r["bytes"] == 2 * 2048 * 393'216LL);
  CHECK(r["groups"]["page_bytes"] == 393'216);
  CHECK(r["groups"]["pages"] == 2048 + 8);
  CHECK(r["groups"]["bytes"] == 2056 * 393'216LL);
  CHECK_THAT(test::spillway(call).out,
             ContainsSubstring("held to their window of 128 tokens (engine.hybrid_kv_cache"));
  CHECK_FALSE(
      test::document_of({"kvsize", "--model", "Llama-3.1-8B"})["results"].contains("groups"));
}

TEST_CASE("kvsize without --tokens is of one token", "[cli]") {
  const json r = test::document_of({"kvsize", "--model", "llama-3.1-8b"})["results"];
  CHECK(r["tokens"] == 1);
  CHECK(r["bytes"] == 131072);
}

TEST_CASE("kvsize --kv-dtype changes the bits", "[cli]") {
  const auto bytes = [](const char* dtype) {
    return test::document_of(
        {"kvsize", "--model", "Llama-3.1-8B", "--kv-dtype", dtype})["results"]["bytes"];
  };
  for (const char* dtype : {"auto", "bf16", "fp16"}) CHECK(bytes(dtype) == 131072);
  for (const char* dtype : {"fp8", "int8"}) CHECK(bytes(dtype) == 65536);
  CHECK(bytes("fp4") == 32768);
}

TEST_CASE("kvsize --gpu shows what is left for KV, as a run would size its pool", "[cli]") {
  const Scene scene;
  const Args call = {"kvsize", "--model", "Llama-3.1-8B", "--gpu", "L40S"};
  const json gpu = test::document_of(call)["results"]["gpu"];
  CHECK(gpu["kv_bytes"].get<std::int64_t>() ==
        gpu["requested_bytes"].get<std::int64_t>() - gpu["weight_bytes"].get<std::int64_t>() -
            gpu["activation_bytes"].get<std::int64_t>() - gpu["other_bytes"].get<std::int64_t>());
  CHECK(gpu["kv_tokens"] == gpu["num_gpu_blocks"].get<std::int64_t>() * 16);
  const json run = test::document_of({"run", scene.scenario, "--set", "model=Llama-3.1-8B", "--set",
                                      "gpu=L40S", "--set", "engine={\"preset\":\"vllm\"}"});
  CHECK(run["inputs"]["configuration"]["engine"]["num_gpu_blocks"] == gpu["num_gpu_blocks"]);
  CHECK_THAT(test::spillway(call).out, ContainsSubstring("KV pool: "));
}

TEST_CASE("kvsize takes the engine's sizes for the GPU's share", "[cli]") {
  const auto blocks = [](const Args& more) {
    return test::document_of(Args{"kvsize", "--model", "Llama-3.1-8B", "--gpu", "H100"} +
                             more)["results"]["gpu"]["num_gpu_blocks"]
        .get<std::int64_t>();
  };
  CHECK(blocks({"--gpu-memory-utilization", "0.5"}) < blocks({}));
  CHECK(blocks({"--preset", "vllm@0.19"}) < blocks({"--preset", "vllm@0.25"}));  // 0.90 and 0.92
  CHECK(blocks({"--max-num-batched-tokens", "65536"}) < blocks({}));
  CHECK(blocks({"--max-num-seqs", "65536"}) < blocks({"--max-num-seqs", "16"}));
}

TEST_CASE("a model that does not fit has no blocks, and is no error", "[cli]") {
  const json gpu =
      test::document_of({"kvsize", "--model", "Llama-3.1-70B", "--gpu", "L40S"})["results"]["gpu"];
  CHECK(gpu["num_gpu_blocks"] == 0);
  CHECK(gpu["kv_bytes"].get<std::int64_t>() < 0);
}

TEST_CASE("kvsize of every model at the most tokens stays a positive number", "[cli]") {
  const json models = test::document_of({"list", "models"})["results"];
  REQUIRE(models.size() > 10);
  for (const json& model : models) {
    const json r = test::document_of({"kvsize", "--model", model["model"].get<std::string>(),
                                      "--tokens", "1099511627776"})["results"];
    INFO(model["model"]);
    CHECK(r["bytes"].get<std::int64_t>() > 0);
    if (r.contains("all_heads")) {
      CHECK(r["all_heads"]["bytes"].get<std::int64_t>() > r["bytes"].get<std::int64_t>());
    }
  }
}

TEST_CASE("kvsize's bad arguments are refused with a suggestion", "[cli]") {
  const Args call = {"kvsize", "--model", "Llama-3.1-8B"};
  refused({"kvsize", "--model", "GPT-7"}, 2, "--model: unknown model \"GPT-7\"");
  for (const char* tokens : {"0", "-1", "1099511627777", "9223372036854775808", "many"}) {
    refused(call + Args{"--tokens", tokens}, 2, "--tokens");
  }
  refused(call + Args{"--kv-dtype", "fp9"}, 2,
          "--kv-dtype: unknown KV dtype \"fp9\"; did you mean \"fp4\"? known: ");
  refused(call + Args{"--gpu", "H1000"}, 2, "--gpu: unknown GPU \"H1000\"; did you mean \"H100\"?");
  refused(call + Args{"--gpu", "L40"}, 2, "unknown GPU \"L40\"; did you mean \"L40S\"?");
  refused(call + Args{"--gpu", "L40"}, 2, "(spillway list gpus)");
  refused(call + Args{"--gpu", "H100", "--preset", "vlm"}, 2, "--preset: unknown engine preset");
  for (const char* share : {"0", "1.01", "-0.5", "nan", "most"}) {
    refused(call + Args{"--gpu", "H100", "--gpu-memory-utilization", share}, 2,
            "--gpu-memory-utilization");
  }
  refused(call + Args{"--max-num-seqs", "0"}, 2, "--max-num-seqs");
  refused(call + Args{"--max-num-batched-tokens", "0"}, 2, "--max-num-batched-tokens");
}

// ---- list

TEST_CASE("list shows every catalogue, as text and as a document", "[cli]") {
  const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> catalogues = {
      {"policies", {"policy", "lru"}},
      {"engines", {"preset", "vllm@0.23"}},
      {"models", {"model", "Llama"}},
      {"gpus", {"GPU", "H100-SXM5-80GB"}},
      {"formats", {"format", "mooncake"}},
      {"links", {"host link", "of H100"}},
      {"scenarios", {"scenario", "scenarios/library/quickstart.json"}},
      {"metrics", {"metric", "vllm:kv_cache_usage_perc"}},
      {"reports", {"format", "alerts"}}};
  for (const auto& [name, row] : catalogues) {
    INFO(name);
    const CliResult text = test::spillway({"list", name});
    CHECK(text.code == 0);
    CHECK(text.out.rfind(name + "\n", 0) == 0);
    const json document = test::document_of({"list", name});
    CHECK(document["kind"] == "list");
    CHECK(document["inputs"]["catalogue"] == name);
    bool found = false;
    for (const json& item : document["results"]) {
      for (const json& cell : item) CHECK_FALSE(cell.get<std::string>().empty());
      if (!item.contains(row.first)) continue;  // engines: a row of knobs, below
      const auto value = item[row.first].get<std::string>();
      found = found || value.find(row.second) != std::string::npos;
      CHECK_THAT(text.out, ContainsSubstring(value));
    }
    CHECK(found);
  }
  refused({"list", "polcies"}, 2,
          "list: unknown catalogue \"polcies\"; did you mean \"policies\"? known: ");
}

TEST_CASE("list engines shows each knob, and what proves it", "[cli]") {
  const std::string text = test::spillway({"list", "engines"}).out;
  const json rows = test::document_of({"list", "engines"})["results"];
  std::size_t engines = 0;
  for (const json& row : rows) {
    if (row.contains("preset")) continue;
    ++engines;
    CHECK_THAT(text, ContainsSubstring(row["engine"].get<std::string>()));
    CHECK(row.size() == 2 + 2 * knob_columns().size());
    for (const KnobColumn& column : knob_columns()) {
      const std::string name(column.name);
      CHECK(row.contains(name));
      CHECK(std::filesystem::exists(test::source_path(row[name + ": proof"].get<std::string>())));
    }
  }
  CHECK(engines == engine_knobs().size());
}

TEST_CASE("list metrics shows what one release exports", "[cli]") {
  const auto names = [](const std::string& engine) {
    std::set<std::string> out;
    const json document = test::document_of({"list", "metrics", "--engine", engine});
    CHECK(document["inputs"]["engine"] == engine);
    for (const json& row : document["results"]) {
      CHECK(row["engine"] == engine.substr(0, engine.find('@')));
      out.insert(row["metric"].get<std::string>());
    }
    return out;
  };
  CHECK(names("vllm@0.6").contains("vllm:gpu_cache_usage_perc"));
  CHECK_FALSE(names("vllm@0.25").contains("vllm:gpu_cache_usage_perc"));
  CHECK(names("vllm@0.25").contains("vllm:kv_offload_load_bytes_total"));
  refused({"list", "metrics", "--engine", "vlm"}, 2,
          "--engine: unknown engine \"vlm\"; did you mean \"vllm\"?");
  refused({"list", "metrics", "--engine", "vllm@x"}, 2, "--engine: expected a release");
  refused({"list", "models", "--engine", "vllm"}, 2, "--engine: is for the catalogue metrics");
}

TEST_CASE("list parameters shows what each policy takes, with default and range", "[cli]") {
  const json rows = test::document_of({"list", "parameters"})["results"];
  const auto row = std::find_if(rows.begin(), rows.end(), [](const json& r) {
    return r["policy"] == "s3fifo" && r["parameter"] == "small";
  });
  REQUIRE(row != rows.end());
  CHECK((*row)["default"] == "0.1");
  CHECK((*row)["range"] == "0 to 1");
  const auto required = std::find_if(rows.begin(), rows.end(), [](const json& r) {
    return r["policy"] == "queue-limit" && r["parameter"] == "max_queue";
  });
  REQUIRE(required != rows.end());
  CHECK((*required)["default"] == "must be given");
}

TEST_CASE("what list names, the other verbs take", "[cli]") {
  const Scene scene;
  const auto names = [](const char* catalogue, const char* column, const char* kind = "") {
    const json rows = test::document_of({"list", catalogue})["results"];
    std::vector<std::string> out;
    for (const json& row : rows) {
      if (row.value("kind", "") != kind || !row.contains(column)) continue;
      out.push_back(row[column].get<std::string>());
    }
    return out;
  };
  for (const std::string& policy : names("policies", "policy", "eviction")) {
    CHECK(test::spillway({"replay", "--trace", scene.trace, "--policy", policy}).code == 0);
  }
  // Some have to be told their limit: then the error asks for it.
  const auto takes = [&](const std::string& key, const std::string& policy) {
    INFO(policy);
    const CliResult r = test::spillway({"run", scene.scenario, "--set", key + "=" + policy});
    CHECK((r.code == 0 || (r.code == 2 && r.err.find(policy + ": ") != std::string::npos &&
                           r.err.find("is missing; expected") != std::string::npos)));
  };
  const auto admission = names("policies", "policy", "admission");
  const auto writes = names("policies", "policy", "write admission");
  CHECK(admission.size() == 6);
  CHECK(writes.size() == 5);
  for (const std::string& policy : admission) takes("policies.admission", policy);
  for (const std::string& policy : writes) takes("tiers.0.write_admission", policy);
  for (const std::string& preset : names("engines", "preset")) {
    if (preset.starts_with("mooncake")) continue;  // their tiers are of another kind
    std::vector<std::string> run = {"run", scene.scenario, "--set", "engine.preset=" + preset};
    if (preset == "vllm@0.6") {  // the v0 engine has no tiers
      for (const char* none : {"tiers=null", "links=null", "plan=null"}) {
        run.insert(run.end(), {"--set", none});
      }
    }
    if (!preset.starts_with("vllm")) {  // other keys, and no key of vLLM
      const char* pool = preset == "sglang" ? R"("max_total_tokens": 65536, "load": "blocking")"
                                            : R"("num_gpu_blocks": 2048)";
      run.back() = "engine={\"preset\": \"" + preset + "\", " + pool + "}";
    }
    INFO(preset);
    CHECK(test::spillway(run).code == 0);
  }
  for (const std::string& gpu : names("gpus", "GPU")) {
    CHECK(test::spillway({"kvsize", "--model", "Llama-3.1-8B", "--gpu", gpu}).code == 0);
  }
}

TEST_CASE("list models --add adds a model that other verbs take by name", "[cli]") {
  const Scene scene;
  setenv("XDG_DATA_HOME", scene.path("data").c_str(), 1);
  const std::string config = test::source_path("tests/stand_ins/model_configs/qwen3-8b-awq.json");
  const Args add = {"list", "models", "--add", config, "--name", "org/mine"};
  const CliResult added = test::spillway(add);
  CHECK(added.code == 0);
  CHECK_THAT(added.out, ContainsSubstring("Added org/mine: "));
  CHECK_THAT(added.out, ContainsSubstring("org--mine.json"));
  CHECK_THAT(test::spillway({"list", "models"}).out, ContainsSubstring("org/mine"));
  // 36 layers x 2 x 8 heads x 128 x 2 bytes.
  const json size = test::document_of({"kvsize", "--model", "org/mine"})["results"];
  CHECK(size["bytes_per_token"] == 147456);
  refused(add, 2, "is already in your list");
  refused({"list", "gpus", "--add", config}, 2, "--add: is for the catalogue models");
  refused({"list", "models", "--name", "x"}, 2, "--add");
  refused({"list", "models", "--add", scene.file("bad.json", "{\"model_type\": \"llama\"}"),
           "--name", "org/bad"},
          2, "num_hidden_layers: missing");
  unsetenv("XDG_DATA_HOME");
  CHECK_THAT(test::spillway({"list", "models"}).out, !ContainsSubstring("org--mine.json"));
}

// ---- schema

TEST_CASE("schema prints what the tables say; copies lie in the tree", "[cli]") {
  // SPILLWAY_UPDATE_GOLDEN=1 writes the copies.
  for (const SchemaEntry& entry : schemas()) {
    INFO(entry.copy);
    const CliResult result = test::spillway({"schema", std::string(entry.name)});
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.out == entry.text());
    if (entry.copy.ends_with(".json")) {
      CHECK(json::parse(result.out)["$schema"] == "https://json-schema.org/draft/2020-12/schema");
    }
    if (file_name(entry) == entry.copy) continue;
    const std::string copy = test::source_path(entry.copy);
    if (std::getenv("SPILLWAY_UPDATE_GOLDEN") != nullptr) write_file(copy, result.out);
    CHECK(result.out == test::read_file(copy));
  }
  refused({"schema", "reslt"}, 2, "schema: unknown schema \"reslt\"; did you mean \"result\"?");
}

TEST_CASE("the result schema knows every kind of document", "[cli]") {
  const json schema = json::parse(test::spillway({"schema", "result"}).out);
  const json& kinds = schema["properties"]["kind"]["enum"];
  const Scene scene;
  for (const test::Verb& verb : verbs(scene)) {
    if (verb.name == "schema") continue;
    const json kind = test::document_of(verb.call)["kind"];
    INFO(verb.name);
    CHECK(std::find(kinds.begin(), kinds.end(), kind) != kinds.end());
  }
}

}  // namespace
}  // namespace spillway

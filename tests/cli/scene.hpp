// What the command-line tests share: a directory with a small scenario and its trace, one working
// call of every verb, and the rules that hold for every JSON document.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {

using nlohmann::json;

struct Args : std::vector<std::string> {
  using std::vector<std::string>::vector;
};

inline Args operator+(Args left, const Args& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// Six requests, 100 ms apart, of 600 tokens in blocks {0, i}: the first block is shared by all.
inline std::string small_trace() {
  std::string out;
  for (int i = 0; i < 6; ++i) {
    out += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, "
        "{}]}}\n",
        100 * i, i + 1);
  }
  return out;
}

/// Matrix products of a GPU with half an H100's rate and bandwidth, 5 us each besides, in
/// milliseconds: 5 shapes at 6 numbers of rows.
inline std::string kernel_table() {
  std::string out = "dtype,m,n,k,latency_ms\n";
  for (const double width : {1024, 2048, 4096, 8192, 12288}) {
    for (const double rows : {1, 16, 128, 512, 2048, 8192}) {
      const double compute = 2 * rows * width * width / (0.5 * 989e12);
      const double memory = 2 * (width * width + 2 * rows * width) / (0.5 * 3350e9);
      out += fmt::format("bfloat16,{},{},{},{:.6f}\n", rows, width, width,
                         5e-3 + 1e3 * std::sqrt(compute * compute + memory * memory));
    }
  }
  return out;
}

/// The reference scenario of the contract, with an SLO and sizes to try. One key a line.
inline std::string small_scenario() {
  return R"({
  "name": "small",
  "model": {"kv_bytes_per_token": 131072},
  "engine": {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 2048,
             "max_num_seqs": 256, "max_num_batched_tokens": 2048, "async_scheduling": false},
  "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
  "tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB", "eviction": "lru"}],
  "links": [{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
             "bandwidth": "25GB/s"},
            {"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
             "bandwidth": "25GB/s"}],
  "workload": {"trace": "t.jsonl", "arrival": "trace"},
  "slo": [{"metric": "p99_ttft_ms", "max": 2000}],
  "plan": {"sizes": ["0GiB", "1GiB", "4GiB"], "replications": 1, "sensitivity": false},
  "seed": 1
}
)";
}

/// Six requests as an engine might have logged them, and counters of these seconds.
inline std::string small_request_log() {
  std::string out =
      "input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s\n";
  for (int i = 0; i < 6; ++i) {
    const double at = 0.1 * i;
    out += fmt::format("600,5,{:.3f},{:.3f},{:.3f},{:.3f},{:.3f}\n", at, at, at + 0.001, at + 0.017,
                       at + 0.039);
  }
  return out;
}

/// The small scenario's engine beside that log, with a tolerance that holds.
inline std::string small_case() {
  return R"({
  "name": "small case",
  "measured": ["m.csv"],
  "scenario": "s.json",
  "tolerance": {"means": 90},
  "parameters": [
    {"name": "model", "from": "what is served"},
    {"name": "engine", "from": "the engine's arguments"},
    {"name": "compute", "from": "a fit"},
    {"name": "tiers", "from": "the engine's arguments"},
    {"name": "links", "from": "calibrate"},
    {"name": "slo", "from": "the service's targets"},
    {"name": "plan", "from": "what may be bought"}
  ]
}
)";
}

/// A request log of three requests, a second apart.
inline std::string small_log() {
  return "input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s\n"
         "100,3,0,0.01,0.05,0.09\n"
         "200,5,1,1.01,1.06,1.14\n"
         "300,2,2,2.01,2.07,2.09\n";
}

/// A directory with `s.json` and `t.jsonl`.
class Scene {
 public:
  Scene()
      : trace(scratch.file("t.jsonl", small_trace())),
        scenario(scratch.file("s.json", small_scenario())) {}

  std::string path(std::string_view name) const { return scratch.path(name); }
  std::string file(std::string_view name, std::string_view content) const {
    return scratch.file(name, content);
  }
  std::string listing() const { return scratch.listing(); }
  /// A validation case beside its measured run, in `v.json`.
  std::string validation_case() const {
    file("m.csv", small_request_log());
    return file("v.json", small_case());
  }
  /// The small scenario with a sweep of two cells, in `e.json`, and its campaign.
  std::string experiment() const {
    std::string text = small_scenario();
    text.replace(text.find("  \"seed\""), 0,
                 "  \"sweep\": {\"vary\": {\"tiers.0.eviction\": [\"lru\", \"fifo\"]}},\n");
    return file("e.json", text);
  }
  std::string campaign() const {
    REQUIRE(spillway({"sweep", "plan", experiment(), "-o", path("camp"), "--quiet"}).code == 0);
    return path("camp");
  }
  /// The result document of a run, in `r.json`.
  std::string result() const {
    REQUIRE(spillway({"run", scenario, "--json", path("r.json"), "--quiet"}).code == 0);
    return path("r.json");
  }

  const Scratch scratch;
  const std::string trace;
  const std::string scenario;
};

/// One working call of every verb; each ends in exit code 0 and prints something.
struct Verb {
  std::string name;  ///< as typed
  Args call;
};

inline std::vector<Verb> verbs(const Scene& scene) {
  const std::string campaign = scene.campaign();
  return {
      {"run", {"run", scene.scenario}},
      {"replay", {"replay", "--trace", scene.trace}},
      {"mrc", {"mrc", "--trace", scene.trace}},
      {"plan", {"plan", scene.scenario}},
      {"compare", {"compare", scene.scenario, "--vary", "tiers.0.eviction=lru,fifo"}},
      {"sweep plan", {"sweep", "plan", scene.experiment(), "--dry-run"}},
      {"sweep run", {"sweep", "run", campaign}},
      {"sweep worker", {"sweep", "worker", campaign, "--shard", "1/1"}},
      {"sweep status", {"sweep", "status", campaign}},
      {"sweep merge", {"sweep", "merge", campaign}},
      {"sweep emit",
       {"sweep", "emit", campaign, "--scheduler", "parallel", "-o", scene.path("shards.sh")}},
      {"trace stats", {"trace", "stats", scene.trace}},
      {"trace check", {"trace", "check", scene.trace}},
      {"trace convert", {"trace", "convert", scene.trace, scene.path("converted.bin")}},
      {"trace generate",
       {"trace", "generate", "--out", scene.path("generated.jsonl"), "--requests", "20"}},
      {"trace sample",
       {"trace", "sample", scene.trace, "--share", "1", "--out", scene.path("sample.bin")}},
      {"trace merge", {"trace", "merge", scene.trace, "--out", scene.path("merged.bin")}},
      {"trace import",
       {"trace", "import", scene.file("log.csv", small_request_log()), "--out",
        scene.path("run.jsonl")}},
      {"calibrate",
       {"calibrate", "--dry-run", "--host-only", "--only", "dram,registration", "--memory",
        "64MiB"}},
      {"validate", {"validate", scene.validation_case()}},
      {"fit", {"fit", scene.file("gemm.csv", kernel_table()), "--gpu", "H100"}},
      {"kvsize", {"kvsize", "--model", "Llama-3.1-8B"}},
      {"flags", {"flags", scene.scenario}},
      {"list", {"list", "policies"}},
      {"glossary", {"glossary", "knee"}},
      {"schema", {"schema", "result"}},
      {"report", {"report", scene.result()}},
      {"completion", {"completion", "bash"}},
      {"man", {"man", "plan"}},
      {"init", {"init", "--vllm", "vllm serve Qwen/Qwen3-14B"}},
      {"scenario from", {"scenario", "from", "vllm serve Qwen/Qwen3-14B"}},
      {"demo", {"demo", "--out", scene.path("demo"), "--set", "plan.replications=1"}},
  };
}

/// There --out names what else to write, or is where it is called already.
inline bool out_is_file(const Verb& verb) {
  Args words = verb.call;
  words.resize(verb.name.find(' ') == std::string::npos ? 1 : 2);
  return spillway(words + Args{"--help"}).out.find("Directory for the result document and the") ==
         std::string::npos;
}

/// No null anywhere; the dump of a NaN or an Infinity would be one.
inline bool has_null(const json& value) {
  if (value.is_null()) return true;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), has_null);
}

/// Text that is one JSON document and nothing else, with the envelope every document has.
inline json parse_document(const std::string& text) {
  INFO("text: " << text.substr(0, 300));
  REQUIRE(json::accept(text));
  const json document = json::parse(text);
  CHECK(document["schema_version"] == 1);
  CHECK(document["kind"].is_string());
  CHECK(document["tool"]["name"] == "spillway");
  CHECK(document["tool"]["version"].is_string());
  CHECK(document["tool"]["build"].is_string());
  CHECK(document["inputs"].is_object());
  CHECK(document["results"].is_structured());
  CHECK(document["warnings"].is_array());
  CHECK(document["digest"].get<std::string>().size() == 16);
  CHECK(document["digest"].get<std::string>().find_first_not_of("0123456789abcdef") ==
        std::string::npos);
  CHECK(document.size() == 8);
  CHECK(document["notes"].size() == document["warnings"].size());
  CHECK_FALSE(has_null(document));
  return document;
}

/// The document that `args` prints with --json -.
inline json document_of(const Args& args) {
  const CliResult result = spillway(args + Args{"--json", "-"});
  INFO("stderr: " << result.err);
  REQUIRE(result.code == 0);
  return parse_document(result.out);
}

/// A refusal: this exit code, nothing on standard output, one line on standard error with `says`.
inline void refused(const Args& args, int code, const std::string& says) {
  const CliResult result = spillway(args);
  INFO("arguments: " << fmt::format("{}", json(args).dump()));
  INFO("stderr: " << result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.err.rfind("spillway: ", 0) == 0);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.find(says) != std::string::npos);
}

/// Exit code with standard output going to a device that is always full.
inline int code_on_full_disk(const Args& args) {
  std::string command = "'" SPILLWAY_BINARY "'";
  for (const std::string& arg : args) command += " '" + arg + "'";
  const int status = std::system((command + " >/dev/full 2>/dev/null </dev/null").c_str());
  return WEXITSTATUS(status);
}

}  // namespace spillway::test

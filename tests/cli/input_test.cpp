// Bad input of every kind, through the command line: the right exit code, one line that names file,
// line, field and what was expected, nothing on standard output.
#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::refused;
using test::Scene;

/// Every verb that reads a trace.
std::vector<Args> readers(const Scene& scene, const std::string& trace) {
  return {{"replay", "--trace", trace},
          {"mrc", "--trace", trace},
          {"mrc", "--trace", trace, "--sample", "0.5"},
          {"trace", "stats", trace},
          {"trace", "convert", trace, scene.path("new.bin")},
          {"run", scene.scenario, "--set", "workload.trace=" + trace},
          {"plan", scene.scenario, "--set", "workload.trace=" + trace}};
}

void trace_refused(const std::string& name, const std::string& content, const std::string& says) {
  const Scene scene;
  const std::string path = scene.file(name, content);
  const std::string before = scene.listing();
  for (const Args& call : readers(scene, path)) refused(call, 3, path + says);
  CHECK(scene.listing() == before);
}

std::string row(const std::string& timestamp, const std::string& input) {
  return fmt::format(
      "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 5, \"hash_ids\": [1, 2]}}\n",
      timestamp, input);
}

TEST_CASE("traces that cannot be opened are exit 7", "[cli]") {
  const Scene scene;
  for (const Args& call : readers(scene, scene.path("missing.jsonl"))) {
    refused(call, 7, scene.path("missing.jsonl") + ": cannot open: No such file or directory");
  }
  for (const Args& call : readers(scene, scene.path(""))) {
    refused(call, 7, "is a directory; expected a trace file");
  }
}

TEST_CASE("malformed rows are exit 3 with file, line and field", "[cli]") {
  const std::string good = row("5", "600");
  trace_refused("t.jsonl", good + row("NaN", "600"), ":2: expected a JSON object");
  trace_refused("t.jsonl", good + row("-1", "600"),
                ":2: timestamp: expected milliseconds from 0 to 100000000000, found -1");
  trace_refused("t.jsonl", good + row("4", "600"), ":2: timestamp: arrives 1 ms before the row");
  trace_refused("t.jsonl", good + row("6", "9223372036854775808"),
                ":2: input_length: expected a whole number of tokens from 1 to 16777216, found "
                "9223372036854775808");
  trace_refused("t.jsonl", good + row("6", "0"), ":2: input_length: expected a whole number");
  trace_refused("t.jsonl", good + row("6", "6000"), ":2: hash_ids: expected 12 ids");
  trace_refused("t.jsonl", good + "{\"timestamp\": 6", ":2: expected a JSON object");
  trace_refused("t.jsonl", good + "{\"timestamp\": 6, \"input_length\": 1}\n",
                ":2: output_length: missing; expected the keys");
}

TEST_CASE("malformed CSV is exit 3 with file, line and column", "[cli]") {
  const std::string header = "timestamp_ms,input_length,output_length,hash_ids\n";
  const std::string good = "5,600,5,1 2\n";
  trace_refused("t.csv", "timestamp_ms,input_length,output_lengths,hash_ids\n" + good,
                ":1: header: unknown column \"output_lengths\"; expected timestamp_ms");
  trace_refused("t.csv", "timestamp_ms,input_length,hash_ids\n5,600,1 2\n",
                ":1: header: missing column \"output_length\"");
  trace_refused("t.csv", header + "5,600,5\n", ":2: expected 4 columns, found 3");
  trace_refused("t.csv", header + good + "6,600,5,1 2,7\n", ":3: expected 4 columns, found 5");
  trace_refused("t.csv", header + "nan,600,5,1 2\n", ":2: timestamp_ms: expected milliseconds");
  trace_refused("t.csv", header + "-1,600,5,1 2\n", ":2: timestamp_ms: expected milliseconds");
  trace_refused("t.csv", header + good + "4,600,5,1 2\n", ":3: timestamp: arrives 1 ms before");
  trace_refused("t.csv", header + "5,9223372036854775808,5,1 2\n",
                ":2: input_length: expected 1 to 16777216, found 9223372036854775808");
  trace_refused("t.csv", header + "5,600,-5,1 2\n", ":2: output_length: expected a whole number");
}

TEST_CASE("empty files and files of no known format are exit 3", "[cli]") {
  trace_refused("t.jsonl", "", ":1: no requests; expected at least one row");
  trace_refused("t.jsonl.gz", test::gzip(""), ":1: no requests; expected at least one row");
  trace_refused("t.csv", "timestamp_ms,input_length,output_length,hash_ids\n",
                ": no requests; expected at least one row");
  trace_refused("t.jsonl", "hello\n", ":1: no known trace format; known: agentic, azure, ");
}

TEST_CASE("cut and corrupt compressed traces are exit 3", "[cli]") {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += row(std::to_string(i), "600");
  const auto both = [&](const std::string& name, const std::string& whole) {
    trace_refused(name, whole.substr(0, whole.size() / 2), ": truncated: the ");
    std::string corrupt = whole;
    for (std::size_t i = corrupt.size() / 2; i < corrupt.size() / 2 + 16; ++i) corrupt[i] ^= 0x5a;
    trace_refused(name, corrupt, ": corrupt ");
    trace_refused(name, whole + "tail of something else", ": garbage after the ");
  };
  both("t.jsonl.gz", test::gzip(text));
  both("t.jsonl.zst", test::zstd(text));
}

TEST_CASE("cut and corrupt binary traces are exit 3", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("t.bin");
  REQUIRE(test::spillway({"trace", "convert", scene.trace, path}).code == 0);
  const std::string whole = test::read_file(path);
  const std::string longer = ": truncated, or longer than its header says";
  trace_refused("cut.bin", whole.substr(0, whole.size() - 8), longer);
  trace_refused("long.bin", whole + "x", longer);
  trace_refused("cut.bin", whole.substr(0, 9), ": truncated header");
  std::string corrupt = whole;
  corrupt[136] = static_cast<char>(corrupt[136] ^ 1);  // in the second request's arrival
  trace_refused("corrupt.bin", corrupt, ": content does not match its hash");
  corrupt[8] = static_cast<char>(corrupt[8] ^ 1);  // in the count of requests
  trace_refused("corrupt.bin", corrupt, ": corrupt header");
}

// ---- scenarios

void scenario_refused(const std::string& text, const std::string& says) {
  const Scene scene;
  const std::string path = scene.file("bad.json", text);
  const std::string before = scene.listing();
  for (const char* verb : {"run", "plan"}) refused({verb, path}, 2, path + says);
  CHECK(scene.listing() == before);
}

/// The small scenario with one text replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = test::small_scenario();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("scenarios and results that cannot be opened are exit 7", "[cli]") {
  const Scene scene;
  for (const char* verb : {"run", "plan", "report"}) {
    refused({verb, scene.path("no.json")}, 7,
            scene.path("no.json") + ": cannot open: No such file or directory");
    refused({verb, scene.path("")}, 7, "is a directory; expected a file");
  }
}

TEST_CASE("files that are no JSON object are exit 2 with their line", "[cli]") {
  scenario_refused("", ":1: ");
  scenario_refused("{\n\n  \"name\": ", ":3: the JSON ends early");
  scenario_refused("{\n  \"name\": \"x\",\n}", ":3: syntax error");
  scenario_refused("{\"name\": NaN}", ":1: syntax error");
  scenario_refused("{\"seed\": 1e999}", ":1: ");
  scenario_refused("[]", ":1: expected an object for the scenario, found []");
  scenario_refused("null", ":1: expected an object for the scenario, found null");
  scenario_refused("{\n\"seed\": 1,\n\"seed\": 2}", ":3: the key \"seed\" appears twice");
  scenario_refused(std::string("\x1f\x8b\x08\x00", 4), ":1: ");
}

TEST_CASE("scenario content is exit 2 with line, field and what was expected", "[cli]") {
  scenario_refused(edited("\"tiers\"", "\"teirs\""),
                   ":7: teirs: unknown key of the scenario \"teirs\"; did you mean \"tiers\"?");
  scenario_refused(edited("\"max_num_seqs\"", "\"max_num_seq\""),
                   ":5: engine.max_num_seq: unknown key of engine \"max_num_seq\"; did you mean "
                   "\"max_num_seqs\"?");
  scenario_refused(edited("\"4GiB\"", "\"4\""),
                   ":7: tiers.0.capacity: expected a size with a unit");
  scenario_refused(edited("\"4GiB\"", "4"), ":7: tiers.0.capacity: expected a size with its unit");
  scenario_refused(edited("\"4GiB\"", "\"-4GiB\""), ":7: tiers.0.capacity: expected a size");
  scenario_refused(edited("\"25GB/s\"", "\"25\""), ":9: links.0.bandwidth: expected a rate with");
  scenario_refused(edited("\"1GiB\"", "\"1\""), ":14: plan.sizes: expected a size with a unit");
  scenario_refused(edited("2048,\n", "9223372036854775808,\n"),
                   ":4: engine.num_gpu_blocks: expected a whole number from 2 to 268435456, found "
                   "9223372036854775808");
  scenario_refused(edited("\"step_us\": 2000", "\"step_us\": -1"),
                   ":6: compute.step_us: expected a number from 0");
  scenario_refused(edited("\"step_us\": 2000, ", ""), ":6: compute.step_us: missing; expected");
  scenario_refused(edited("\"vllm@0.23\"", "\"vllm@032\""),
                   ":4: engine.preset: unknown engine preset \"vllm@032\"; did you mean");
  scenario_refused(edited("\"lru\"", "\"lur\""),
                   ":7: tiers.0.eviction: unknown eviction policy \"lur\"; did you mean \"lru\"?");
  scenario_refused(edited("p99_ttft_ms", "p99_tttf_ms"), ":13: slo.0.metric: unknown metric");
  scenario_refused(edited("\"seed\": 1", "\"seed\": -1"), ":15: seed: expected a whole number");
  scenario_refused(edited("\"trace\": \"t.jsonl\", ", ""),
                   ":12: workload: expected one of trace, synthetic and benchmark");
}

TEST_CASE("a pool that cannot hold one request is exit 2", "[cli]") {
  // 604 tokens need 38 blocks of 16; the null block takes one of the 38 here.
  scenario_refused(edited("\"num_gpu_blocks\": 2048", "\"num_gpu_blocks\": 38"),
                   ":4: engine.num_gpu_blocks: the pool holds 37 blocks of 16 tokens, but the "
                   "smallest request needs 38; expected room for at least one request");
  const Scene scene;
  CHECK(test::spillway({"run", scene.scenario, "--set", "engine.num_gpu_blocks=39"}).code == 0);
}

TEST_CASE("// comments are no error", "[cli]") {
  const Scene scene;
  const std::string path = scene.file("c.json", "// why\n" + edited("\"name\"", "// x\n\"name\""));
  CHECK(test::spillway({"run", path}).code == 0);
}

TEST_CASE("control characters of an input do not reach the terminal", "[cli]") {
  const Scene scene;
  const auto result = test::spillway({"run", scene.path("\x1b[2J.json")});
  CHECK(result.code == 7);
  CHECK(result.err.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace spillway

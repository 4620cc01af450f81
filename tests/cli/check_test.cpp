// `spillway trace check`: problems with their places, verdicts, and what a trace can say.
#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_check.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::good_row;
using test::json;
using test::row;
using test::Scene;

/// `good` rows with `bad` ones among them, which have no answer's length.
std::string mixed(int good, int bad) {
  std::string out;
  for (int i = 0; i < good + bad; ++i) {
    const bool faulty = i > 0 && i <= bad;
    out += row(std::to_string(i), "40", faulty ? "null" : "1", fmt::format("[{}]", i));
  }
  return out;
}

/// The document of a check that ends in `code`.
json check_of(const Args& args, int code) {
  const CliResult result = test::spillway(Args{"trace", "check"} + args + Args{"--json", "-"});
  INFO("stderr: " << result.err);
  REQUIRE(result.code == code);
  return test::parse_document(result.out);
}

bool mentions(const json& findings, const std::string& level, const std::string& text) {
  return std::any_of(findings.begin(), findings.end(), [&](const json& finding) {
    return finding["level"] == level &&
           finding["text"].get<std::string>().find(text) != std::string::npos;
  });
}

TEST_CASE("a sound trace has a verdict of one line and exit 0", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"trace", "check", scene.trace});
  CHECK(result.code == 0);
  CHECK(result.out.substr(0, result.out.find('\n')) ==
        scene.trace + ": no problem in 6 rows (mooncake)");
  const json document = check_of({scene.trace}, 0);
  CHECK(document["kind"] == "trace-check");
  CHECK(document["results"]["problems"] == 0);
  CHECK(document["results"]["tolerable"] == true);
  CHECK(document["inputs"]["trace"]["requests"] == 6);
  const json& facts = document["results"]["facts"];
  CHECK(facts["requests"] == 6);
  CHECK(facts["span_s"] == 0.5);
  CHECK(facts["time_step_s"] == 0.1);
  CHECK(facts["prefix_identity"] == true);
  CHECK(facts["sessions"] == 0);
  CHECK(facts["infinite_cache_hits"] == 5);
}

TEST_CASE("trace check --problems N shows that many; the document lists all", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", mixed(10, 25));
  const auto shown = [&](const Args& more) {
    const CliResult result = test::spillway(Args{"trace", "check", trace} + more);
    CHECK(result.code == 3);
    CHECK(result.err.empty());
    CHECK_THAT(result.out, StartsWith(trace + ": 25 problems in 35 rows\n"));
    std::size_t count = 0;
    for (std::size_t at = 0; (at = result.out.find("b.jsonl:", at)) != std::string::npos; ++at) {
      ++count;
    }
    CHECK((result.out.find("... and ") != std::string::npos) == (count - 1 < 25));
    return count - 1;  // the verdict names the file too
  };
  CHECK(shown({}) == 20);
  CHECK(shown({"--problems", "3"}) == 3);
  CHECK(shown({"--problems", "0"}) == 0);
  CHECK(shown({"--problems", "100"}) == 25);
  const json results = check_of({trace}, 3)["results"];
  CHECK(results["problems"] == 25);
  REQUIRE(results["listed"].size() == 25);
  CHECK(results["listed"][24]["line"] == 26);
  CHECK(results["listed"][24]["field"] == "output_length");
  CHECK(results["tolerable"] == false);
  CHECK(results["facts"]["requests"] == 10);
}

TEST_CASE("a line of the list is what the other verbs refuse the trace with", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", good_row("5") + row("1", "600", "5", "[1, 2]"));
  const CliResult stats = test::spillway({"trace", "stats", trace});
  const CliResult check = test::spillway({"trace", "check", trace});
  const std::string line =
      trace + ":2: timestamp: arrives 4 ms before the row above; expected rows in order of time";
  CHECK(stats.err == "spillway: " + line + "; spillway trace check lists every problem\n");
  CHECK_THAT(check.out, ContainsSubstring("\n" + line + "\n"));
}

TEST_CASE("trace check --lenient says whether one row in a hundred is enough", "[cli]") {
  const Scene scene;
  const std::string one = scene.file("one.jsonl", mixed(99, 1));
  const std::string many = scene.file("many.jsonl", mixed(98, 2));
  CHECK(check_of({one}, 3)["results"]["tolerable"] == true);
  CHECK(check_of({one, "--lenient"}, 0)["results"]["problems"] == 1);
  CHECK(check_of({many, "--lenient"}, 3)["results"]["tolerable"] == false);
  CHECK_THAT(test::spillway({"trace", "check", one, "--lenient"}).out,
             StartsWith(one + ": 1 problem in 100 rows; --lenient leaves them out: within the 1%"));
  CHECK_THAT(test::spillway({"trace", "check", many, "--lenient"}).out,
             StartsWith(many + ": 2 problems in 100 rows; --lenient cannot leave them out: more"));
  // As the verbs that read the trace decide.
  CHECK(test::spillway({"trace", "stats", one, "--lenient"}).code == 0);
  CHECK(test::spillway({"trace", "stats", many, "--lenient"}).code == 3);
}

TEST_CASE("trace check takes --limit and --block-tokens", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", mixed(40, 20));
  CHECK(check_of({trace, "--limit", "1"}, 0)["results"]["facts"]["requests"] == 1);
  const std::string small = scene.file("s.jsonl", row("0", "40", "1", "[1, 2, 3]"));
  check_of({small}, 3);
  check_of({small, "--block-tokens", "16"}, 0);
}

TEST_CASE("a fault of the whole file is a problem behind those of its rows", "[cli]") {
  const Scene scene;
  std::string text = mixed(5, 2);
  for (int i = 7; i < 9000; ++i) text += row(std::to_string(i), "40", "1", fmt::format("[{}]", i));
  const std::string packed = test::gzip(text);
  const std::string trace = scene.file("t.gz", packed.substr(0, packed.size() - 9));
  const json results = check_of({trace}, 3)["results"];
  CHECK(results["problems"] == 3);
  CHECK(results["listed"][0]["line"] == 2);
  CHECK(results["listed"][2]["line"] == 0);
  CHECK(results["listed"][2]["message"].get<std::string>().rfind("truncated", 0) == 0);
  CHECK_FALSE(results.contains("facts"));
  check_of({trace, "--lenient"}, 3);
}

TEST_CASE("the list of problems ends at ten thousand, their count does not", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", mixed(1, 10'500));
  const json results = check_of({trace}, 3)["results"];
  CHECK(results["problems"] == 10'500);
  CHECK(results["listed"].size() == RowProblems::kMost);
}

// ---- what a trace can say

json findings_of(const Scene& scene, const std::string& text) {
  return check_of({scene.file("f.jsonl", text)}, 0)["results"]["findings"];
}

TEST_CASE("ids that stand behind different parents are a warning with the first line", "[cli]") {
  // 3 stands behind 2 in line 1, behind 9 in line 3, at the root in line 4; 2 stays behind 1.
  const Scene scene;
  const std::string text = row("0", "1500", "5", "[1, 2, 3]") + row("1", "1000", "5", "[1, 2]") +
                           row("2", "1000", "5", "[9, 3]") + row("3", "500", "5", "[3]");
  const std::string trace = scene.file("m.jsonl", text);
  const json document = check_of({trace}, 0);
  const json& results = document["results"];
  CHECK(results["facts"]["moved_references"] == 2);
  CHECK(results["facts"]["first_moved"] == "line 3");
  CHECK(mentions(results["findings"], "warning", "2 of 8 references stand behind another block"));
  CHECK(document["warnings"].size() == 1);
  REQUIRE(test::spillway({"trace", "convert", trace, scene.path("m.bin")}).code == 0);
  CHECK(check_of({scene.path("m.bin")}, 0)["results"]["facts"]["first_moved"] == "request 3");
}

TEST_CASE("an id that repeats inside a request is a warning of its own", "[cli]") {
  const Scene scene;
  const std::string text = row("0", "1500", "5", "[1, 2, 3]") + row("1", "1500", "5", "[1, 2, 1]");
  const json results = check_of({scene.file("r.jsonl", text)}, 0)["results"];
  CHECK(results["facts"]["repeating_rows"] == 1);
  CHECK(results["facts"]["first_repeat"] == "line 2");
  CHECK(results["facts"]["moved_references"] == 0);
  CHECK(mentions(results["findings"], "warning", "an id repeats inside a request"));
}

TEST_CASE("what a trace cannot say is a finding", "[cli]") {
  const Scene scene;
  const json plain =
      findings_of(scene, row("0", "600", "0", "[1, 2]") + row("0", "600", "9", "[3, 4]"));
  CHECK(mentions(plain, "warning", "no block is used by two requests"));
  CHECK(mentions(plain, "warning", "no clock: all requests arrive at one instant"));
  CHECK(mentions(plain, "warning", "outputs of no tokens, counted as one: 1 rows"));
  CHECK(mentions(plain, "note", "no sessions"));
  const json binned = findings_of(
      scene, good_row("0") + good_row("0") + good_row("0") + good_row("3000") + good_row("3000"));
  CHECK(mentions(binned, "warning", "binned arrivals: 5 requests at 2 instants, 3 s apart"));
  CHECK_FALSE(mentions(binned, "warning", "no block"));
  const json silent = findings_of(scene, row("0", "600", "0", "[1, 2]"));
  CHECK(mentions(silent, "warning", "no output lengths"));
  const json session =
      findings_of(scene, "{\"session_id\": 1, " + good_row().substr(1) + good_row("1"));
  CHECK(mentions(session, "note", "no think times"));
  CHECK_FALSE(mentions(session, "note", "no sessions"));
  const json keys = findings_of(scene, "{\"model\": 1, " + good_row().substr(1));
  CHECK(mentions(keys, "note", "ignored keys in "));
}

TEST_CASE("a trace without identity says that no hit can come from it", "[cli]") {
  WorkloadColumns c;
  static const std::vector<std::int64_t> arrivals = {0, 5};
  static const std::vector<std::uint32_t> lengths = {600, 700};
  static const std::vector<std::uint64_t> begin = {0, 0, 0};
  c.arrival_ns = arrivals;
  c.input_tokens = c.output_tokens = lengths;
  c.chain_begin = begin;
  c.block_tokens = 512;
  const TraceFacts facts = trace_facts(Workload(nullptr, c, {}), {});
  CHECK_FALSE(facts.prefix_identity);
  CHECK(facts.time_step_s == 5e-9);
}

TEST_CASE("the conversation trace breaks no rule of its publisher", "[cli]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const test::Figures figure(trace, "conversation");
  const json facts = check_of({trace.path}, 0)["results"]["facts"];
  CHECK(facts["requests"] == figure(12'031, "requests"));
  CHECK(facts["distinct_arrival_times"] == figure(1'180, "distinct_arrival_times"));
  CHECK(facts["moved_references"] == 0);
  CHECK(facts["repeating_rows"] == 0);
  CHECK(facts["infinite_cache_hits"] == figure(105'710, "infinite_hits"));
}

}  // namespace
}  // namespace spillway

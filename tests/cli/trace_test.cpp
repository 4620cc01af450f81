// `spillway trace stats|convert`, and what all verbs about traces share.
#include <cmath>
#include <set>
#include <sstream>

#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

std::string content_hash(const std::string& trace) {
  return test::document_of({"trace", "stats", trace})["results"]["content_hash"];
}

TEST_CASE("trace stats counts what can be counted by hand", "[cli]") {
  // Six requests over 0.5 s; block 0 six times, blocks 1 to 6 once each.
  const Scene scene;
  const json document = test::document_of({"trace", "stats", scene.trace});
  CHECK(document["kind"] == "trace-stats");
  const json& r = document["results"];
  CHECK(r["requests"] == 6);
  CHECK(r["span_s"].get<double>() == Approx(0.5));
  CHECK(r["distinct_arrival_times"] == 6);
  CHECK(r["input_tokens"]["total"] == 3600);
  CHECK(r["input_tokens"]["max"] == 600);
  CHECK(r["output_tokens"]["total"] == 30);
  CHECK(r["block_tokens"] == 512);
  CHECK(r["references"] == 12);
  CHECK(r["unique_blocks"] == 7);
  CHECK(r["single_use_blocks"] == 6);
  CHECK(r["infinite_cache_hits"] == 5);
  CHECK(r["infinite_cache_hit_ratio"].get<double>() == Approx(5.0 / 12));
  CHECK_FALSE(r.contains("sessions"));
  CHECK(r["content_hash"].get<std::string>().size() == 16);
}

TEST_CASE("trace stats shows the same figures on the terminal", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"trace", "stats", scene.trace});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring(scene.trace + ": 6 requests over 0.5"));
  CHECK_THAT(result.out, ContainsSubstring(content_hash(scene.trace)));
  CHECK_THAT(result.out, ContainsSubstring("hit ratio of an infinite cache     0.4167"));
}

TEST_CASE("trace stats --limit reads the first requests only", "[cli]") {
  const Scene scene;
  const json r = test::document_of({"trace", "stats", scene.trace, "--limit", "2"})["results"];
  CHECK(r["requests"] == 2);
  CHECK(r["references"] == 4);
}

TEST_CASE("trace stats --block-tokens reads traces of other block sizes", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", test::row("0", "40", "1", "[1, 2, 3]"));
  refused({"trace", "stats", trace}, 3, "give the trace's block size");
  CHECK(test::document_of(
            {"trace", "stats", trace, "--block-tokens", "16"})["results"]["references"] == 3);
}

TEST_CASE("keys of a trace that are ignored are said", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("k.jsonl", "{\"note\": 1, " + test::good_row().substr(1));
  const CliResult result = test::spillway({"trace", "stats", trace});
  CHECK(result.err == "note: ignored keys in " + trace + ": note\n");
  CHECK(test::document_of({"trace", "stats", trace})["warnings"].size() == 1);
}

// ---- convert

const char* const kForms[] = {".jsonl",   ".jsonl.gz", ".jsonl.zst", ".csv",
                              ".csv.zst", ".csv.gz",   ".bin"};

TEST_CASE("every form of a trace converts to every other with its content hash", "[cli]") {
  const Scene scene;
  for (const std::string& source : {scene.trace, scene.path("chat.jsonl")}) {
    if (source != scene.trace) {  // with sessions and fractions of a millisecond behind
      REQUIRE(test::spillway({"trace", "generate", "--out", source, "--requests", "40"}).code == 0);
    }
    const std::string hash = content_hash(source);
    for (const std::string from : kForms) {
      const std::string first = scene.path("first" + from);
      REQUIRE(test::spillway({"trace", "convert", source, first}).code == 0);
      CHECK(content_hash(first) == hash);
      for (const std::string to : kForms) {
        INFO(from << " to " << to);
        const std::string second = scene.path("second" + to);
        const json document = test::document_of({"trace", "convert", first, second});
        CHECK(document["kind"] == "trace-convert");
        CHECK(document["results"]["content_hash"] == hash);
        if (to == ".bin") CHECK(content_hash(second) == hash);
      }
    }
  }
}

TEST_CASE("fractions of a millisecond survive conversion", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file(
      "f.jsonl", test::good_row("0.000001") + test::good_row("2.5") + test::good_row("3"));
  const std::string back = scene.path("back.jsonl");
  for (const char* form : {"a.csv", "a.bin", "a.jsonl.zst"}) {
    REQUIRE(test::spillway({"trace", "convert", trace, scene.path(form)}).code == 0);
    REQUIRE(test::spillway({"trace", "convert", scene.path(form), back}).code == 0);
    CHECK_THAT(test::read_file(back), ContainsSubstring("{\"timestamp\": 0.000001, "));
    CHECK_THAT(test::read_file(back), ContainsSubstring("{\"timestamp\": 2.5, "));
    CHECK(content_hash(back) == content_hash(trace));
  }
}

TEST_CASE("converting twice gives the same bytes", "[cli]") {
  const Scene scene;
  for (const std::string form : kForms) {
    const std::string one = scene.path("one" + form);
    const std::string two = scene.path("two" + form);
    REQUIRE(test::spillway({"trace", "convert", scene.trace, one}).code == 0);
    REQUIRE(test::spillway({"trace", "convert", one, two}).code == 0);
    INFO(form);
    CHECK(test::read_file(one) == test::read_file(two));
  }
}

TEST_CASE("trace convert says what it wrote", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"trace", "convert", scene.trace, scene.path("o.bin")});
  CHECK(result.out == scene.path("o.bin") + ": 6 requests, 7 blocks, content hash " +
                          content_hash(scene.trace) + "\n");
}

TEST_CASE("trace convert takes --limit and --block-tokens", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("o.jsonl");
  REQUIRE(test::spillway({"trace", "convert", scene.trace, out, "--limit", "2"}).code == 0);
  CHECK(test::document_of({"trace", "stats", out})["results"]["requests"] == 2);
  const std::string trace = scene.file("b.jsonl", test::row("0", "40", "1", "[1, 2, 3]"));
  const std::string bin = scene.path("o.bin");
  REQUIRE(test::spillway({"trace", "convert", trace, bin, "--block-tokens", "16"}).code == 0);
  CHECK(test::document_of({"trace", "stats", bin})["results"]["block_tokens"] == 16);
}

/// Two agent sessions of one request each, in blocks of 4 tokens.
std::string agents() {
  std::string out;
  for (const char* id : {"a", "b"}) {
    out += fmt::format(
        "{{\"id\": \"{}\", \"block_size\": 4, \"requests\": [{{\"t\": 0, \"type\": \"n\", \"in\": "
        "9, "
        "\"out\": 3, \"hash_ids\": [1, 2]}}]}}\n",
        id);
  }
  return out;
}

TEST_CASE("--session-interval places the sessions of a trace without a clock", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("agents.jsonl", agents());
  const auto span = [&](const Args& more) {
    const json document = test::document_of(Args{"trace", "stats", trace} + more);
    CHECK(document["warnings"].size() == 1);
    return document["results"]["span_s"].get<double>();
  };
  CHECK(span({}) == Approx(60));
  CHECK(span({"--session-interval", "0.5"}) == Approx(0.5));
  const std::string out = scene.path("o.bin");
  REQUIRE(test::spillway({"trace", "convert", trace, out, "--session-interval", "7"}).code == 0);
  CHECK(test::document_of({"trace", "stats", out})["results"]["span_s"].get<double>() == Approx(7));
  const json replay = test::document_of({"replay", "--trace", trace, "--session-interval", "3"});
  CHECK(replay["warnings"].dump().find("session k starts at 3 s x k") != std::string::npos);
  refused({"trace", "stats", out, "--session-interval", "7"}, 2, "format binary has a clock");
  refused({"trace", "stats", scene.trace, "--session-interval", "7"}, 2,
          "format mooncake has a clock; expected no session_interval_s");
  for (const std::string seconds : {"-1", "nan", "1e9"}) {
    refused({"trace", "stats", trace, "--session-interval", seconds}, 2, "--session-interval");
  }
}

TEST_CASE("trace convert --to names the form of JSON lines, and says what that loses", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("agents.jsonl", agents());
  const std::string out = scene.path("o.jsonl");
  const auto convert = [&](const std::string& to) {
    const json document = test::document_of({"trace", "convert", trace, out, "--to", to});
    return document["warnings"].dump();
  };
  CHECK(convert("native").find("made up") == std::string::npos);
  CHECK(content_hash(out) == content_hash(trace));
  const std::string lost = convert("mooncake");
  CHECK(lost.find("ids made up for blocks that have none, in 2 of 2 rows") != std::string::npos);
  CHECK(lost.find("read it with --block-tokens 4") != std::string::npos);
  CHECK(test::document_of(
            {"trace", "stats", out, "--block-tokens", "4"})["results"]["references"] == 6);
  refused({"trace", "convert", trace, scene.path("o.csv"), "--to", "native"}, 2,
          "--to names a form");
  refused({"trace", "convert", trace, scene.path("o.bin"), "--to", "native"}, 2,
          "--to names a form");
  refused({"trace", "convert", trace, out, "--to", "parquet"}, 2, "--to");
}

TEST_CASE("trace convert --speed divides recorded times as a run does", "[cli]") {
  const Scene scene;
  const auto times = [&](const Args& more, const std::string& name) {
    const std::string out = scene.path(name);
    REQUIRE(test::spillway(Args{"trace", "convert", scene.trace, out} + more).code == 0);
    const Workload written = open_trace(out, {});
    const auto ns = written.columns().arrival_ns;
    return std::vector<std::int64_t>(ns.begin(), ns.end());
  };
  const std::vector<std::int64_t> recorded = times({}, "a.bin");
  for (const std::string name : {"b.jsonl", "b.bin", "b.csv"}) {
    const std::vector<std::int64_t> slow = times({"--speed", "0.7"}, name);
    REQUIRE(slow.size() == recorded.size());
    for (std::size_t i = 0; i < slow.size(); ++i) CHECK(slow[i] == recorded[i] * 10 / 7);
  }
  CHECK(times({"--speed", "1"}, "c.bin") == recorded);
  for (const std::string speed : {"0", "-1", "nan", "1e7"}) {
    refused({"trace", "convert", scene.trace, scene.path("d.bin"), "--speed", speed}, 2, "--speed");
  }
}

TEST_CASE("trace convert --to aiperf writes rows that AIPerf takes", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("o.jsonl");
  const json document = test::document_of(
      {"trace", "convert", scene.file("agents.jsonl", agents()), out, "--to", "aiperf"});
  CHECK(document["warnings"].dump().find("--isl-block-size 4") != std::string::npos);
  CHECK(document["warnings"].dump().find("lost the session") != std::string::npos);
  std::istringstream lines(test::read_file(out));
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    CHECK(row.size() == 4);  // neither a session nor a header
    CHECK(row["timestamp"].is_number());
    // 9 tokens in blocks of 4: every block has an id, the partial one too.
    CHECK(row["hash_ids"].size() == 3);
  }
}

TEST_CASE("trace convert writes JSON lines to standard output", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"trace", "convert", scene.trace, "-"});
  CHECK(result.code == 0);
  CHECK(result.out == test::read_file(scene.trace));
}

TEST_CASE("a trace on standard output stands there alone", "[cli]") {
  const Scene scene;
  const Args verbs[] = {{"trace", "convert", scene.trace, "-"},
                        {"trace", "generate", "--requests", "20", "--out", "-"},
                        {"trace", "generate", "--like", scene.trace, "--out", "-"},
                        {"trace", "sample", scene.trace, "--share", "1", "--out", "-"},
                        {"trace", "merge", scene.trace, "--out", "-"}};
  for (const Args& verb : verbs) {
    CAPTURE(verb);
    refused(verb + Args{"--json", "-"}, 2, "the trace goes to standard output");
    const CliResult result = test::spillway(verb);
    CHECK(result.code == 0);
    std::istringstream lines(result.out);
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) CHECK(json::accept(line));
    CHECK(rows > 0);
  }
}

TEST_CASE("what a verb reads is never written over", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("mine.jsonl", test::row("0", "40", "1", "[1]"));
  const std::string rates = scene.file(
      "rates.csv", "client,start_s,rate_rps,cv,dist,param1,param2\n0,600,1,1,Gamma,1,1\n");
  const std::string link = scene.path("link.jsonl");
  std::filesystem::create_symlink(trace, link);
  const std::string html = "kind=html,path=" + trace;
  const std::vector<Args> calls = {
      {"trace", "convert", trace, link},
      {"trace", "sample", trace, "--out", link},
      {"trace", "merge", trace, "--out", trace},
      {"trace", "generate", "--like", trace, "--out", trace},
      {"trace", "stats", trace, "--json", link},
      {"trace", "stats", trace, "--output", html},
      {"trace", "check", trace, "--json", trace},
      {"replay", "--trace", trace, "--json", trace},
      {"run", scene.scenario, "--set", "workload.trace=" + trace, "--output", html},
      {"plan", scene.scenario, "--set", "workload.trace=" + trace, "--json", trace},
      {"trace", "generate", "--arrivals", "rates", "--rates", rates, "--out", rates}};
  const std::string before = test::read_file(trace);
  const std::string rates_before = test::read_file(rates);
  for (const Args& call : calls) {
    refused(call, 2, "is the input itself; expected another file");
    CHECK(test::read_file(trace) == before);
    CHECK(test::read_file(rates) == rates_before);
  }
}

TEST_CASE("--lenient leaves one row in a hundred out and no more", "[cli]") {
  // 100 rows, the 51st without an answer's length: 1 of 100 is 1%. Cut to 99 rows, it is more.
  const Scene scene;
  std::string rows;
  for (int i = 0; i < 100; ++i) {
    rows += test::row(std::to_string(i), "40", i == 50 ? "null" : "1", fmt::format("[{}]", i));
  }
  const std::string trace = scene.file("one.jsonl", rows);
  const std::string few = scene.file("few.jsonl", rows.substr(0, rows.rfind('{')));
  const std::string out = scene.path("o.bin");
  for (const Args& verb : {Args{"trace", "stats", trace}, Args{"trace", "convert", trace, out},
                           Args{"replay", "--trace", trace}}) {
    refused(verb, 3, "one.jsonl:51: output_length: ");
    const json document = test::document_of(verb + Args{"--lenient"});
    const json& counts = document["inputs"]["trace"]["rows"];
    CHECK(counts["read"] == 100);
    CHECK(counts["kept"] == 99);
    CHECK(counts["quarantined"] == 1);
    CHECK(document["warnings"].dump().find("1 of 100 rows of") != std::string::npos);
  }
  refused({"trace", "stats", few, "--lenient"}, 3, "1 of 99 rows are faulty; expected at most 1%");
}

TEST_CASE("--infer-sessions finds the turns of chats", "[cli]") {
  // The second request continues the first 20 s later, the third is somebody else's.
  const Scene scene;
  const std::string trace =
      scene.file("chat.jsonl", test::row("0", "600", "5", "[1, 2]") +
                                   test::row("20000", "1100", "5", "[1, 3, 4]") +
                                   test::row("30000", "600", "5", "[5, 6]"));
  for (const Args& verb :
       {Args{"trace", "stats", trace}, Args{"trace", "convert", trace, scene.path("o.bin")},
        Args{"replay", "--trace", trace}}) {
    const json all = test::document_of(verb + Args{"--infer-sessions"});
    const json& found = all["inputs"]["trace"]["inferred_sessions"];
    CHECK(found["sessions"] == 2);
    CHECK(found["placed"] == 2);
    CHECK(found["share"].get<double>() == Approx(2.0 / 3));
    CHECK(all["warnings"].dump().find("sessions inferred from prefixes: 2 sessions, 66.7%") !=
          std::string::npos);
    const json near =
        test::document_of(verb + Args{"--infer-sessions", "--session-window", "19.5"});
    CHECK(near["inputs"]["trace"]["inferred_sessions"]["placed"] == 0);
    CHECK_FALSE(test::document_of(verb)["inputs"]["trace"].contains("inferred_sessions"));
    refused(verb + Args{"--session-window", "60"}, 2, "--infer-sessions");
    for (const char* window : {"0", "-1", "nan", "1e9", "long"}) {
      refused(verb + Args{"--infer-sessions", "--session-window", window}, 2, "--session-window");
    }
  }
}

TEST_CASE("trace convert refuses names it cannot tell and its own input", "[cli]") {
  const Scene scene;
  const std::string before = test::read_file(scene.trace);
  for (const char* name : {"o", "o.json", "o.gz", "o.parquet", "o.bin.gz", "o.jsonl.xz"}) {
    refused({"trace", "convert", scene.trace, scene.path(name)}, 2,
            "cannot tell the format from the name; expected .bin, or .jsonl or .csv");
  }
  refused({"trace", "convert", scene.trace, scene.trace}, 2, "is the input itself");
  std::filesystem::create_symlink(scene.trace, scene.path("link.jsonl"));
  refused({"trace", "convert", scene.trace, scene.path("link.jsonl")}, 2, "is the input itself");
  CHECK(test::read_file(scene.trace) == before);
  CHECK(scene.listing() == "link.jsonl s.json t.jsonl");
}

TEST_CASE("a trace that cannot be written is exit 7 and leaves nothing", "[cli]") {
  const Scene scene;
  std::filesystem::create_directories(scene.path("dir.bin"));
  for (const std::string form : kForms) {
    INFO(form);
    const std::string missing = scene.path("missing/o" + form);
    refused({"trace", "convert", scene.trace, missing}, 7, missing + ": cannot open for writing");
    refused({"trace", "generate", "--out", missing}, 7, missing + ": cannot open for writing");
  }
  refused({"trace", "convert", scene.trace, scene.path("dir.bin")}, 7, "is a directory");
  refused({"trace", "generate", "--out", scene.path("dir.bin")}, 7, "is a directory");
  CHECK(scene.listing() == "dir.bin s.json t.jsonl");
}

// ---- generate

}  // namespace
}  // namespace spillway

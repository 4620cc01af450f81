// `spillway trace generate`, with and without --like.
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

TEST_CASE("trace generate is the same for the same seed", "[cli]") {
  const Scene scene;
  const auto text = [&](const Args& more) {
    const std::string path = scene.path("g.jsonl");
    const Args call = {"trace", "generate", "--out", path, "--requests", "50"};
    REQUIRE(test::spillway(call + more).code == 0);
    return test::read_file(path);
  };
  CHECK(text({}) == text({"--seed", "1"}));
  CHECK(text({"--seed", "7"}) == text({"--seed", "7", "--threads", "4"}));
  CHECK(text({"--seed", "7"}) != text({"--seed", "8"}));
}

TEST_CASE("each option of trace generate changes the trace", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("g.bin");
  const std::string rates = scene.file("rates.csv",
                                       "client,start_s,rate_rps,cv,dist,param1,param2\n"
                                       "0,0,1,1,Gamma,1,1\n");
  const Args call = {"trace", "generate", "--out", path};
  const auto hash = [&](const Args& more) {
    return test::document_of(call + more)["results"]["content_hash"].get<std::string>();
  };
  const std::vector<Args> options = {
      {},
      {"--requests", "2001"},
      {"--sessions-per-s", "2"},
      {"--turns", "9"},
      {"--think-s", "3"},
      {"--system-prompts", "2"},
      {"--system-zipf", "3"},
      {"--system-tokens", "4000"},
      {"--user-tokens", "100"},
      {"--answer-tokens", "90"},
      {"--burst-factor", "1"},
      {"--burst-every-s", "60"},
      {"--burst-length-s", "200"},
      {"--max-context", "4096"},
      {"--block-tokens", "256"},
      {"--arrivals", "gamma"},
      {"--arrivals", "weibull"},
      {"--arrivals", "gamma", "--arrival-cv", "2"},
      {"--arrivals", "rates", "--rates", rates},
      {"--arrivals", "rates", "--rates", rates, "--rate-scale", "2"},
      {"--day-amplitude", "0.5"},
      {"--day-amplitude", "0.5", "--day-peak-hour", "2"},
      {"--day-factors", "1,1,1,1,1,1,2,2,2,2,2,2,3,3,3,3,3,3,4,4,4,4,4,4"},
      {"--tenants", "4"},
      {"--tenants", "4", "--tenant-zipf", "3"},
      {"--system-sigma", "0"},
      {"--turn-counts", "fixed"},
      {"--turn-counts", "heavy-tail"},
      {"--turn-counts", "heavy-tail", "--turn-tail", "3"},
      {"--think-times", "lognormal"},
      {"--think-times", "lognormal", "--think-sigma", "2"},
      {"--user-sigma", "0"},
      {"--user-quantiles", "10,20,500"},
      {"--answer-sigma", "0"},
      {"--answer-quantiles", "10,20,500"},
      {"--answer-tokens-per-s", "10"},
      {"--max-context", "4096", "--context", "window"},
      {"--max-context", "4096", "--context", "compact"},
      {"--max-context", "4096", "--context", "compact", "--summary-tokens", "100"},
  };
  std::set<std::string> hashes;
  for (const Args& more : options) {
    INFO(json(more).dump());
    CHECK(hashes.insert(hash(more)).second);
  }
}

TEST_CASE("trace generate obeys its sizes", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("g.bin");
  const json made = test::document_of({"trace", "generate", "--out", path, "--requests", "321",
                                       "--max-context", "2000", "--block-tokens", "64"});
  CHECK(made["kind"] == "trace-generate");
  CHECK(made["results"]["requests"] == 321);
  const json r = test::document_of({"trace", "stats", path})["results"];
  CHECK(r["requests"] == 321);
  CHECK(r["block_tokens"] == 64);
  CHECK(r["input_tokens"]["max"].get<int>() <= 2000);
  CHECK(r["sessions"].get<int>() > 0);
}

TEST_CASE("trace generate refuses what a scenario refuses", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("g.jsonl");
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--requests", {"0", "-1", "1.5", "1000000001", "9223372036854775808", "many"}},
      {"--sessions-per-s", {"0", "-1", "1e7", "nan", "inf", "fast"}},
      {"--turns", {"0", "0.5", "nan", "1e7"}},
      {"--think-s", {"-1", "nan", "1e8"}},
      {"--system-prompts", {"0", "-3", "16777217"}},
      {"--system-zipf", {"-1", "101", "nan"}},
      {"--system-tokens", {"0", "1e300", "nan"}},
      {"--user-tokens", {"0", "1e8", "nan"}},
      {"--answer-tokens", {"0", "inf", "nan"}},
      {"--burst-factor", {"0.5", "1e5", "nan"}},
      {"--burst-every-s", {"0", "-1", "nan"}},
      {"--burst-length-s", {"-1", "301", "nan"}},  // beyond --burst-every-s
      {"--max-context", {"63", "16777217", "-64"}},
      {"--block-tokens", {"0", "65537"}},
      {"--arrivals", {"often", "rates"}},
      {"--arrival-cv", {"0.01", "21", "2"}},  // 2: of a Poisson process
      {"--rates", {"t.csv"}},                 // without --arrivals rates
      {"--rate-scale", {"0", "nan"}},
      {"--day-amplitude", {"-0.1", "1.1"}},
      {"--day-peak-hour", {"-1", "25"}},
      {"--day-factors", {"1,2,3", "x"}},
      {"--tenants", {"0", "1048577"}},
      {"--tenant-zipf", {"-1", "101"}},
      {"--system-sigma", {"-1", "11"}},
      {"--turn-counts", {"some"}},
      {"--turn-tail", {"1", "11"}},
      {"--think-times", {"slow"}},
      {"--think-sigma", {"-1", "nan"}},
      {"--user-sigma", {"-1"}},
      {"--user-quantiles", {"5", "9,8", "0,1"}},
      {"--answer-sigma", {"11"}},
      {"--answer-quantiles", {"5", "9,8"}},
      {"--answer-tokens-per-s", {"0"}},
      {"--context", {"shrink"}},
      {"--summary-tokens", {"0"}},
  };
  for (const auto& [flag, values] : cases) {
    for (const std::string& value : values) {
      INFO(flag << " " << value);
      refused({"trace", "generate", "--out", path, flag + "=" + value}, 2, "");
    }
  }
  CHECK(scene.listing() == "s.json t.jsonl");
}

TEST_CASE("trace generate --like says how like the trace came out", "[cli]") {
  const Scene scene;
  const std::string original = scene.path("o.bin");
  const std::string made = scene.path("m.jsonl.gz");
  REQUIRE(test::spillway({"trace", "generate", "--out", original, "--requests", "2000"}).code == 0);
  const Args call = {"trace", "generate", "--out", made, "--like", original};
  const json document = test::document_of(call);
  CHECK(document["kind"] == "trace-generate");
  CHECK(document["results"]["requests"] == 2000);
  CHECK(document["inputs"]["like"]["requests"] == 2000);
  const json& rows = document["results"]["likeness"];
  REQUIRE(rows.size() == 11);
  std::size_t beyond = 0;
  for (const json& row : rows) {
    const double o = row["original"];
    const double g = row["generated"];
    CHECK(row["error"].get<double>() == Approx(o == g ? 0 : g / o - 1));
    beyond += std::abs(row["error"].get<double>()) > 0.05 ? 1 : 0;
  }
  std::size_t warned = 0;
  for (const json& note : document["notes"]) {
    warned += note.value("code", "") == "unlike" ? 1 : 0;
  }
  CHECK(warned == beyond);
  // What the document says about the generated trace is what the file is like.
  const json stats = test::document_of({"trace", "stats", made})["results"];
  CHECK(stats["requests_per_s"] == rows[0]["generated"]);
  CHECK(stats["input_tokens"]["p99"] == rows[3]["generated"]);
  CHECK(stats["infinite_cache_hit_ratio"] == rows[7]["generated"]);

  const auto text = test::spillway(call + Args{"--requests", "500", "--seed", "3", "--notes"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, ContainsSubstring("500 requests"));
  CHECK_THAT(text.out, ContainsSubstring("hit ratio, infinite cache"));
  CHECK_THAT(text.err, ContainsSubstring("Compared with the first 500"));
}

TEST_CASE("trace generate --like takes no parameters of synthetic traces", "[cli]") {
  const Scene scene;
  const Args call = {"trace", "generate", "--out", scene.path("m.jsonl"), "--like"};
  refused(call + Args{scene.trace, "--turns", "3"}, 2, "--turns");
  refused(call + Args{scene.path("missing.jsonl")}, 7, "missing.jsonl");
  refused(call + Args{scene.file("bad.jsonl", "what\n")}, 3, "bad.jsonl");
  refused(call + Args{scene.trace, "--requests", "0"}, 2, "--requests");
}

// ---- the bundled sample

/// Words of the first command in a text that starts with `start`; a line may end in a backslash.
std::vector<std::string> command_in(std::string text, const std::string& start) {
  for (std::size_t at; (at = text.find("\\\n")) != std::string::npos;) text.replace(at, 2, " ");
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return {};
  std::istringstream line(text.substr(at, text.find_first_of("\n`", at) - at));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

TEST_CASE("the bundled sample is what its command makes", "[cli]") {
  const Scene scene;
  const std::string made = scene.path("made.jsonl.gz");
  const Args call = {"trace",
                     "generate",
                     "--out",
                     made,
                     "--seed",
                     "1",
                     "--requests",
                     "2000",
                     "--sessions-per-s",
                     "0.06",
                     "--turns",
                     "8",
                     "--think-s",
                     "60",
                     "--system-tokens",
                     "2000",
                     "--user-tokens",
                     "500"};
  REQUIRE(test::spillway(call).code == 0);
  const std::string sample = test::source_path("traces/samples/chat.jsonl.gz");
  const auto unpacked = [&](const std::string& trace) {  // packed bytes depend on zlib's version
    REQUIRE(test::spillway({"trace", "convert", trace, scene.path("x.jsonl")}).code == 0);
    return test::read_file(scene.path("x.jsonl"));
  };
  CHECK(unpacked(made) == unpacked(sample));
}

TEST_CASE("the README of the samples says the command that makes them", "[cli]") {
  const std::string readme = test::source_path("traces/samples/README.md");
  if (!std::filesystem::exists(readme)) {
    WARN("skipped: traces/samples has no README.md yet");
    return;
  }
  const std::vector<std::string> words =
      command_in(test::read_file(readme), "spillway trace generate ");
  REQUIRE(words.size() > 3);
  const Scene scene;
  Args call(words.begin() + 1, words.end());
  const auto out = std::find(call.begin(), call.end(), "--out");
  REQUIRE(out + 1 < call.end());
  out[1] = scene.path("made.jsonl.gz");
  REQUIRE(test::spillway(call).code == 0);
  CHECK(content_hash(scene.path("made.jsonl.gz")) ==
        content_hash(test::source_path("traces/samples/chat.jsonl.gz")));
}

TEST_CASE("trace generate writes the requests of a benchmark tool", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("b.jsonl");
  const std::string object =
      R"({"tool": "guidellm", "version": "0.5.4", "concurrency": 2, "requests": 7,)"
      R"( "prompt_tokens": 100, "output_tokens": 10})";
  const Args call = {"trace", "generate", "--out", path};
  const auto hash = [&](const std::string& given) {
    REQUIRE(test::spillway(call + Args{"--benchmark", given}).code == 0);
    return content_hash(path);
  };
  const std::string once = hash(object);
  CHECK(hash(scene.file("b.json", object)) == once);
  CHECK(hash(scene.file("s.json", R"({"workload": {"benchmark": )" + object + "}}")) == once);
  CHECK(test::document_of({"trace", "stats", path})["results"]["requests"] == 7);
  const Args object_and_set = {"--benchmark", object, "--set", "requests=9"};
  REQUIRE(test::spillway(call + object_and_set).code == 0);
  CHECK(test::document_of({"trace", "stats", path})["results"]["requests"] == 9);
  const std::string scenario =
      scene.file("s.json", R"({"workload": {"benchmark": )" + object + "}}");
  REQUIRE(
      test::spillway(call + Args{"--benchmark", scenario, "--set", "workload.benchmark.requests=8"})
          .code == 0);
  CHECK(test::document_of({"trace", "stats", path})["results"]["requests"] == 8);
  refused(call + Args{"--benchmark", scenario, "--set", "requests=8"}, 2,
          "expected workload.benchmark.KEY=VALUE");
  refused(call + Args{"--benchmark", object, "--set", "seconds=0"}, 2, "seconds");
  refused(call + Args{"--set", "requests=8"}, 2, "--set would change nothing");
  refused(call + Args{"--benchmark", R"({"tool": "guidellm"})"}, 2, "expected a version");
  refused(call + Args{"--benchmark", object, "--turns", "3"}, 2, "--turns");
  refused(call + Args{"--benchmark", object, "--seed", "3"}, 2, "--seed");
}

}  // namespace
}  // namespace spillway

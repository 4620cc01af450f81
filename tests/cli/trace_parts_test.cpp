// `spillway trace sample|merge`.
#include <set>

#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

/// A generated trace of the scene's.
std::string chats(const Scene& scene, const std::string& name, const Args& more = {}) {
  const Args call = {"trace", "generate", "--out", scene.path(name), "--requests", "400"};
  REQUIRE(test::spillway(call + more).code == 0);
  return scene.path(name);
}

json stats(const std::string& trace) {
  return test::document_of({"trace", "stats", trace})["results"];
}

// ---- sample

TEST_CASE("trace sample writes a share and says how near its hit ratios are", "[cli]") {
  const Scene scene;
  const std::string trace = chats(scene, "chat.bin");
  const std::string out = scene.path("half.bin");
  const json document = test::document_of(
      {"trace", "sample", trace, "--share", "0.5", "--out", out, "--max-difference", "0.5"});
  CHECK(document["kind"] == "trace-sample");
  const json& r = document["results"];
  CHECK(r["written"] == true);
  CHECK(r["path"] == out);
  CHECK(r["share"] == 0.5);
  CHECK(r["curve"].size() == 5);
  double largest = 0;
  for (const json& at : r["curve"]) {
    CHECK(at["difference"].get<double>() ==
          Approx(at["sample"].get<double>() - at["original"].get<double>()).margin(1e-12));
    CHECK(at["sample_blocks"].get<double>() ==
          Approx(at["capacity_blocks"].get<double>() / 2).margin(0.51));
    largest = std::max(largest, std::abs(at["difference"].get<double>()));
  }
  CHECK(r["largest_difference"].get<double>() >= largest);
  const json made = stats(out);
  CHECK(made["requests"] == r["kept"]["requests"]["sample"]);
  CHECK(made["requests"].get<double>() == Approx(200).margin(20));
  CHECK(made["sessions"] == r["kept"]["sessions"]["sample"]);
  CHECK(made["content_hash"] == r["content_hash"]);
  CHECK(test::document_of({"trace", "sample", trace, "--share", "0.5", "--out", out,
                           "--max-difference", "0.5", "--seed", "2"})["results"]["content_hash"] !=
        r["content_hash"]);
}

TEST_CASE("trace sample declines where hit ratios differ, and writes nothing", "[cli]") {
  // One request of six, in caches of a sixth: the shared block is lost.
  const Scene scene;
  const std::string out = scene.path("o.bin");
  const Args call = {"trace", "sample", scene.trace, "--share", "0.16", "--out", out};
  const CliResult result = test::spillway(call);
  CHECK(result.code == 5);
  CHECK_THAT(result.err, ContainsSubstring("Nothing is written: hit ratios differ by up to"));
  CHECK_THAT(result.out, ContainsSubstring("LRU hit ratio, capacities scaled by the share"));
  CHECK_FALSE(std::filesystem::exists(out));
  const CliResult machine = test::spillway(call + Args{"--json", "-"});
  CHECK(machine.code == 5);
  const json r = test::parse_document(machine.out)["results"];
  CHECK(r["written"] == false);
  CHECK_FALSE(r.contains("path"));
  CHECK(test::spillway(call + Args{"--max-difference", "1"}).code == 0);
  CHECK(std::filesystem::exists(out));
}

TEST_CASE("trace sample reads its trace as other verbs do", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.jsonl", test::row("0", "40", "1", "[1, 2, 3]") +
                                                      test::row("1000", "50", "1", "null") +
                                                      test::row("2000", "60", "1", "[1, 2, 4, 5]"));
  const std::string out = scene.path("o.bin");
  const Args call = {"trace", "sample",         trace, "--share", "1", "--out",
                     out,     "--block-tokens", "16"};
  refused(call, 3, "b.jsonl:2: hash_ids: ");
  refused(call + Args{"--lenient"}, 3, "1 of 3 rows are faulty");
  REQUIRE(test::spillway(call + Args{"--limit", "1"}).code == 0);
  CHECK(stats(out)["requests"] == 1);
  const std::string chat =
      scene.file("chat.jsonl", test::row("0", "1024", "5", "[1, 2]") +
                                   test::row("20000", "1100", "5", "[1, 2, 3]"));
  const auto turns = [&](const char* window) {
    return test::document_of({"trace", "sample", chat, "--share", "1", "--out", out,
                              "--infer-sessions", "--session-window",
                              window})["results"]["kept"]["sessions"]["sample"];
  };
  CHECK(turns("20") == 1);
  CHECK(turns("19") == 2);
}

TEST_CASE("trace sample refuses shares of nothing and its own input", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("o.bin");
  for (const char* share : {"0", "-0.1", "1.1", "nan", "ten"}) {
    refused({"trace", "sample", scene.trace, "--out", out, "--share", share}, 2, "--share");
  }
  for (const char* most : {"-0.1", "2", "nan"}) {
    refused({"trace", "sample", scene.trace, "--out", out, "--max-difference", most}, 2,
            "--max-difference");
  }
  refused({"trace", "sample", scene.trace, "--out", scene.trace}, 2, "is the input itself");
  refused({"trace", "sample", scene.trace, "--share", "1", "--out", scene.path("o.txt")}, 2,
          "cannot tell the format from the name");
  refused({"trace", "sample", scene.trace, "--out", scene.path("missing/o.bin")}, 7,
          "cannot open for writing");
  CHECK(scene.listing() == "s.json t.jsonl");
}

// ---- merge

TEST_CASE("trace merge makes each trace a tenant", "[cli]") {
  const Scene scene;
  const std::string a = chats(scene, "a.jsonl.gz");
  const std::string b = chats(scene, "b.bin", {"--seed", "2"});
  const std::string out = scene.path("both.bin");
  const json document = test::document_of({"trace", "merge", a, b, "--out", out});
  CHECK(document["kind"] == "trace-merge");
  const json& r = document["results"];
  CHECK(r["requests"] == 800);
  const json one = stats(a);
  const json two = stats(b);
  const json both = stats(out);
  for (const char* sum :
       {"requests", "sessions", "references", "unique_blocks", "infinite_cache_hits"}) {
    INFO(sum);
    CHECK(both[sum].get<int>() == one[sum].get<int>() + two[sum].get<int>());
  }
  CHECK(both["content_hash"] == r["content_hash"]);
  const Workload w = open_trace(out, {});
  CHECK(std::set<std::string>(w.source().tenants.begin(), w.source().tenants.end()) ==
        std::set<std::string>{"a", "b"});
}

TEST_CASE("trace merge names tenants and moves them in time", "[cli]") {
  // The same six requests twice, the second time 50 ms later: they take turns.
  const Scene scene;
  const std::string out = scene.path("o.bin");
  const Args call = {
      "trace", "merge", "--tenant", "x=" + scene.trace, "--tenant", "y=" + scene.trace,
      "--out", out};
  REQUIRE(test::spillway(call + Args{"--offset", "y=0.05"}).code == 0);
  const Workload w = open_trace(out, {});
  CHECK(w.source().tenants == std::vector<std::string>{"x", "y"});
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    CHECK(w.columns().arrival_ns[r] == 50'000'000 * std::int64_t{r});
    CHECK(w.columns().tenant[r] == r % 2);
  }
  CHECK(w.unique_blocks() == 14);
  REQUIRE(test::spillway(call + Args{"--shared-blocks"}).code == 0);
  CHECK(open_trace(out, {}).unique_blocks() == 7);
}

TEST_CASE("trace merge aligns traces by their origin or their first request", "[cli]") {
  const Scene scene;
  const std::string late = scene.file("late.jsonl", test::good_row("7000"));
  const std::string out = scene.path("o.bin");
  const auto last = [&](const char* align) {
    REQUIRE(test::spillway({"trace", "merge", scene.trace, late, "--out", out, "--align", align})
                .code == 0);
    return open_trace(out, {}).columns().arrival_ns.back();
  };
  CHECK(last("origin") == 7'000'000'000);
  CHECK(last("first") == 500'000'000);
}

TEST_CASE("trace merge reads its traces as other verbs do", "[cli]") {
  const Scene scene;
  const std::string rows = test::row("0", "40", "1", "[1, 2, 3]") +
                           test::row("20000", "60", "1", "[1, 2, 4, 5]") +
                           test::row("30000", "50", "1", "null");
  const std::string trace = scene.file("b.jsonl", rows);
  const std::string out = scene.path("o.bin");
  const Args call = {"trace", "merge", trace, "--out", out, "--block-tokens", "16"};
  refused(call, 3, "b.jsonl:3: hash_ids: ");
  refused(call + Args{"--lenient"}, 3, "1 of 3 rows are faulty");
  const Args two = call + Args{"--limit", "2", "--infer-sessions"};
  REQUIRE(test::spillway(two).code == 0);
  CHECK(stats(out)["sessions"] == 1);
  REQUIRE(test::spillway(two + Args{"--session-window", "19"}).code == 0);
  CHECK(stats(out)["sessions"] == 2);
}

TEST_CASE("trace merge refuses what it cannot keep apart or together", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("o.bin");
  const std::string small = chats(scene, "small.bin", {"--block-tokens", "64"});
  const auto merge = [&](const Args& more) { return Args{"trace", "merge", "--out", out} + more; };
  refused(merge({}), 2, "no traces; expected files, or --tenant NAME=FILE");
  refused(merge({scene.trace, scene.trace}), 2, "is the second trace of the tenant \"t\"");
  refused(merge({scene.trace, small}), 2, "has blocks of 64 tokens");
  refused(merge({small, "--shared-blocks"}), 2, "a binary trace has numbered its blocks anew");
  refused(merge({scene.trace, "--tenant", "x"}), 2, "--tenant: expected NAME=VALUE, found \"x\"");
  refused(merge({scene.trace, "--offset", "t="}), 2, "--offset: expected NAME=VALUE");
  for (const char* offset : {"t=-1", "t=soon", "t=nan", "t=1e300"}) {
    refused(merge({scene.trace, "--offset", offset}), 2, "--offset: expected NAME=SECONDS");
  }
  refused(merge({scene.trace, "--offset", "u=1"}), 2, "there is no tenant \"u\"");
  refused(merge({scene.trace, "--align", "last"}), 2, "--align");
  refused(merge({scene.path("none.jsonl")}), 7, "none.jsonl: cannot open");
  refused({"trace", "merge", scene.trace, "--out", scene.trace}, 2, "is the input itself");
  CHECK(scene.listing() == "s.json small.bin t.jsonl");
}

}  // namespace
}  // namespace spillway

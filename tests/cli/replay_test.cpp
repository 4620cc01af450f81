// `spillway replay`: counts, capacities, semantics, and the reference counts on a real trace.
#include <map>
#include <set>
#include <tuple>

#include "policies/catalogue.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

TEST_CASE("replay rows have the keys of the contract", "[cli]") {
  const Scene scene;
  const json document = test::document_of({"replay", "--trace", scene.trace, "--policy", "lru,fifo",
                                           "--capacity", "1blocks,3blocks,inf"});
  CHECK(document["kind"] == "replay");
  REQUIRE(document["results"].size() == 6);
  std::vector<std::string> order;
  for (const json& row : document["results"]) {
    order.push_back(row["policy"].get<std::string>() + " " + row["capacity_blocks"].dump());
    CHECK(row["semantics"] == "block");
    CHECK(row["references"] == 12);  // six requests of two blocks
    CHECK(row["unique_blocks"] == 7);
    CHECK(row["hits"].is_number_unsigned());
    CHECK(row["evictions"].is_number_unsigned());
    CHECK(row["hit_ratio"].get<double>() == Approx(row["hits"].get<double>() / 12));
  }
  CHECK(order == std::vector<std::string>{"lru 1", "lru 3", "lru \"inf\"", "fifo 1", "fifo 3",
                                          "fifo \"inf\""});
}

TEST_CASE("replay --output renders each kind, and report does so later", "[cli]") {
  const Scene scene;
  const std::string document = scene.path("replay.json");
  for (const char* kind : {"html", "md", "csv", "text"}) {
    const std::string path = scene.path(std::string("out.") + kind);
    const auto result =
        test::spillway({"replay", "--trace", scene.trace, "--policy", "lru,fifo", "--capacity",
                        "1blocks,3blocks", "--bounds", "always", "--json", document, "--output",
                        fmt::format("kind={},path={}", kind, path)});
    INFO(kind << ": " << result.err);
    REQUIRE(result.code == 0);
    const std::string text = test::read_file(path);
    CHECK_THAT(text, ContainsSubstring("lost to policy"));
    CHECK(test::spillway({"report", document, "--format", kind}).out == text);
  }
  CHECK_THAT(test::read_file(scene.path("out.html")),
             ContainsSubstring("<figcaption>Hits by capacity</figcaption>"));
  refused({"replay", "--trace", scene.trace, "--output", "kind=pdf,path=x"}, 2, "pdf");
}

TEST_CASE("replay counts what can be counted by hand", "[cli]") {
  // Block 0 comes with every request, blocks 1 to 6 once each. Two blocks: the request's own; LRU
  // then always holds block 0. One block: `rev` walks block i first and leaves block 0, `fwd`
  // leaves block i, which nobody asks for again.
  const Scene scene;
  const auto hits = [&](const char* capacity, const Args& more) {
    return test::document_of(
               Args{"replay", "--trace", scene.trace, "--policy", "lru", "--capacity", capacity} +
               more)["results"][0]["hits"]
        .get<int>();
  };
  CHECK(hits("inf", {}) == 5);
  CHECK(hits("2blocks", {}) == 5);
  CHECK(hits("1blocks", {}) == 5);
  CHECK(hits("1blocks", {"--touch-order", "rev"}) == 5);
  CHECK(hits("1blocks", {"--touch-order", "fwd"}) == 0);
  CHECK(hits("1blocks", {"--touch-order", "rev", "--limit", "3"}) == 2);
}

TEST_CASE("--semantics changes what is counted, not what is evicted", "[cli]") {
  // The second request shares its tail with the first, but not its head.
  const Scene scene;
  const std::string trace = scene.file(
      "tail.jsonl",
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1, 9]}\n"
      "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [2, 9]}\n");
  const auto row = [&](const char* semantics) {
    return test::document_of({"replay", "--trace", trace, "--capacity", "2blocks", "--semantics",
                              semantics})["results"][0];
  };
  CHECK(row("block")["hits"] == 1);
  CHECK(row("prefix")["hits"] == 0);
  CHECK(row("block")["evictions"] == row("prefix")["evictions"]);
  CHECK(row("prefix")["semantics"] == "prefix");
}

TEST_CASE("--atomic reference finds what the same request has just brought", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file(
      "twice.jsonl",
      "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 1, \"hash_ids\": [1, 1]}\n");
  const auto hits = [&](const char* atomic) {
    return test::document_of({"replay", "--trace", trace, "--capacity", "inf", "--atomic",
                              atomic})["results"][0]["hits"];
  };
  CHECK(hits("request") == 0);
  CHECK(hits("reference") == 1);
}

TEST_CASE("without --capacity the unique blocks are shared out, up to all of them", "[cli]") {
  const Scene scene;
  const json rows = test::document_of({"replay", "--trace", scene.trace})["results"];
  CHECK(rows.front()["capacity_blocks"] == 1);
  CHECK(rows.back()["capacity_blocks"] == "inf");
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i]["hits"] >= rows[i - 1]["hits"]);
}

TEST_CASE("a stream is replayed as the same trace in any other form", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl.gz");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "4000"}).code == 0);
  REQUIRE(test::spillway({"trace", "convert", trace, scene.path("made.bin")}).code == 0);
  const Args call = {
      "replay",        "--policy", "lru,fifo", "--capacity", "100blocks,3000blocks,inf",
      "--touch-order", "fwd",      "--trace"};
  const json file = test::document_of(call + Args{trace});
  const json mapped = test::document_of(call + Args{scene.path("made.bin")});
  CHECK(mapped["results"] == file["results"]);
  CHECK(test::document_of(call + Args{trace, "--threads", "1"})["results"] == file["results"]);
  const std::string out = scene.path("piped.json");
  const std::string piped = fmt::format(
      "cat '{}' | '{}' replay --policy lru,fifo --capacity 100blocks,3000blocks,inf --touch-order "
      "fwd --trace - --quiet --json '{}' >/dev/null",
      trace, SPILLWAY_BINARY, out);
  REQUIRE(std::system(piped.c_str()) == 0);
  const json stream = test::parse_document(test::read_file(out));
  CHECK(stream["results"] == file["results"]);
  const json stats = test::document_of({"trace", "stats", trace});
  for (const json& document : {file, mapped, stream}) {
    const json& inputs = document["inputs"]["trace"];
    CHECK(inputs["content_hash"] == stats["inputs"]["trace"]["content_hash"]);
    CHECK(inputs["requests"] == 4000);
    CHECK(inputs["block_tokens"] == 512);
  }
  CHECK(stats["inputs"]["trace"].contains("links_hash"));  // generated traces name their sessions
}

TEST_CASE("a stream of many faulty rows is refused as a file is", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("bad.jsonl", test::small_trace() + "{\n");
  refused({"replay", "--trace", trace, "--capacity", "inf"}, 3, "bad.jsonl:7: expected a JSON");
  refused({"replay", "--trace", trace, "--capacity", "inf", "--lenient"}, 3,
          "1 of 7 rows are faulty");
}

TEST_CASE("replay's table shows the same figures as its document", "[cli]") {
  const Scene scene;
  const CliResult result =
      test::spillway({"replay", "--trace", scene.trace, "--capacity", "3blocks,inf"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("block hits, touch order rev, request at a time"));
  CHECK_THAT(result.out, ContainsSubstring("lru          inf     5   0.416667          0"));
}

TEST_CASE("--block-tokens says how long the blocks of a trace are", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file(
      "small.jsonl",
      "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [1, 2, 3]}\n");
  refused({"replay", "--trace", trace}, 3, "hash_ids: expected 1 ids");
  const json document = test::document_of({"replay", "--trace", trace, "--block-tokens", "16"});
  CHECK(document["results"][0]["references"] == 3);
  CHECK(document["inputs"]["trace"]["block_tokens"] == 16);
}

TEST_CASE("--tiers counts by tier, and --inclusion says how blocks move", "[cli]") {
  // One block above, two below; block 0 comes with every request, then its own. First block first:
  // block 0 has just been pushed down whenever it is asked for. Exclusive, it moves up each time:
  // the lower tier takes the victim of all 12 arrivals above but the first, gives block 0 back five
  // times, and drops four of the six blocks that nobody asks for again: 11 in, 9 out, 2 remain.
  const Scene scene;
  const Args call = {"replay", "--trace", scene.trace, "--tiers", "hbm=1blocks,dram=2blocks/lru"};
  const json row = test::document_of(call + Args{"--inclusion", "exclusive", "--touch-order", "fwd",
                                                 "--kv-bytes-per-block", "1KiB"})["results"][0];
  CHECK(row["policy"] == "lru");
  CHECK(row["capacity_blocks"] == 3);
  CHECK(row["hits"] == 5);
  CHECK(row["tiers"] == json::parse(R"([
    {"name": "hbm", "policy": "lru", "capacity_blocks": 1, "hits": 0, "evictions": 11,
     "blocks_in": 12, "blocks_out": 11, "bytes_in": 12288, "bytes_out": 11264},
    {"name": "dram", "policy": "lru", "capacity_blocks": 2, "hits": 5, "evictions": 4,
     "blocks_in": 11, "blocks_out": 9, "bytes_in": 11264, "bytes_out": 9216}])"));
  // Last block first leaves block 0 above.
  const json rev = test::document_of(call + Args{"--inclusion", "exclusive"})["results"][0];
  CHECK(rev["tiers"][0]["hits"] == 5);
  CHECK(rev["tiers"][1]["hits"] == 0);
  CHECK_FALSE(rev["tiers"][0].contains("bytes_in"));
  // Inclusive is the default: the lower tier stores the seven blocks itself, and drops all but two.
  const json document = test::document_of(call + Args{"--touch-order", "fwd"});
  CHECK(document["inputs"]["inclusion"] == "inclusive");
  const json below = document["results"][0]["tiers"][1];
  CHECK(below["hits"] == 5);
  CHECK(below["blocks_in"] == 7);
  CHECK(below["blocks_out"] == 5);
}

TEST_CASE("a row of tiers a policy, where tiers do not name their own", "[cli]") {
  const Scene scene;
  const Args call = {"replay", "--trace", scene.trace};
  const json rows = test::document_of(
      call + Args{"--tiers", "a=1blocks,b=2blocks/fifo,c=inf", "--policy", "fifo,lru"})["results"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["policy"] == "fifo");
  CHECK(rows[1]["policy"] == "lru");
  CHECK(rows[1]["capacity_blocks"] == "inf");
  CHECK(rows[1]["tiers"][0]["policy"] == "lru");
  CHECK(rows[1]["tiers"][1]["policy"] == "fifo");
  CHECK(rows[1]["tiers"][2]["capacity_blocks"] == "inf");
  const json own =
      test::document_of(call + Args{"--tiers", "a=1blocks/fifo,b=2blocks/lru"})["results"];
  REQUIRE(own.size() == 1);
  CHECK(own[0]["policy"] == "fifo");
}

TEST_CASE("--bounds puts what is possible beside each result", "[cli]") {
  // One block: first block first, LRU has just dropped block 0 whenever it is asked for. The
  // optimum keeps it and passes all others by: five hits, all that there are.
  const Scene scene;
  const Args call = {"replay",   "--trace",  scene.trace,  "--touch-order",      "fwd",
                     "--policy", "lru,fifo", "--capacity", "1blocks,3blocks,inf"};
  const json rows = test::document_of(call)["results"];
  CHECK(rows[0]["hits"] == 0);
  CHECK(rows[0]["bounds"] == json::parse(R"({"content": 5, "content_prefix": 5,
    "strict_prefix_optimum": 5, "belady": 5, "lru": 0})"));
  CHECK(rows[0]["gap"] == json::parse(R"({"capacity": 0, "policy": 5})"));
  for (const char* atomic : {"request", "reference"}) {
    for (const std::string semantics : {"block", "prefix"}) {
      const json all =
          test::document_of(call + Args{"--atomic", atomic, "--semantics", semantics})["results"];
      REQUIRE(all.size() == 6);
      for (const json& row : all) {
        const json& bounds = row["bounds"];
        const bool prefix = semantics == "prefix";
        CHECK(row["hits"].get<int>() + row["gap"]["policy"].get<int>() +
                  row["gap"]["capacity"].get<int>() ==
              bounds[prefix ? "content_prefix" : "content"].get<int>());
        CHECK(row["gap"]["policy"] >= 0);
        CHECK(row["gap"]["capacity"] >= 0);
        CHECK(bounds["strict_prefix_optimum"] <= bounds["content_prefix"]);
        CHECK(bounds["belady"] <= bounds["content"]);
        if (row["policy"] == "lru") CHECK(row["hits"] == bounds["lru"]);
      }
    }
  }
  const json none = test::document_of(call + Args{"--bounds", "never"})["results"];
  for (std::size_t i = 0; i < none.size(); ++i) {
    CHECK_FALSE(none[i].contains("bounds"));
    CHECK_FALSE(none[i].contains("gap"));
    CHECK(none[i]["hits"] == rows[i]["hits"]);
  }
  CHECK(test::document_of(call + Args{"--bounds", "always"})["results"] == rows);
  const CliResult table = test::spillway(call);
  CHECK_THAT(table.out, ContainsSubstring("lost to size"));
  CHECK_THAT(table.out, ContainsSubstring("optimum, prefixes"));
}

TEST_CASE("tiers are bounded by one cache of their size", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.bin");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "3000"}).code == 0);
  for (const char* inclusion : {"inclusive", "exclusive"}) {
    for (const char* atomic : {"request", "reference"}) {
      const json rows =
          test::document_of({"replay", "--trace", trace, "--policy", "lru,fifo", "--tiers",
                             "hbm=100blocks,dram=500blocks,nvme=900blocks", "--inclusion",
                             inclusion, "--atomic", atomic})["results"];
      const json cache = test::document_of({"replay", "--trace", trace, "--capacity", "1500blocks",
                                            "--atomic", atomic})["results"][0];
      for (const json& row : rows) {
        CHECK(row["bounds"] == cache["bounds"]);
        CHECK(row["gap"]["policy"] >= 0);
        std::uint64_t hits = 0;
        for (const json& tier : row["tiers"]) hits += tier["hits"].get<std::uint64_t>();
        CHECK(row["hits"] == hits);
      }
      // Exclusive LRU tiers are one LRU cache; copies make inclusive ones smaller.
      CHECK((rows[0]["hits"] == cache["hits"]) == (inclusion == std::string("exclusive")));
    }
  }
}

TEST_CASE("a long stream is replayed piece by piece, and bounded only on request", "[cli]") {
  // More references than --bounds auto keeps; the binary form is never a stream.
  const Scene scene;
  const std::string trace = scene.path("long.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "250000"}).code == 0);
  REQUIRE(test::spillway({"trace", "convert", trace, scene.path("long.bin")}).code == 0);
  const Args call = {
      "replay",      "--policy", "lru,fifo", "--capacity", "100blocks,9000blocks,inf",
      "--semantics", "prefix",   "--trace"};
  const json mapped = test::document_of(call + Args{scene.path("long.bin"), "--bounds", "never"});
  REQUIRE(mapped["results"][0]["references"] > 1 << 21);
  for (const char* threads : {"1", "2", "5"}) {
    const json stream = test::document_of(call + Args{trace, "--threads", threads});
    CHECK(stream["results"] == mapped["results"]);
    CHECK(stream["inputs"]["trace"]["content_hash"] == mapped["inputs"]["trace"]["content_hash"]);
    CHECK_THAT(stream["warnings"].dump(), ContainsSubstring("--bounds always keeps it"));
  }
  const json bounded = test::document_of(call + Args{trace, "--bounds", "always"});
  CHECK(bounded["results"][0]["hits"] == mapped["results"][0]["hits"]);
  CHECK(bounded["results"][0].contains("bounds"));
  CHECK(bounded["warnings"] == mapped["warnings"]);
}

TEST_CASE("a policy of sessions says so where the trace names none", "[cli]") {
  const Scene scene;
  for (const EvictionEntry& entry : eviction_policies()) {
    INFO(entry.name);
    const Args call = {"replay",     "--trace",  scene.trace, "--policy", std::string(entry.name),
                       "--capacity", "100blocks"};
    const auto told = [](const json& document) {
      return document["warnings"].dump().find("--infer-sessions finds") != std::string::npos;
    };
    CHECK(told(test::document_of(call)) == entry.needs.requests);
    CHECK_FALSE(told(test::document_of(call + Args{"--infer-sessions"})));
  }
}

TEST_CASE("bad tiers are refused", "[cli]") {
  const Scene scene;
  const Args call = {"replay", "--trace", scene.trace};
  const auto bad = [&](const std::string& tiers, const std::string& says) {
    refused(call + Args{"--tiers", tiers}, 2, says);
  };
  bad("hbm", "--tiers: expected NAME=CAPACITY or NAME=CAPACITY/POLICY");
  bad("=10blocks", "--tiers: expected NAME=CAPACITY or NAME=CAPACITY/POLICY");
  bad("", "--tiers: expected NAME=CAPACITY");
  bad("hbm=10", "--tiers: hbm: expected a number of blocks with its unit, e.g. 10blocks");
  bad("hbm=0blocks", "--tiers: hbm: expected at least one block");
  bad("hbm=1GiB", "--tiers: hbm: a replay counts trace blocks");
  bad("hbm=1blocks/lruu", "--tiers: unknown eviction policy \"lruu\"; did you mean \"lru\"?");
  bad("hbm=1blocks/lru:size=3", "--tiers: lru takes no parameters, found \"size\"");
  bad("hbm=1blocks/", "--tiers: unknown eviction policy \"\"");
  bad("a=1blocks,b=2blocks,a=3blocks", "--tiers: two tiers are called \"a\"");
  bad("a=1blocks,b=1blocks,c=1blocks,d=1blocks,e=1blocks", "expected at most 4 tiers, found 5");
  refused(call + Args{"--tiers", "a=1blocks,b=2blocks", "--capacity", "3blocks"}, 2, "excludes");
  refused(call + Args{"--inclusion", "exclusive"}, 2, "--tiers");
  refused(call + Args{"--kv-bytes-per-block", "1MiB"}, 2, "--tiers");
  const Args tiers = {"--tiers", "a=1blocks,b=2blocks"};
  refused(call + tiers + Args{"--inclusion", "both"}, 2, "both not in {inclusive,exclusive}");
  refused(call + tiers + Args{"--kv-bytes-per-block", "7"}, 2, "--kv-bytes-per-block: expected");
  refused(call + tiers + Args{"--kv-bytes-per-block", "0B"}, 2, "--kv-bytes-per-block: expected");
  refused(call + Args{"--bounds", "some"}, 2, "--bounds: some not in {auto,always,never}");
  refused(call + Args{"--tiers", "a=1blocks/lru", "--policy", "lru"}, 2,
          "--policy: every tier of --tiers names a policy of its own");
  for (const EvictionEntry& entry : eviction_policies()) {
    if (!entry.needs.future) continue;
    const std::string below = fmt::format("a=1blocks,b=2blocks/{}", entry.name);
    refused(call + Args{"--tiers", below, "--inclusion", "exclusive"}, 2,
            fmt::format("--tiers: b: {} needs to see every reference", entry.name));
    CHECK(test::spillway(call + Args{"--tiers", below}).code == 0);
  }
}

TEST_CASE("a replay's bad arguments are refused", "[cli]") {
  const Scene scene;
  const Args call = {"replay", "--trace", scene.trace};
  for (const std::string text : {"10", "", "-1blocks", "tenblocks", "10 apples", "nan"}) {
    refused(call + Args{"--capacity", text}, 2, "--capacity: expected a");
  }
  refused(call + Args{"--capacity", "0blocks"}, 2, "--capacity: expected at least one block");
  refused(call + Args{"--capacity", "1.5blocks"}, 2, "--capacity: expected whole blocks");
  refused(call + Args{"--capacity", "1GiB"}, 2, "--capacity: a replay counts trace blocks");
  refused(call + Args{"--capacity", "9223372036854775808blocks"}, 2, "--capacity: expected whole");
  refused(call + Args{"--policy", "lruu"}, 2,
          "--policy: unknown eviction policy \"lruu\"; did you mean \"lru\"?");
  refused(call + Args{"--policy", ""}, 2, "--policy: unknown eviction policy \"\"");
  refused(call + Args{"--semantics", "chain"}, 2, "--semantics: chain not in {block,prefix}");
  refused(call + Args{"--touch-order", "up"}, 2, "--touch-order: up not in {rev,fwd}");
  refused(call + Args{"--atomic", "block"}, 2, "--atomic: block not in {request,reference}");
}

// ---- reference counts on Mooncake's conversation trace

/// Rows of one replay of the real trace by (policy, capacity).
std::map<std::pair<std::string, std::string>, json> replay_rows(
    const std::string& trace, const std::set<std::string>& policies,
    const std::set<std::string>& capacities, const Args& more) {
  const auto joined = [](const std::set<std::string>& values, const char* unit) {
    std::string out;
    for (const std::string& v : values) {
      out += (out.empty() ? "" : ",") + v + (v == "inf" ? "" : unit);
    }
    return out;
  };
  const json document =
      test::document_of(Args{"replay", "--trace", trace, "--policy", joined(policies, ""),
                             "--capacity", joined(capacities, "blocks")} +
                        more);
  std::map<std::pair<std::string, std::string>, json> out;
  for (const json& row : document["results"]) {
    const json& c = row["capacity_blocks"];
    out[{row["policy"], c.is_string() ? c.get<std::string>() : c.dump()}] = row;
  }
  return out;
}

struct Expected {
  std::string policy, capacity, order;
  json row;
};

/// The oracle's rows for the policies that this build has.
std::vector<Expected> oracle_rows(const json& rows) {
  std::set<std::string> known;
  const json policies = test::document_of({"list", "policies"})["results"];
  for (const json& row : policies) {
    known.insert(row["policy"].get<std::string>());
  }
  REQUIRE(known.count("lru") == 1);
  REQUIRE(known.count("fifo") == 1);
  std::vector<Expected> out;
  for (const json& row : rows) {
    const json& c = row["capacity_blocks"];
    const json order = row.value("touch_order", json());
    if (known.count(row["policy"]) == 0) continue;
    out.push_back({row["policy"], c.is_string() ? c.get<std::string>() : c.dump(),
                   order.is_string() ? order.get<std::string>() : "fwd", row});
  }
  return out;
}

TEST_CASE("replay equals the reference counts on Mooncake's conversation trace", "[cli]") {
  const auto files = test::materials(
      {"traces/mooncake_fast25_conversation.jsonl.gz", "oracle/mooncake_fast25_conversation.json"});
  const json reference = json::parse(test::read_file(files[1].path));
  std::size_t compared = 0;
  const auto compare = [&](const char* key, const char* atomic) {
    const auto expected = oracle_rows(reference[key]);
    std::set<std::string> policies;
    std::set<std::string> capacities;
    std::set<std::string> orders;
    for (const Expected& e : expected) {
      policies.insert(e.policy);
      capacities.insert(e.capacity);
      orders.insert(e.order);
    }
    for (const std::string& order : orders) {
      for (const char* semantics : {"block", "prefix"}) {
        const auto rows =
            replay_rows(files[0].path, policies, capacities,
                        {"--atomic", atomic, "--touch-order", order, "--semantics", semantics});
        for (const Expected& e : expected) {
          const char* hits = semantics == std::string("block") ? "set_hits" : "prefix_hits";
          if (e.order != order || !e.row.contains(hits)) continue;
          INFO(key << " " << e.policy << " " << e.capacity << " " << order << " " << semantics);
          const json& row = rows.at({e.policy, e.capacity});
          CHECK(row["hits"] == e.row[hits]);
          CHECK(row["references"] == reference["block_accesses"]);
          CHECK(row["unique_blocks"] == reference["unique_blocks"]);
          ++compared;
        }
      }
    }
  };
  compare("results", "request");
  compare("access_results", "reference");
  // LRU and FIFO at six capacities: two orders and two semantics by request, one by reference.
  CHECK(compared >= 2 * 6 * (2 * 2 + 1));
}

TEST_CASE("replay's prefix hits by reference are a part of its block hits", "[cli]") {
  // The oracle has no prefix counts for this model; what must hold is the bound.
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const Args call = {"--atomic", "reference", "--touch-order", "fwd", "--semantics"};
  const std::set<std::string> capacities = {"1000", "30000", "inf"};
  const auto block = replay_rows(trace.path, {"lru", "fifo"}, capacities, call + Args{"block"});
  const auto prefix = replay_rows(trace.path, {"lru", "fifo"}, capacities, call + Args{"prefix"});
  for (const auto& [key, row] : block) {
    CHECK(prefix.at(key)["hits"] <= row["hits"]);
    CHECK(prefix.at(key)["evictions"] == row["evictions"]);
  }
}

}  // namespace
}  // namespace spillway

// `spillway replay`: counts, capacities, semantics, and the reference counts on a real trace.
#include <map>
#include <set>
#include <tuple>

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

TEST_CASE("a replay's bad arguments are refused", "[cli]") {
  const Scene scene;
  const Args call = {"replay", "--trace", scene.trace};
  for (const std::string text : {"10", "", "-1blocks", "tenblocks", "10 apples", "nan"}) {
    refused(call + Args{"--capacity", text}, 2, "--capacity: expected a size with a unit");
  }
  refused(call + Args{"--capacity", "0blocks"}, 2, "--capacity: expected at least one block");
  refused(call + Args{"--capacity", "1.5blocks"}, 2, "--capacity: expected whole blocks");
  refused(call + Args{"--capacity", "1GiB"}, 2, "--capacity: a replay counts trace blocks");
  refused(call + Args{"--capacity", "9223372036854775808blocks"}, 2, "--capacity: expected whole");
  refused(call + Args{"--policy", "lruu"}, 2,
          "--policy: unknown eviction policy \"lruu\"; did you mean \"lru\"? known: ");
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
  const auto trace = test::shared_path("traces/mooncake_fast25_conversation.jsonl.gz");
  const auto oracle = test::shared_path("oracle/mooncake_fast25_conversation.json");
  if (!trace || !oracle) return;
  const json reference = json::parse(test::read_file(*oracle));
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
            replay_rows(*trace, policies, capacities,
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
  const auto trace = test::shared_path("traces/mooncake_fast25_conversation.jsonl.gz");
  if (!trace) return;
  const Args call = {"--atomic", "reference", "--touch-order", "fwd", "--semantics"};
  const std::set<std::string> capacities = {"1000", "30000", "inf"};
  const auto block = replay_rows(*trace, {"lru", "fifo"}, capacities, call + Args{"block"});
  const auto prefix = replay_rows(*trace, {"lru", "fifo"}, capacities, call + Args{"prefix"});
  for (const auto& [key, row] : block) {
    CHECK(prefix.at(key)["hits"] <= row["hits"]);
    CHECK(prefix.at(key)["evictions"] == row["evictions"]);
  }
}

}  // namespace
}  // namespace spillway

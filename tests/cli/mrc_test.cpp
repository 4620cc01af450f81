// `spillway mrc`: equal to replay at every capacity, what it lists, and what a sample may say.
#include <cmath>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

json results_of(const Args& args) {
  return test::document_of(Args{"mrc"} + args)["results"];
}

/// Hits of the largest listed capacity up to this one.
std::uint64_t hits_at(const json& results, std::uint64_t capacity) {
  std::uint64_t hits = 0;
  for (const json& point : results["curve"]) {
    if (point["capacity_blocks"].get<std::uint64_t>() <= capacity) hits = point["hits"];
  }
  return hits;
}

TEST_CASE("mrc results have the keys of the contract", "[cli]") {
  // Block 0 comes with every request and is touched last: it hits from one block on, five times.
  const Scene scene;
  const json document = test::document_of({"mrc", "--trace", scene.trace});
  CHECK(document["kind"] == "mrc");
  const json& results = document["results"];
  CHECK(results["semantics"] == "block");
  CHECK(results["references"] == 12);
  CHECK(results["unique_blocks"] == 7);
  CHECK(results["infinite_hits"] == 5);
  CHECK(results["changes"] == 1);
  const json point = {{"capacity_blocks", 1}, {"hits", 5}, {"hit_ratio", 5.0 / 12}};
  CHECK(results["curve"] == json::array({point}));
  CHECK(results["knee"] == point);
  CHECK_FALSE(results.contains("sampled"));
}

TEST_CASE("mrc equals a replay at every capacity", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "150"}).code == 0);
  std::string capacities;
  for (int c = 1; c < 2000; c += 1 + c / 20) capacities += fmt::format("{}blocks,", c);
  capacities += "1000000blocks";
  for (const char* semantics : {"block", "prefix"}) {
    for (const auto& [order, atomic] : {std::pair{"rev", "request"}, std::pair{"fwd", "request"},
                                        std::pair{"fwd", "reference"}}) {
      INFO(semantics << " " << order << " " << atomic);
      const Args call = {"--trace",       trace, "--semantics", semantics,
                         "--touch-order", order, "--atomic",    atomic};
      const json results = results_of(call + Args{"--points", "0"});
      const json rows = test::document_of(Args{"replay", "--policy", "lru", "--capacity"} +
                                          Args{capacities} + call)["results"];
      for (const json& row : rows) {
        CHECK(hits_at(results, row["capacity_blocks"]) == row["hits"].get<std::uint64_t>());
        CHECK(results["references"] == row["references"]);
        CHECK(results["unique_blocks"] == row["unique_blocks"]);
      }
      CHECK(rows.back()["hits"] == results["infinite_hits"]);
    }
  }
}

TEST_CASE("mrc of a stream, a file and the binary form are one", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl.gz");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "3000"}).code == 0);
  REQUIRE(test::spillway({"trace", "convert", trace, scene.path("made.bin")}).code == 0);
  const json file = test::document_of({"mrc", "--trace", trace, "--points", "0"});
  const json mapped =
      test::document_of({"mrc", "--trace", scene.path("made.bin"), "--points", "0"});
  CHECK(file["digest"] == mapped["digest"]);
  CHECK(file["inputs"]["trace"]["content_hash"] == mapped["inputs"]["trace"]["content_hash"]);
}

TEST_CASE("mrc --at lists capacities whatever else is left out", "[cli]") {
  const Scene scene;
  const json results = results_of({"--trace", scene.trace, "--at", "3,700blocks", "--points", "1"});
  REQUIRE(results["curve"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(results["curve"][i]["hits"] == 5);
  CHECK(results["curve"][1]["capacity_blocks"] == 3);
  CHECK(results["curve"][2]["capacity_blocks"] == 700);
  const Args call = {"mrc", "--trace", scene.trace, "--at"};
  CHECK_THAT(test::spillway(call + Args{"700"}).out,
             ContainsSubstring("\n              700     5"));
  refused(call + Args{"0"}, 2, "--at: expected at least one block, found \"0\"");
  refused(call + Args{"0blocks"}, 2, "--at: expected at least one block");
  refused(call + Args{"10,x"}, 2, "--at: ");
  refused(call + Args{"-3"}, 2, "");
  refused(call + Args{"4GiB"}, 2, "--at: expected blocks of the trace");
  refused(call + Args{"inf"}, 2, "--at: expected blocks of the trace");
}

TEST_CASE("mrc --points thins the curve and keeps its shape", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "2000"}).code == 0);
  const json all = results_of({"--trace", trace, "--points", "0"});
  REQUIRE(all["changes"] > 1000);
  CHECK(all["curve"].size() >= all["changes"].get<std::size_t>());
  const json thin = results_of({"--trace", trace, "--points", "100"});
  CHECK(thin["curve"].size() < 150);
  CHECK(thin["curve"].front() == all["curve"].front());
  CHECK(thin["curve"].back() == all["curve"].back());
  CHECK(thin["knee"] == all["knee"]);
  CHECK(results_of({"--trace", trace})["curve"].size() < 1050);
  // What is left out lies within 2% of all hits of the point before it.
  const auto slack = all["infinite_hits"].get<std::uint64_t>() / 50 + 1;
  for (const json& point : all["curve"]) {
    const std::uint64_t capacity = point["capacity_blocks"];
    CHECK(point["hits"].get<std::uint64_t>() - hits_at(thin, capacity) <= slack);
  }
}

TEST_CASE("mrc --sample estimates the curve and says how well", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "3000"}).code == 0);
  const json exact = results_of({"--trace", trace, "--points", "0"});
  const Args call = {"--trace", trace, "--points", "0", "--sample"};
  const json sampled = results_of(call + Args{"0.2"});
  const json& note = sampled["sampled"];
  CHECK(note["rate"] == 0.2);
  CHECK(sampled["references"] == exact["references"]);
  const double error = note["error"];
  CHECK(error > 0);
  CHECK(error < 0.1);
  for (const json& point : sampled["curve"]) {
    const bool small = point["capacity_blocks"].get<int>() < 5;  // less than one sampled block
    CHECK((small || point["error"].get<double>() <= error));
  }
  CHECK(sampled["unique_blocks"].get<double>() ==
        Approx(exact["unique_blocks"].get<double>()).epsilon(0.1));
  const double references = exact["references"];
  for (const json& point : exact["curve"]) {
    const std::uint64_t capacity = point["capacity_blocks"];
    if (capacity < 100) continue;  // a few sampled blocks
    const double ratio = static_cast<double>(hits_at(sampled, capacity)) / references;
    CHECK(std::fabs(ratio - point["hit_ratio"].get<double>()) < 2 * error + 0.01);
  }
  // All blocks: all is as it is. Another seed is another sample.
  const json all = results_of(call + Args{"1"});
  REQUIRE(all["curve"].size() == exact["curve"].size());
  for (std::size_t i = 0; i < exact["curve"].size(); ++i) {
    CHECK(all["curve"][i]["capacity_blocks"] == exact["curve"][i]["capacity_blocks"]);
    CHECK(all["curve"][i]["hits"] == exact["curve"][i]["hits"]);
  }
  CHECK(results_of(call + Args{"0.2", "--seed", "2"})["curve"] != sampled["curve"]);
  CHECK(results_of(call + Args{"0.2", "--seed", "1"})["curve"] == sampled["curve"]);
  refused({"mrc", "--trace", trace, "--sample", "0.0001"}, 2, "--sample");
  refused({"mrc", "--trace", trace, "--sample", "2"}, 2, "--sample");
}

TEST_CASE("mrc samples prefix hits only where they can be known", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "300"}).code == 0);
  const Args call = {"--trace", trace, "--sample", "0.5", "--semantics"};
  CHECK(results_of(call + Args{"prefix"})["curve"] == results_of(call + Args{"block"})["curve"]);
  const Args prefix = Args{"mrc"} + call + Args{"prefix"};
  refused(prefix + Args{"--touch-order", "fwd"}, 2, "--touch-order rev and --atomic request only");
  refused(prefix + Args{"--atomic", "reference"}, 2, "--touch-order rev and --atomic request only");
  // Block 9 stands behind block 1, then behind block 2.
  const std::string crossed = scene.file(
      "crossed.jsonl",
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1, 9]}\n"
      "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [2, 9]}\n");
  refused({"mrc", "--trace", crossed, "--sample", "1", "--semantics", "prefix"}, 2,
          "1 of 3 sampled blocks stand behind different blocks");
}

TEST_CASE("mrc of a trace without blocks, and of a sample without any", "[cli]") {
  const Scene scene;
  const std::string bare = scene.file(
      "bare.jsonl",
      "{\"spillway_trace\": 1, \"block_tokens\": 512}\n"
      "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 1, \"hash_ids\": []}\n");
  const auto none = test::spillway({"mrc", "--trace", bare});
  INFO(none.err);
  CHECK(none.code == 0);
  CHECK_THAT(none.err, ContainsSubstring("names no blocks"));
  CHECK(results_of({"--trace", bare})["curve"].empty());
  CHECK(results_of({"--trace", bare, "--at", "5"})["curve"][0]["hits"] == 0);
  const json document = test::document_of({"mrc", "--trace", scene.trace, "--sample", "0.001"});
  CHECK(document["results"]["sampled"]["error"] == 1);
  CHECK(document["notes"].back()["code"] == "sample-too-small");
}

TEST_CASE("mrc draws the curve and lists round capacities", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("made.jsonl");
  REQUIRE(test::spillway({"trace", "generate", "--out", trace, "--requests", "1000"}).code == 0);
  const std::string out = test::spillway({"mrc", "--trace", trace}).out;
  CHECK_THAT(out, ContainsSubstring("LRU block hits by capacity, touch order rev, request at a"));
  CHECK_THAT(out, ContainsSubstring("hit ratio by capacity (blocks), logarithmic"));
  CHECK_THAT(out, ContainsSubstring("*"));
  for (const char* capacity : {"\n              100  ", "\n            1,000  ", "\nknee "}) {
    CHECK_THAT(out, ContainsSubstring(capacity));
  }
}

TEST_CASE("mrc --output renders each kind", "[cli]") {
  const Scene scene;
  const std::string document = scene.path("mrc.json");
  for (const char* kind : {"html", "md", "csv", "text"}) {
    const std::string path = scene.path(std::string("out.") + kind);
    const auto result = test::spillway({"mrc", "--trace", scene.trace, "--json", document,
                                        "--output", fmt::format("kind={},path={}", kind, path)});
    INFO(kind << ": " << result.err);
    CHECK(result.code == 0);
    const std::string text = test::read_file(path);
    CHECK_THAT(text, ContainsSubstring("hits of an infinite cache"));
    CHECK(test::spillway({"report", document, "--format", kind}).out == text);
  }
  refused({"mrc", "--trace", scene.trace, "--output", "kind=pdf,path=x"}, 2, "pdf");
}

TEST_CASE("mrc reads its trace as other verbs do", "[cli]") {
  const Scene scene;
  CHECK(results_of({"--trace", scene.trace, "--limit", "3"})["references"] == 6);
  const std::string trace = scene.file(
      "small.jsonl",
      "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [1, 2, 3]}\n");
  refused({"mrc", "--trace", trace}, 3, "hash_ids: expected 1 ids");
  CHECK(results_of({"--trace", trace, "--block-tokens", "16"})["references"] == 3);
  refused({"mrc", "--trace", scene.file("empty.jsonl", "")}, 3, "no requests");
}

}  // namespace
}  // namespace spillway

// engine.hybrid_kv_cache, from the file to the result.
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// A model with sliding layers on a GPU, without a tier.
std::vector<std::string> sliding_lines(std::string_view model = "gpt-oss-20b",
                                       std::string_view engine = R"("hybrid_kv_cache": true)") {
  std::vector<std::string> lines = gpu_lines();
  lines[kModelLine - 1] = fmt::format(R"("model": "{}",)", model);
  lines[kEngineLine - 1] = fmt::format(R"("engine": {{"preset": "vllm", {}}},)", engine);
  lines[kTierLine - 1] = "";
  lines[kPlanLine - 1] = "";
  return lines;
}

bool has_note(const Scenario& s, std::string_view text) {
  return says(s.notes, text);
}

TEST_CASE("with groups a block is a page of one group, and the pool has more of them",
          "[scenarios]") {
  const Scenario plain = scenario_of(joined(sliding_lines("gpt-oss-20b", R"("max_num_seqs": 64)")));
  const Scenario groups = scenario_of(
      joined(sliding_lines("gpt-oss-20b", R"("max_num_seqs": 64, "hybrid_kv_cache": true)")));
  // 24 layers x 1,024 elements x 2 bytes x 16 tokens in full; 12 of them in a group.
  CHECK(plain.engine.block_bytes.count() == 786'432);
  CHECK(groups.engine.block_bytes.count() == 393'216);
  CHECK(groups.engine.num_gpu_blocks == plain.budget->kv.count() / 393'216);
  CHECK(groups.engine.groups.count() == 2);
  // Keys and values apart, in 12 layers.
  CHECK(groups.engine.copies_per_block == 24);
}

TEST_CASE("the note on sliding layers goes with the switch", "[scenarios]") {
  const std::string_view charged = "are charged as full attention";
  CHECK(has_note(scenario_of(joined(sliding_lines("gemma-3-27b", R"("kv_layout": "per_layer")"))),
                 charged));
  const Scenario groups = scenario_of(joined(sliding_lines("gemma-3-27b")));
  CHECK_FALSE(has_note(groups, charged));
}

TEST_CASE("groups are written out where there are several", "[scenarios]") {
  const json on = resolved_configuration(scenario_of(joined(sliding_lines("gemma-3-27b"))));
  CHECK(on["engine"]["hybrid_kv_cache"] == true);
  CHECK(on["engine"]["kv_groups"] ==
        json({{"sliding", 6}, {"full", 1}, {"window", 1024}, {"layers", 10}}));
  // A model of one kind of layer has one group, whatever the switch says.
  const json alike = resolved_configuration(scenario_of(joined(sliding_lines("Llama-3.1-8B"))));
  CHECK(alike["engine"]["hybrid_kv_cache"] == true);
  CHECK_FALSE(alike["engine"].contains("kv_groups"));
  CHECK(resolved_configuration(reference_with())["engine"]["hybrid_kv_cache"] == false);
}

TEST_CASE("max_model_len is lowered to what fits with the window of the sliding groups",
          "[scenarios]") {
  const Scenario s = scenario_of(joined(sliding_lines(
      "gpt-oss-20b",
      R"("hybrid_kv_cache": true, "num_gpu_blocks": 1000, "async_scheduling": false)")));
  REQUIRE(s.engine.max_num_batched_tokens == 8192);
  // The sliding group's bound is ceil((127 + 8,192) / 16) + 1 = 521 pages, for n blocks at most
  // n + 1: 2 n + 1 <= 999 pages without the null block, n = 499.
  CHECK(s.engine.max_model_len == 499 * 16);
}

TEST_CASE("what does not go with groups is refused by name", "[scenarios]") {
  const auto lines = sliding_lines();
  const auto with = [](std::string_view key, std::string_view value) {
    return fmt::format(R"("engine": {{"preset": "vllm", "hybrid_kv_cache": true, "{}": "{}"}},)",
                       key, value);
  };
  refused(lines,
          {{kEngineLine, with("eviction", "priority"),
            "engine.eviction: expected lru beside hybrid_kv_cache: openai/gpt-oss-20b has "
            "2 KV groups"},
           {kEngineLine, with("load", "layerwise"),
            "engine.load: expected async, blocking or barrier beside"},
           {kEngineLine, with("residency", "streaming"), "engine.residency: expected full beside"},
           {kEngineLine, with("kv_layout", "contiguous"),
            "engine.kv_layout: expected per_layer beside"}});
}

TEST_CASE("a tier below groups keeps pages, and only what upstream has there", "[scenarios]") {
  const auto tier = [](std::string_view more) {
    return fmt::format(R"("tiers": [{{"name": "dram", "kind": "dram", "capacity": "4GiB"{}}}],)",
                       more);
  };
  std::vector<std::string> lines = sliding_lines();
  lines[kTierLine - 1] = tier("");
  const Scenario s = scenario_of(joined(lines));
  CHECK(s.tier_blocks(s.tier->capacity) == (std::uint64_t{4} << 30) / 393'216);
  refused(lines, {{kTierLine, tier(R"(, "eviction": "fifo")"),
                   "tiers: expected eviction lru beside hybrid_kv_cache"},
                  {kTierLine, tier(R"(, "write_admission": "second-hit")"),
                   "tiers: expected write_admission always beside hybrid_kv_cache"}});
}

TEST_CASE("tiers behind dram keep pages of groups, in chunks too", "[scenarios]") {
  // Documents of 2,048 tokens: 128 blocks. dram holds 300 pages, and a document stores 256, so that
  // two later the first is on fs alone. Read again are all 128 pages of the full group, and of the
  // sliding group those of the last 127 tokens: 8 blocks. In chunks of four blocks that is 32
  // and 2.
  const auto rows = [] {
    std::vector<Row> out;
    for (const std::uint64_t id : {0U, 1U, 2U, 0U}) {
      out.push_back({2000 * static_cast<std::int64_t>(out.size()), 2048, 1, {id}});
    }
    return workload_of(out, 2048);
  };
  for (const int per_chunk : {1, 4}) {
    CAPTURE(per_chunk);
    std::vector<std::string> lines = sliding_lines(
        "gpt-oss-20b",
        fmt::format(R"("hybrid_kv_cache": true, "num_gpu_blocks": 300, "blocks_per_chunk": {})",
                    per_chunk));
    lines[kTierLine - 1] = R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "300blocks"},)"
                           R"( {"name": "fs", "kind": "fs"}],)";
    const RunResult r = simulate(scenario_of(joined(lines)), rows()).result;
    CHECK(r.completed == 4);
    CHECK(r.tiers[2].hits == 128);
    CHECK(r.tiers[2].device->bytes_read == (128 + 8) * 393'216);
  }
}

TEST_CASE("a pool too small in full runs its workload with groups", "[scenarios]") {
  // Prompts of 8,192 tokens and 8 more: 513 blocks of 24 layers, or 513 pages of 12 layers and of
  // the sliding group ceil((127 + 2,048) / 16) + 1 = 137. The same bytes are 500 blocks or 1,000
  // pages.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 4; ++i) {
    std::vector<std::uint64_t> chain;
    for (std::uint64_t k = 0; k < 16; ++k) chain.push_back(100 * i + k);
    rows.push_back({static_cast<std::int64_t>(100 * i), 8192, 8, chain});
  }
  const Workload w = workload_of(rows, 512);
  const auto scenario = [](std::string_view pool) {
    return scenario_of(joined(
        sliding_lines("gpt-oss-20b", fmt::format(R"("max_num_batched_tokens": 2048, {})", pool))));
  };
  const json result =
      to_json(simulate(scenario(R"("hybrid_kv_cache": true, "num_gpu_blocks": 1000)"), w).result);
  CHECK(result["completed"] == 4);
  CHECK_THROWS_AS(simulate(scenario(R"("num_gpu_blocks": 500)"), w), InputError);
}

}  // namespace
}  // namespace spillway::test

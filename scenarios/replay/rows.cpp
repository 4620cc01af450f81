#include "scenarios/replay/rows.hpp"

#include "scenarios/scenario/flags/engine_policies.hpp"

namespace spillway {

namespace {

using nlohmann::json;

json tiers_json(const ReplayCell& cell, const ReplayRowFacts& facts) {
  json out = json::array();
  for (std::size_t i = 0; i < facts.tiers.size(); ++i) {
    const ReplayTierSpec& tier = facts.tiers[i];
    const ReplayTierCounts& counts = cell.tiers()[i];
    json one = {{"name", tier.name},
                {"policy", tier.policy ? tier.policy->text() : cell.policy()},
                {"capacity_blocks", capacity_json(tier.capacity_blocks)},
                {"hits", facts.prefix ? counts.prefix_hits : counts.block_hits},
                {"evictions", counts.evictions},
                {"blocks_in", counts.blocks_in},
                {"blocks_out", counts.blocks_out}};
    if (facts.kv_bytes_a_block) {
      one["bytes_in"] = counts.blocks_in * *facts.kv_bytes_a_block;
      one["bytes_out"] = counts.blocks_out * *facts.kv_bytes_a_block;
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// Signed: where requests repeat a block or are no prefix chains, the optimum is none.
json difference(std::uint64_t more, std::uint64_t less) {
  return static_cast<std::int64_t>(more) - static_cast<std::int64_t>(less);
}

}  // namespace

json capacity_json(std::uint64_t capacity_blocks) {
  return capacity_blocks == kUnboundedCache ? json("inf") : json(capacity_blocks);
}

json replay_row(const ReplayCell& cell, const ReplayRowFacts& facts,
                const std::optional<ReplayBounds>& bounds) {
  const ReplayCounts& counts = cell.counts();
  const std::uint64_t hits = facts.prefix ? counts.prefix_hits : counts.block_hits;
  json row = {{"policy", cell.policy()},
              {"capacity_blocks", capacity_json(cell.capacity())},
              {"semantics", facts.prefix ? "prefix" : "block"},
              {"references", counts.references},
              {"hits", hits},
              {"hit_ratio", counts.references == 0 ? 0.0
                                                   : static_cast<double>(hits) /
                                                         static_cast<double>(counts.references)},
              {"evictions", counts.evictions},
              {"unique_blocks", facts.unique_blocks}};
  // Without an engine that is asked about: no engine that is known here has it.
  const std::string name = cell.policy().substr(0, cell.policy().find(':'));
  if (!cell.tiered() && !some_engine_has(name)) row["engine_lacks"] = name;
  if (cell.tiered()) row["tiers"] = tiers_json(cell, facts);
  if (!bounds) return row;
  row["bounds"] = {{"content", bounds->content},
                   {"content_prefix", bounds->content_prefix},
                   {"strict_prefix_optimum", bounds->strict_prefix_optimum},
                   {"belady", bounds->belady},
                   {"lru", bounds->lru}};
  const std::uint64_t optimum = bounds->optimum_for(facts.prefix);
  row["gap"] = {{"capacity", difference(bounds->content_for(facts.prefix), optimum)},
                {"policy", difference(optimum, hits)}};
  return row;
}

}  // namespace spillway

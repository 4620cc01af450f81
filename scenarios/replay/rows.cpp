#include "scenarios/replay/rows.hpp"

#include "scenarios/scenario/flags/engine_policies.hpp"

namespace spillway {

namespace {

std::vector<ReplayTierRow> tier_rows(const ReplayCell& cell, const ReplayRowFacts& facts) {
  std::vector<ReplayTierRow> out;
  for (std::size_t i = 0; i < facts.tiers.size(); ++i) {
    const ReplayTierSpec& tier = facts.tiers[i];
    const ReplayTierCounts& counts = cell.tiers()[i];
    ReplayTierRow row;
    row.name = tier.name;
    row.policy = tier.policy ? tier.policy->text() : cell.policy();
    row.unbounded = tier.capacity_blocks == kUnboundedCache;
    row.capacity_blocks = tier.capacity_blocks;
    row.hits = facts.prefix ? counts.prefix_hits : counts.block_hits;
    row.evictions = counts.evictions;
    row.blocks_in = counts.blocks_in;
    row.blocks_out = counts.blocks_out;
    if (facts.kv_bytes_a_block) {
      row.bytes_in = counts.blocks_in * *facts.kv_bytes_a_block;
      row.bytes_out = counts.blocks_out * *facts.kv_bytes_a_block;
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::int64_t difference(std::uint64_t more, std::uint64_t less) {
  return static_cast<std::int64_t>(more) - static_cast<std::int64_t>(less);
}

}  // namespace

ReplayRow replay_row(const ReplayCell& cell, const ReplayRowFacts& facts,
                     const std::optional<ReplayBounds>& bounds) {
  const ReplayCounts& counts = cell.counts();
  ReplayRow row;
  row.policy = cell.policy();
  row.unbounded = cell.capacity() == kUnboundedCache;
  row.capacity_blocks = cell.capacity();
  row.prefix = facts.prefix;
  row.references = counts.references;
  row.hits = facts.prefix ? counts.prefix_hits : counts.block_hits;
  row.evictions = counts.evictions;
  row.unique_blocks = facts.unique_blocks;
  // Without an engine that is asked about: no engine that is known here has it.
  const std::string name = cell.policy().substr(0, cell.policy().find(':'));
  if (!cell.tiered() && !some_engine_has(name)) row.engine_lacks = name;
  if (cell.tiered()) row.tiers = tier_rows(cell, facts);
  if (!bounds) return row;
  row.bounds = bounds;
  const std::uint64_t optimum = bounds->optimum_for(facts.prefix);
  row.gap = ReplayGap{difference(bounds->content_for(facts.prefix), optimum),
                      difference(optimum, row.hits)};
  return row;
}

}  // namespace spillway

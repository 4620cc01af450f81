#include "scenarios/replay/rows.hpp"

#include <fmt/format.h>

#include <set>

#include "reports/format.hpp"

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

std::string capacity_text(const json& capacity) {
  return capacity.is_string() ? "inf" : format_count(capacity.get<std::uint64_t>());
}

std::string count_text(const json& count) {
  return format_count(count.get<std::uint64_t>());
}

std::string share_text(const json& count, const json& references) {
  const double of = references.get<double>();
  return format_percent(of == 0 ? 0 : count.get<double>() / of);
}

Table row_table(const json& rows) {
  Table out;
  out.header = {"policy", "capacity", "hits", "hit ratio", "evictions"};
  const bool bounded = !rows.empty() && rows[0].contains("gap");
  if (bounded) out.header.insert(out.header.end(), {"lost to size", "lost to policy"});
  for (const json& row : rows) {
    out.rows.push_back(
        {row["policy"], capacity_text(row["capacity_blocks"]), count_text(row["hits"]),
         fmt::format("{:.6f}", row["hit_ratio"].get<double>()), count_text(row["evictions"])});
    if (!bounded) continue;
    for (const char* part : {"capacity", "policy"}) {
      out.rows.back().push_back(share_text(row["gap"][part], row["references"]));
    }
  }
  return out;
}

/// One row a capacity.
Table bound_table(const json& rows) {
  Table out;
  out.title = "Bounds";
  out.header = {"capacity",          "LRU",
                "optimum, blocks",   "optimum, prefixes",
                "unbounded, blocks", "unbounded, prefixes"};
  std::set<std::string> seen;
  for (const json& row : rows) {
    if (!row.contains("bounds")) continue;
    const std::string capacity = capacity_text(row["capacity_blocks"]);
    if (!seen.insert(capacity).second) continue;
    out.rows.push_back({capacity});
    for (const char* bound :
         {"lru", "belady", "strict_prefix_optimum", "content", "content_prefix"}) {
      out.rows.back().push_back(count_text(row["bounds"][bound]));
    }
  }
  return out;
}

Table tier_table(const json& rows) {
  Table out;
  out.title = "Tiers";
  out.header = {"policy", "tier", "capacity", "hits", "evictions", "blocks in", "blocks out"};
  for (const json& row : rows) {
    if (!row.contains("tiers")) continue;
    for (const json& tier : row["tiers"]) {
      out.rows.push_back({tier["policy"], printable(tier["name"].get<std::string>()),
                          capacity_text(tier["capacity_blocks"]), count_text(tier["hits"]),
                          count_text(tier["evictions"]), count_text(tier["blocks_in"]),
                          count_text(tier["blocks_out"])});
      if (!tier.contains("bytes_in")) continue;
      if (out.header.size() == 7) out.header.insert(out.header.end(), {"in", "out"});
      out.rows.back().push_back(format_bytes(tier["bytes_in"].get<double>()));
      out.rows.back().push_back(format_bytes(tier["bytes_out"].get<double>()));
    }
  }
  return out;
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

Report replay_report(const json& rows, const std::string& title) {
  Report report;
  report.title = title;
  Section section;
  section.tables.push_back(row_table(rows));
  for (Table table : {tier_table(rows), bound_table(rows)}) {
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway

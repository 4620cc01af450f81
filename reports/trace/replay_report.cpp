// A replay's rows: hits by policy and capacity, how far they are from what any policy could reach,
// and the tiers they came from.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_report.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::string capacity_text(const json& capacity) {
  return capacity.is_string() ? "inf" : format_count(whole<std::uint64_t>(capacity));
}

std::string count_text(const json& count) {
  return format_count(whole<std::uint64_t>(count));
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
    const std::string policy = row.at("policy");
    out.rows.push_back({row.contains("engine_lacks") ? policy + " (not in vLLM)" : policy,
                        capacity_text(row.at("capacity_blocks")), count_text(row.at("hits")),
                        fmt::format("{:.6f}", row.at("hit_ratio").get<double>()),
                        count_text(row.at("evictions"))});
    if (!bounded) continue;
    for (const char* part : {"capacity", "policy"}) {
      out.rows.back().push_back(share_text(row.at("gap").at(part), row.at("references")));
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
    const std::string capacity = capacity_text(row.at("capacity_blocks"));
    if (!seen.insert(capacity).second) continue;
    out.rows.push_back({capacity});
    for (const char* bound :
         {"lru", "belady", "strict_prefix_optimum", "content", "content_prefix"}) {
      out.rows.back().push_back(count_text(row.at("bounds").at(bound)));
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
    for (const json& tier : row.at("tiers")) {
      out.rows.push_back({tier.at("policy"), printable(tier.at("name").get<std::string>()),
                          capacity_text(tier.at("capacity_blocks")), count_text(tier.at("hits")),
                          count_text(tier.at("evictions")), count_text(tier.at("blocks_in")),
                          count_text(tier.at("blocks_out"))});
      if (!tier.contains("bytes_in")) continue;
      if (out.header.size() == 7) out.header.insert(out.header.end(), {"in", "out"});
      out.rows.back().push_back(format_bytes(tier.at("bytes_in").get<double>()));
      out.rows.back().push_back(format_bytes(tier.at("bytes_out").get<double>()));
    }
  }
  return out;
}

/// Parts of a row's references, in percent.
double percent_of(const json& row, double count) {
  const double references = row.at("references").get<double>();
  return references == 0 ? 0 : 100 * count / references;
}

/// What is known of one policy, or of a bound: hit ratio by capacity in blocks.
using Curve = std::map<double, double>;

ChartSeries series_of(const std::string& name, const Curve& curve) {
  ChartSeries out{name, {}, {}};
  for (const auto& [x, y] : curve) {
    out.x.push_back(x);
    out.y.push_back(y);
  }
  return out;
}

/// Hits a capacity could give at most, and any capacity, as the rows' gaps tell.
struct Best {
  Curve optimum;
  std::optional<double> unlimited;
};

Best best_of(const json& rows) {
  Best out;
  for (const json& row : rows) {
    if (!row.contains("gap")) continue;
    const double optimum = row.at("hits").get<double>() + row.at("gap").at("policy").get<double>();
    out.unlimited = percent_of(row, optimum + row.at("gap").at("capacity").get<double>());
    const json& capacity = row.at("capacity_blocks");
    if (capacity.is_number()) out.optimum[capacity.get<double>()] = percent_of(row, optimum);
  }
  return out;
}

/// Hit ratio by capacity, a line for each policy. No series where no capacity is a number.
Chart capacity_chart(const json& rows) {
  Chart chart;
  chart.title = "Hits by capacity";
  chart.x_label = "capacity (trace blocks)";
  chart.y_label = "% of references";
  chart.log_x = true;
  chart.points = true;
  std::vector<std::string> order;
  std::map<std::string, Curve> curves;
  for (const json& row : rows) {
    const json& capacity = row.at("capacity_blocks");
    if (!capacity.is_number()) continue;
    const std::string policy = row.at("policy");
    if (std::find(order.begin(), order.end(), policy) == order.end()) order.push_back(policy);
    curves[policy][capacity.get<double>()] = percent_of(row, row.at("hits").get<double>());
  }
  if (order.empty()) return chart;
  for (const std::string& policy : order) {
    chart.series.push_back(series_of(policy, curves[policy]));
  }
  const Best best = best_of(rows);
  if (!best.optimum.empty()) {
    chart.series.push_back(series_of("best possible (offline)", best.optimum));
    chart.note =
        "What lies between a line and the best possible one is lost to the policy; what lies "
        "above that is lost to size.";
  }
  if (best.unlimited) chart.limits.emplace_back("unlimited cache", *best.unlimited);
  return chart;
}

/// Where there are tiers: from which the hits came. No stacks elsewhere.
Chart tier_chart(const json& rows) {
  Chart chart;
  chart.kind = ChartKind::kStacks;
  chart.title = "Hits by tier";
  chart.x_label = "% of references";
  chart.unit = "%";
  for (const json& row : rows) {
    if (!row.contains("tiers")) continue;
    ChartStack stack;
    stack.name = row.at("policy");
    std::vector<std::string> names;
    for (const json& tier : row.at("tiers")) {
      names.push_back(tier.at("name"));
      stack.parts.push_back(percent_of(row, tier.at("hits").get<double>()));
    }
    chart.part_names = std::move(names);
    chart.stacks.push_back(std::move(stack));
  }
  return chart;
}

std::string title_of(const json& rows, const Provenance& p) {
  return fmt::format(
      "{} hits, touch order {}, {} at a time{}",
      rows.empty() ? "block" : rows.at(0).at("semantics").get<std::string>(),
      p.inputs.at("touch_order").get<std::string>(), p.inputs.at("atomic").get<std::string>(),
      p.inputs.contains("inclusion") ? ", " + p.inputs.at("inclusion").get<std::string>() + " tiers"
                                     : "");
}

Section tables_section(const json& rows) {
  Section section;
  section.tables.push_back(row_table(rows));
  for (Table table : {tier_table(rows), bound_table(rows)}) {
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  return section;
}

/// The row with the most hits among those of a limited cache, else of all.
const json* best_row(const json& rows) {
  const json* best = nullptr;
  const auto better = [&](const json& row) {
    if (best == nullptr) return true;
    const bool limited = row.at("capacity_blocks").is_number();
    if (limited != best->at("capacity_blocks").is_number()) return limited;
    return row.at("hits").get<double>() > best->at("hits").get<double>();
  };
  for (const json& row : rows) {
    if (better(row)) best = &row;
  }
  return best;
}

Section answer_page(const json& rows) {
  Section page = tables_section(rows);
  page.id = "answer";
  page.heading = "Answer";
  if (const json* best = best_row(rows)) {
    page.facts.push_back(
        {"Most hits", format_percent(best->at("hit_ratio").get<double>()) + " of references",
         fmt::format("policy {}, capacity {}{}", best->at("policy").get<std::string>(),
                     capacity_text(best->at("capacity_blocks")),
                     best->at("capacity_blocks").is_string() ? "" : " blocks")});
    page.facts.push_back(
        {"References", count_text(best->at("references")),
         "blocks asked for, " + count_text(best->at("unique_blocks")) + " different ones"});
    if (const Best bound = best_of(rows); bound.unlimited) {
      page.facts.push_back({"Any cache at most", format_percent(*bound.unlimited / 100),
                            "what the trace repeats at all"});
    }
  }
  if (Chart chart = capacity_chart(rows); !chart.series.empty()) {
    page.charts.push_back(std::move(chart));
  }
  if (Chart chart = tier_chart(rows); !chart.stacks.empty()) {
    page.charts.push_back(std::move(chart));
  }
  return page;
}

}  // namespace

Report replay_summary(const json& rows, const Provenance& p) {
  Report report;
  report.title = title_of(rows, p);
  report.sections.push_back(tables_section(rows));
  return report;
}

Report replay_report(const json& rows, const Provenance& p) {
  Report report;
  report.title = "Cache replay";
  report.subtitle = title_of(rows, p);
  report.sections = {answer_page(rows), provenance_section(p)};
  report.sections.back().id = "provenance";
  return report;
}

}  // namespace spillway

#include "reports/trace/trace_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"

namespace spillway {

using nlohmann::json;

namespace {

constexpr std::size_t kTenantsShown = 10;

constexpr std::pair<const char*, const char*> kRows[] = {
    {"kept", "rows kept"},
    {"dropped", "rows dropped (on purpose, such as recorded failures)"},
    {"quarantined", "rows quarantined (faulty, left out by lenient reading)"},
    {"reordered", "rows reordered (stood behind later ones)"}};

std::string count_of(const json& value) {
  return format_count(whole<std::uint64_t>(value));
}
std::string real_of(const json& value) {
  return format_real(value.get<double>());
}

Table lengths_table(const json& r) {
  Table table;
  table.title = "Lengths in tokens";
  table.header = {"of", "total", "mean", "std", "p50", "p90", "p95", "p99", "max"};
  for (const char* key : {"input", "output"}) {
    const json& l = r.at(std::string(key) + "_tokens");
    table.rows.push_back({key, count_of(l.at("total")), real_of(l.at("mean")), real_of(l.at("std")),
                          real_of(l.at("p50")), real_of(l.at("p90")), real_of(l.at("p95")),
                          real_of(l.at("p99")), count_of(l.at("max"))});
  }
  return table;
}

Table arrivals_table(const json& r) {
  const json& a = r.at("arrivals");
  Table table;
  table.title = "Arrivals";
  table.header = {"figure", "value"};
  table.rows = {{"requests/s, mean", real_of(r.at("requests_per_s"))},
                {"requests/s, busiest minute", real_of(r.at("peak_requests_per_s"))},
                {"distinct arrival times", count_of(r.at("distinct_arrival_times"))}};
  if (a.contains("gap_cv")) {
    table.rows.push_back({"gaps, std / mean (Poisson: 1)", real_of(a.at("gap_cv"))});
  }
  for (const json& d : a.at("dispersion")) {
    table.rows.push_back(
        {fmt::format("counts per {:g} s, variance / mean", d.at("window_s").get<double>()),
         real_of(d.at("index"))});
  }
  return table;
}

/// Deviations in percent of the whole; of a ratio in points.
Table drift_table(const json& stationarity) {
  Table table;
  table.title =
      fmt::format("Over time, in windows of {} s: {}", real_of(stationarity.at("window_s")),
                  stationarity.at("verdict").get<std::string>());
  table.header = {"of", "whole", "verdict", "largest deviation", "trend", "z", "noise"};
  for (const json& t : stationarity.at("tests")) {
    const std::string quantity = t.at("quantity");
    const bool ratio = quantity == "hit ratio";
    const double whole = t.at("overall");
    const double scale = ratio ? 100 : whole > 0 ? 100 / whole : 0;
    const auto share = [&](const char* key) {
      return fmt::format("{:.1f}{}", scale * t.at(key).get<double>(), ratio ? " pt" : "%");
    };
    table.rows.push_back({quantity, real_of(t.at("overall")), t.at("verdict"),
                          share("largest_deviation"), share("trend_change"),
                          fmt::format("{:.1f}", t.at("trend_z").get<double>()), share("noise")});
  }
  return table;
}

Table reuse_table(const json& r) {
  Table table;
  table.title = "Reuse";
  table.header = {"figure", "value"};
  table.rows = {{"block references", count_of(r.at("references"))},
                {"unique blocks", count_of(r.at("unique_blocks"))},
                {"blocks used once", fmt::format("{} ({})", count_of(r.at("single_use_blocks")),
                                                 format_percent(r.at("single_use_share")))},
                {"hits of an infinite cache", count_of(r.at("infinite_cache_hits"))},
                {"hit ratio of an infinite cache",
                 fmt::format("{:.4f}", r.at("infinite_cache_hit_ratio").get<double>())}};
  const json& reuse = r.at("reuse");
  if (reuse.contains("median_gap_s")) {
    const auto both = [&](const char* unit) {
      return fmt::format("{} / {}", real_of(reuse.at(fmt::format("median_{}", unit))),
                         real_of(reuse.at(fmt::format("p90_{}", unit))));
    };
    table.rows.push_back({"blocks until reuse, p50 / p90", both("distance_blocks")});
    table.rows.push_back({"seconds until reuse, p50 / p90", both("gap_s")});
  }
  const json& w = r.at("working_set");
  table.rows.push_back({fmt::format("most blocks in use in {} s", real_of(w.at("interval_s"))),
                        count_of(w.at("peak_unique_blocks"))});
  table.rows.push_back({"most blocks with reuse to come", count_of(w.at("peak_live_blocks"))});
  return table;
}

/// Every third capacity, the largest among them.
Table curve_table(const json& curve) {
  Table table;
  table.title = "Hit ratio of LRU";
  table.header = {"capacity (blocks)", "of unique blocks", "hit ratio"};
  for (std::size_t i = curve.size() < 3 ? 0 : (curve.size() - 1) % 3; i < curve.size(); i += 3) {
    const json& point = curve.at(i);
    table.rows.push_back({count_of(point.at("capacity_blocks")),
                          format_percent(point.at("share_of_unique_blocks")),
                          fmt::format("{:.4f}", point.at("hit_ratio").get<double>())});
  }
  return table;
}

}  // namespace

Section arrivals_section(const json& r) {
  const json& a = r.at("arrivals");
  Section section;
  section.tables = {lengths_table(r), arrivals_table(r)};
  section.paragraphs.push_back(fmt::format("Arrivals: {}; {}.", a.at("verdict").get<std::string>(),
                                           a.at("reason").get<std::string>()));
  if (a.at("binned").get<bool>()) {
    section.paragraphs.push_back(fmt::format(
        "Arrivals are binned: {} requests share {} instants, {} s apart (median); gaps and windows "
        "near that show the recording's clock.",
        count_of(r.at("requests")), count_of(r.at("distinct_arrival_times")),
        real_of(a.at("median_distance_of_times_s"))));
  }
  const json& s = r.at("stationarity");
  if (s.at("tests").empty()) {
    section.paragraphs.push_back(fmt::format("Over time: {}; {}.",
                                             s.at("verdict").get<std::string>(),
                                             s.at("reason").get<std::string>()));
  } else {
    section.tables.push_back(drift_table(s));
  }
  return section;
}

Section reuse_section(const json& r) {
  Section section;
  if (r.contains("reuse")) {
    section.tables = {reuse_table(r), curve_table(r.at("reuse").at("lru_curve"))};
  } else {
    section.paragraphs.push_back("The trace names no blocks: nothing can be said about reuse.");
  }
  return section;
}

Section clients_section(const json& r, std::uint64_t tenant_count) {
  Section section;
  Table turns;
  turns.title = "Sessions";
  turns.header = {"of", "count", "mean", "p50", "p90", "p99", "max"};
  const auto row = [&](const char* name, const char* key) {
    if (!r.contains(key)) return;
    const json& d = r.at(key);
    turns.rows.push_back({name, count_of(d.at("count")), real_of(d.at("mean")),
                          real_of(d.at("p50")), real_of(d.at("p90")), real_of(d.at("p99")),
                          real_of(d.at("max"))});
  };
  row("turns per session", "turns_per_session");
  row("seconds between turns", "turn_gap_s");
  row("think time (s)", "think_s");
  if (!turns.rows.empty()) section.tables.push_back(std::move(turns));
  if (whole<std::uint64_t>(r.at("with_predecessor")) > 0) {
    section.paragraphs.push_back(fmt::format("{} of the requests wait for another's answer.",
                                             format_percent(r.at("with_predecessor_share"))));
  }
  if (!r.contains("tenants")) return section;
  const json& tenants = r.at("tenants");
  Table table;
  const std::uint64_t all = std::max<std::uint64_t>(tenant_count, tenants.size());
  table.title = fmt::format("Tenants: {}", format_count(all));
  table.header = {"tenant", "requests", "input tokens"};
  for (std::size_t i = 0; i < std::min(kTenantsShown, tenants.size()); ++i) {
    const json& tenant = tenants.at(i);
    table.rows.push_back(
        {tenant.at("name"), count_of(tenant.at("requests")), count_of(tenant.at("input_tokens"))});
  }
  if (all > table.rows.size()) table.title += ", the largest of them";
  section.tables.push_back(std::move(table));
  return section;
}

Table source_table(const json& trace, const json& r) {
  Table table;
  table.title = "Source";
  table.header = {"what", "value"};
  table.rows.push_back({"format", trace.value("format", "")});
  const json rows = trace.value("rows", json::object());
  if (whole<std::uint64_t>(rows.value("read", json(0))) > 0) {
    table.rows.push_back({"rows read", count_of(rows.at("read"))});
    for (const auto& [key, label] : kRows) {
      const std::uint64_t count = whole<std::uint64_t>(rows.value(key, json(0)));
      if (count > 0) table.rows.push_back({label, format_count(count)});
    }
  }
  table.rows.push_back({"tokens a block", count_of(r.at("block_tokens"))});
  table.rows.push_back({"content hash", r.at("content_hash")});
  return table;
}

}  // namespace spillway

// The links between tiers: what the scenario gives, and the GPU's defaults for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/link/defaults.hpp"
#include "scenarios/scenario_parts.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Names kLinkKeys[] = {"name",       "from",      "to",           "kind",
                               "latency_us", "bandwidth", "per_copy_us",  "copy_bytes",
                               "copies",     "gbs",       "duplex_factor"};

RateTable read_rate_table(const ObjectReader& link) {
  RateTable table;
  const auto sizes = link.texts("copy_bytes", ObjectReader::kSize);
  if (!sizes || sizes->empty())
    link.missing("copy_bytes", "ascending copy sizes, e.g. [\"4KiB\", \"2MiB\"]");
  for (const std::string& size : *sizes) {
    table.copy_bytes.push_back(
        static_cast<double>(parse_bytes(size, link.where("copy_bytes")).count()));
  }
  table.copies = link.numbers("copies", 1, 1e12).value_or(std::vector<double>{1});
  const auto gbs = link.numbers("gbs", 1e-6, 1e6);
  if (!gbs) link.missing("gbs", "rates in GB/s, one row of sizes after another per copy count");
  table.gbs = *gbs;
  const auto ascending = [](const std::vector<double>& v) {
    return !v.empty() && v.front() > 0 &&
           std::adjacent_find(v.begin(), v.end(), std::greater_equal<>()) == v.end();
  };
  if (!ascending(table.copy_bytes)) link.fail("copy_bytes", "expected ascending sizes above 0");
  if (!ascending(table.copies)) link.fail("copies", "expected ascending counts");
  if (table.gbs.size() != table.copies.size() * table.copy_bytes.size()) {
    link.fail("gbs", fmt::format("expected {} x {} rates, found {}", table.copies.size(),
                                 table.copy_bytes.size(), table.gbs.size()));
  }
  const double latency_us = link.number("latency_us", 0, 1e9).value_or(0);
  table.job_latency = Duration(static_cast<std::int64_t>(std::ceil(latency_us * 1000)));
  const double per_copy_us = link.number("per_copy_us", 0, 1e6).value_or(0);
  table.per_copy = Duration(static_cast<std::int64_t>(std::ceil(per_copy_us * 1000)));
  return table;
}

LinkChoice read_link(const ObjectReader& link) {
  LinkChoice out;
  out.name = link.require_text("name");
  out.from = link.require_text("from");
  out.to = link.require_text("to");
  out.duplex_factor = link.number("duplex_factor", 0.01, 1).value_or(1);
  out.source = "scenario";
  const std::string kind = link.require_text("kind");
  if (kind == "affine") {
    link.refuse({"per_copy_us", "copy_bytes", "copies", "gbs"}, "expected only with kind table");
    const Decimal latency = decimal_of(link.require_number("latency_us", 0, 1e9));
    out.latency = Duration(-floor_scaled({-latency.digits, latency.exponent}, 3));  // rounded up
    out.bytes_per_second = parse_bandwidth(link.require_text("bandwidth", ObjectReader::kRate),
                                           link.where("bandwidth"));
  } else if (kind == "table") {
    link.refuse({"bandwidth"}, "expected only with kind affine");
    out.affine = false;
    out.table = read_rate_table(link);
  } else {
    link.fail("kind", fmt::format("expected affine or table, found \"{}\"", kind));
  }
  return out;
}

}  // namespace

const KeyTable ScenarioKeys::kLink = kLinkKeys;

void read_links(const ObjectReader& top, Scenario& s) {
  for (const ObjectReader& link : top.objects("links", ScenarioKeys::kLink)) {
    const LinkChoice choice = read_link(link);
    if (!s.tier) {
      link.fail("to", "expected a tier for this link to lead to; the scenario has none below hbm");
    }
    const auto is_end = [&](std::string_view key, const std::string& end) {
      if (end == "hbm" || end == s.tier->host_end()) return;
      if (end == s.tier->name) {
        link.fail(key, fmt::format("expected hbm or host: HBM's data goes to {} by way of the "
                                   "host, and tiers[].device describes the way from there",
                                   end));
      }
      link.fail(key, fmt::format("unknown tier \"{}\"; known: hbm, {}", end, s.tier->host_end()));
    };
    is_end("from", choice.from);
    is_end("to", choice.to);
    if (choice.from == choice.to) link.fail("to", "expected two different ends");
    const bool down = choice.from == "hbm";
    auto& lane = down ? s.down : s.up;
    const auto& other = down ? s.up : s.down;
    if (lane) link.fail("name", fmt::format("a second link from {} to {}", choice.from, choice.to));
    if (other && other->name == choice.name) {
      link.fail("name",
                fmt::format("two links are called \"{}\"; expected different names", choice.name));
    }
    lane = choice;
  }
  if (!s.tier || (s.down && s.up)) return;
  if (s.gpu == nullptr) {
    top.missing("links", fmt::format("a link {} (no gpu to take a default from)",
                                     s.down ? fmt::format("{} to hbm", s.tier->host_end())
                                            : fmt::format("hbm to {}", s.tier->host_end())));
  }
  const HostLinkDefault defaults = default_host_link(*s.gpu);
  const auto fill = [&](std::optional<LinkChoice>& lane, std::string name, std::string from,
                        std::string to, const RateTable& table, double duplex) {
    if (lane) return;
    LinkChoice choice;
    choice.name = std::move(name);
    choice.from = std::move(from);
    choice.to = std::move(to);
    choice.affine = false;
    choice.table = table;
    choice.duplex_factor = duplex;
    choice.source = table.source;
    s.notes.push_back(
        fmt::format("link {} to {}: default, {}", choice.from, choice.to, table.source));
    lane = std::move(choice);
  };
  const std::string host(s.tier->host_end());
  fill(s.down, "d2h", "hbm", host, defaults.down, defaults.down_duplex);
  fill(s.up, "h2d", host, "hbm", defaults.up, defaults.up_duplex);
}

}  // namespace spillway

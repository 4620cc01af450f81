// Page 2: the traffic that the answer is about.
#include <fmt/format.h>

#include <cmath>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_workload.hpp"
#include "reports/plan/standing.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_parts.hpp"

namespace spillway {

namespace {

using nlohmann::json;

void add_chart(Section& section, Chart chart) {
  if (!chart.series.empty() || !chart.cells.empty()) section.charts.push_back(std::move(chart));
}

double speed_of(const Provenance& p) {
  const json workload = object_at(object_at(p.inputs, "configuration"), "workload");
  const auto speed = workload.find("speed");
  return speed != workload.end() && speed->is_number() ? speed->get<double>() : 1;
}

std::string duration(double seconds) {
  if (seconds >= 2 * 86400) return format_real(seconds / 86400) + " days";
  if (seconds >= 2 * 3600) return format_real(seconds / 3600) + " h";
  if (seconds >= 120) return format_real(seconds / 60) + " min";
  return format_real(seconds) + " s";
}

void add_facts(const json& stats, double speed, Section& page) {
  const double rate = stats.at("requests_per_s");
  page.facts.push_back({"Requests", format_count(whole<std::uint64_t>(stats.at("requests"))),
                        "over " + duration(stats.at("span_s").get<double>()) + ", as recorded"});
  page.facts.push_back(
      {"Rate", fmt::format("{} requests/s", format_real(rate)),
       speed == 1 ? fmt::format("{} in the busiest minute",
                                format_real(stats.at("peak_requests_per_s").get<double>()))
                  : fmt::format("as recorded; played at {} times that", format_real(speed))});
  page.facts.push_back(
      {"Prompt", format_real(stats.at("input_tokens").at("mean").get<double>()) + " tokens",
       fmt::format("on average, with answers of {}",
                   format_real(stats.at("output_tokens").at("mean").get<double>()))});
  if (stats.contains("reuse")) {
    page.facts.push_back({"Repeated", format_percent(stats.at("infinite_cache_hit_ratio")),
                          "of prompt blocks appeared in an earlier prompt: no cache gains more "
                          "from prompts"});
  }
  const json& over_time = stats.at("stationarity");
  page.facts.push_back({"Over time", capitalised(over_time.at("verdict").get<std::string>()),
                        "see Arrivals and lengths for what drifts, and by how much"});
}

/// What was simulated at each size, in the curve's terms.
ChartSeries simulated(const PlanResult& plan, const PlanPoint& shown) {
  ChartSeries out{"simulated, all caches, at each size tried", {}, {}};
  for (const PlanPoint& point : plan.points) {
    const double bytes = cache_bytes(point);
    if (point.values != shown.values || !std::isfinite(bytes) || bytes <= 0) continue;
    if (!out.x.empty() && bytes / kGiB <= out.x.back()) continue;  // HBM is still the larger
    out.x.push_back(bytes / kGiB);
    out.y.push_back(100 * cached_share(point.run));
  }
  return out;
}

/// The recommended cell, or the one that an undecided plan speaks for, else the first.
const PlanPoint* shown_point(const PlanResult& plan) {
  const int at = plan.recommended >= 0 ? plan.recommended : std::max(0, plan.provisional);
  const auto index = static_cast<std::size_t>(at);
  return index < plan.points.size() ? &plan.points[index] : nullptr;
}

Chart reuse_chart(const PlanResult& plan) {
  Chart chart;
  chart.title = "What a cache of a size can supply";
  chart.x_label = "GiB of KV";
  chart.y_label = "% of prompt blocks";
  std::optional<ChartSeries> curve = reuse_over_bytes(plan);
  if (!curve) return chart;
  for (double& x : curve->x) x /= kGiB;
  chart.log_x = true;
  chart.points = true;
  const double first = curve->x.front();
  const double infinite = curve->y.back();
  chart.limits.emplace_back("cache without bound", infinite);
  chart.series.push_back(*std::move(curve));
  chart.note = fmt::format(
      "A least-recently-used cache without bound hits {:.1f}% of the prompt blocks.", infinite);
  const PlanPoint* shown = shown_point(plan);
  if (shown == nullptr || shown->run.tiers.empty()) return chart;
  const double hbm = static_cast<double>(shown->run.tiers[0].capacity_bytes) / kGiB;
  const double all = cache_bytes(*shown) / kGiB;
  if (hbm > first) chart.regions.push_back({"fits HBM", first, hbm});
  if (std::isfinite(all) && all > std::max(hbm, first)) {
    chart.regions.push_back({fmt::format("fits {} at {}", plan.tier, spaced(shown->capacity)),
                             std::max(hbm, first), all});
  }
  ChartSeries tried = simulated(plan, *shown);
  if (!tried.x.empty()) {
    chart.series.push_back(std::move(tried));
    chart.note += " Simulated points count tokens, and also find answers again.";
  }
  return chart;
}

Section folded_part(Section part, const char* heading) {
  part.heading = heading;
  part.folded = true;
  return part;
}

void add_traffic(const PlanResult& plan, const json& stats, Section& page) {
  add_chart(page, rate_heatmap(stats));
  add_chart(page, reuse_chart(plan));
  add_chart(page, lengths_chart(stats));
  add_chart(page, working_set_chart(stats, plan.workload->kv_bytes_per_block));
  page.parts.push_back(folded_part(arrivals_section(stats), "Arrivals and lengths"));
  page.parts.push_back(folded_part(reuse_section(stats), "Reuse"));
  Section clients = clients_section(stats, plan.workload->tenants);
  if (clients.tables.empty() && clients.paragraphs.empty()) {
    clients.paragraphs.emplace_back("The trace names neither sessions nor tenants.");
  }
  page.parts.push_back(folded_part(std::move(clients), "Sessions and tenants"));
}

}  // namespace

Section workload_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "workload";
  page.heading = "Workload";
  Section setup = folded_part(setup_section(provenance), "What it was played on");
  if (!plan.workload) {
    page.paragraphs.emplace_back("This result does not say what its traffic is like.");
    page.parts.push_back(std::move(setup));
    return page;
  }
  const json stats = json::parse(plan.workload->stats);
  const double speed = speed_of(provenance);
  add_facts(stats, speed, page);
  page.paragraphs.push_back(fmt::format(
      "The answer holds for traffic like this{}. Figures are of the recording itself{}.",
      plan.confidence ? "; replicates are resampled from the trace" : "",
      speed == 1 ? ""
                 : fmt::format(", which the plan plays at {} times its rate", format_real(speed))));
  Section source = folded_part({}, "Source");
  const json trace = object_at(provenance.inputs, "trace");
  Table table = source_table(trace, stats);
  const std::string name = text_at(trace, "name");
  if (!name.empty()) table.rows.insert(table.rows.begin(), {"trace", name});
  source.tables.push_back(std::move(table));
  add_traffic(plan, stats, page);
  page.parts.push_back(std::move(source));
  page.parts.push_back(std::move(setup));
  return page;
}

}  // namespace spillway

// Page 12: where every figure comes from.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/glossary.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/standing.hpp"
#include "reports/provenance.hpp"
#include "reports/shell_word.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kInline = 88;  // characters of a list that stays on one line

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// JSON by lines, but short lists and objects on one.
void write_json(const json& value, std::size_t indent, std::string& out) {
  const std::string flat = dumped(value);
  if (!value.is_structured() || value.empty() || flat.size() + indent <= kInline) {
    out += flat;
    return;
  }
  const std::string space(indent + 2, ' ');
  const bool object = value.is_object();
  out += object ? "{\n" : "[\n";
  std::size_t left = value.size();
  std::string line = space;
  for (const auto& [key, part] : value.items()) {
    std::string text = object ? dumped(json(key)) + ": " : "";
    write_json(part, indent + 2, text);
    text += --left > 0 ? "," : "";
    // Numbers of a list share lines.
    const bool number = !object && part.is_number();
    if (line.size() > space.size() && (!number || line.size() + text.size() > kInline)) {
      out += line + "\n";
      line = space;
    }
    line += (line.size() > space.size() ? " " : "") + text;
  }
  out += line + "\n" + std::string(indent, ' ') + (object ? "}" : "]");
}

/// A line of a command that somebody may paste: nothing in it may end the line.
bool one_line(const std::string& text) {
  return text.find_first_of("\n\r") == std::string::npos && printable(text) == text;
}

std::string command(const Provenance& provenance) {
  const json scenario = object_at(provenance.inputs, "scenario");
  std::string out = "spillway plan " + scenario_word(provenance);
  const auto set = scenario.find("set");
  if (set == scenario.end() || !set->is_array()) return out;
  for (const json& one : *set) {
    if (!one.is_string() || !one_line(one.get<std::string>())) continue;
    out += " \\\n  --set " + shell_word(one.get<std::string>());
  }
  return out;
}

Table inputs_table(const Provenance& p) {
  Table table;
  table.title = "Inputs and hashes";
  table.header = {"what", "value"};
  const auto add = [&](const char* what, std::string value) {
    if (!value.empty()) table.rows.push_back({what, std::move(value)});
  };
  const json scenario = object_at(p.inputs, "scenario");
  const json trace = object_at(p.inputs, "trace");
  const json configuration = object_at(p.inputs, "configuration");
  add("tool", p.tool);
  add("result digest", p.digest);
  add("scenario", p.scenario);
  add("scenario file", text_at(scenario, "path"));
  add("configuration hash",
      text_at(p.inputs.is_object() ? p.inputs : json::object(), "configuration_hash"));
  add("trace", text_at(trace, "name"));
  add("trace content hash", text_at(trace, "content_hash"));
  add("sessions and links hash", text_at(trace, "links_hash"));
  add("compute profile hash", text_at(object_at(configuration, "compute"), "content_hash"));
  add("hardware profile hash", text_at(object_at(p.inputs, "hardware"), "content_hash"));
  if (p.inputs.is_object()) add("seed", text_at(p.inputs, "seed"));
  return table;
}

Table all_cells_table(const PlanResult& plan) {
  Table table;
  table.title = "All configurations: latencies, rates and counts of the workload itself, run once";
  std::string bound = "at least";
  if (plan.confidence) {
    table.title += "; SLO and attainment over replicates";
    bound =
        fmt::format("attainment at least, with {:.4g}% confidence", 100 * plan.confidence->level);
  }
  table.header = {"configuration", "SLO",         "reason",   "replicates",  "attainment",
                  bound,           "TTFT p50",    "TTFT p90", "TTFT p99",    "TPOT p50",
                  "TPOT p99",      "E2E p50",     "E2E p99",  "requests/s",  "goodput/s",
                  "tokens/s",      "from caches", "from HBM", "preemptions", "completed",
                  "digest"};
  for (const PlanPoint& point : plan.points) {
    const RunResult& run = point.run;
    const double all = cached_share(run);
    const std::optional<double> low = attainment_bound(point);
    if (&point - plan.points.data() == plan.recommended) {
      table.highlight = static_cast<int>(table.rows.size());
    }
    table.rows.push_back(
        {spaced(name_of_cell(point)),
         standing(plan, point),
         point.reason.empty() ? "-" : point.reason,
         format_count(point.replications),
         attainment_text(point),
         low ? format_percent(*low) : "-",
         format_ms(run.ttft.median_ms),
         format_ms(run.ttft.p90_ms),
         format_ms(run.ttft.p99_ms),
         format_ms(run.tpot.median_ms),
         format_ms(run.tpot.p99_ms),
         format_ms(run.e2el.median_ms),
         format_ms(run.e2el.p99_ms),
         format_real(run.request_throughput),
         format_real(run.goodput),
         format_real(run.total_token_throughput),
         format_percent(all),
         format_percent(all - cached_share(run, 1)),
         format_count(run.preemptions),
         fmt::format("{} of {}", format_count(run.completed), format_count(run.requests)),
         point.digest});
  }
  return table;
}

/// As the table of the answer's targets has them, for every cell.
Table cell_targets_table(const PlanResult& plan) {
  Table table;
  table.title = "Every target of every configuration, over its replicates";
  for (const PlanPoint& point : plan.points) {
    if (point.targets.empty()) continue;
    Table one = targets_table(point, plan.confidence ? plan.confidence->level : 0);
    if (table.header.empty()) {
      table.header = std::move(one.header);
      table.header.insert(table.header.begin(), "configuration");
    }
    for (std::vector<std::string>& row : one.rows) {
      row.insert(row.begin(), spaced(name_of_cell(point)));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table tiers_table(const PlanResult& plan) {
  Table table;
  table.title = "Tiers and links of every configuration";
  table.header = {"configuration",     "tier or link", "capacity", "hits or bytes",
                  "queries or copies", "evictions",    "busy"};
  for (const PlanPoint& point : plan.points) {
    for (const TierResult& tier : point.run.tiers) {
      table.rows.push_back(
          {spaced(name_of_cell(point)), tier.name,
           tier.unbounded ? "inf" : format_bytes(static_cast<double>(tier.capacity_bytes)),
           format_count(tier.hits), format_count(tier.queries), format_count(tier.evictions), "-"});
    }
    for (const LinkResult& link : point.run.links) {
      table.rows.push_back({spaced(name_of_cell(point)), link.name,
                            fmt::format("{:.1f} GB/s", link.capacity_bytes_per_s / 1e9),
                            format_bytes(static_cast<double>(link.bytes)),
                            format_count(link.transfers), "-", format_percent(link.busy_fraction)});
    }
  }
  return table;
}

}  // namespace

Section provenance_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "provenance";
  page.heading = "Provenance";
  page.paragraphs.emplace_back(
      "Equal inputs give the same figures and the same digest on every machine, unless a budget of "
      "time ends the search.");
  page.code.push_back({"Run it again", command(provenance)});
  Section inputs;
  inputs.heading = "Inputs and hashes";
  inputs.folded = true;
  inputs.tables.push_back(inputs_table(provenance));
  page.parts.push_back(std::move(inputs));
  Section cells;
  cells.heading = "All figures";
  cells.folded = true;
  cells.tables.push_back(all_cells_table(plan));
  if (plan.confidence) {
    cells.paragraphs.emplace_back(
        "Attainment is the share of requests within SLO over the replicates. \"-\": no bound was "
        "made from so few replicates, or it rules nothing out.");
  }
  Table targets = cell_targets_table(plan);
  if (!targets.rows.empty()) cells.tables.push_back(std::move(targets));
  cells.tables.push_back(tiers_table(plan));
  for (const Note& note : plan.notes) cells.paragraphs.push_back(note.text);
  page.parts.push_back(std::move(cells));
  const json configuration = object_at(provenance.inputs, "configuration");
  if (!configuration.empty()) {
    Section full;
    full.heading = "Configuration as it took effect";
    full.folded = true;
    std::string text;
    write_json(configuration, 0, text);
    full.code.push_back({"Every parameter, defaults among them", text + "\n"});
    page.parts.push_back(std::move(full));
  }
  Section words;
  words.heading = "Terms";
  words.folded = true;
  words.tables.push_back(glossary(&plan));
  page.parts.push_back(std::move(words));
  return page;
}

}  // namespace spillway

// A hardware profile for people: warnings first, then rates by size, count, threads and depth, and
// how well the fits predict what they have not seen. Straight from the results of its document.
#include "reports/profile/profile_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "reports/format.hpp"
#include "reports/profile/profile_cells.hpp"
#include "reports/profile/profile_rates.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::string percent_text(double percent) {
  return fmt::format("{:.1f}%", percent);
}

Section machine_section(const json& r, const Provenance& p) {
  Section section;
  section.heading = "Warnings and machine";
  for (const Note& warning : p.warnings) section.paragraphs.push_back(warning.text);
  if (p.warnings.empty()) section.paragraphs.emplace_back("No warnings.");
  const json& m = r.at("machine");
  Table table;
  table.title = "Machine";
  table.header = {"fact", "value"};
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) table.rows.push_back({name, value});
  };
  row("processor", text_of(m, "cpu"));
  if (whole_of(m, "cores") > 0) row("cores", format_count(m.at("cores")));
  if (whole_of(m, "memory_bytes") > 0) row("memory", size_text(whole_of(m, "memory_bytes")));
  row("NUMA nodes", rows_of(m, "numa").empty() ? "" : std::to_string(m.at("numa").size()));
  for (const json& gpu : rows_of(m, "gpus")) {
    std::string link;
    if (whole_of(gpu, "link_gen") > 0) {
      link = fmt::format(", link generation {} of {}, {} of {} lanes", whole_of(gpu, "link_gen"),
                         whole_of(gpu, "link_gen_max"), whole_of(gpu, "link_width"),
                         whole_of(gpu, "link_width_max"));
    }
    row("GPU", text_of(gpu, "name") + link);
  }
  row("driver", text_of(m, "driver"));
  row("system", text_of(m, "os"));
  row("kernel", text_of(m, "kernel"));
  row("virtualization", text_of(m, "virtualization"));
  row("IOMMU", text_of(m, "iommu"));
  row("storage", text_of(m, "storage"));
  row("machine hash", text_of(r, "machine_hash"));
  row("measured", text_of(r, "created"));
  row("command", text_of(r, "command"));
  row("time", fmt::format("{} s of {} s{}", format_real(r.value("spent_s", 0.0)),
                          format_real(r.value("budget_s", 0.0)),
                          r.value("complete", true) ? "" : ", ended early"));
  section.tables.push_back(std::move(table));
  return section;
}

Table fit_table(const json& r) {
  Table table;
  table.title = "Fits";
  table.header = {"what",     "form",   "parameters", "cells", "mean error",
                  "held out", "median", "p95",        "worst"};
  for (const json& fit : rows_of(r, "fits")) {
    std::vector<std::string> params;
    const json values = fit.value("params", json::object());
    for (const auto& item : values.items()) {
      params.push_back(fmt::format("{} {:.4g}", item.key(), item.value().get<double>()));
    }
    const auto held = whole_of(fit, "held_out");
    const auto score = [&](const char* key) {
      return held > 0 ? percent_text(fit.value(key, 0.0)) : "";
    };
    table.rows.push_back(
        {text_of(fit, "target"), text_of(fit, "form"), fmt::format("{}", fmt::join(params, ", ")),
         std::to_string(whole_of(fit, "cells")), percent_text(fit.value("mape", 0.0)),
         held > 0 ? std::to_string(held) : "", score("held_out_median"), score("held_out_p95"),
         percent_text(fit.value("max_err", 0.0))});
  }
  return table;
}

bool is_empty(const Section& section) {
  return section.tables.empty() && section.charts.empty();
}

}  // namespace

Report profile_report(const json& r, const Provenance& p) {
  Report report;
  const std::string name = text_of(r, "name");
  report.title = "Hardware profile" + (name.empty() ? "" : " " + name);
  std::size_t cells = 0;
  for (const char* key : {"copy", "contention", "interference", "dram", "registration", "storage",
                          "kv", "collective"}) {
    cells += rows_of(r, key).size();
  }
  for (const char* key : {"hbm", "gemm", "attention"}) cells += compute_rows(r, key).size();
  report.subtitle = fmt::format("{} cells, {} fits", format_count(cells),
                                format_count(rows_of(r, "fits").size()));
  report.sections.push_back(machine_section(r, p));

  for (Section section : {copies_section(r), memory_section(r), collectives_section(r),
                          storage_section(r), kv_section(r)}) {
    if (!is_empty(section)) report.sections.push_back(std::move(section));
  }
  Table fits = fit_table(r);
  if (!fits.rows.empty()) {
    Section section;
    section.heading = "Fits";
    section.paragraphs.emplace_back(
        "Errors in percent. Every third size was left out first and predicted by a fit of the "
        "others: median, p95 of these. Sizes at a step of the hardware are counted apart.");
    section.tables.push_back(std::move(fits));
    report.sections.push_back(std::move(section));
  }
  Provenance without_warnings = p;  // they stand at the top
  without_warnings.warnings.clear();
  report.sections.push_back(provenance_section(without_warnings));
  return report;
}

}  // namespace spillway

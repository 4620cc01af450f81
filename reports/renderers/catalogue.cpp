// Every format that a result can be written as, in one table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/ops/ops_formats.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/run/perfetto.hpp"
#include "sim/error.hpp"

namespace spillway {

std::unique_ptr<Renderer> make_html(const RenderOptions& options);
std::unique_ptr<Renderer> make_markdown(const RenderOptions& options);
std::unique_ptr<Renderer> make_text(const RenderOptions& options);
std::unique_ptr<Renderer> make_csv(const RenderOptions& options);

namespace {

void write_json(const ResultView& result, std::ostream& out) {
  out << result.document;
}

void write_perfetto_format(const ResultView& result, std::ostream& out) {
  KV_ASSERT(result.run != nullptr, "a Perfetto trace is made of a run");
  write_perfetto(*result.run, out);
}

constexpr Format kFormats[] = {
    {"html", "One self-contained page; it loads nothing from anywhere.", "report.html", make_html},
    {"md", "Markdown that fits a pull request; long tables are cut.", "report.md", make_markdown},
    {"text", "Aligned tables for a terminal.", "report.txt", make_text},
    {"csv", "Every table as RFC 4180 comma-separated values, one after another.", "report.csv",
     make_csv},
    {"json", "The result document itself, checked.", "result.json", nullptr, write_json},
    {"prometheus", "The figures as gauges in Prometheus' text format.", "metrics.prom", nullptr,
     write_prometheus_format, "run,plan"},
    {"alerts", "Alert rules for Prometheus, thresholds from the simulated run.", "alerts.yml",
     nullptr, write_alerts_format, "run,plan"},
    {"grafana", "A dashboard that shows production beside the simulated figures.", "dashboard.json",
     nullptr, write_grafana_format, "run,plan"},
    {"perfetto", "Chrome trace events of the run's series and slowest requests, for Perfetto.",
     "trace.json", nullptr, write_perfetto_format, "run"},
};
constexpr std::size_t kRenderers = 4;

}  // namespace

bool Format::fits(std::string_view kind) const {
  if (kinds.empty()) return true;
  std::string_view rest = kinds;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == kind) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::span<const Format> formats() {
  return kFormats;
}

std::span<const Format> renderers() {
  return std::span(kFormats).first(kRenderers);
}

const Format& known_format(std::string_view name, std::string_view option) {
  const SourceRef where{std::string(option), 0, ""};
  if (name == "pdf" || name == "PDF") {
    throw InputError(Fault::kUsage, where,
                     fmt::format("no PDF is written: make html, open it in a browser and print it "
                                 "to a file (it is laid out for A4); formats: {}",
                                 fmt::join(names_of(formats()), ", ")));
  }
  return find_row(formats(), "report format", name, where);
}

const Format& find_format(std::string_view name, std::string_view kind, std::string_view option) {
  const SourceRef where{std::string(option), 0, ""};
  const Format& format = known_format(name, option);
  if (format.fits(kind)) return format;
  throw InputError(
      Fault::kUsage, where,
      fmt::format("{} is made of a result of kind {}, and this is one of kind {}; "
                  "for that: {}",
                  name, format.kinds, kind.substr(0, 64), fmt::join(formats_of(kind), ", ")));
}

std::vector<std::string_view> formats_of(std::string_view kind) {
  std::vector<std::string_view> out;
  for (const Format& format : formats()) {
    if (format.fits(kind)) out.push_back(format.name);
  }
  return out;
}

}  // namespace spillway

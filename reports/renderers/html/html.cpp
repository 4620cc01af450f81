// One self-contained HTML page: styles inline, charts as SVG, no script, nothing loaded. A content
// security policy forbids everything else, and all text from inputs is escaped.
#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/svg_chart.hpp"
#include "reports/format.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"

namespace spillway {

namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1b2430;--paper:#fff;--soft:#5b6672;--line:#d8dee5;--mark:#eef4ff;--limit:#c0392b}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--paper:#14181d;--soft:#9aa5b1;
--line:#333c46;--mark:#1d2a3f;--limit:#ff7b6b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.2em 0}
h2{font-size:1.2rem;margin:2em 0 .4em;border-bottom:1px solid var(--line)}
.sub{color:var(--soft)}figure{margin:1.2em 0}figcaption{font-weight:600;margin-bottom:.3em}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.25em .7em;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}
th{color:var(--soft);font-weight:600}.n{text-align:right}
tr.on td{background:var(--mark);font-weight:600}
svg{width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1}
.limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:6 4}
path{fill:none;stroke-width:2}
.s0{stroke:#2f6fde}.s1{stroke:#d9730d}.s2{stroke:#2e9e6b}.s3{stroke:#a347ba}.s4{stroke:#b8860b}
.s5{stroke:#c2416b}
.f0{fill:#2f6fde}.f1{fill:#d9730d}.f2{fill:#2e9e6b}.f3{fill:#a347ba}.f4{fill:#b8860b}
.f5{fill:#c2416b}
.key{display:inline-block;margin-right:1.2em;font-size:.85rem;color:var(--soft)}
.key svg{width:1.6em;height:.7em;margin-right:.4em;vertical-align:middle}
details{margin:.3em 0;color:var(--soft);font-size:.9rem}
@media print{body{max-width:none;padding:0}h2{break-after:avoid}figure,table{break-inside:avoid}}
)";

class Html final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
           "'unsafe-inline'\">"
        << "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        << "<title>" << html_text(report.title) << "</title><style>" << kStyle
        << "</style></head><body>\n";
    out << "<h1>" << html_text(report.title) << "</h1>\n<p class=\"sub\">"
        << html_text(report.subtitle) << "</p>\n";
    for (const Section& section : report.sections) render(section, 2, out);
    out << "</body></html>\n";
  }

 private:
  static void render(const Section& section, int level, std::ostream& out) {
    if (!section.heading.empty()) {
      out << fmt::format("<h{}>{}</h{}>\n", level, html_text(section.heading), level);
    }
    for (const Fact& fact : section.facts) {
      out << "<p><b>" << html_text(fact.label) << "</b> " << html_text(fact.value) << " "
          << html_text(fact.detail) << "</p>\n";
    }
    for (const std::string& paragraph : section.paragraphs) {
      out << "<p>" << html_text(paragraph) << "</p>\n";
    }
    for (const Chart& chart : section.charts) render(chart, out);
    for (const Table& table : section.tables) render(table, out);
    for (const CodeBlock& code : section.code) {
      out << "<p>" << html_text(code.title) << "</p><pre>";
      for (const std::string& line : split_lines(code.text)) out << html_text(line) << "\n";
      out << "</pre>\n";
    }
    for (const Section& part : section.parts) render(part, std::min(level + 1, 6), out);
  }

  static void render(const Table& table, std::ostream& out) {
    const TableLayout layout(table);
    out << "<figure>";
    if (!table.title.empty()) out << "<figcaption>" << html_text(table.title) << "</figcaption>";
    out << "<div class=\"scroll\"><table>";
    const auto line = [&](const std::vector<std::string>& cells, std::string_view tag) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        out << "<" << tag << (layout.numeric[i] ? " class=\"n\">" : ">") << html_text(cells[i])
            << "</" << tag << ">";
      }
    };
    if (!table.header.empty()) {
      out << "<thead><tr>";
      line(table.header, "th");
      out << "</tr></thead>";
    }
    out << "<tbody>\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      out << (static_cast<int>(i) == table.highlight ? "<tr class=\"on\">" : "<tr>");
      line(table.rows[i], "td");
      out << "</tr>\n";
    }
    out << "</tbody></table></div></figure>\n";
  }

  static void render(const Chart& chart, std::ostream& out) {
    const std::string drawing = svg_chart(chart);
    if (drawing.empty()) return;
    out << "<figure><figcaption>" << html_text(chart.title) << "</figcaption>" << drawing
        << "<div>";
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      out << "<span class=\"key\"><svg viewBox=\"0 0 16 7\"><path class=\"s" << i % 6
          << "\" d=\"M0 3.5H16\"/></svg>" << html_text(chart.series[i].name) << "</span>";
    }
    out << "</div></figure>\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> make_html(const RenderOptions&) {
  return std::make_unique<Html>();
}

}  // namespace spillway

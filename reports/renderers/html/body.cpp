#include "reports/renderers/html/body.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/chart_table.hpp"
#include "reports/charts/svg_chart.hpp"
#include "reports/charts/thinning.hpp"
#include "reports/format.hpp"
#include "reports/markup.hpp"
#include "reports/renderers/html/chart_data.hpp"
#include "reports/renderers/table_layout.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostBody = 1'000'000;  // of the body and the charts' data
constexpr std::size_t kMostRows = 500;
constexpr std::size_t kMostOnPaper = 40;  // as in style.css
constexpr std::size_t kShortTable = 12;   // kept on one sheet of paper
constexpr std::size_t kFewColumns = 3;    // wrapped on a phone up to here
constexpr std::size_t kManyColumns = 9;   // smaller on paper from here on
constexpr std::size_t kMostColumns = 15;
constexpr std::size_t kMostChartRows = 200;
constexpr std::size_t kMostPoints = 300;
constexpr std::size_t kMostParagraphs = 200;
constexpr std::size_t kMostFacts = 60;
constexpr std::size_t kMostInCell = 1'000;  // characters
constexpr std::size_t kMostInParagraph = 4'000;
constexpr std::size_t kMostInHeading = 300;
constexpr std::size_t kMostInCode = 200'000;

/// A section's name in an address: letters, digits and dashes.
std::string anchor(const Section& section, std::size_t number) {
  std::string out;
  for (const char c : section.id.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain ? c : '-';
  }
  return out.empty() ? fmt::format("section-{}", number + 1) : "page-" + out;
}

std::string more(std::size_t shown, std::size_t of, std::string_view what, std::string_view rest) {
  return fmt::format("<p class=\"more\">The first {} of {} {} are shown{}.</p>\n",
                     format_count(shown), format_count(of), what, rest);
}

/// Each flag of a command line with its value on a line of its own: broken at its hyphens it could
/// not be copied.
std::string flag_lines(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(" --", 1), text.size());
    out += "<span>" + html_text(text.substr(0, end), most) + "</span>";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

Body::Body(const Report& report) {
  html_ = "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<header class=\"top\">";
  html_ += "<h1>" + html_text(report.title, allowed(kMostInHeading)) + "</h1>\n";
  const std::string sub =
      report.subtitle.empty()
          ? ""
          : "<p class=\"sub\">" + html_text(report.subtitle, allowed(kMostInParagraph)) + "</p>\n";
  const bool answered = report.status != Status::kNone && !report.sections.empty() &&
                        !report.sections.front().facts.empty();
  if (answered) answer_ = sub;
  html_ += (answered ? "" : sub) + "</header>\n<div class=\"columns\">\n";
  navigation(report);
  html_ += "<main id=\"main\" tabindex=\"-1\">\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i) page(report.sections[i], i);
  html_ += "</main>\n</div>\n";
}

/// Characters of a text of at most `wanted`: fewer once the page fills up.
std::size_t Body::allowed(std::size_t wanted) const {
  return std::min(wanted, 40 + room() / 200 * wanted / kMostInParagraph);
}

std::size_t Body::room() const {
  const std::size_t used = html_.size() + data_.size();
  return kMostBody - std::min(kMostBody, used);
}

/// `wanted`, numbered where it is taken.
std::string Body::label(const std::string& wanted) {
  std::string out = wanted;
  for (int i = 2; !labels_.insert(out).second; ++i) out = fmt::format("{} ({})", wanted, i);
  return html_text(out, allowed(kMostInHeading));
}

void Body::navigation(const Report& report) {
  std::string links;
  std::size_t count = 0;
  for (std::size_t i = 0; i < report.sections.size() && count < kMostFacts; ++i) {
    const Section& section = report.sections[i];
    if (section.heading.empty()) continue;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchor(section, i),
                         html_text(section.heading, 60));
    ++count;
  }
  if (count < 2) return;
  html_ += "<nav aria-label=\"Pages\"><ol>\n" + links + "</ol></nav>\n";
}

void Body::page(const Section& section, std::size_t number) {
  const std::string id = anchor(section, number);
  if (section.heading.empty()) {
    html_ += fmt::format("<section id=\"{}\" class=\"page\">\n", id);
  } else {
    html_ += fmt::format(
        "<section id=\"{0}\" class=\"page\" aria-labelledby=\"{0}-title\">\n"
        "<h2 id=\"{0}-title\">{1}</h2>\n",
        id, html_text(section.heading, allowed(kMostInHeading)));
  }
  content(section, 2, number == 0);
  html_ += "</section>\n";
}

void Body::content(const Section& section, int level, bool first) {
  facts(section.facts, first);
  const bool leads = first && answer_.empty();  // its first sentence is the answer
  if (leads) paragraphs(section.paragraphs, true);
  charts(section.charts);
  if (!leads) paragraphs(section.paragraphs, false);
  for (const Table& each : section.tables) table(each, kMostRows, false);
  for (const CodeBlock& each : section.code) code(each);
  const int below = std::min(level + 1, 6);
  for (const Section& part : section.parts) {
    const bool folded = part.folded && !part.heading.empty();
    html_ += folded ? "<details class=\"fold part\"><summary>" : "<div class=\"part\">\n";
    if (!part.heading.empty()) {
      html_ +=
          fmt::format("<h{0}>{1}</h{0}>", below, html_text(part.heading, allowed(kMostInHeading)));
    }
    html_ += folded ? "</summary>\n" : "\n";
    content(part, below, false);
    html_ += folded ? "</details>\n" : "</div>\n";
  }
}

/// The answer of the whole stands alone above the others of the first page.
void Body::facts(const std::vector<Fact>& facts, bool first) {
  const std::size_t shown = std::min(facts.size(), kMostFacts);
  std::size_t from = 0;
  if (first && !answer_.empty() && shown > 0) {
    html_ += "<dl class=\"answer\">\n";
    fact(facts[from++], answer_);
    html_ += "</dl>\n";
  }
  if (from == shown) return;
  html_ += "<dl class=\"facts\">\n";
  while (from < shown) fact(facts[from++], "");
  html_ += "</dl>\n";
}

void Body::fact(const Fact& fact, const std::string& below) {
  const bool flags = fact.value.starts_with("--");
  const std::string_view css = class_of(fact.status);
  html_ += css.empty() ? std::string("<div>") : fmt::format("<div class=\"{}\">", css);
  html_ += "<dt>" + html_text(fact.label, allowed(kMostInHeading)) +
           (flags ? "</dt><dd class=\"value flags\">" : "</dt><dd class=\"value\">") +
           (flags ? flag_lines(fact.value, allowed(kMostInHeading))
                  : html_text(fact.value, allowed(kMostInHeading))) +
           "</dd>";
  if (!fact.detail.empty()) {
    html_ += "<dd class=\"detail\">" + html_text(fact.detail, allowed(kMostInCell)) + "</dd>";
  }
  if (!below.empty()) html_ += "<dd class=\"said\">" + below + "</dd>";
  html_ += "</div>\n";
}

/// Several of one page stand beside each other.
void Body::charts(const std::vector<Chart>& charts) {
  if (charts.size() > 1) html_ += "<div class=\"panels\">\n";
  for (const Chart& each : charts) chart(each);
  if (charts.size() > 1) html_ += "</div>\n";
}

void Body::paragraphs(const std::vector<std::string>& paragraphs, bool lead) {
  for (std::size_t i = 0; i < std::min(paragraphs.size(), kMostParagraphs); ++i) {
    const std::string& text = paragraphs[i];
    const bool callout = text.starts_with("Warning: ") || text.starts_with("Note: ");
    html_ += callout ? "<p class=\"callout\">" : lead && i == 0 ? "<p class=\"lead\">" : "<p>";
    html_ += html_text(text, allowed(kMostInParagraph)) + "</p>\n";
  }
  if (paragraphs.size() <= kMostParagraphs) return;
  html_ += more(kMostParagraphs, paragraphs.size(), "sentences", "; Markdown has all of them");
}

void Body::chart(const Chart& whole) {
  const bool plenty = room() > kMostBody / 2;
  const Thinned thin = thinned(whole, plenty ? kMostPoints : room() > kMostBody / 4 ? 60 : 12);
  const std::string drawing = svg_chart(thin.chart);
  if (drawing.empty()) return;
  const std::string data = chart_data(thin.chart);
  if (drawing.size() + data.size() > room() / 2) {
    html_ += "<p class=\"more\">A chart is left out, for the size of this page: " +
             html_text(whole.title, allowed(kMostInHeading)) + "</p>\n";
    return;
  }
  data_ += (charts_ > 0 ? ",\n" : "") + data;
  html_ += fmt::format("<figure class=\"chart\" id=\"chart-{}\"><figcaption>{}</figcaption>\n",
                       charts_, html_text(whole.title, allowed(kMostInHeading)));
  html_ += fmt::format("<div class=\"plot\" data-chart=\"{}\"></div>\n<div class=\"drawing\">{}",
                       charts_, drawing);
  html_ += "</div>\n";
  const std::string gap = whole.note.empty() || thin.note.empty() ? "" : " ";
  const std::string note = whole.note + gap + thin.note;
  if (!note.empty()) {
    html_ += "<p class=\"note\">" + html_text(note, allowed(kMostInParagraph)) + "</p>\n";
  }
  html_ += "<details class=\"data\"><summary>Table</summary>\n";
  table(chart_table(thin.chart), kMostChartRows, true);
  html_ += "</details></figure>\n";
  ++charts_;
}

void Body::table(const Table& table, std::size_t most, bool of_chart) {
  const TableLayout layout(table);
  const std::string title = table.title.empty() ? "Table" : table.title;
  const std::size_t columns = layout.numeric.size();
  const bool folds = !of_chart && table.rows.size() > table.shown + 2;
  if (folds) {
    html_ += fmt::format(
        "<div class=\"folds folds-{}\"><details><summary>All {} rows: {}</summary></details>\n",
        table.shown <= 5 ? 5 : 12, format_count(table.rows.size()),
        html_text(title, allowed(kMostInHeading)));
  }
  html_ += fmt::format(
      "<div class=\"scroll{}{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>",
      !of_chart && table.rows.size() > kMostOnPaper ? " tall"
      : table.rows.size() <= kShortTable            ? " short"
                                                    : "",
      columns <= kFewColumns   ? " few"
      : columns < kManyColumns ? ""
      : columns < kMostColumns ? " many"
                               : " many most",
      label(of_chart ? title + ", figures" : title));
  if (!table.title.empty()) {
    html_ += "<caption>" + html_text(table.title, allowed(kMostInHeading)) + "</caption>";
  }
  if (!table.header.empty()) {
    html_ += "<thead><tr>";
    for (std::size_t i = 0; i < table.header.size(); ++i) {
      html_ += layout.numeric[i] ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">";
      html_ += html_text(table.header[i], allowed(kMostInCell)) + "</th>";
    }
    html_ += "</tr></thead>";
  }
  rows(table, layout.numeric, most, of_chart);
  if (folds) html_ += "</div>\n";
}

void Body::rows(const Table& table, const std::vector<bool>& numeric, std::size_t most,
                bool of_chart) {
  const auto row = [&](std::size_t i) {
    const bool on = static_cast<int>(i) == table.highlight;
    html_ += on ? "<tr class=\"on\">" : "<tr>";
    for (std::size_t c = 0; c < table.rows[i].size(); ++c) {
      const std::string& cell = table.rows[i][c];
      const std::string_view css = numeric[c] ? "n" : class_of(status_of(cell));
      html_ += css.empty() ? std::string("<td>") : fmt::format("<td class=\"{}\">", css);
      html_ += html_text(cell, allowed(kMostInCell)) + "</td>";
    }
    html_ += "</tr>\n";
  };
  html_ += "<tbody>\n";
  const std::size_t enough = html_.size() + room() / 4;
  std::size_t shown = 0;
  while (shown < std::min(table.rows.size(), most) && html_.size() < enough) row(shown++);
  const bool cut = shown < table.rows.size();
  if (cut && table.highlight >= static_cast<int>(shown) &&
      table.highlight < static_cast<int>(table.rows.size())) {
    row(static_cast<std::size_t>(table.highlight));
  }
  html_ += "</tbody></table></div>\n";
  if (!of_chart && shown > kMostOnPaper) {
    html_ += fmt::format("<p class=\"more paper\">{} more rows are on the screen's page.</p>\n",
                         format_count(shown - kMostOnPaper));
  }
  if (cut) html_ += more(shown, table.rows.size(), "rows", of_chart ? "" : "; CSV has all of them");
}

void Body::code(const CodeBlock& code) {
  const std::string title = code.title.empty() ? "Code" : code.title;
  html_ += "<div class=\"listing\">";
  if (!code.title.empty()) {
    html_ += "<p class=\"title\">" + html_text(code.title, allowed(kMostInHeading)) + "</p>";
  }
  html_ += fmt::format("<pre class=\"code\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">",
                       label(title));
  const std::vector<std::string> lines = split_lines(code.text);
  const std::size_t enough = html_.size() + std::min(kMostInCode, room() / 2);
  std::size_t shown = 0;
  for (; shown < lines.size() && html_.size() < enough; ++shown) {
    html_ += html_text(lines[shown], allowed(kMostInParagraph)) + "\n";
  }
  html_ += "</pre></div>\n";
  if (shown < lines.size()) html_ += more(shown, lines.size(), "lines", "");
}

}  // namespace spillway

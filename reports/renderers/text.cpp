// Plain text for terminals: facts, wrapped sentences, line charts in characters, tables that fit.
#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/text_chart.hpp"
#include "reports/format.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"
#include "reports/renderers/wrap.hpp"

namespace spillway {

namespace {

constexpr std::size_t kReadable = 110;  // sentences are no wider than this on any terminal
constexpr std::size_t kChartWidth = 72;
constexpr std::size_t kHang = 2;
constexpr std::size_t kFewestColumns = 3;  // of a table that loses some

class Text final : public Renderer {
 public:
  explicit Text(const RenderOptions& options)
      : color_(options.color),
        unicode_(options.unicode),
        width_(options.width),
        sentence_width_(std::min(options.width, kReadable)) {}

  void render(const Report& report, std::ostream& out) const override {
    paragraph(report.title, out, true);
    if (!report.subtitle.empty()) paragraph(report.subtitle, out);
    for (const Section& section : report.sections) render(section, out);
  }

 private:
  using Charts = std::vector<std::vector<std::string>>;

  Charts drawn(const Section& section) const {
    Charts out;
    const std::size_t width = width_ == 0 ? kChartWidth : std::min(width_, kChartWidth);
    for (const Chart& chart : section.charts) {
      std::vector<std::string> lines = text_chart(chart, {width, unicode_});
      if (!lines.empty()) out.push_back(std::move(lines));
    }
    return out;
  }

  void render(const Section& section, std::ostream& out) const {
    const Charts charts = drawn(section);
    const bool words = !section.facts.empty() || !section.paragraphs.empty();
    if (words || !charts.empty() || !section.tables.empty() || !section.code.empty()) {
      out << "\n";
      if (!section.heading.empty()) paragraph(section.heading, out, true);
      for (const Fact& fact : section.facts) render(fact, out);
      for (const std::string& text : section.paragraphs) paragraph(text, out);
      bool first = section.heading.empty() && !words;
      const auto blank = [&] {
        if (!first) out << "\n";
        first = false;
      };
      for (const std::vector<std::string>& lines : charts) {
        blank();
        for (const std::string& line : lines) paragraph(line, out);
      }
      for (const Table& table : section.tables) {
        blank();
        render(table, out);
      }
      for (const CodeBlock& code : section.code) {
        blank();
        render(code, out);
      }
    }
    for (const Section& part : section.parts) render(part, out);
  }

  void render(const Fact& fact, std::ostream& out) const {
    const std::string label = printable(fact.label);
    std::string text = label + ": " + printable(fact.value);
    if (!fact.detail.empty()) text += " (" + printable(fact.detail) + ")";
    std::vector<std::string> lines = wrapped(text, sentence_width_, kHang);
    if (lines.front().starts_with(label)) lines.front().replace(0, label.size(), bold(label));
    for (const std::string& line : lines) out << line << "\n";
  }

  void paragraph(const std::string& text, std::ostream& out, bool strong = false) const {
    for (const std::string& line : wrapped(printable(text), sentence_width_, kHang))
      out << (strong ? bold(line) : line) << "\n";
  }

  void render(const CodeBlock& code, std::ostream& out) const {
    if (!code.title.empty()) paragraph(code.title, out);
    // Never wrapped: a broken line could not be copied.
    for (const std::string& line : split_lines(code.text)) out << "  " << printable(line) << "\n";
  }

  void render(const Table& table, std::ostream& out) const {
    if (!table.title.empty()) paragraph(table.title, out);
    const TableLayout layout(table, width_);
    if (!layout.too_wide) return grid(table, layout, out);
    // The last columns matter least.
    const std::size_t columns = layout.width.size();
    for (std::size_t kept = columns - 1; kept >= std::max(kFewestColumns, columns / 2); --kept) {
      const Table front = front_of(table, kept);
      const TableLayout narrower(front, width_);
      if (narrower.too_wide) continue;
      grid(front, narrower, out);
      std::string missing;
      for (std::size_t i = kept; i < table.header.size(); ++i)
        missing += (missing.empty() ? "" : ", ") + table.header[i];
      return paragraph("No room here for: " + missing, out);
    }
    records(table, out);
  }

  static Table front_of(const Table& table, std::size_t columns) {
    Table out = table;
    if (out.header.size() > columns) out.header.resize(columns);
    for (auto& row : out.rows) {
      if (row.size() > columns) row.resize(columns);
    }
    return out;
  }

  void grid(const Table& table, const TableLayout& layout, std::ostream& out) const {
    if (!table.header.empty()) {
      row(table.header, layout, false, true, out);
      out << rule(layout.total()) << "\n";
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      row(table.rows[i], layout, static_cast<int>(i) == table.highlight, false, out);
  }

  /// One line, or as many as its highest cell has; those of a header stand on the rule.
  void row(const std::vector<std::string>& cells, const TableLayout& layout, bool emphasised,
           bool header, std::ostream& out) const {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      lines.push_back(wrapped(printable(cells[i]), layout.width[i], 0));
      height = std::max(height, lines.back().size());
    }
    for (std::size_t r = 0; r < height; ++r) {
      std::string text;
      std::string shown;  // with colours, which have no width
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t above = header ? height - lines[i].size() : 0;
        const bool has = r >= above && r - above < lines[i].size();
        const std::string piece = has ? lines[i][r - above] : "";
        const std::size_t pad = layout.width[i] - std::min(layout.width[i], display_width(piece));
        std::string before = i > 0 ? "  " : "";
        std::string after;
        (layout.numeric[i] ? before : after).append(pad, ' ');
        text += before + piece + after;
        shown += before + (header || emphasised ? piece : coloured(piece)) + after;
      }
      const std::size_t blanks =
          text.size() - std::min(text.size(), text.find_last_not_of(' ') + 1);
      shown.resize(shown.size() - blanks);
      out << (emphasised ? bold(shown) : shown) << "\n";
    }
  }

  /// For a table that no terminal of this width can show: a row is a name and its values below.
  void records(const Table& table, std::ostream& out) const {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::vector<std::string>& cells = table.rows[i];
      if (!cells.empty()) paragraph(cells.front(), out, static_cast<int>(i) == table.highlight);
      for (std::size_t c = 1; c < cells.size(); ++c) {
        const std::string name = c < table.header.size() ? printable(table.header[c]) + ": " : "";
        for (const std::string& line :
             wrapped("  " + name + printable(cells[c]), width_, 2 * kHang))
          out << line << "\n";
      }
    }
  }

  std::string rule(std::size_t length) const {
    if (!unicode_) return std::string(length, '-');
    std::string out;
    for (std::size_t i = 0; i < length; ++i) out += "─";
    return out;
  }

  /// What a target came to. Colour never says more than the word does.
  std::string coloured(const std::string& cell) const {
    if (!color_) return cell;
    const auto is = [&](const std::string& word) {
      return cell == word || cell.starts_with(word + " (");
    };
    if (is("met")) return paint("32", cell);
    if (is("missed")) return paint("31", cell);
    if (is("uncertain")) return paint("33", cell);
    return cell;
  }

  std::string bold(const std::string& text) const { return color_ ? paint("1", text) : text; }
  static std::string paint(const char* code, const std::string& text) {
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  bool color_;
  bool unicode_;
  std::size_t width_;
  std::size_t sentence_width_;
};

}  // namespace

std::unique_ptr<Renderer> make_text(const RenderOptions& options) {
  return std::make_unique<Text>(options);
}

}  // namespace spillway

// Plain text: aligned tables, no charts.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"

namespace spillway {

namespace {

class Text final : public Renderer {
 public:
  explicit Text(const RenderOptions& options) : color_(options.color) {}

  void render(const Report& report, std::ostream& out) const override {
    out << bold(printable(report.title)) << "\n";
    if (!report.subtitle.empty()) out << printable(report.subtitle) << "\n";
    for (const Section& section : report.sections) render(section, out);
  }

 private:
  static bool shows(const Section& s) {
    return !s.facts.empty() || !s.paragraphs.empty() || !s.tables.empty() || !s.code.empty();
  }

  void render(const Section& section, std::ostream& out) const {
    if (shows(section)) {  // else charts only
      out << "\n";
      if (!section.heading.empty()) out << bold(printable(section.heading)) << "\n";
      for (const Fact& fact : section.facts) {
        out << bold(printable(fact.label)) << ": " << printable(fact.value);
        if (!fact.detail.empty()) out << " (" << printable(fact.detail) << ")";
        out << "\n";
      }
      for (const std::string& paragraph : section.paragraphs) out << printable(paragraph) << "\n";
      bool first = section.heading.empty() && section.paragraphs.empty() && section.facts.empty();
      for (const Table& table : section.tables) {
        if (!first) out << "\n";
        first = false;
        render(table, out);
      }
      for (const CodeBlock& code : section.code) {
        if (!first) out << "\n";
        first = false;
        if (!code.title.empty()) out << printable(code.title) << "\n";
        for (const std::string& line : split_lines(code.text))
          out << "  " << printable(line) << "\n";
      }
    }
    for (const Section& part : section.parts) render(part, out);
  }

  void render(const Table& table, std::ostream& out) const {
    if (!table.title.empty()) out << printable(table.title) << "\n";
    const TableLayout layout(table);
    const auto line = [&](const std::vector<std::string>& cells, bool emphasised) {
      std::string text;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t pad = layout.width[i] - display_width(cells[i]);
        if (i > 0) text += "  ";
        if (layout.numeric[i]) text.append(pad, ' ');
        text += printable(cells[i]);
        if (!layout.numeric[i] && i + 1 < cells.size()) text.append(pad, ' ');
      }
      out << (emphasised ? bold(text) : text) << "\n";
    };
    if (!table.header.empty()) {
      line(table.header, false);
      std::size_t total = 2 * (layout.width.size() - 1);
      for (const std::size_t width : layout.width) total += width;
      out << std::string(total, '-') << "\n";
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      line(table.rows[i], static_cast<int>(i) == table.highlight);
    }
  }

  std::string bold(const std::string& text) const {
    return color_ ? "\x1b[1m" + text + "\x1b[0m" : text;
  }

  bool color_;
};

}  // namespace

std::unique_ptr<Renderer> make_text(const RenderOptions& options) {
  return std::make_unique<Text>(options);
}

}  // namespace spillway

// Plain text: aligned tables, no charts.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/renderer.hpp"
#include "reports/table_layout.hpp"

namespace spillway {

namespace {

class Text final : public Renderer {
 public:
  explicit Text(const RenderOptions& options) : color_(options.color) {}

  void render(const Report& report, std::ostream& out) const override {
    out << bold(printable(report.title)) << "\n";
    if (!report.subtitle.empty()) out << printable(report.subtitle) << "\n";
    for (const Section& section : report.sections) {
      if (section.paragraphs.empty() && section.tables.empty()) continue;  // charts only
      out << "\n";
      if (!section.heading.empty()) out << bold(section.heading) << "\n";
      for (const std::string& paragraph : section.paragraphs) out << printable(paragraph) << "\n";
      bool first = section.heading.empty() && section.paragraphs.empty();
      for (const Table& table : section.tables) {
        if (!first) out << "\n";
        first = false;
        render(table, out);
      }
    }
  }

 private:
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

// Markdown: headings and pipe tables; charts are left to HTML.
#include "reports/format.hpp"
#include "reports/renderer.hpp"
#include "reports/table_layout.hpp"

namespace spillway {

namespace {

std::string cell_text(const std::string& cell) {
  std::string out;
  for (const char c : printable(cell)) {
    if (c == '|' || c == '<' || c == '*' || c == '`' || c == '\\' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

class Markdown final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    // Blocks are set apart by a blank line before each, so that the text ends in one newline.
    out << "# " << cell_text(report.title) << "\n";
    if (!report.subtitle.empty()) out << "\n" << cell_text(report.subtitle) << "\n";
    for (const Section& section : report.sections) {
      if (!section.heading.empty()) out << "\n## " << cell_text(section.heading) << "\n";
      for (const std::string& text : section.paragraphs) out << "\n" << cell_text(text) << "\n";
      for (const Table& table : section.tables) render(table, out);
    }
  }

 private:
  static void render(const Table& table, std::ostream& out) {
    if (!table.title.empty()) out << "\n**" << cell_text(table.title) << "**\n";
    out << "\n";
    const TableLayout layout(table);
    const auto line = [&](const std::vector<std::string>& cells) {
      out << "|";
      for (std::size_t i = 0; i < layout.width.size(); ++i) {
        out << " " << (i < cells.size() ? cell_text(cells[i]) : "") << " |";
      }
      out << "\n";
    };
    line(table.header);
    out << "|";
    for (const bool numeric : layout.numeric) out << (numeric ? "---:|" : "---|");
    out << "\n";
    for (const auto& row : table.rows) line(row);
  }
};

}  // namespace

std::unique_ptr<Renderer> make_markdown(const RenderOptions&) {
  return std::make_unique<Markdown>();
}

}  // namespace spillway

// Markdown: headings and pipe tables; charts are left to HTML.
#include <algorithm>

#include "reports/format.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"

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
    for (const Section& section : report.sections) render(section, 2, out);
  }

 private:
  static void render(const Section& section, int level, std::ostream& out) {
    if (!section.heading.empty()) {
      out << "\n"
          << std::string(static_cast<std::size_t>(level), '#') << " " << cell_text(section.heading)
          << "\n";
    }
    if (!section.facts.empty()) out << "\n";
    for (const Fact& fact : section.facts) {
      out << "- **" << cell_text(fact.label) << "**: " << cell_text(fact.value);
      if (!fact.detail.empty()) out << " (" << cell_text(fact.detail) << ")";
      out << "\n";
    }
    for (const std::string& text : section.paragraphs) out << "\n" << cell_text(text) << "\n";
    for (const Table& table : section.tables) render(table, out);
    for (const CodeBlock& code : section.code) render(code, out);
    for (const Section& part : section.parts) render(part, std::min(level + 1, 6), out);
  }

  /// The fence is longer than any run of backticks within.
  static void render(const CodeBlock& code, std::ostream& out) {
    if (!code.title.empty()) out << "\n**" << cell_text(code.title) << "**\n";
    std::size_t longest = 2;
    std::size_t run = 0;
    for (const char c : code.text) {
      run = c == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    out << "\n" << fence << "\n";
    for (const std::string& line : split_lines(code.text)) out << printable(line) << "\n";
    out << fence << "\n";
  }

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

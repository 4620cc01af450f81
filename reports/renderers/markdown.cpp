// Markdown that fits a pull request's comment: headings, pipe tables, long ones folded away and,
// where there is no room for them, cut. Charts are left to HTML, with what there is to see in them
// kept as a sentence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "reports/format.hpp"
#include "reports/renderers/markdown_text.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

// GitHub takes 65,536 characters in a comment. Bytes are counted here, which are no fewer.
constexpr std::size_t kMostMarkdown = 65'000;
constexpr std::size_t kLongTable = 12;  ///< rows, beyond which a table is folded away
/// Rows of a table that are kept, tried one after another until all fits.
constexpr std::array<std::size_t, 12> kRows = {10'000'000, 500, 200, 100, 50, 35,
                                               25,         20,  16,  12,  8,  3};
constexpr std::size_t kMostCell = 400;  ///< bytes of a cell, once rows had to be cut

struct Cuts {
  std::size_t rows = kRows.front();
  std::size_t cell = std::string::npos;
};

/// Cut between characters.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

class Writer {
 public:
  Writer(const Cuts& cuts, std::ostream& out) : cuts_(cuts), out_(out) {}

  void render(const Section& section, int level) {
    if (!section.heading.empty()) {
      out_ << "\n"
           << std::string(static_cast<std::size_t>(level), '#') << " "
           << markdown_block(cut(section.heading)) << "\n";
    }
    if (!section.facts.empty()) out_ << "\n";
    for (const Fact& fact : section.facts) {
      out_ << "- **" << markdown_text(cut(fact.label)) << "**: " << symbol_of(fact.status)
           << (fact.status == Status::kNone ? "" : " ") << markdown_text(cut(fact.value));
      if (!fact.detail.empty()) out_ << " (" << markdown_text(cut(fact.detail)) << ")";
      out_ << "\n";
    }
    for (const std::string& text : section.paragraphs) paragraph(text);
    for (const Chart& chart : section.charts) {
      if (chart.note.empty()) continue;
      out_ << "\n";
      if (!chart.title.empty()) out_ << "**" << markdown_text(cut(chart.title)) << "**: ";
      out_ << (chart.title.empty() ? markdown_block(cut(chart.note))
                                   : markdown_text(cut(chart.note)))
           << "\n";
    }
    for (const Table& table : section.tables) render(table);
    for (const CodeBlock& code : section.code) render(code);
    for (const Section& part : section.parts) render(part, std::min(level + 1, 6));
  }

 private:
  std::string cut(const std::string& text) const { return shortened(text, cuts_.cell); }
  void paragraph(const std::string& text) { out_ << "\n" << markdown_block(text) << "\n"; }

  /// The fence is longer than any run of backticks within.
  void render(const CodeBlock& code) {
    if (!code.title.empty()) out_ << "\n**" << markdown_text(cut(code.title)) << "**\n";
    std::size_t longest = 2;
    std::size_t run = 0;
    for (const char c : code.text) {
      run = c == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    out_ << "\n" << fence << "\n";
    for (const std::string& line : split_lines(code.text)) out_ << printable(line) << "\n";
    out_ << fence << "\n";
  }

  void render(const Table& table) {
    const std::size_t shown = std::min(table.rows.size(), cuts_.rows);
    const bool folded = table.rows.size() > kLongTable;
    if (folded) {
      out_ << "\n<details>\n<summary>"
           << markdown_html(cut(table.title.empty() ? "Table" : table.title)) << " ("
           << format_count(table.rows.size()) << " rows)</summary>\n";
    } else if (!table.title.empty()) {
      out_ << "\n**" << markdown_text(cut(table.title)) << "**\n";
    }
    out_ << "\n";
    rows(table, shown);
    if (shown < table.rows.size()) {
      out_ << "\n"
           << format_count(table.rows.size() - shown)
           << " rows are left out here: they are in the HTML and CSV reports.\n";
    }
    if (folded) out_ << "\n</details>\n";
  }

  void rows(const Table& table, std::size_t shown) {
    const TableLayout layout(table);
    const auto line = [&](const std::vector<std::string>& cells) {
      out_ << "|";
      for (std::size_t i = 0; i < layout.width.size(); ++i) {
        out_ << " " << (i < cells.size() ? markdown_text(cut(cells[i])) : "") << " |";
      }
      out_ << "\n";
    };
    line(table.header);
    out_ << "|";
    for (const bool numeric : layout.numeric) out_ << (numeric ? "---:|" : "---|");
    out_ << "\n";
    // The emphasised row is the answer: it stays, whatever else is cut.
    const auto marked = static_cast<std::size_t>(std::max(0, table.highlight));
    const bool keep = table.highlight >= 0 && marked < table.rows.size() && marked >= shown;
    for (std::size_t i = 0; i < shown; ++i)
      line(keep && i + 1 == shown ? table.rows[marked] : table.rows[i]);
  }

  const Cuts& cuts_;
  std::ostream& out_;
};

class Markdown final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    for (const std::size_t rows : kRows) {
      const Cuts cuts = {rows, rows == kRows.front() ? std::string::npos : kMostCell};
      const std::vector<std::string> pieces = render(report, cuts);
      std::size_t bytes = 0;
      for (const std::string& piece : pieces) bytes += piece.size();
      if (bytes <= kMostMarkdown || rows == kRows.back()) {
        write(pieces, bytes, out);
        return;
      }
    }
  }

 private:
  /// Title and pages. Blocks are set apart by a blank line before each, so that the text ends in
  /// one newline.
  static std::vector<std::string> render(const Report& report, const Cuts& cuts) {
    std::vector<std::string> out;
    out.push_back("# " + markdown_block(shortened(report.title, cuts.cell)) + "\n");
    if (!report.subtitle.empty()) {
      out.back() += "\n" + markdown_block(shortened(report.subtitle, cuts.cell)) + "\n";
    }
    for (const Section& section : report.sections) {
      std::ostringstream text;
      Writer(cuts, text).render(section, 2);
      out.push_back(text.str());
    }
    return out;
  }

  /// Whole pages, the answer first, as far as they fit.
  static void write(const std::vector<std::string>& pieces, std::size_t bytes, std::ostream& out) {
    constexpr std::string_view kLeft =
        "\nFurther pages are left out here: they are in the HTML report.\n";
    const bool all = bytes <= kMostMarkdown;
    std::size_t room = all ? bytes : kMostMarkdown - kLeft.size();
    bool left = false;
    for (const std::string& piece : pieces) {
      left = left || piece.size() > room;
      if (left) continue;
      out << piece;
      room -= piece.size();
    }
    if (left) out << kLeft;
  }
};

}  // namespace

std::unique_ptr<Renderer> make_markdown(const RenderOptions&) {
  return std::make_unique<Markdown>();
}

}  // namespace spillway

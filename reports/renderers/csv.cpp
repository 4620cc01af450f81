// CSV per RFC 4180: each table with its title on a line of its own, an empty line between tables.
// A text cell that a spreadsheet would run as a formula gets a leading apostrophe (OWASP
// ASVS 1.2.10); numbers keep their sign.
#include "reports/renderers/csv.hpp"

#include <algorithm>

#include "reports/renderers/renderer.hpp"
#include "sim/numbers.hpp"
#include "sim/observer.hpp"

namespace spillway {

namespace {

/// A number as reports write it: a sign, thousands separated or not, a percent sign or not.
bool is_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || std::string_view(".0123456789").find(text.front()) == text.npos) return false;
  if (text.ends_with('%')) text.remove_suffix(1);
  std::string digits;
  const std::size_t whole = std::min(text.find_first_not_of("0123456789,"), text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separates = i > 0 && i < whole && (whole - i) % 4 == 0;
    if (text[i] != ',') digits += text[i];
    if (text[i] == ',' && !separates) return false;
  }
  return parse_real(digits).has_value();
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell(text);
  constexpr std::string_view kSuspect("=+-@\t\r\n\0", 8);
  const bool suspect = cell.find_first_of(kSuspect) == 0;
  if (suspect && cell != "-" && !is_number(cell)) cell.insert(0, "'");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void append_seconds(fmt::memory_buffer& out, Time t) {
  if (t == kNever) return;
  const std::int64_t ns = nanoseconds_of(t);
  fmt::format_to(std::back_inserter(out), "{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

namespace {

class Csv final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    bool first = true;
    for (const Section& section : report.sections) render(section, first, out);
  }

 private:
  static void render(const Section& section, bool& first, std::ostream& out) {
    for (const Table& table : section.tables) {
      if (!first) out << "\r\n";
      first = false;
      const std::string title = table.title.empty() ? section.heading : table.title;
      if (!title.empty()) out << csv_cell(title) << "\r\n";
      line(table.header, out);
      for (const auto& row : table.rows) line(row, out);
    }
    for (const Section& part : section.parts) render(part, first, out);
  }

  static void line(const std::vector<std::string>& cells, std::ostream& out) {
    for (std::size_t i = 0; i < cells.size(); ++i) out << (i > 0 ? "," : "") << csv_cell(cells[i]);
    out << "\r\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> make_csv(const RenderOptions&) {
  return std::make_unique<Csv>();
}

}  // namespace spillway

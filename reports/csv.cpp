// CSV per RFC 4180: each table with its title on a line of its own, an empty line between tables.
// A text cell that a spreadsheet would run as a formula gets a leading apostrophe (OWASP
// ASVS 1.2.10); numbers keep their sign.
#include "reports/csv.hpp"

#include "reports/renderer.hpp"

namespace spillway {

std::string csv_cell(std::string_view text) {
  std::string cell(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos) {
    double value = 0;
    const char* first = cell.data() + (cell.front() == '+' ? 1 : 0);
    const auto [end, status] = std::from_chars(first, cell.data() + cell.size(), value);
    const bool number = status == std::errc() && end == cell.data() + cell.size();
    if (!number && cell != "-") cell.insert(0, "'");
  }
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

namespace {

class Csv final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    bool first = true;
    for (const Section& section : report.sections) {
      for (const Table& table : section.tables) {
        if (!first) out << "\r\n";
        first = false;
        const std::string title = table.title.empty() ? section.heading : table.title;
        if (!title.empty()) out << csv_cell(title) << "\r\n";
        line(table.header, out);
        for (const auto& row : table.rows) line(row, out);
      }
    }
  }

 private:
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

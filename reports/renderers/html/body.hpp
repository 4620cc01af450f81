// The body of a page: sections, cards, tables, figures and code of a report as HTML. It keeps the
// page within its size: what has more rows, points or lines than fit is cut, and says so.
#pragma once

#include <set>
#include <string>

#include "reports/report.hpp"

namespace spillway {

class Body {
 public:
  /// Writes all of it.
  explicit Body(const Report& report);

  const std::string& html() const { return html_; }
  /// A JSON array: what page.js draws, one entry for each chart, by the number of its figure.
  std::string data() const { return "[" + data_ + "]"; }
  bool has_charts() const { return charts_ > 0; }

 private:
  void navigation(const Report& report);
  void page(const Section& section, std::size_t number);
  void content(const Section& section, int level, bool first);
  void facts(const std::vector<Fact>& facts, bool first);
  void fact(const Fact& fact, const std::string& below);
  void charts(const std::vector<Chart>& charts);
  void paragraphs(const std::vector<std::string>& paragraphs, bool lead);
  void chart(const Chart& chart);
  void table(const Table& table, std::size_t most, bool of_chart);
  void rows(const Table& table, const std::vector<bool>& numeric, std::size_t most, bool of_chart);
  void code(const CodeBlock& code);
  std::string label(const std::string& wanted);
  std::size_t allowed(std::size_t wanted) const;
  std::size_t room() const;

  std::string html_;
  std::string data_;
  std::string answer_;  ///< said below the first fact, which is the whole report's answer
  std::size_t charts_ = 0;
  std::set<std::string> labels_;  ///< of regions, for which each must have its own
};

}  // namespace spillway

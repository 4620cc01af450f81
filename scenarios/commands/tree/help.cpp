#include "scenarios/commands/tree/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/renderers/wrap.hpp"
#include "scenarios/commands/tree/pages.hpp"

namespace spillway {

namespace {

constexpr std::size_t kColumn = 30;       // where help lines begin
constexpr std::size_t kNarrowColumn = 8;  // on a terminal too narrow for two columns
constexpr std::size_t kTwoColumns = 64;   // narrower than this

/// Lists of values, as in "a|b|c", that are wider than `width`: in lines that end with a "|".
std::vector<std::string> with_values_broken(std::vector<std::string> lines, std::size_t width) {
  std::vector<std::string> out;
  for (std::string& line : lines) {
    while (width > 0 && line.size() > width) {
      const std::size_t bar = line.rfind('|', width - 1);
      if (bar == std::string::npos) break;
      out.push_back(line.substr(0, bar + 1));
      line.erase(0, bar + 1);
    }
    out.push_back(std::move(line));
  }
  return out;
}

class Page {
 public:
  Page(CommandPage page, std::size_t width) : page_(std::move(page)), width_(width) {}

  std::string text() {
    paragraph(page_.summary);
    out_ += "\n";
    paragraph("Usage: " + page_.usage, 7);
    examples();
    options();
    if (!page_.verbs.empty()) {
      heading("Verbs");
      for (const auto& [name, summary] : page_.verbs) entry(name, summary);
    }
    values();
    codes();
    if (page_.path.empty()) {
      out_ += "\n";
      paragraph(
          "spillway VERB --help tells more of a verb; spillway man VERB has its manual page.");
    }
    return std::move(out_);
  }

 private:
  void paragraph(const std::string& text, std::size_t hang = 0) {
    for (const std::string& line : wrapped(text, width_, hang)) out_ += line + "\n";
  }
  void heading(std::string_view name) { out_ += fmt::format("\n{}:\n", name); }
  /// Name and text in two columns; the text below where the name is too long.
  void entry(const std::string& name, const std::string& text) {
    const bool narrow = width_ > 0 && width_ < kTwoColumns;
    const std::size_t column = narrow ? kNarrowColumn : kColumn;
    out_ += "  " + name;
    std::size_t at = 2 + name.size();
    if (at + 2 > column) {
      out_ += "\n";
      at = 0;
    }
    out_.append(column - at, ' ');
    const std::size_t room = width_ == 0 ? 0 : std::max<std::size_t>(width_ - column, 16);
    bool first = true;
    for (const std::string& line : with_values_broken(wrapped(text, room, 0), room)) {
      if (!first) out_.append(column, ' ');
      first = false;
      out_ += line + "\n";
    }
  }
  void examples() {
    if (page_.examples.empty()) return;
    heading("Examples");
    // Not wrapped: a broken line could not be copied.
    for (const std::string& line : page_.examples) out_ += "  " + line + "\n";
    for (const std::string& note : page_.notes) paragraph(note);
  }
  static std::string head(const Option& option) {
    std::string out = option.short_name.empty() ? "" : option.short_name + ",";
    out += option.name;
    if (option.positional()) return out + (option.many ? "..." : "");
    return option.value().empty() ? out : out + " " + option.value();
  }
  void options() {
    const auto print = [&](bool positional, const std::string& group) {
      bool first = true;
      for (const Option& option : page_.options) {
        if (option.positional() != positional || (!positional && option.group != group)) continue;
        if (first) heading(positional ? "Arguments" : group);
        first = false;
        entry(head(option), option.help);
      }
    };
    print(true, "");
    for (const std::string& group : page_.groups()) print(false, group);
  }
  void values() {
    const auto meanings = page_.meanings();
    if (meanings.empty()) return;
    heading("Values");
    for (const ValueKind* kind : meanings)
      entry(std::string(kind->name), std::string(kind->meaning));
  }
  void codes() {
    std::string text = "Exit codes: ";
    for (const ExitCode& code : exit_codes()) {
      text += fmt::format("{}{} {}", code.code == 0 ? "" : "; ", code.code, code.meaning);
    }
    out_ += "\n";
    for (const std::string& line : wrapped(text, width_ == 0 ? 100 : width_, 2))
      out_ += line + "\n";
  }

  CommandPage page_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string help_of(const Verb& verb, std::size_t width) {
  return Page(page_of(verb), width).text();
}

}  // namespace spillway

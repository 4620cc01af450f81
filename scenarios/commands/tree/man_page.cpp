#include "scenarios/commands/tree/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace spillway {

namespace {

/// Text that roff takes as it is: no request at the start of a line, no escape, plain hyphens and
/// quotes, so that what is copied from a page can be run.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '|':
        out += "|\\:";  // a long list of values may break here
        break;
      default:
        out += c;
    }
  }
  if (out.starts_with(".")) out.insert(0, "\\&");
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string entry(const std::string& head, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", head, escaped(text));
}

std::string option_entry(const Option& option) {
  std::string head;
  if (!option.short_name.empty()) head += fmt::format("\\fB{}\\fR, ", escaped(option.short_name));
  head += fmt::format("\\fB{}\\fR", escaped(option.name));
  if (!option.positional() && !option.value().empty())
    head += fmt::format(" \\fI{}\\fR", escaped(option.value()));
  return entry(head, option.help);
}

std::string options_of(const CommandPage& page) {
  std::string out;
  const auto add = [&](bool positional, const std::string& group) {
    bool first = true;
    for (const Option& option : page.options) {
      if (option.positional() != positional || (!positional && option.group != group)) continue;
      if (first) out += fmt::format(".SS {}\n", positional ? "Arguments" : escaped(group));
      first = false;
      out += option_entry(option);
    }
  };
  add(true, "");
  for (const std::string& group : page.groups()) add(false, group);
  return out;
}

/// Its verbs and the verb it belongs to; of a verb without verbs the program.
std::string see_also(const CommandPage& page, const std::vector<CommandPage>& pages) {
  std::string out;
  for (const CommandPage& other : pages) {
    const bool below = other.path != page.path && other.path.starts_with(page.path) &&
                       (page.path.empty() || other.path[page.path.size()] == ' ');
    const bool above =
        page.path != other.path && (other.path.empty() || page.path.starts_with(other.path + " "));
    if (!below && !above) continue;
    if (!out.empty()) out += ",\n";
    out += fmt::format(".BR {} (1)", escaped(man_name(other)));
  }
  // A comma belongs behind the section, on the request's own line.
  std::string fixed;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == ',' && i + 1 < out.size() && out[i + 1] == '\n') {
      fixed += " ,";
    } else {
      fixed += out[i];
    }
  }
  return fixed + "\n";
}

}  // namespace

std::string man_name(const CommandPage& page) {
  std::string out = "spillway";
  if (!page.path.empty()) out += "-" + page.path;
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

std::string man_page(const CommandPage& page, const std::vector<CommandPage>& pages) {
  std::string out = fmt::format(
      ".\\\" Written by spillway man from the program's own command tree.\n"
      ".TH {} 1 \"\" \"spillway {}\" \"Spillway\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n",
      upper(man_name(page)), SPILLWAY_VERSION, escaped(man_name(page)), escaped(page.summary));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", escaped(page.usage));
  if (!page.notes.empty()) {
    out += ".SH DESCRIPTION\n";
    for (const std::string& note : page.notes) out += escaped(note) + "\n";
  }
  out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : page.examples) out += escaped(line) + "\n";
  out += ".fi\n";
  if (!page.verbs.empty()) {
    out += ".SH VERBS\n";
    for (const auto& [name, summary] : page.verbs)
      out += entry("\\fB" + escaped(name) + "\\fR", summary);
  }
  out += ".SH OPTIONS\n" + options_of(page);
  if (const auto meanings = page.meanings(); !meanings.empty()) {
    out += ".SH VALUES\n";
    for (const ValueKind* kind : meanings)
      out += entry("\\fI" + escaped(kind->name) + "\\fR", kind->meaning);
  }
  out += ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes())
    out += entry(fmt::format("\\fB{}\\fR", code.code), code.meaning);
  out += ".SH SEE ALSO\n" + see_also(page, pages);
  return out;
}

}  // namespace spillway

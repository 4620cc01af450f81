#include "scenarios/commands/tree/pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"

namespace spillway {

namespace {

std::string usage_of(const CommandPage& page) {
  std::string out = page.path.empty() ? "spillway" : "spillway " + page.path;
  if (!page.verbs.empty()) return out + " VERB ...";
  for (const Option& option : page.options) {
    if (!option.positional() && option.required)
      out += fmt::format(" {} {}", option.name, option.value());
  }
  out += " [OPTIONS]";
  for (const Option& option : page.options) {
    if (!option.positional()) continue;
    const std::string name = option.name + (option.many ? "..." : "");
    out += option.required ? " " + name : " [" + name + "]";
  }
  return out;
}

}  // namespace

std::vector<std::string> CommandPage::groups() const {
  std::vector<std::string> out;
  for (const Option& option : options) {
    if (!option.positional() && std::find(out.begin(), out.end(), option.group) == out.end())
      out.push_back(option.group);
  }
  return out;
}

std::vector<const ValueKind*> CommandPage::meanings() const {
  std::vector<const ValueKind*> out;
  for (const Option& option : options) {
    if (option.kind == nullptr || option.kind->meaning.empty() || !option.choices.empty()) continue;
    if (std::find(out.begin(), out.end(), option.kind) == out.end()) out.push_back(option.kind);
  }
  return out;
}

CommandPage page_of(const Verb& verb) {
  CommandPage out;
  out.path = verb.path();
  out.summary = verb.summary;
  for (const std::string& line : split_lines(verb.examples)) {
    if (line.starts_with("  ")) {
      out.examples.push_back(line.substr(2));
    } else if (!line.empty()) {
      out.notes.push_back(line);
    }
  }
  // Positionals, the verb's own options with --help at the end, and what every verb has.
  const auto rank = [](const Option& option) {
    if (option.positional()) return 0;
    if (option.group != "Options") return 3;
    return option.name == "--help" ? 2 : 1;
  };
  for (const int wanted : {0, 1, 2, 3}) {
    for (const Option& option : verb.options) {
      if (option.hidden || rank(option) != wanted) continue;
      out.options.push_back(option);
      if (option.required && !option.positional()) out.options.back().help += " (required)";
    }
  }
  for (const Verb& below : verb.verbs) out.verbs.emplace_back(below.name, below.summary);
  out.usage = usage_of(out);
  return out;
}

std::vector<CommandPage> all_pages(const Verb& root) {
  std::vector<CommandPage> out = {page_of(root)};
  for (const Verb& verb : root.verbs) {
    for (CommandPage& page : all_pages(verb)) out.push_back(std::move(page));
  }
  return out;
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {0, "done"},
      {2, "usage, or what a scenario or profile says"},
      {3, "what a trace says"},
      {4, "no size meets the SLO"},
      {5, "not decided: more data, runs or time would tell"},
      {6, "some runs of a sweep are missing or failed"},
      {7, "a file, the disk or memory"},
      {70, "a defect of spillway itself"},
      {99, "a gate (--gate, --verify) failed"},
      {130, "interrupted (128 and the number of the signal)"}};
  return codes;
}

}  // namespace spillway

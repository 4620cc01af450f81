#include "scenarios/commands/tree/pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"

namespace spillway {

namespace {

std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr) return "";
  const std::string before = path_of(*parent);
  return before.empty() ? app.get_name() : before + " " + app.get_name();
}

/// What CLI11 says of an option's first check: "{a,b}" or "INT in [1 - 64]".
std::string check_of(const CLI::Option& option) {
  try {
    // CLI11 2.1 has no constant access to an option's checks.
    return const_cast<CLI::Option&>(option).get_validator(0)->get_description();
  } catch (const CLI::OptionNotFound&) {
    return "";
  }
}

std::vector<std::string> choices_of(const std::string& check) {
  if (!check.starts_with("{") || !check.ends_with("}")) return {};
  std::vector<std::string> out(1);
  for (const char c : check.substr(1, check.size() - 2)) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// "1 to 4096" of "INT in [1 - 4096]".
std::string range_of(const std::string& check) {
  const std::size_t open = check.find(" in [");
  if (open == std::string::npos || !check.ends_with("]")) return "";
  std::string out = check.substr(open + 5, check.size() - open - 6);
  if (const std::size_t dash = out.find(" - "); dash != std::string::npos)
    out.replace(dash, 3, " to ");
  return out;
}

OptionPage option_page(const CLI::Option& option, const std::string& path) {
  OptionPage out;
  out.positional = option.get_positional();
  out.name = out.positional                ? option.get_name(true, false)
             : option.get_lnames().empty() ? "-" + option.get_snames().front()
                                           : "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) out.short_name = "-" + option.get_snames().front();
  out.group = option.get_group();
  out.help = option.get_description();
  out.required = option.get_required();
  if (option.get_expected_max() == 0 || option.get_type_name().empty()) return out;  // a flag
  const std::string check = check_of(option);
  out.kind = &value_kind(path, out.name);
  out.choices = choices_of(check);
  out.value = out.choices.empty() ? std::string(out.kind->name)
                                  : fmt::format("{}", fmt::join(out.choices, "|"));
  out.comma = option.get_delimiter() == ',';
  out.many = option.get_items_expected_max() > 1;
  if (const std::string range = range_of(check); !range.empty()) out.help += ", " + range;
  for (const CLI::Option* other : option.get_needs())
    out.help += fmt::format("; needs {}", other->get_name());
  for (const CLI::Option* other : option.get_excludes())
    out.help += fmt::format("; not with {}", other->get_name());
  if (out.required && !out.positional) out.help += " (required)";
  return out;
}

std::string usage_of(const CommandPage& page) {
  std::string out = page.path.empty() ? "spillway" : "spillway " + page.path;
  if (!page.verbs.empty()) return out + " VERB ...";
  for (const OptionPage& option : page.options) {
    if (!option.positional && option.required)
      out += fmt::format(" {} {}", option.name, option.value);
  }
  out += " [OPTIONS]";
  for (const OptionPage& option : page.options) {
    if (!option.positional) continue;
    const std::string name = option.name + (option.many ? "..." : "");
    out += option.required ? " " + name : " [" + name + "]";
  }
  return out;
}

}  // namespace

std::vector<std::string> CommandPage::groups() const {
  std::vector<std::string> out;
  for (const OptionPage& option : options) {
    if (!option.positional && std::find(out.begin(), out.end(), option.group) == out.end())
      out.push_back(option.group);
  }
  return out;
}

std::vector<const ValueKind*> CommandPage::meanings() const {
  std::vector<const ValueKind*> out;
  for (const OptionPage& option : options) {
    if (option.kind == nullptr || option.kind->meaning.empty() || !option.choices.empty()) continue;
    if (std::find(out.begin(), out.end(), option.kind) == out.end()) out.push_back(option.kind);
  }
  return out;
}

CommandPage page_of(const CLI::App& app) {
  CommandPage out;
  out.path = path_of(app);
  out.summary = app.get_description();
  for (const std::string& line : split_lines(app.get_footer())) {
    if (line.starts_with("  ")) {
      out.examples.push_back(line.substr(2));
    } else if (!line.empty()) {
      out.notes.push_back(line);
    }
  }
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() != positional || option->get_group().empty()) continue;
      out.options.push_back(option_page(*option, out.path));
    }
  }
  // What every verb has comes last, --help at its end.
  std::stable_partition(out.options.begin(), out.options.end(),
                        [](const OptionPage& o) { return o.positional || o.name != "--help"; });
  std::stable_partition(out.options.begin(), out.options.end(),
                        [](const OptionPage& o) { return o.positional || o.group != "Common"; });
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    out.verbs.emplace_back(verb->get_name(), verb->get_description());
  }
  out.usage = usage_of(out);
  return out;
}

std::vector<CommandPage> all_pages(const CLI::App& root) {
  std::vector<CommandPage> out = {page_of(root)};
  for (const CLI::App* verb : root.get_subcommands([](const CLI::App*) { return true; })) {
    for (CommandPage& page : all_pages(*verb)) out.push_back(std::move(page));
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

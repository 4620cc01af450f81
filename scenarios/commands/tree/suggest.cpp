#include "scenarios/commands/tree/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/commands/tree/pages.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

bool mentions(const std::string& message, const std::string& word) {
  return !word.empty() && message.find(word) != std::string::npos;
}

std::string nearest(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return std::string(nearest_name(word, known));
}

std::vector<std::string> names_on(const CommandPage& page) {
  std::vector<std::string> out;
  for (const auto& verb : page.verbs) out.push_back(verb.first);
  for (const OptionPage& option : page.options) {
    if (!option.positional) out.push_back(option.name);
  }
  return out;
}

/// "; did you mean --gate?", or which other verb has such an option.
std::string option_hint(const CLI::App& root, const CLI::App& at, const std::string& word) {
  const std::string here = nearest(word, names_on(page_of(at)));
  if (!here.empty()) return fmt::format("; did you mean {}?", here);
  if (!word.starts_with("--")) return "";
  std::vector<std::string> all;
  const std::vector<CommandPage> pages = all_pages(root);
  for (const CommandPage& page : pages) {
    for (std::string& name : names_on(page)) all.push_back(std::move(name));
  }
  const std::string there = nearest(word, all);
  if (there.empty()) return "";
  std::vector<std::string> verbs;
  for (const CommandPage& page : pages) {
    const bool has =
        std::ranges::any_of(page.options, [&](const OptionPage& o) { return o.name == there; });
    if (has && !page.path.empty()) verbs.push_back(page.path);
  }
  if (verbs.empty()) return "";
  return fmt::format("; {} is an option of spillway {}", there, fmt::join(verbs, ", "));
}

/// CLI11 says "--color: red not in {auto,always,never}".
std::string choice_hint(const std::string& message) {
  const std::size_t at = message.find(" not in {");
  const std::size_t colon = message.find(": ");
  if (at == std::string::npos || colon == std::string::npos || colon > at) return "";
  std::vector<std::string> choices(1);
  for (const char c : message.substr(at + 9, message.rfind('}') - at - 9)) {
    if (c == ',') {
      choices.emplace_back();
    } else {
      choices.back() += c;
    }
  }
  const std::string near = nearest(message.substr(colon + 2, at - colon - 2), choices);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

}  // namespace

std::string option_for_value(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* at = &root;
  std::string path;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += at->get_name() + " ";
  }
  const CommandPage page = page_of(*at);
  const auto option_at = [&](std::size_t i) -> const OptionPage* {
    if (i >= words.size() || !words[i].starts_with("--")) return nullptr;
    const auto found = std::ranges::find_if(
        page.options, [&](const OptionPage& option) { return option.name == words[i]; });
    return found == page.options.end() ? nullptr : &*found;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const OptionPage* option = option_at(i);
    if (option == nullptr || option->value.empty() || option_at(i + 1) == nullptr) continue;
    if (option->value == "OPTION") continue;  // of another program
    return fmt::format(
        "{} needs a value ({}), and here the option {} follows it (see spillway {}"
        "--help)",
        option->name, option->value, words[i + 1], path);
  }
  return "";
}

std::string parse_message(const CLI::App& root, const CLI::ParseError& error,
                          const std::vector<std::string>& words) {
  if (std::string taken = option_for_value(root, words); !taken.empty()) return taken;
  std::string message = error.what();
  const CLI::App* at = &root;
  std::string path;  // of verbs, as typed
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += at->get_name() + " ";
  }
  const std::vector<std::string> names = names_on(page_of(*at));
  // CLI11 misses a verb without naming the word that stands in its place.
  const std::vector<std::string> rest = at->remaining(true);
  const bool verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !rest.empty() &&
                    !at->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (verb) {
    message = fmt::format("unknown {} {}", rest.front().starts_with("-") ? "option" : "verb",
                          rest.front());
  }
  std::string hint;
  for (const std::string& whole : words) {
    const std::string word = whole.substr(0, whole.find('='));
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    if (verb ? word != rest.front() : !word.starts_with("-") || !mentions(message, word)) continue;
    hint = option_hint(root, *at, word);
    break;
  }
  if (hint.empty()) hint = choice_hint(message);
  if (words.empty()) hint = "; spillway demo is a start";
  return fmt::format("{}{} (see spillway {}--help)", message, hint, path);
}

std::string nearest_file(const std::string& message, const std::vector<std::string>& words) {
  namespace fs = std::filesystem;
  for (const std::string& word : words) {
    const fs::path path = word;
    std::error_code ignored;
    if (!message.starts_with(word + ": cannot open") || fs::exists(path, ignored)) continue;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::vector<std::string> names;
    for (auto entry = fs::directory_iterator(folder, ignored);
         !ignored && entry != fs::directory_iterator(); entry.increment(ignored)) {
      if (entry->path().extension() == path.extension())
        names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    const std::string near = nearest(path.filename().string(), names);
    if (near.empty()) return "";
    return fmt::format(
        "; did you mean {}?",
        (path.has_parent_path() ? path.parent_path() / near : fs::path(near)).string());
  }
  return "";
}

}  // namespace spillway

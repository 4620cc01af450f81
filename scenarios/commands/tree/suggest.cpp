#include "scenarios/commands/tree/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

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

/// "trace stats ".
std::string before_help(const Verb& verb) {
  return verb.parent == nullptr ? "" : verb.path() + " ";
}

std::vector<std::string> names_on(const Verb& verb) {
  std::vector<std::string> out;
  for (const Verb& below : verb.verbs) out.push_back(below.name);
  for (const Option& option : verb.options) {
    if (!option.positional() && !option.hidden) out.push_back(option.name);
  }
  return out;
}

void add_names(const Verb& verb, std::vector<std::string>& out) {
  for (std::string& name : names_on(verb)) out.push_back(std::move(name));
  for (const Verb& below : verb.verbs) add_names(below, out);
}

void add_owners(const Verb& verb, const std::string& option, std::vector<std::string>& out) {
  if (verb.parent != nullptr && std::ranges::count(names_on(verb), option) > 0)
    out.push_back(verb.path());
  for (const Verb& below : verb.verbs) add_owners(below, option, out);
}

/// "; did you mean --gate?", or which other verb has such an option.
std::string option_hint(const Verb& root, const Verb& at, const std::string& word) {
  const std::string here = nearest(word, names_on(at));
  if (!here.empty()) return fmt::format("; did you mean {}?", here);
  if (!word.starts_with("--")) return "";
  std::vector<std::string> all;
  add_names(root, all);
  const std::string there = nearest(word, all);
  std::vector<std::string> verbs;
  add_owners(root, there, verbs);
  if (there.empty() || verbs.empty()) return "";
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

std::string option_for_value(const Verb& at, const std::vector<std::string>& words) {
  const auto option_at = [&](std::size_t i) -> const Option* {
    if (i >= words.size() || !words[i].starts_with("--")) return nullptr;
    const auto found = std::ranges::find(at.options, words[i], &Option::name);
    return found == at.options.end() || found->hidden ? nullptr : &*found;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Option* option = option_at(i);
    if (option == nullptr || option->kind == nullptr || option_at(i + 1) == nullptr) continue;
    if (option->value() == "OPTION") continue;  // of another program
    return fmt::format(
        "{} needs a value ({}), and here the option {} follows it (see spillway {}"
        "--help)",
        option->name, option->value(), words[i + 1], before_help(at));
  }
  return "";
}

std::string parse_message(const Verb& root, const Misread& error,
                          const std::vector<std::string>& words) {
  const Verb& at = root.reached();
  if (std::string taken = option_for_value(at, words); !taken.empty()) return taken;
  std::string message = error.message;
  if (!error.unknown.empty()) {
    message = fmt::format("unknown {} {}", error.unknown.starts_with("-") ? "option" : "verb",
                          error.unknown);
  }
  const std::vector<std::string> names = names_on(at);
  std::string hint;
  for (const std::string& whole : words) {
    const std::string word = whole.substr(0, whole.find('='));
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    if (error.unknown.empty() ? !word.starts_with("-") || !mentions(message, word)
                              : word != error.unknown) {
      continue;
    }
    hint = option_hint(root, at, word);
    break;
  }
  if (hint.empty()) hint = choice_hint(message);
  if (words.empty()) hint = "; spillway demo is a start";
  return fmt::format("{}{} (see spillway {}--help)", message, hint, before_help(at));
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

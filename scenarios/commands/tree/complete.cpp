#include "scenarios/commands/tree/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "scenarios/commands/tree/pages.hpp"

namespace spillway {

namespace {

using Words = std::vector<std::string>;

/// Shipped scenarios, where they can be seen.
Words library() {
  namespace fs = std::filesystem;
  Words out;
  std::error_code ignored;
  for (auto file = fs::directory_iterator("scenarios/library", ignored);
       !ignored && file != fs::directory_iterator(); file.increment(ignored)) {
    if (file->path().extension() == ".json") out.push_back(file->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string line_of(const std::string& word, const std::string& help = "") {
  return fmt::format("{}\t{}\n", word, help);
}

Words words_of(const Option& option) {
  if (!option.words.empty()) return option.words;
  if (!option.choices.empty()) return option.choices;
  if (option.kind->offer == Offer::kScenarios) return library();
  return option.kind->words == nullptr ? Words() : option.kind->words();
}

std::string_view rule_of(const Option& option) {
  switch (option.kind->offer) {
    case Offer::kFiles:
      return "files";
    case Offer::kFolders:
      return "folders";
    case Offer::kScenarios:
      return "scenarios";
    case Offer::kNothing:
    case Offer::kWords:
    case Offer::kKeys:
      break;
  }
  return option.comma ? "list" : "words";
}

/// Values of `option` for `typed`, which stands behind `before` in its word.
std::string values(const Option& option, std::string before, const std::string& typed) {
  Words words = words_of(option);
  if (const std::size_t comma = typed.rfind(','); option.comma && comma != std::string::npos) {
    const std::string taken = "," + typed.substr(0, comma + 1);
    std::erase_if(words, [&](const std::string& word) {
      return taken.find("," + word + ",") != std::string::npos;
    });
    before += typed.substr(0, comma + 1);
  }
  if (option.kind->offer == Offer::kKeys) {  // values only behind the =
    const std::string key = typed.substr(0, typed.find('=') + 1);
    std::erase_if(words, [&](const std::string& word) {
      return key.empty() ? !word.ends_with("=") : word == key || !word.starts_with(key);
    });
  }
  std::string out = line_of(fmt::format(":{}", rule_of(option)), before);
  for (const std::string& word : words) out += line_of(before + word);
  return out;
}

const Option* option_called(const Verb& verb, std::string_view name) {
  const auto found = std::ranges::find_if(verb.options, [&](const Option& option) {
    return option.name == name || option.short_name == name;
  });
  return found == verb.options.end() || found->positional() ? nullptr : &*found;
}

}  // namespace

std::string completions(const Verb& program, const Words& words) {
  const Verb* verb = &program;
  const Option* expected = nullptr;  // its value comes next
  std::vector<std::string_view> given;
  std::size_t place = 0;  // among the positionals
  const std::string current = words.empty() ? "" : words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (std::exchange(expected, nullptr) != nullptr) continue;
    if (word.size() > 1 && word.starts_with("-")) {
      const std::size_t equals = word.find('=');
      const Option* option = option_called(*verb, word.substr(0, equals));
      if (option == nullptr) continue;
      given.push_back(option->name);
      if (option->kind != nullptr && equals == std::string::npos) expected = option;
      continue;
    }
    const auto below = std::ranges::find(verb->verbs, word, &Verb::name);
    if (below != verb->verbs.end()) {
      verb = &*below;
    } else {
      ++place;
    }
  }
  if (expected != nullptr) return values(*expected, "", current);
  if (const std::size_t equals = current.find('=');
      current.starts_with("--") && equals != std::string::npos) {
    const Option* option = option_called(*verb, current.substr(0, equals));
    if (option == nullptr || option->kind == nullptr) return "";
    return values(*option, current.substr(0, equals + 1), current.substr(equals + 1));
  }
  if (!current.starts_with("-")) {
    for (const Option& option : verb->options) {
      if (!option.positional()) continue;
      if (option.many || place == 0) return values(option, "", current);
      --place;
    }
  }
  std::string out = line_of(":words");
  if (!current.starts_with("-") && !verb->verbs.empty()) {
    for (const Verb& below : verb->verbs) out += line_of(below.name, below.summary);
    return out;
  }
  for (const Option& option : page_of(*verb).options) {
    const bool again = option.many || std::ranges::find(given, option.name) == given.end();
    if (option.positional() || !again) continue;
    out += line_of(option.name, option.help);
    if (!option.short_name.empty()) out += line_of(option.short_name, option.help);
  }
  return out;
}

}  // namespace spillway

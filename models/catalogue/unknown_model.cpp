#include "models/catalogue/unknown_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostGuesses = 3;
constexpr std::size_t kLeastLabel = 5;      // shorter ones stand in too many names
constexpr std::size_t kLongestShown = 120;  // of a name that is not known
constexpr std::string_view kGguf = "gguf";

/// Names are compared without their organisations.
std::string folded_end(std::string_view name) {
  return folded(name.substr(name.rfind('/') + 1));
}

/// The longest label within `wanted`: "qwen38b" of "qwen38bq4km".
std::string_view label_within(std::string_view wanted,
                              const std::vector<std::string_view>& labels) {
  std::string_view best;
  for (const std::string_view label : labels) {
    if (label.size() < kLeastLabel || label.size() <= best.size()) continue;
    if (wanted.find(label) != std::string_view::npos) best = label;
  }
  return best;
}

/// The models whose names are nearest, the nearest first.
std::vector<std::string> nearest_models(const std::string& wanted, std::vector<Alias> known) {
  std::vector<std::string> out;
  while (out.size() < kMostGuesses && !known.empty()) {
    std::vector<std::string> folds;
    for (const Alias& label : known) folds.push_back(folded_end(label.alias));
    const std::vector<std::string_view> labels(folds.begin(), folds.end());
    std::string_view near = nearest_name(wanted, labels);
    if (near.empty()) near = label_within(wanted, labels);
    if (near.empty()) break;
    const auto at = std::find(labels.begin(), labels.end(), near) - labels.begin();
    const std::string_view name = known[static_cast<std::size_t>(at)].name;
    out.emplace_back(name);
    if (near == wanted) break;  // what was meant, but for the mark of its files
    std::erase_if(known, [&](const Alias& label) { return label.name == name; });
  }
  return out;
}

/// "; did you mean A, B or C?"
std::string question(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string out = "; did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out + "?";
}

}  // namespace

bool names_gguf(std::string_view name) {
  name = name.substr(0, name.find(':'));  // "...-GGUF:Q4_K_M", one file of several
  return folded_end(name).ends_with(kGguf);
}

std::string unknown_model(std::string_view name, std::vector<Alias> known,
                          std::string_view others) {
  const bool gguf = names_gguf(name);
  std::string wanted = folded_end(gguf ? name.substr(0, name.find(':')) : name);
  if (gguf) wanted.resize(wanted.size() - kGguf.size());
  const std::vector<std::string> near = nearest_models(wanted, std::move(known));
  const std::string unknown = fmt::format("unknown model \"{}{}\"{}", name.substr(0, kLongestShown),
                                          name.size() > kLongestShown ? "..." : "", question(near));
  const char* sep = near.empty() ? "; " : " ";
  if (!gguf) return fmt::format("{}{}spillway list models lists all{}", unknown, sep, others);
  return fmt::format(
      "{}{}GGUF files hold no config that Spillway reads. Give the original model's name (spillway "
      "list models) or its config.json. Set model.weight_dtype to the type of the GGUF weights: "
      "int4 for Q4_K_M, int8 for Q8_0",
      unknown, sep);
}

}  // namespace spillway

#include "sim/catalogue.hpp"

#include <fmt/ranges.h>

namespace spillway {

namespace {

constexpr std::size_t kLongestName = 64;  // nothing known is longer; beyond, guessing is idle
constexpr std::size_t kMostBesideGuess = 12;

/// Levenshtein distance with swaps of neighbours counted once.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before(columns);
  std::vector<std::size_t> previous(columns);
  std::vector<std::size_t> current(columns);
  for (std::size_t j = 0; j < columns; ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  if (name.empty() || name.size() > kLongestName) return best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    // Of two equally near the one whose end was left off: "L40" is L40S sooner than L4.
    const bool begins = distance == least && !best.empty() && !best.starts_with(name) &&
                        candidate.starts_with(name);
    if (distance < least || begins) {
      least = distance;
      best = candidate;
    }
  }
  if (!best.empty() || name.size() < 3) return best;
  // A release's name without its number: the newest, which is listed last.
  for (const std::string_view candidate : known) {
    const std::string_view stem = candidate.substr(0, candidate.find('@'));
    if (stem.size() < candidate.size() && edit_distance(name, stem) <= 2) best = candidate;
  }
  if (!best.empty()) return best;
  const auto begins = [&](std::string_view candidate) { return candidate.starts_with(name); };
  const auto longer = std::find_if(known.begin(), known.end(), begins);
  return longer == known.end() ? best : *longer;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> known) {
  const std::string_view guess = nearest_name(name, known);
  const std::string_view dots = name.size() > kLongestName ? "..." : "";
  const std::string unknown =
      fmt::format("unknown {} \"{}{}\"", kind, name.substr(0, kLongestName), dots);
  if (guess.empty()) return fmt::format("{}; known: {}", unknown, fmt::join(known, ", "));
  const std::string hint = fmt::format("{}; did you mean \"{}\"?", unknown, guess);
  // A long list would hide the one name that was meant.
  if (known.size() > kMostBesideGuess) return hint;
  return fmt::format("{} known: {}", hint, fmt::join(known, ", "));
}

}  // namespace spillway

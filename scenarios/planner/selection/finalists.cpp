#include "scenarios/planner/selection/finalists.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr double kClear = 2;              // standard errors: a cell that very likely holds
constexpr std::size_t kFewFinalists = 5;  // beside these, only cells that look met are verified
constexpr std::size_t kMostFinalists = 16;

}  // namespace

std::vector<std::uint32_t>::const_iterator likeliest(const std::vector<std::uint32_t>& cells,
                                                     const std::vector<double>& score) {
  const auto clear =
      std::find_if(cells.begin(), cells.end(), [&](std::uint32_t c) { return score[c] >= kClear; });
  if (clear != cells.end()) return clear;
  return std::max_element(cells.begin(), cells.end(),
                          [&](std::uint32_t a, std::uint32_t b) { return score[a] < score[b]; });
}

Finalists choose_finalists(const std::vector<std::uint32_t>& candidates,
                           const std::vector<double>& score) {
  Finalists out;
  if (candidates.empty()) return out;
  const auto anchor = likeliest(candidates, score);
  const bool clear = score[*anchor] >= kClear;
  // Preferred ones are verified beside the anchor, the others one after another behind it.
  std::vector<std::uint32_t> rivals(candidates.begin(), anchor);
  std::vector<std::uint32_t> reserves(anchor + 1, candidates.end());
  std::erase_if(rivals, [&](std::uint32_t c) { return score[c] < kUnlikely; });
  std::erase_if(reserves, [&](std::uint32_t c) { return score[c] < (clear ? 0 : kUnlikely); });
  const auto rank = [&](std::uint32_t c) {
    return std::find(candidates.begin(), candidates.end(), c) - candidates.begin();
  };
  const auto likelier = [&](std::uint32_t a, std::uint32_t b) { return score[a] > score[b]; };
  std::stable_sort(rivals.begin(), rivals.end(), likelier);
  if (!clear) std::stable_sort(reserves.begin(), reserves.end(), likelier);
  // A preferred cell that looks met is never passed over for one that was verified instead.
  const std::size_t few = kFewFinalists - 1 - std::min<std::size_t>(1, reserves.size());
  const auto look_met = static_cast<std::size_t>(
      std::count_if(rivals.begin(), rivals.end(), [&](std::uint32_t c) { return score[c] >= 0; }));
  rivals.resize(std::min({rivals.size(), std::max(few, look_met), kMostFinalists - 1}));
  const std::size_t left = kFewFinalists - 1 - std::min(kFewFinalists - 1, rivals.size());
  std::vector<std::uint32_t> others;
  if (clear) {
    // First those as clear as the anchor; then what is preferred to them and looks met.
    const auto weaker =
        std::stable_partition(reserves.begin(), reserves.end(),
                              [&](std::uint32_t c) { return score[c] >= score[*anchor]; });
    others.assign(weaker, reserves.end());
    reserves.erase(weaker, reserves.end());
    if (!reserves.empty()) {
      std::erase_if(others, [&](std::uint32_t c) { return rank(c) > rank(reserves.front()); });
    }
    others.resize(std::min(others.size(), kFewFinalists - 1));
  }
  reserves.resize(std::min(reserves.size(), left));
  out.cells = {*anchor};
  out.cells.insert(out.cells.end(), rivals.begin(), rivals.end());
  out.preferred = out.cells.size();
  out.cells.insert(out.cells.end(), reserves.begin(), reserves.end());
  const std::size_t with_share = out.cells.size() + others.size();
  // What is passed over and preferred to the last reserve, the likeliest first, on its alpha.
  std::vector<std::uint32_t> heirs;
  for (const std::uint32_t c : candidates) {
    const bool chosen = std::find(out.cells.begin(), out.cells.end(), c) != out.cells.end() ||
                        std::find(others.begin(), others.end(), c) != others.end();
    const bool wanted = !reserves.empty() && rank(c) < rank(reserves.back());
    if (wanted && !chosen && score[c] >= 0) heirs.push_back(c);
  }
  std::stable_sort(heirs.begin(), heirs.end(), likelier);
  heirs.resize(std::min(heirs.size(), kMostFinalists - std::min(kMostFinalists, with_share)));
  out.cells.insert(out.cells.end(), heirs.begin(), heirs.end());
  out.cells.insert(out.cells.end(), others.begin(), others.end());
  const auto sharing = static_cast<double>(with_share - 1);
  out.share.assign(out.cells.size(), sharing == 0 ? 0 : (1 - kAnchorShare) / sharing);
  out.share.front() = sharing == 0 ? 1 : kAnchorShare;
  const auto first_heir =
      out.share.begin() + static_cast<std::ptrdiff_t>(out.preferred + reserves.size());
  std::fill_n(first_heir, heirs.size(), 0.0);
  return out;
}

}  // namespace spillway

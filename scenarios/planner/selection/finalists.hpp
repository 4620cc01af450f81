// Which cells are verified on fresh replicates, in which order, and with what part of alpha.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

inline constexpr double kUnlikely = -3;      // standard errors: below it, not worth verifying
inline constexpr double kAnchorShare = 0.6;  // of alpha; the others share the rest

struct Finalists {
  std::vector<std::uint32_t> cells;  ///< in the order of their test
  /// Of alpha, beside `cells`. 0: heirs, tested where the one before them held, on its alpha.
  std::vector<double> share;
  std::size_t preferred = 0;  ///< of these, all but reserves
};

/// The first of `cells` (by preference) that is clear of its limits, else the likeliest, by
/// `score`, which is by cell. Precondition: not empty.
std::vector<std::uint32_t>::const_iterator likeliest(const std::vector<std::uint32_t>& cells,
                                                     const std::vector<double>& score);

/// The likeliest of `candidates` (by preference), what is preferred to it and may hold, reserves
/// for where neither does, and as heirs what looks met and is preferred to the last reserve. None
/// where there are no candidates.
Finalists choose_finalists(const std::vector<std::uint32_t>& candidates,
                           const std::vector<double>& score);

}  // namespace spillway

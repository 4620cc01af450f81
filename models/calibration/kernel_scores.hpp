// How well fits of kernel tables predict what they did not see: rows, widths and lengths, whole
// steps composed of kernels, and models none of whose shapes was measured.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/kernel_fit.hpp"
#include "models/calibration/kernel_tables.hpp"
#include "models/compute/compute_profile.hpp"

namespace spillway {

/// One row beside its prediction.
struct KernelPoint {
  std::string part;   ///< FitScore::part
  std::string shape;  ///< in words
  double measured_us = 0;
  double predicted_us = 0;
  bool held_out = false;
  RowSource from{};
  std::string why;  ///< what such rows have in common; empty where nothing is known
};

/// Completes `profile`, which fit_kernels made of `tables`: what was held out of each of its
/// parts, and further parts. Returns the rows held out that are furthest off, `worst` of each part.
///
/// - `PART`: every fifth row, chosen by a hash of its shape.
/// - `PART/widths`, `/lengths`, `/counts`: every third output width of products (token count where
///   the table has few shapes), every third length of attention.
/// - `steps/prefill`, `/decode`, `/prefix`, `/mixed`: steps of dense models at held-out attention
///   rows, all kernels from the fit without held-out rows. What they took is the sum of the
///   table's times, interpolated where a model's widths stand between measured ones.
/// - `unseen model/NAME/prefill`, `/decode`: the same after a fit that saw no product with one of
///   the model's widths (nor the measured width nearest to one that is not in the table), and no
///   attention with its heads.
std::vector<KernelPoint> score_kernels(const KernelTables& tables, ComputeProfile& profile,
                                       std::size_t worst = 10);

/// The part of that score, or null.
const FitScore* find_score(const ComputeProfile& profile, std::string_view part);

}  // namespace spillway

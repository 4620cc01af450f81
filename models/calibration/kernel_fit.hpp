// A compute profile from kernel tables: bounded parameters of the forms in kernel_forms.hpp, then
// the ratios of measured time over form, on grids.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/kernel_tables.hpp"
#include "models/compute/compute_profile.hpp"

namespace spillway {

/// Fewer rows than this cannot be told from chance, for a form of so many parameters.
constexpr std::size_t least_rows(std::size_t parameters) {
  return 4 * parameters;
}

struct KernelFitOptions {
  /// Where to begin, with the same parts: a fit of nearly the same rows; null: usual values.
  const ComputeProfile* start = nullptr;
  /// Parameters with intervals, errors over the rows seen, warnings; parts with too few rows are
  /// refused. Without: the bare profile, parts with too few rows left out.
  bool scores = true;
};

/// Fits every part that there are rows of. Parts without rows keep the GPU's published coefficients
/// and a warning. Throws InputError (exit 3) with the number needed where a part has too few rows.
/// Form parameters see at most some thousands of rows, spread evenly; ratios see all.
ComputeProfile fit_kernels(const KernelTables& tables, const KernelFitOptions& options = {});

}  // namespace spillway

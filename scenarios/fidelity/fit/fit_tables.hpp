// Kernel tables fitted as every fit is handed over.
#pragma once

#include <string>
#include <vector>

#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/fidelity/fit/read_kernel_tables.hpp"

namespace spillway {

/// Reads, fits and scores. What was left out and what deserves a word is among the profile's
/// warnings. Throws as read_kernel_tables() and fit_kernels() do.
FitResult fit_tables(const std::vector<std::string>& files, const KernelTableOptions& options);

/// Kernels that reach far less of the GPU's data sheet than any that was measured: rows of another
/// GPU fit as well as its own, so that no error tells them apart.
std::vector<std::string> doubts_of(const ComputeProfile& profile);

}  // namespace spillway

#include "scenarios/fit/fit_tables.hpp"

#include <fmt/format.h>

#include "models/calibration/kernel_fit.hpp"
#include "models/calibration/kernel_scores.hpp"

namespace spillway {

FitResult fit_tables(const std::vector<std::string>& files, const KernelTableOptions& options) {
  const KernelTables tables = read_kernel_tables(files, options);
  FitResult out;
  out.profile = fit_kernels(tables);
  for (const KernelPoint& point : score_kernels(tables, out.profile)) {
    out.worst.push_back(
        {point.part,
         fmt::format("{}:{}: {}", tables.files.at(point.from.file), point.from.line, point.shape),
         point.measured_us, point.predicted_us, point.held_out, point.why});
  }
  auto& warnings = out.profile.warnings;
  warnings.insert(warnings.end(), tables.notes.begin(), tables.notes.end());
  return out;
}

}  // namespace spillway

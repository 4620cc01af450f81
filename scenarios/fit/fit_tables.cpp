#include "scenarios/fit/fit_tables.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "models/calibration/kernel_fit.hpp"
#include "models/calibration/kernel_scores.hpp"

namespace spillway {

namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

FitResult fit_tables(const std::vector<std::string>& files, const KernelTableOptions& options) {
  const KernelTables tables = read_kernel_tables(files, options);
  FitResult out;
  out.profile = fit_kernels(tables);
  for (const KernelPoint& point : score_kernels(tables, out.profile)) {
    out.worst.push_back({point.part,
                         fmt::format("{}:{}: {}", file_name(tables.files.at(point.from.file)),
                                     point.from.line, point.shape),
                         point.measured_us, point.predicted_us, point.held_out, point.why});
  }
  for (std::string note : tables.notes) {  // a profile names no folders of this machine
    for (const std::string& path : tables.files) {
      const std::size_t at = note.find(path);
      if (at != std::string::npos) note.replace(at, path.size(), file_name(path));
    }
    out.profile.warnings.push_back(std::move(note));
  }
  return out;
}

}  // namespace spillway

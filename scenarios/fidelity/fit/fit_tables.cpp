#include "scenarios/fidelity/fit/fit_tables.hpp"

#include <fmt/format.h>

#include "models/calibration/kernel_fit.hpp"
#include "models/calibration/kernel_scores.hpp"

namespace spillway {

namespace {

/// What products and decode attention of the GPUs in scenarios/hardware reach, and what is too far
/// below that to be a kernel's fault.
struct UsualShare {
  const char* name;
  double least;
  double low;
  double high;
};
constexpr UsualShare kByteShare = {"byte_efficiency", 0.55, 0.77, 0.94};
constexpr UsualShare kFlopShare = {"flop_efficiency", 0.3, 0.57, 0.96};
constexpr UsualShare kDecodeShare = {"decode_efficiency", 0.5, 0.59, 0.87};

void doubt(const std::string& part, const UsualShare& usual, double share,
           std::vector<std::string>& out) {
  if (share >= usual.least) return;
  out.push_back(fmt::format(
      "{}: {} is {:.2g} of the data sheet, far below the {} to {} that measured GPUs reach: are "
      "rows of another GPU among them, or in another unit?",
      part, usual.name, share, usual.low, usual.high));
}

}  // namespace

std::vector<std::string> doubts_of(const ComputeProfile& profile) {
  std::vector<std::string> out;
  for (const ProductKernels& k : profile.products) {
    doubt("products/" + k.dtype, kByteShare, k.byte_efficiency, out);
    doubt("products/" + k.dtype, kFlopShare, k.flop_efficiency, out);
  }
  for (const AttentionKernels& k : profile.attention) {
    // Kernels that read FP8 also convert it: on one GPU wide heads reach 0.36.
    if (k.kv_dtype != "bf16") continue;
    doubt(fmt::format("attention/{}/{}/decode", k.kv_dtype, k.head_dim), kDecodeShare,
          k.decode_efficiency, out);
  }
  return out;
}

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
  const std::vector<std::string> doubts = doubts_of(out.profile);
  warnings.insert(warnings.begin(), doubts.begin(), doubts.end());
  warnings.insert(warnings.end(), tables.notes.begin(), tables.notes.end());
  return out;
}

}  // namespace spillway

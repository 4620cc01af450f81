// The GPU's part of a calibration: cells measured by the harness, a separate program that uses CUDA
// (models/calibration/protocol.md).
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/calibration/profile.hpp"
#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/gpu_harness.hpp"

namespace spillway {

/// What a harness says of itself and of the machine.
struct GpuSurvey {
  bool simulated = false;
  std::string driver;
  std::string runtime;
  std::string library;
  std::string dtype = "bf16";
  bool wsl = false;
  bool batch = false;  ///< it can call cudaMemcpyBatchAsync
  std::vector<GpuFacts> gpus;
};

/// Starts the harness and asks. Nothing, with the reason in `missing`, where there is no harness,
/// driver or device. A harness that dies is a reason too.
struct GpuConnection {
  std::unique_ptr<GpuHarness> harness;
  GpuSurvey survey;
};
std::optional<GpuConnection> connect_gpu(const GpuHarnessOptions& options,
                                         std::vector<std::string>& missing);

/// Links that trained down, a simulated harness.
std::vector<std::string> gpu_warnings(const GpuSurvey& survey);

class GpuBench final : public Bench {
 public:
  explicit GpuBench(GpuHarnessOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "gpu"; }
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  void add_facts(MachineFacts& machine) override;
  nlohmann::json measure(const CellPlan& cell) override;
  std::vector<std::string> warnings() const override;
  /// As surveyed by plan().
  std::span<const GpuFacts> gpus() const;

 private:
  GpuHarnessOptions options_;
  BenchLimits limits_;
  std::optional<GpuConnection> connection_;
  bool measured_ = false;  ///< a cell was, so that clocks are those of afterwards
};

}  // namespace spillway

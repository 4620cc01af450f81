// Serving points: mean TTFT and TPOT of a served model by concurrency, lengths and tensor-parallel
// degree, as benchmarks publish them.
//
// Each point is a closed loop: so many clients, each sending its next request when its last one was
// answered. Two parameters are fitted on the points of one GPU; those of several are predicted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/fidelity/fit/step_model.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

struct ServingPoint {
  std::int64_t line = 0;
  std::string model;
  std::string system;  ///< the GPU, as the file says
  std::string backend;
  std::string precision;
  std::uint32_t concurrency = 0;
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t tensor_parallel = 1;
  double ttft_ms = 0;
  double tpot_ms = 0;
};

struct ServingPoints {
  std::string path;
  std::vector<ServingPoint> points;
};

struct ServingOptions {
  std::string backend = "vllm";
  std::string precision = "fp8";
  /// Lengths are drawn evenly from this share of the nominal ones up to these, as benchmark clients
  /// do (--random-range-ratio): fixed ones would keep all clients in step.
  double shortest_share = 0.8;
  std::uint32_t requests_per_client = 10;
  unsigned threads = 1;
  /// What the points of one GPU decide: how fast weights are read, and what a step costs besides.
  std::vector<StepParameter> varied = {StepParameter::kFlopEfficiency,
                                       StepParameter::kByteEfficiency};
};

/// True where a file's first line names the columns of such points.
bool is_serving_points(std::string_view header);

/// All points of a CSV (columns isl, osl, concurrency, tp_size, silicon_ttft_ms, silicon_tpot_ms
/// and, where known, backend, precision, model_path, system, pp_size, attention_dp_size). Throws
/// InputError (exit 3), or 7 where it cannot be read.
ServingPoints read_serving_points(const std::string& path);

/// The scenario that points stand for where the user has none: vLLM on the model and GPU that they
/// name, with the settings of the benchmark that published them.
JsonSource serving_scenario(const ServingPoints& points, const ServingOptions& options);

/// Fits byte efficiency and the overhead per step on the TPOT of the points of one GPU that match
/// `options`, and scores all. Throws InputError (exit 3) where there are too few.
FitResult fit_serving(const ServingPoints& points, const JsonSource& scenario,
                      const ServingOptions& options);

}  // namespace spillway

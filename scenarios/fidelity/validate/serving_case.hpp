// A case of kind "points": means of served load by concurrency, lengths and tensor-parallel degree.
// Two parameters are fitted on the points of one GPU; the others are what nobody fitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

struct ServingError {
  std::string what;  ///< line of the file, lengths, clients, GPUs
  bool fitted = false;
  double measured_tpot_ms = 0;
  double simulated_tpot_ms = 0;
  double measured_ttft_ms = 0;
  double simulated_ttft_ms = 0;
};

/// Errors of one latency over some of the points.
struct ServingScore {
  std::string name;  ///< tpot_mape, tpot_mape_held_out, ttft_mape, ttft_mape_held_out
  std::uint32_t points = 0;
  double mape = 0;
  double bias = 0;   ///< mean signed error, %
  double worst = 0;  ///< largest absolute error, %
};

struct ServingResult {
  std::vector<ServingError> points;  ///< in the order of the file
  std::vector<ServingScore> scores;
  ComputeProfile profile;        ///< what was fitted
  std::uint32_t most_ranks = 1;  ///< of any point
};

/// `path` holds serving points; `scenario` is the engine that served them.
ServingResult validate_serving(const std::string& path, const JsonSource& scenario,
                               const std::string& backend, const std::string& precision);

}  // namespace spillway

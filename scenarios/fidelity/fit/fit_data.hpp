// A fit to whatever data is given: which kind each file is, and who fits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

struct FitRequest {
  std::vector<std::string> data;       ///< kinds are told by content
  std::string gpu;                     ///< empty: the scenario's
  std::string model;                   ///< empty: the scenario's
  std::uint32_t tensor_parallel = 0;   ///< 0: by the files' names
  std::vector<std::string> weights;    ///< types of products to read; empty: all
  std::optional<JsonSource> scenario;  ///< whose engine logs and steps are of
  std::vector<std::string> set;        ///< --set, for the scenario that is assumed without one
  std::uint32_t first = 0;             ///< requests of a log to fit to; 0: all
  bool keep_warmup = false;            ///< fit to those that warmed the engine up, too
  unsigned threads = 1;
};

/// Kernel tables alone, or beside a request log or step times (then tables give the kernels, the
/// rest factors of them and the overheads); a request log, step times or serving points alone.
/// Throws InputError: exit 2 for what cannot go together or misses a name, 3 for content, 7 where a
/// file cannot be read.
FitResult fit_data(const FitRequest& request);

}  // namespace spillway

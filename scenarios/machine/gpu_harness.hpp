// The GPU harness as seen from here: found, started, asked (models/calibration/protocol.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/child_process.hpp"

namespace spillway {

struct GpuHarnessOptions {
  std::string path;          ///< --harness; empty: SPILLWAY_GPU_HARNESS, then beside the program
  double patience_s = 60;    ///< for an answer, beyond the time that the request itself takes
  std::string all_reduce{};  ///< --all-reduce; empty: SPILLWAY_ALL_REDUCE_PERF, then in PATH
};

/// The program to start, or nothing with the reason in `missing`. Throws InputError (exit 7) where
/// one was named that does not exist.
std::optional<std::string> find_gpu_harness(const GpuHarnessOptions& options,
                                            std::vector<std::string>& missing);

class GpuHarness {
 public:
  GpuHarness(const std::string& program, double patience_s);

  /// Sends a command and waits for its answer, which may hold `error`. Members of `request` are
  /// numbers, words or booleans; `actors` is a list of objects. `more` is text sent after the
  /// line. Throws BenchLost when the device or the harness is gone, does not answer within
  /// `takes_s` and the patience, or answers what is no answer.
  nlohmann::json ask(std::string_view command, const nlohmann::json& request, double takes_s,
                     std::string_view more = {});

 private:
  [[noreturn]] void lose(const std::string& why);

  ChildProcess child_;
  double patience_s_;
  std::int64_t last_id_ = 0;
};

/// The line of a request; for tests too.
std::string request_line(std::string_view command, std::int64_t id, const nlohmann::json& request);

}  // namespace spillway

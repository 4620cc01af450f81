// Times of single engine steps, as a profiler or an engine's own log tells them, and a fit to them.
//
// One CSV row a step, columns in any order:
//   time_us or time_ms  how long it took
//   decodes             requests that computed one token; 0 where empty
//   decode_context      sum over these of the tokens they hold, the new one included
//   prefill_tokens      new tokens of prompts: one number, or one for each prompt ("512;1024")
//   prefill_cached      tokens computed before, likewise; 0 where empty
//   sampled             rows of the output head; decodes and prompts where there is no such column
//   graph               yes or no: whether a captured graph was replayed; by the number of tokens
//                       where there is no such column
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/fidelity/fit/log_fit.hpp"

namespace spillway {

struct Scenario;

struct TimedStep {
  std::int64_t line = 0;
  StepShape shape;  ///< without its prefills
  std::vector<PrefillChunk> prefills;
  std::optional<bool> graph;
  double time_us = 0;

  std::uint64_t tokens() const;
};

struct StepTimes {
  std::string path;
  std::vector<TimedStep> steps;
};

/// True where a file's first line names the columns of such steps.
bool is_step_times(std::string_view header);

/// Throws InputError (exit 3), or 7 where it cannot be read.
StepTimes read_step_times(const std::string& path);

/// Fits so that the scenario's engine takes these times; LogFitOptions::first does not count.
/// Throws InputError (exit 3) with the number of steps needed where they are too few.
FitResult fit_steps(const StepTimes& steps, const Scenario& scenario, const LogFitOptions& options);

}  // namespace spillway

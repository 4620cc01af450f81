// From what people have to a scenario: a command line, a manifest, a log or a config.json in; a
// complete scenario out, each value with its origin, and what was assumed, left out or unknown.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/intake/draft.hpp"

namespace spillway {

/// What the input cannot say, or says wrongly.
struct IntakeOptions {
  std::string gpu;      ///< name; "H100:3g.40gb" is a MIG slice
  std::string model;    ///< instead of the one in the command
  std::string config;   ///< path of the model's config.json
  std::string release;  ///< "0.9.1", where the input does not say it
  std::string trace;    ///< path of the workload
  std::string pick;     ///< which of several starts: a number from 1, or a part of its place
  std::string folder;   ///< where the scenario will lie: paths in it are relative to that
};

/// One input: a file's text or a command line.
struct IntakeText {
  std::string name;  ///< path, or "--vllm"
  std::string text;
};

struct Intake {
  Draft draft;
  std::string source;          ///< one line: what was read
  bool model_assumed = false;  ///< the shape is another model's
  std::string gpu;             ///< as it stands in the scenario
};

/// Throws InputError (exit 2) for inputs that start no vLLM, contradict each other, or make no
/// scenario that runs.
Intake make_scenario(const std::vector<IntakeText>& inputs, const IntakeOptions& options);

}  // namespace spillway

// An engine's own configuration on the command line: files and command lines, and what they do not
// say. `scenario from`, `init`, `run` and `plan` take it alike.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/tree/verb.hpp"
#include "scenarios/scenario/intake/intake.hpp"

namespace spillway {

struct EngineInput {
  std::vector<std::string> files;  ///< paths, "-", or command lines in quotes
  std::string vllm;                ///< --vllm
  IntakeOptions intake;

  bool given() const { return !files.empty() || !vllm.empty(); }
  /// Of the options below, the first that was typed; empty: none.
  std::string typed_option() const;
};

/// --gpu, --model, --config, --release, --trace and --pick. `about` stands in front of each line of
/// help: "With --vllm: ".
void add_engine_options(Verb& command, EngineInput& input, const std::string& about = "");

/// Throws InputError (exit 2 or 7) where a file cannot be read.
std::vector<IntakeText> texts_of(const EngineInput& input);

/// What was read and not used, as lines of comments; empty: nothing.
std::string ignored_comments(const Draft& draft);

}  // namespace spillway

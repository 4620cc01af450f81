// vLLM's arguments as parts of a scenario.
#pragma once

#include <string>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

/// What arguments say beside keys of the scenario.
struct ServedModel {
  std::string model;         ///< as given; empty: not said
  std::string quantization;  ///< --quantization
  std::string config_file;   ///< --config, where it could not be read
  bool ranks = false;        ///< --tensor-parallel-size was given
  bool headless = false;     ///< a further node of the same engine
};

/// Puts what the arguments say into `draft`, with a remark for each of them. Throws InputError
/// (exit 2) for a value that vLLM would refuse as well.
ServedModel read_vllm_arguments(const EngineCall& call, Draft& draft);

}  // namespace spillway

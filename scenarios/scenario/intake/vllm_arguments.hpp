// vLLM's arguments as parts of a scenario.
#pragma once

#include <cstdint>
#include <optional>
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

/// "16k" is 16,000 and "16K" 16,384; decimals with small letters only.
std::optional<std::int64_t> human_integer(std::string text);

/// Puts what the arguments say into `draft`, with a remark for each of them. Throws InputError
/// (exit 2) for a value that vLLM would refuse as well.
ServedModel read_vllm_arguments(const EngineCall& call, Draft& draft);

}  // namespace spillway

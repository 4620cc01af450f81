// vLLM's command line as a table: which flag decides what of a scenario, which decide nothing here,
// and which would and are not modelled.
//
// Sources: vllm-project/vllm, vllm/engine/arg_utils.py and vllm/entrypoints/openai/cli_args.py, the
// union of releases 0.4 to 0.25; `--no-X` exists for every switch (argparse.BooleanOptionalAction).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace spillway {

enum class FlagUse : std::uint8_t {
  kKey,          ///< sets the key of the scenario
  kHandled,      ///< decides something together with others (vllm_arguments.cpp)
  kNoEffect,     ///< neither KV cache nor step times depend on it
  kNotModelled,  ///< they do, and no scenario can say it: `note` has the consequence
};
enum class FlagValue : std::uint8_t { kNone, kOne, kMany, kJson };

struct FlagRow {
  std::string_view name;   ///< "--max-num-seqs"
  std::string_view alias;  ///< "-tp"; empty: none
  FlagValue value;
  FlagUse use;
  std::string_view key;   ///< of kKey: "engine.max_num_seqs"
  std::string_view note;  ///< what the flag is about, or what leaving it out means
};

std::span<const FlagRow> vllm_flags();

/// By name or alias; nullptr for what the table does not know.
const FlagRow* find_vllm_flag(std::string_view name);

}  // namespace spillway

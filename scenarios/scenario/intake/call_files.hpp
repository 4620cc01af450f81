// Files that a command names: settings of LMCache, vLLM's --config, TensorRT-LLM's options.
#pragma once

#include <optional>
#include <string>

#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

struct CallFile {
  std::string name;  ///< as the command has it, or the path where it was found
  std::string text;
};

/// In the input itself, as a script or a ConfigMap has it, or among the other inputs; else on disk,
/// as named and beside the input. Nothing where it is nowhere.
std::optional<CallFile> file_of_call(const EngineCall& call, const std::string& path);

/// Puts a file of settings with a call that does not name it: the flags or variables that would.
/// Those that it has already stay. False: they are of another engine.
bool add_settings(const EngineCall& settings, EngineCall& call);

/// The words of a call with those of the file that --config names in front, as the engine itself
/// puts them: flags of the command line go before it.
struct ConfiguredWords {
  std::vector<ShellWord> words;
  std::string file;         ///< empty: there is none, or it was not found
  std::size_t of_file = 0;  ///< of the words, those behind `first` that the file has
  std::size_t first = 0;
};
ConfiguredWords configured_words(const EngineCall& call);

}  // namespace spillway

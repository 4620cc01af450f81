// What the value of an option is: the word that stands for it in the help, what it may be, and what
// a shell can offer for it. A kind that only one verb knows stands in that verb's file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway {

enum class Offer {
  kNothing,
  kFiles,
  kFolders,
  kScenarios,  ///< JSON files, and the shipped ones where they can be seen
  kWords,      ///< `words`
  kKeys,       ///< `words` are keys with a = behind, and keys with values
};

struct ValueKind {
  std::string_view name;  ///< "SIZE"
  /// For quantities and forms that need explaining; empty: the option's own line says it.
  std::string_view meaning = "";
  Offer offer = Offer::kNothing;
  std::vector<std::string> (*words)() = nullptr;
};

/// Names of the rows of a catalogue: names_in<eviction_policies>.
template <auto kCatalogue>
std::vector<std::string> names_in() {
  std::vector<std::string> out;
  for (const auto& row : kCatalogue()) out.emplace_back(row.name);
  return out;
}

/// Words of a list that is there as long as the program: listed<kSchedulers>.
template <const auto& kList>
std::vector<std::string> listed() {
  return {std::begin(kList), std::end(kList)};
}

/// "engine.max_num_seqs=", and where its values are known "engine.residency=streaming".
std::vector<std::string> scenario_keys();
/// Of a scenario's key: key_choices("plan.objective").
std::vector<std::string> key_choices(std::string_view key);
/// As published, and without the organisation before it, which people leave out.
std::vector<std::string> model_names();
std::vector<std::string> gpu_names();
std::vector<std::string> engine_names();
std::vector<std::string> policy_names();

namespace kinds {

inline constexpr ValueKind kFile{"FILE", "", Offer::kFiles};
inline constexpr ValueKind kFolder{"DIR", "", Offer::kFolders};
inline constexpr ValueKind kScenario{"SCENARIO", "", Offer::kScenarios};
inline constexpr ValueKind kCount{"N", "a whole number"};
inline constexpr ValueKind kTokens{"TOKENS", "a number of tokens"};
inline constexpr ValueKind kSeconds{"SECONDS", "a number of seconds, without a unit"};
inline constexpr ValueKind kDuration{"TIME", "a time with its unit: 30s, 5min, 2h"};
inline constexpr ValueKind kSize{"SIZE",
                                 "bytes with their unit: 64GiB is 2^36 bytes, 64GB 64e9 bytes"};
inline constexpr ValueKind kBlocks{"BLOCKS",
                                   "cache blocks with their unit: 1000blocks; inf: no limit"};
inline constexpr ValueKind kShare{"SHARE", "a share, 1 for all: 0.1 is a tenth"};
inline constexpr ValueKind kFactor{"X", "a number without a unit"};
inline constexpr ValueKind kChoice{"CHOICE"};  ///< its words are those of one_of()
inline constexpr ValueKind kName{"NAME"};
inline constexpr ValueKind kText{"TEXT"};
inline constexpr ValueKind kCommandLine{"COMMAND", "the engine's own command line, in quotes"};
inline constexpr ValueKind kRelease{"RELEASE", "a release of vLLM: 0.9.1"};
inline constexpr ValueKind kWindow{"WINDOW", "a time, or start+length: 30s, 120s+30s"};
inline constexpr ValueKind kAssignment{
    "KEY=VALUE",
    "a key of the scenario by its path, and JSON or a word: engine.max_num_seqs=64, "
    "tiers.0.capacity=256GiB",
    Offer::kKeys, scenario_keys};
inline constexpr ValueKind kModel{"MODEL", "", Offer::kWords, model_names};
inline constexpr ValueKind kGpu{"GPU", "", Offer::kWords, gpu_names};
inline constexpr ValueKind kEngine{"ENGINE", "", Offer::kWords, engine_names};
inline constexpr ValueKind kPolicy{"POLICY", "", Offer::kWords, policy_names};

}  // namespace kinds

}  // namespace spillway

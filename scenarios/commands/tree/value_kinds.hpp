// What the value of an option is: the word that stands for it in the help, what it may be, and what
// a shell can offer for it. One table, so that help, manual and completion say the same.
#pragma once

#include <span>
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
  std::string_view meaning;
  Offer offer = Offer::kNothing;
  std::vector<std::string> (*words)() = nullptr;
};

/// Of an option ("--limit") or positional ("SCENARIO") of a verb ("trace stats"). Never fails:
/// what is not in the table is a VALUE.
const ValueKind& value_kind(std::string_view verb, std::string_view option);

/// Of everything that the table does not know; a test refuses options that have it.
const ValueKind& unknown_value();

}  // namespace spillway

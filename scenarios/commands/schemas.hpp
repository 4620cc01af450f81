// The JSON Schemas of what the program reads and writes, and reference pages, all made from the
// tables that reading and writing use. Copies of those for people lie in the tree: in
// scenarios/schema/ for editors, as pages for readers. A test holds them to these.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spillway {

struct SchemaEntry {
  std::string_view name;  ///< "scenario", as `spillway schema` takes it
  std::string_view copy;  ///< where a copy lies in the source tree; a bare name: nowhere
  std::string (*text)();  ///< ends in a newline
};

std::span<const SchemaEntry> schemas();
/// "scenario.schema.json", "KEYS.md"
inline std::string_view file_name(const SchemaEntry& entry) {
  return entry.copy.substr(entry.copy.rfind('/') + 1);
}

}  // namespace spillway

// The JSON document that every command writes: envelope, results, digest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/note.hpp"

namespace spillway {

inline constexpr int kSchemaVersion = 1;

/// Fields in the order of the contract; see the published schema (`spillway schema result`).
struct Document {
  std::string kind;  ///< "run", "plan", "replay", ...
  nlohmann::json inputs = nlohmann::json::object();
  nlohmann::json results;
  Notes warnings;  ///< written twice: as sentences in `warnings`, with codes and figures in `notes`
  int profile_version = 0;  ///< of kind hardware-profile; 0: the document is no profile
};

/// 16 hex digits over `results` without any member called "sim": equal results give equal digests
/// on every machine, also when they are read back from a document.
std::string digest_of(const nlohmann::json& results);

/// The document with tool, schema version and digest, as text that ends in a newline. Throws
/// InternalError when inputs or results hold a null or a number that is not finite.
std::string render_document(const Document& document);

/// Version and build of this tool, as in the document's "tool".
nlohmann::json tool_info();
/// The same for people: name, version and build.
std::string tool_name(const nlohmann::json& tool);

}  // namespace spillway

// A note in a document: {"code", "grade", "figures": {name: number or text, or [least, most]},
// "text"}. Read, a plain text is a note without a code.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/note.hpp"

namespace spillway {

void to_json(nlohmann::json& out, const Note& note);
/// Throws nlohmann's exceptions.
void from_json(const nlohmann::json& from, Note& note);
/// The JSON Schema of a note.
nlohmann::ordered_json note_schema();

}  // namespace spillway

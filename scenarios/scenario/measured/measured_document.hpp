// A measured run as a document of kind "measured-run": what `trace import` writes and
// load_measured() reads back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_parts.hpp"

namespace spillway {

inline constexpr std::string_view kMeasuredKind = "measured-run";

/// What is known of them.
nlohmann::json to_json(const MeasuredFacts& facts);

/// Its `results`. What is not known is left out.
nlohmann::json to_json(const MeasuredRun& run);

/// From a whole document. Throws InputError with file, line and field.
void read_measured_document(const ObjectReader& top, MeasuredParts& parts);

}  // namespace spillway

// A reference page in Markdown from the JSON Schema of a row (schema.hpp): a section for each
// object, a line for each member.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace spillway {

/// Begins with `row`, one of `definitions`, and goes on with what it refers to.
std::string member_reference(const nlohmann::ordered_json& definitions, const std::string& row,
                             std::string_view title, std::string_view help);

}  // namespace spillway

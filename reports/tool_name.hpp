// The tool that made a document, for people.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace spillway {

/// Name, version and build of a document's "tool".
inline std::string tool_name(const nlohmann::json& tool) {
  const std::string build = tool.value("build", "");
  return fmt::format("{} {}{}", tool.at("name").get<std::string>(),
                     tool.at("version").get<std::string>(),
                     build.empty() ? "" : " (" + build + ")");
}

}  // namespace spillway

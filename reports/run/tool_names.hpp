// What benchmark tools call the figures of a run: the words beside ours, so that a published table
// can be read against it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace spillway {

/// The tool of workload.benchmark among a document's inputs; empty where there is none.
std::string benchmark_tool_of(const nlohmann::json& inputs);

/// Adds the column "as TOOL prints it" to a table whose first column names figures. A figure that
/// the tool does not print has "-". Nothing changes where the tool is not known.
void add_tool_names(std::string_view tool, Table& table);

}  // namespace spillway

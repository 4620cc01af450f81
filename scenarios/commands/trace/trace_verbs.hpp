// The verbs below `spillway trace`, one file each.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "sim/workload.hpp"

namespace spillway {

void add_trace_stats(CLI::App& trace, CommandList& commands);
void add_trace_check(CLI::App& trace, CommandList& commands);
void add_trace_convert(CLI::App& trace, CommandList& commands);
void add_trace_generate(CLI::App& trace, CommandList& commands);

/// Says what was written, on the terminal or as a document of this kind; `losses` are what the file
/// does not hold.
void say_written(const Workload& workload, const std::string& path, const std::string& kind,
                 const CommonOptions& common, const std::vector<std::string>& losses = {});

/// What `trace stats` says about a table of arrival rates; returns the exit code.
int show_rate_stats(const TraceInput& input, const CommonOptions& common);

}  // namespace spillway

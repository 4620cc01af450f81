// The verbs below `spillway trace`, one file each.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct WrittenTrace;

/// Before anything is read: the trace goes to `output`, which is none of `inputs`, can be written,
/// and does not share standard output with a document. Throws InputError.
void check_trace_output(const CommonOptions& common, const std::vector<std::string>& inputs,
                        const std::string& output);
WrittenTrace written_trace(const Workload& workload, const std::string& path);
/// What was written of `workload`, as a document of this kind; `losses` are what the file does not
/// hold.
Document written_document(const Workload& workload, const WrittenTrace& written,
                          const std::string& kind, const std::vector<std::string>& losses = {});
/// Says what was written, on the terminal or as a document of this kind.
void say_written(const Workload& workload, const std::string& path, const std::string& kind,
                 const CommonOptions& common, const std::vector<std::string>& losses = {});

/// A report beside a trace written to `output`; none where that is standard output itself.
void print_beside(const Report& report, const std::string& output, const CommonOptions& common);

/// What `trace stats` says about a table of arrival rates; returns the exit code.
int show_rate_stats(const TraceInput& input, const CommonOptions& common);

struct LikeOptions {
  std::string trace;               ///< the original
  std::uint32_t requests = 0;      ///< 0: as many as it has
  std::uint32_t block_tokens = 0;  ///< of the original, where its file does not say
};

/// Generates a trace like another, writes it and says how like it is. Returns the exit code.
int generate_like(const LikeOptions& options, const std::string& output, std::uint64_t seed,
                  const CommonOptions& common);

}  // namespace spillway

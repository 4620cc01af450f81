// The trace that a verb reads: where it is and what the user says about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/progress.hpp"
#include "traces/catalogue.hpp"

namespace spillway {

struct TraceInput {
  std::string path;
  ReaderOptions reader;
  std::string reuse;  ///< as typed; the reader has what it means
  bool lenient = false;
  std::uint32_t limit = 0;
  bool infer_sessions = false;
  double session_window_s = 1800;
  std::vector<std::uint64_t>* block_names = nullptr;  ///< as in OpenOptions
};

/// The options that every verb reading a trace takes beside its path.
void add_trace_options(Verb& command, TraceInput& input);

/// What the user has said, for open_trace(), with progress on `reading`.
OpenOptions open_options(const TraceInput& input, Progress& reading);

/// A trace that is open and not read yet, and what shows how far that is.
TraceFile open_trace_file(const TraceInput& input, Progress& reading);

/// All of an open trace, with sessions inferred where the user wants that.
Workload gather(TraceFile& trace, const TraceInput& input);

/// As open_trace(), with progress on standard error.
Workload read_trace(const TraceInput& input, const CommonOptions& common);

}  // namespace spillway

#include "scenarios/commands/trace_input.hpp"

#include <fmt/format.h>

#include <cmath>

#include "traces/reshape/session_inference.hpp"

namespace spillway {

void add_trace_options(CLI::App& command, TraceInput& input) {
  command
      .add_option("--block-tokens", input.reader.block_tokens,
                  "Tokens in a trace block, where the file does not say (default: the format's)")
      ->check(CLI::Range(1, 65536));
  command
      .add_option_function<std::string>(
          "--reuse",
          [&input](const std::string& name) {
            try {
              input.reader.reuse = parse_reuse_model(name, {"--reuse", 0, ""});
            } catch (const InputError& error) {
              throw CLI::ValidationError(error.what());
            }
          },
          "What requests share in a trace that does not say: none (default), session-prefix or "
          "shared-prefix:TOKENS")
      ->type_name("NAME");
  command
      .add_option("--session-interval", input.reader.session_interval_s,
                  "Seconds between session starts, in a trace without a clock (default: 60)")
      ->check(real_in(0, kMostSessionIntervalS));
  command.add_option("--limit", input.limit, "Only the first N requests");
  command.add_flag("--lenient", input.lenient,
                   "Leave faulty rows out and count them; more than 1% still refuses the trace");
  CLI::Option* infer = command.add_flag("--infer-sessions", input.infer_sessions,
                                        "Find the turns of chats by their prefixes, in a trace "
                                        "that names no sessions");
  command
      .add_option("--session-window", input.session_window_s,
                  "Longest seconds from a turn to the next (default: 1800)")
      ->needs(infer)
      ->check(real_in(1e-9, 1e8));
}

OpenOptions open_options(const TraceInput& input, Progress& reading) {
  OpenOptions open;
  open.reader = input.reader;
  open.limit = input.limit;
  open.lenient = input.lenient;
  open.block_names = input.block_names;
  open.progress = reading.reader();
  return open;
}

TraceFile open_trace_file(const TraceInput& input, Progress& reading) {
  return TraceFile(input.path, open_options(input, reading));
}

Workload gather(TraceFile& trace, const TraceInput& input) {
  Workload workload = trace.gather();
  if (!input.infer_sessions) return workload;
  SessionInference inference;
  inference.window_ns = std::llround(input.session_window_s * 1e9);
  return infer_sessions(std::move(workload), inference);
}

Workload read_trace(const TraceInput& input, const CommonOptions& common) {
  Progress reading("reading", "MB", !common.quiet);
  TraceFile trace = open_trace_file(input, reading);
  return gather(trace, input);
}

}  // namespace spillway

#include "scenarios/commands/trace_input.hpp"

#include <fmt/format.h>

#include <cmath>

#include "traces/reshape/session_inference.hpp"

namespace spillway {

namespace {

constexpr std::string_view kReuseModels[] = {"none", "session-prefix", "shared-prefix:"};
constexpr ValueKind kReuse{"REUSE", "", Offer::kWords, listed<kReuseModels>};

}  // namespace

void add_trace_options(Verb& command, TraceInput& input) {
  command
      .add("--block-tokens", input.reader.block_tokens, kinds::kTokens,
           "Tokens in a trace block, where the file does not say (default: the format's)")
      .range(1, 65536);
  command
      .add("--reuse", input.reuse, kReuse,
           "What requests share in a trace that does not say: none (default), session-prefix or "
           "shared-prefix:TOKENS")
      .check([&input](const std::string& name) -> std::string {
        try {
          input.reader.reuse = parse_reuse_model(name, {"", 0, ""});
        } catch (const InputError& error) {
          return error.what();
        }
        return "";
      });
  command
      .add("--session-interval", input.reader.session_interval_s, kinds::kSeconds,
           "Seconds between session starts, in a trace without a clock (default: 60)")
      .range<double>(0, kMostSessionIntervalS);
  command.add("--limit", input.limit, kinds::kCount, "Only the first N requests");
  command.add_flag("--lenient", input.lenient,
                   "Leave faulty rows out and count them; more than 1% still refuses the trace");
  Option& infer = command.add_flag("--infer-sessions", input.infer_sessions,
                                   "Find the turns of chats by their prefixes, in a trace "
                                   "that names no sessions");
  command
      .add("--session-window", input.session_window_s, kinds::kSeconds,
           "Longest seconds from a turn to the next (default: 1800)")
      .range<double>(1e-9, 1e8)
      .needs(infer);
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

// Recorded agent sessions, one a line (callanjfox/kv-cache-tester: traces/*.json).
//
//   {"id": "trace_0001", "block_size": 64, "hash_id_scope": "local", "requests": [
//     {"t": 0.0, "type": "n", "in": 71175, "out": 169, "hash_ids": [1, 2, ...],
//      "api_time": 7.34, "think_time": 0.0}, ...]}
//
// Block ids count within a session (scope "local"), so they are keyed by session and id; there are
// floor(in / block_size) of them. What sessions share is therefore invisible. Sessions have no
// common clock either: session k starts at k times the session interval.
//
// Times. `t` is a request's start in seconds from the session's, `api_time` how long its answer
// took, `think_time` the pause before it, which is taken as recorded. Behind a request without
// `api_time` (461 of the 4,955 published) the publisher counts it from the latest answer whose end
// is recorded: there it holds that request's own pause and answer as well, and a closed loop waits
// that much longer than the client did.
//
// Sub-agents. An entry of type "subagent" holds requests of its own, in the namespace of the
// session. Its `t` is when it ended: in the published sessions t - duration_ms lies 0.1 to 1.0 s
// behind the end of the request before it in nine cases of eleven (two stand at the end of a
// session, more than a day after), and sub-agents listed one after the other start at the same
// instant. Inside, `t` counts from the sub-agent's start. So a sub-agent waits for the request that
// stands before it, its requests for one another, and the next request of the session for the
// request before it and for all sub-agents in between.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

bool looks_like_agentic(std::string_view first_line);
std::unique_ptr<TraceReader> make_agentic_reader(std::unique_ptr<LineReader> lines,
                                                 const ReaderOptions& options);

}  // namespace spillway

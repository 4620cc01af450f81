// Qwen-Bailian's usage trace (alibaba-edu/qwen-bailian-usagetraces-anon): one request a line.
//
//   {"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 521,
//    "output_length": 132, "type": "text", "turn": 2, "hash_ids": [1089, 1090, ..., 13148]}
//
// `timestamp` counts seconds. `parent_chat_id` names the turn before, -1 none; a session is a chain
// of turns, and each waits for its parent's answer (the client's pause is not recorded). hash_ids
// are of 16-token blocks: ceil(input_length / 16) of them as the publisher's own benchmark asserts,
// floor is accepted too. Whether an id names a prefix or only a block's content is not said, so ids
// are chained here: that changes nothing in the first case and is needed in the second.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

bool looks_like_bailian(std::string_view first_line);
std::unique_ptr<TraceReader> make_bailian_reader(std::unique_ptr<LineReader> lines,
                                                 const ReaderOptions& options);

}  // namespace spillway

// Spillway's own JSON lines, which hold all that a workload knows: a header, then Mooncake's rows.
//
//   {"spillway_trace": 1, "block_tokens": 16}
//   {"timestamp": 0, "input_length": 40, "output_length": 9, "id": 0, "hash_ids": [7, 8]}
//   {"timestamp": 250.5, "input_length": 70, "output_length": 3, "id": 1, "after": [0],
//    "think_ms": 200, "session_id": "a", "tenant": "free", "hash_ids": [7, 8, 9, 10]}
//
// (the last row on one line). Times count milliseconds. hash_ids[k] names the whole prefix up to
// and including block k; there are floor or ceil(input_length / block_tokens) of them, and a row
// without the key says nothing about reuse. `after` names the rows above whose answers this one
// waited for, think_ms the pause between the last of them and this row. Once any row has an id, a
// row waits for those that it names and for no others; without ids each turn waits for the one
// before it in its session. Without the header the file is Mooncake's (mooncake_jsonl.hpp).
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

inline constexpr int kNativeVersion = 1;

bool looks_like_native(std::string_view first_line);
std::unique_ptr<TraceReader> make_native_reader(std::unique_ptr<LineReader> lines,
                                                const ReaderOptions& options);

}  // namespace spillway

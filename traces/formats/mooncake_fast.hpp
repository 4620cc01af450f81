// The fast path of Mooncake's format: rows spelled as its own files (and ours) spell them.
//
// Any other spelling, however valid, is left to the general reader, which begins the line anew; so
// this decides nothing but how fast a row is read.
#pragma once

#include <string_view>

#include "traces/trace_reader.hpp"

namespace spillway {

/// Reads {"timestamp": T, "input_length": N, "output_length": N, "hash_ids": [H, ...]}, with a
/// numeric "session_id" before "hash_ids" and a space behind ':' and ',' or not. False, with `row`
/// as it was, for anything else. LineReader::kPadding bytes behind `line` must be readable.
bool read_canonical_mooncake(std::string_view line, TraceRow& row);

}  // namespace spillway

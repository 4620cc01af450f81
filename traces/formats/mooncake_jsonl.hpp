// Mooncake's request trace: one JSON object a line with `timestamp` (ms), `input_length`,
// `output_length` and `hash_ids` (kvcache-ai/Mooncake: FAST25-release/traces/README).
//
// hash_ids[k] names the whole prefix up to and including block k, so there are always
// ceil(input_length / block size) of them and the last block is usually partial. An optional
// `session_id` (number or string) groups the turns of a conversation; other keys are ignored and
// reported once.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

inline constexpr std::uint32_t kMooncakeBlockTokens = 512;

bool looks_like_mooncake(std::string_view first_line);
std::unique_ptr<TraceReader> make_mooncake_reader(std::unique_ptr<LineReader> lines,
                                                  const ReaderOptions& options);

}  // namespace spillway

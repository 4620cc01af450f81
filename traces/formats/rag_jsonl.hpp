// Prompts as lists of contents: RAGPulse's trace (flashserve/RAGPulse) with its parts joined.
//
//   {"timestamp": 82, "input_length": 3112, "output_length": 192, "session_id": "1757476916095",
//    "segments": [[8302, 512], [14332, 512], ..., [26923, 7]]}
//
// `timestamp` counts seconds. A segment is [content id, tokens]; ids name contents wherever they
// stand, so they are chained here: block k, of --block-tokens tokens (default 16), is named by the
// contents, and the ranges of them, that cover the prompt up to the block's end. The tokens of
// input_length that no segment covers (a template's, 6 to 12 in the published rows) are taken to
// stand at the end and to belong to the request alone; the last block may be partial. A note says
// which share of the segments' tokens is reusable as a prefix and which at any place.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

bool looks_like_rag(std::string_view first_line);
std::unique_ptr<TraceReader> make_rag_reader(std::unique_ptr<LineReader> lines,
                                             const ReaderOptions& options);

}  // namespace spillway

// Spillway's own CSV: a header, then one request a line, for spreadsheets and quick scripts.
//
//   timestamp_ms,input_length,output_length,session_id,hash_ids
//   0,1024,100,7,12 13
//
// Columns are found by name, in any order. hash_ids are separated by spaces and mean what they mean
// in Mooncake's format, except that a last, partial block may be left out; without the column the
// trace says nothing about reuse (traces/reshape/reuse_model.hpp). session_id, tenant and think_ms
// (the client's pause before the request) are optional, and so are their cells. Which answers a
// request waited for, where that is more than its session's last, is left to the other forms.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

bool looks_like_csv(std::string_view first_line);
std::unique_ptr<TraceReader> make_csv_reader(std::unique_ptr<LineReader> lines,
                                             const ReaderOptions& options);

}  // namespace spillway

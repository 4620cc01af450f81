// BurstGPT's traces (HPMLL/BurstGPT, CC-BY 4.0): 121 days of ChatGPT and GPT-4 use, and a later
// part that names sessions.
//
//   Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//   5,ChatGPT,472,18,490,Conversation log
//   Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
//   19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log
//
// Columns are found by name; the files with and without failures are read alike. Seconds count from
// midnight of the first of the days, as recorded: a later part starts late. A row without response
// tokens is a failure (the publisher's word) and left out; rows of the API have no session.
#pragma once

#include <memory>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

bool looks_like_burstgpt(std::string_view first_line);
std::unique_ptr<TraceReader> make_burstgpt_reader(std::unique_ptr<LineReader> lines,
                                                  const ReaderOptions& options);

}  // namespace spillway

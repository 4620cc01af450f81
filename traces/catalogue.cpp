#include "traces/catalogue.hpp"

#include <fmt/ranges.h>

#include "sim/catalogue.hpp"
#include "traces/binary_trace.hpp"
#include "traces/csv_trace.hpp"
#include "traces/mooncake_jsonl.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr TraceFormat kFormats[] = {
    {"mooncake",
     "JSON lines with timestamp (ms), input_length, output_length, hash_ids (512-token blocks).",
     looks_like_mooncake, make_mooncake_reader},
    {"csv", "CSV with timestamp_ms, input_length, output_length, session_id (optional), hash_ids.",
     looks_like_csv, make_csv_reader},
    {"binary", "Memory-mapped columns with a content hash, written by `spillway trace convert`.",
     nullptr, nullptr},
};

const TraceFormat& detect(const std::string& path, std::string_view first_line) {
  for (const TraceFormat& format : kFormats) {
    if (format.matches != nullptr && !first_line.empty() && format.matches(first_line)) {
      return format;
    }
  }
  throw InputError(Fault::kTrace, {path, 1, ""},
                   first_line.empty() ? "no requests; expected at least one row"
                                      : fmt::format("no known trace format; known: {}",
                                                    fmt::join(names_of(trace_formats()), ", ")));
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return kFormats;
}

Workload open_trace(const std::string& path, const OpenOptions& options) {
  auto lines = std::make_unique<LineReader>(path, open_bytes(path, options.progress));
  if (lines->peek_bytes(kBinaryTraceMagic.size()) == kBinaryTraceMagic) {
    return open_binary_trace(path, options.limit);
  }
  const TraceFormat& format = detect(path, lines->peek_content());
  const auto reader = format.make(std::move(lines), options.block_tokens);
  WorkloadBuilder builder(path, options.block_tokens);
  TraceRow row;
  while ((options.limit == 0 || builder.size() < options.limit) && reader->next(row)) {
    builder.add(row);
  }
  return builder.build({path, std::string(format.name), reader->notes()});
}

}  // namespace spillway

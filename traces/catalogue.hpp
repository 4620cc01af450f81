// The table of trace formats, and the one way to open a trace of any of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/workload.hpp"
#include "traces/byte_source.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// Decides from the first line of the (decompressed) content; null for memory-mapped formats.
  bool (*matches)(std::string_view first_line);
  std::unique_ptr<TraceReader> (*make)(std::unique_ptr<LineReader>, std::uint32_t block_tokens);
};

std::span<const TraceFormat> trace_formats();

struct OpenOptions {
  std::uint32_t block_tokens = 512;  ///< the trace's block size, where the file does not say
  std::uint32_t limit = 0;           ///< read only the first `limit` requests; 0 reads all
  ReadProgress progress;
};

/// Reads the trace at `path`, whose format and compression are known from its content. Throws
/// InputError: exit 7 when it cannot be read, exit 3 when its content is not a valid trace.
Workload open_trace(const std::string& path, const OpenOptions& options);

}  // namespace spillway

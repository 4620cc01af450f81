// Workloads to files, and rows to text one at a time, in constant memory.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

class TextSink;

enum class TextForm : std::uint8_t {
  kMooncake,  ///< plain rows: sessions, but no links, pauses, tenants or block size
  kAiperf,    ///< plain rows without sessions either: AIPerf would join the prompts of one
  kNative,    ///< everything (native_jsonl.hpp)
  kCsv,       ///< our CSV: sessions, tenants and pauses, but no links or block size
};

struct TextLayout {
  TextForm form = TextForm::kNative;
  std::uint32_t block_tokens = 0;
  bool sessions = false;  ///< whether a CSV has the column, here and below
  bool tenants = false;
  bool pauses = false;
};

/// Writes rows, in order of time, as they come. The file is complete or absent, never half: without
/// finish() there is none.
class TextTraceWriter {
 public:
  /// `path` may end in .gz or .zst; "-" is standard output. Throws InputError (exit 7) when it
  /// cannot be written, and so do the others.
  TextTraceWriter(const std::string& path, const TextLayout& layout);
  ~TextTraceWriter();
  TextTraceWriter(const TextTraceWriter&) = delete;
  TextTraceWriter& operator=(const TextTraceWriter&) = delete;

  /// A row without the blocks that its form demands gets blocks of its own for the rest.
  void add(const TraceRow& row);
  void finish();
  /// What the form could not hold of the rows so far, for the user.
  std::vector<std::string> losses() const;

 private:
  void json_row(const TraceRow& row);
  void csv_row(const TraceRow& row);
  void ids(const TraceRow& row, std::string_view separator);
  void flush();

  std::string path_;
  TextLayout layout_;
  std::unique_ptr<TextSink> sink_;
  fmt::memory_buffer text_;
  std::uint64_t rows_ = 0;
  std::uint64_t own_blocks_ = 0;  ///< made up so far
  std::uint64_t padded_rows_ = 0;
  std::uint64_t linked_rows_ = 0;
  std::uint64_t thinking_rows_ = 0;
  std::uint64_t tenant_rows_ = 0;
  std::uint64_t retention_rows_ = 0;
  std::uint64_t hint_rows_ = 0;
  std::uint64_t session_rows_ = 0;
};

/// The form that a file's name asks for, `jsonl` where it ends in .jsonl (or is "-"). Throws
/// InputError (exit 2) for a name that says none.
TextForm text_form_of(std::string_view path, TextForm jsonl = TextForm::kNative);

/// `.bin` binary, `.jsonl` JSON lines, `.csv` our CSV; the latter two also with `.gz` or `.zst`
/// behind. JSON lines are plain Mooncake rows where those hold the whole workload, else the native
/// form, unless `json` says which. Returns what the file does not hold of the workload. Throws
/// InputError: exit 2 for another name, exit 7 when the file cannot be written. Complete or absent,
/// never half.
std::vector<std::string> write_trace(const Workload& workload, const std::string& path,
                                     std::optional<TextForm> json = std::nullopt);

}  // namespace spillway

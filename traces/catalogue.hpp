// The table of trace formats, and the one way to open a trace of any of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload.hpp"
#include "traces/byte_source.hpp"
#include "traces/reshape/reuse_model.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// What a user may say about a file that does not say it itself.
struct ReaderOptions {
  std::uint32_t block_tokens = 0;  ///< tokens in a trace block; 0: the format's own
  ReuseModel reuse;                ///< for a trace that does not name its blocks
  /// From the start of one session to the next, in a format without a clock (kNoClock).
  std::optional<double> session_interval_s;
};

/// Where the user does not say: long enough that sessions overlap, but do not start in one burst.
inline constexpr double kSessionIntervalS = 60;
inline constexpr double kMostSessionIntervalS = 1e7;

enum class RowOrder : std::uint8_t {
  kFile,      ///< rows stand in order of time; one that does not is a fault
  kSort,      ///< rows may stand out of order, which is noted
  kSessions,  ///< rows stand session by session
};

enum class TraceClock : std::uint8_t {
  kTrace,    ///< arrivals count from one origin
  kNoClock,  ///< only times within a session are known; when sessions start is the user's choice
};

struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  RowOrder order;
  /// Decides from the first line of the (decompressed) content; null for memory-mapped formats.
  bool (*matches)(std::string_view first_line);
  std::unique_ptr<TraceReader> (*make)(std::unique_ptr<LineReader>, const ReaderOptions&);
  TraceClock clock = TraceClock::kTrace;
};

std::span<const TraceFormat> trace_formats();

/// One faulty row of a trace.
struct RowProblem {
  std::int64_t line = 0;
  std::string field;
  std::string message;
};

/// Every faulty row: the first kMost of them, and how many there are.
struct RowProblems {
  static constexpr std::size_t kMost = 10'000;
  std::vector<RowProblem> listed;
  std::uint64_t count = 0;
};

/// With `lenient`, more than this share of faulty rows still refuses the trace.
inline constexpr double kMostQuarantined = 0.01;

struct OpenOptions {
  ReaderOptions reader;
  std::uint32_t limit = 0;  ///< read only the first `limit` requests; 0 reads all
  bool lenient = false;     ///< leave faulty rows out, and count them
  /// Where given, receives the faulty rows, however many they are; nothing is thrown for them.
  RowProblems* problems = nullptr;
  /// Where given, is called with every row that is kept. Binary traces have no rows.
  std::function<void(const TraceRow&)> observe;
  /// Where given, receives what the file calls each block of the workload; stays empty for a
  /// binary trace, which does not know.
  std::vector<std::uint64_t>* block_names = nullptr;
  ReadProgress progress;
};

/// A trace whose format is known and whose rows are still to be read, once.
class TraceFile {
 public:
  /// Throws as open_trace() does.
  TraceFile(const std::string& path, const OpenOptions& options);

  /// Whether read() may be called, and hands the requests on in order of time.
  bool streams() const { return reader_ != nullptr && format_->order == RowOrder::kFile; }
  const TraceReader& reader() const { return *reader_; }
  const std::string& path() const { return path_; }
  /// Gives every row to `use`, which may throw RowError for one that it does not take.
  WorkloadSource read(const std::function<void(const TraceRow&)>& use);
  /// All of it, in order of time.
  Workload gather();

 private:
  std::string path_;
  OpenOptions options_;
  const TraceFormat* format_ = nullptr;  ///< null for the binary form, which is mapped
  std::unique_ptr<TraceReader> reader_;
};

/// Reads the trace at `path`, whose format and compression are known from its content. Throws
/// InputError: exit 7 when it cannot be read, exit 3 when its content is not a valid trace.
Workload open_trace(const std::string& path, const OpenOptions& options);

}  // namespace spillway

// Finished runs on disk: append-only files of JSON lines, each line with its own checksum.
//
// A line stands whole or not at all: one that a kill or a full disk cut off fails its checksum and
// is dropped, whatever stands before it stays. A writer has files of its own, so writers never
// share one, and nothing is ever changed in place. Resuming is reading them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/note.hpp"

namespace spillway {

/// A finished run. Texts are canonical JSON.
struct SegmentEntry {
  std::string key;      ///< run_key()
  std::string payload;  ///< the results: equal for equal keys
  std::string aside;    ///< what may differ between equal runs: wall time, warnings
};

/// Where an entry was read.
struct SegmentPlace {
  std::string file;
  std::int64_t line = 0;
};

/// One line, without its newline.
std::string segment_line(const SegmentEntry& entry);
/// False where the line is not exactly what segment_line() wrote.
bool parse_segment_line(std::string_view line, SegmentEntry& entry);

struct SegmentReport {
  std::uint64_t files = 0;
  std::uint64_t entries = 0;
  std::uint64_t torn = 0;          ///< last lines that were cut off
  std::uint64_t corrupt = 0;       ///< other lines that fail their checksum
  Notes notes;  ///< one for each file with such lines, for the user
};

/// How far segments were read before.
struct SegmentCursor {
  struct At {
    std::uint64_t bytes = 0;
    std::int64_t lines = 0;
  };
  std::map<std::string, At> files;  ///< by name
};

using EachEntry = std::function<void(SegmentEntry&& entry, const SegmentPlace& place)>;

/// Every whole entry of the segments in `folder` whose names begin with `prefix`, in the order of
/// their names. No folder: no entries. With a cursor only what stands behind it, and a last line
/// without its end is left for the next time, as it may still be written. Throws InputError (exit
/// 7) where one cannot be read.
SegmentReport read_segments(const std::string& folder, const EachEntry& each,
                            std::string_view prefix = {}, SegmentCursor* cursor = nullptr);

/// Appends to `folder`/`stem`-N.jsonl, N the first number that is free when the first entry comes.
class SegmentWriter {
 public:
  SegmentWriter(std::string folder, std::string stem);
  /// Syncs; what cannot be synced then is told by nobody, so call sync() before.
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  /// On disk, and visible to readers, at once; safe from a power cut with the next sync, which
  /// comes by itself after some entries or seconds. Throws InputError (exit 7); what was appended
  /// before stays, and nothing half-written is left where the disk allows to cut it off.
  void append(const SegmentEntry& entry);
  void sync();
  const std::string& path() const { return path_; }  ///< empty before the first entry

 private:
  void open();
  [[noreturn]] void fail(const char* what);

  std::string folder_;
  std::string stem_;
  std::string path_;
  int file_ = -1;
  std::int64_t size_ = 0;  ///< of whole lines
  std::uint32_t unsynced_ = 0;
  std::chrono::steady_clock::time_point synced_at_;
};

}  // namespace spillway

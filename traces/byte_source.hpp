// Bytes of a trace file, decompressed on the way, and its lines.
//
// Plain, gzip and zstd are told apart by their first bytes, never by name. A truncated or corrupt
// stream throws InputError (exit 3) that says so; a file that cannot be opened, is a directory, or
// is not as long at its end as it was when opened, is exit 7. A pipe is read as it comes. Memory
// stays constant: one input chunk and one line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// Called with (bytes read, bytes in the file; 0 when unknown) as a file is read.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// A small file must not keep a reader busy for hours: beyond kExpandFreely bytes, what unpacks to
/// more than so many times its packed size is refused. Traces stay below: generated ones whose rows
/// all name the same blocks reach 210 times with gzip (whose format ends at 1032) and 2,100 with
/// zstd; a growing session of a million tokens 2,500 with zstd. White space and rows written again
/// and again reach 300 to 1,000 and 10,000 to 30,000. Unpacked, every file is read.
inline constexpr std::uint64_t kExpandFreely = std::uint64_t{128} << 20;
inline constexpr std::uint64_t kMostGzipExpansion = 500;
inline constexpr std::uint64_t kMostZstdExpansion = 5'000;

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` with up to `size` bytes; 0 means the end.
  virtual std::size_t read(char* out, std::size_t size) = 0;
};

/// Opens `path` ("-" is standard input) and undoes gzip or zstd compression.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, ReadProgress progress = {});

/// Splits a source into lines without their end ("\n" or "\r\n").
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;
  /// Bytes after a returned line that may be read though not used (simdjson wants them).
  static constexpr std::size_t kPadding = 64;

  LineReader(std::string path, std::unique_ptr<ByteSource> source);

  /// The next line; false at the end. The view is valid until the next call.
  bool next(std::string_view& line);
  /// The next line that is not blank, without taking it (blank ones before it are gone); empty at
  /// the end.
  std::string_view peek_content();
  /// Up to `size` bytes that come next, without taking them.
  std::string_view peek_bytes(std::size_t size);
  std::int64_t line() const { return line_; }  ///< 1-based number of the last line returned
  const std::string& path() const { return path_; }

 private:
  bool fill();
  bool find(std::size_t& length);

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t line_ = 0;
  bool exhausted_ = false;
};

}  // namespace spillway

#include "traces/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr std::size_t kChunk = std::size_t{256} << 10;

/// Closes what it holds, also when a constructor that opened it throws.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

/// The file's bytes as they are, with a look at the first few.
class RawFile final : public ByteSource {
 public:
  RawFile(const std::string& path, ReadProgress progress)
      : path_(path),
        progress_(std::move(progress)),
        file_(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_.fd < 0) fail("cannot open");
    struct stat info {};
    if (fstat(file_.fd, &info) != 0) fail("cannot read");
    if (S_ISDIR(info.st_mode)) {
      throw InputError(Fault::kIo, {path_, 0, ""}, "is a directory; expected a trace file");
    }
    regular_ = S_ISREG(info.st_mode);
    if (regular_) {
      // Standard input may be a file that another program has read a part of.
      const off_t start = std::max<off_t>(0, lseek(file_.fd, 0, SEEK_CUR));
      size_ = info.st_size;
      total_ = static_cast<std::uint64_t>(std::max<off_t>(0, size_ - start));
    }
    head_size_ = read_fully(head_.data(), head_.size());
  }
  std::string_view head() const { return {head_.data(), head_size_}; }

  std::size_t read(char* out, std::size_t size) override {
    std::size_t got = 0;
    if (head_taken_ < head_size_) {
      got = std::min(size, head_size_ - head_taken_);
      std::memcpy(out, head_.data() + head_taken_, got);
      head_taken_ += got;
    } else {
      got = read_some(out, size);
    }
    done_ += got;
    if (got == 0 && size > 0 && regular_) check_unchanged();
    if (progress_) progress_(done_, total_);
    return got;
  }

 private:
  std::size_t read_some(char* out, std::size_t size) {
    for (;;) {
      const ssize_t got = ::read(file_.fd, out, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail("cannot read");
    }
  }
  std::size_t read_fully(char* out, std::size_t size) {
    std::size_t got = 0;
    while (got < size) {
      const std::size_t more = read_some(out + got, size - got);
      if (more == 0) break;
      got += more;
    }
    return got;
  }
  /// At the end: someone who writes to the file meanwhile would leave rows out, or halves of them.
  void check_unchanged() {
    struct stat now {};
    if (fstat(file_.fd, &now) != 0) fail("cannot read");
    const bool short_read = total_ > 0 && done_ != total_;  // files made up by the system have 0
    if (now.st_size == size_ && !short_read) return;
    throw InputError(Fault::kIo, {path_, 0, ""},
                     fmt::format("changed while being read: {} bytes when opened, {} now; expected "
                                 "a file that nobody writes to",
                                 size_, now.st_size));
  }
  [[noreturn]] void fail(const char* what) {
    throw InputError(Fault::kIo, {path_, 0, ""}, fmt::format("{}: {}", what, std::strerror(errno)));
  }

  std::string path_;
  ReadProgress progress_;
  Descriptor file_;
  std::array<char, 4> head_{};
  std::size_t head_size_ = 0;
  std::size_t head_taken_ = 0;
  bool regular_ = false;
  off_t size_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

/// Refuses a stream that only expands.
class ExpansionLimit {
 public:
  ExpansionLimit(const std::string& path, std::uint64_t most) : path_(path), most_(most) {}

  void took(std::size_t bytes) { in_ += bytes; }
  void gave(std::size_t bytes) {
    out_ += bytes;
    if (out_ <= kExpandFreely || out_ / most_ <= in_) return;
    throw InputError(
        Fault::kTrace, {path_, 0, ""},
        fmt::format("unpacks to {} MiB from {} bytes so far; expected at most {} times the packed "
                    "size; unpack the file first if this is meant",
                    out_ >> 20, in_, most_));
  }

 private:
  const std::string& path_;
  std::uint64_t most_;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
};

/// One or more gzip members, as gzip(1) and pigz write them.
class GzipSource final : public ByteSource {
 public:
  GzipSource(std::string path, std::unique_ptr<ByteSource> raw)
      : path_(std::move(path)), raw_(std::move(raw)), input_(kChunk) {
    KV_ASSERT(inflateInit2(&stream_, 15 + 16) == Z_OK, "zlib refuses to start");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* out, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0 && !refill()) {
        if (!between_members_) corrupt("truncated: the gzip stream ends early");
        return 0;
      }
      if (between_members_) {
        if (inflateReset(&stream_) != Z_OK) corrupt("gzip stream cannot be reset");
        between_members_ = false;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        between_members_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        corrupt(first_member_done_
                    ? "garbage after the gzip stream"
                    : fmt::format("corrupt gzip data ({})",
                                  stream_.msg != nullptr ? stream_.msg : "no detail"));
      }
      if (between_members_) first_member_done_ = true;
    }
    expansion_.gave(size - stream_.avail_out);
    return size - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t got = raw_->read(input_.data(), input_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    expansion_.took(got);
    return got > 0;
  }
  [[noreturn]] void corrupt(const std::string& what) {
    throw InputError(Fault::kTrace, {path_, 0, ""}, what + "; expected a complete gzip file");
  }

  std::string path_;
  std::unique_ptr<ByteSource> raw_;
  ExpansionLimit expansion_{path_, kMostGzipExpansion};
  std::vector<char> input_;
  z_stream stream_{};
  bool between_members_ = false;
  bool first_member_done_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::string path, std::unique_ptr<ByteSource> raw)
      : path_(std::move(path)),
        raw_(std::move(raw)),
        stream_(ZSTD_createDStream()),
        input_(kChunk) {
    KV_ASSERT(stream_ != nullptr, "zstd refuses to start");
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(char* out, std::size_t size) override {
    ZSTD_outBuffer output{out, size, 0};
    while (output.pos == 0) {
      if (pending_.pos == pending_.size && !refill()) {
        if (!between_frames_) corrupt("truncated: the zstd stream ends early");
        return 0;
      }
      const std::size_t status = ZSTD_decompressStream(stream_, &output, &pending_);
      if (ZSTD_isError(status) != 0) {
        corrupt(frame_done_ ? "garbage after the zstd stream"
                            : fmt::format("corrupt zstd data ({})", ZSTD_getErrorName(status)));
      }
      between_frames_ = status == 0;
      if (between_frames_) frame_done_ = true;
    }
    expansion_.gave(output.pos);
    return output.pos;
  }

 private:
  bool refill() {
    const std::size_t got = raw_->read(input_.data(), input_.size());
    pending_ = {input_.data(), got, 0};
    expansion_.took(got);
    return got > 0;
  }
  [[noreturn]] void corrupt(const std::string& what) {
    throw InputError(Fault::kTrace, {path_, 0, ""}, what + "; expected a complete zstd file");
  }

  std::string path_;
  std::unique_ptr<ByteSource> raw_;
  ExpansionLimit expansion_{path_, kMostZstdExpansion};
  ZSTD_DStream* stream_;
  std::vector<char> input_;
  ZSTD_inBuffer pending_{nullptr, 0, 0};
  bool between_frames_ = false;
  bool frame_done_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path, ReadProgress progress) {
  auto raw = std::make_unique<RawFile>(path, std::move(progress));
  const std::string_view head = raw->head();
  if (head.starts_with("\x1f\x8b")) return std::make_unique<GzipSource>(path, std::move(raw));
  if (head == "\x28\xb5\x2f\xfd") return std::make_unique<ZstdSource>(path, std::move(raw));
  return raw;
}

LineReader::LineReader(std::string path, std::unique_ptr<ByteSource> source)
    : path_(std::move(path)), source_(std::move(source)), buffer_(4 * kChunk + kPadding) {}

bool LineReader::fill() {
  if (exhausted_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + kPadding == buffer_.size()) {
    if (buffer_.size() > kMaxLine) {
      throw InputError(Fault::kTrace, {path_, line_ + 1, ""},
                       fmt::format("line longer than {} MiB", kMaxLine >> 20));
    }
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t got = source_->read(buffer_.data() + end_, buffer_.size() - kPadding - end_);
  end_ += got;
  exhausted_ = got == 0;
  return !exhausted_;
}

bool LineReader::find(std::size_t& length) {
  std::size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_ + searched;
    const void* newline = std::memchr(from, '\n', end_ - begin_ - searched);
    if (newline != nullptr) {
      length =
          static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) - begin_;
      return true;
    }
    searched = end_ - begin_;
    if (!fill()) {
      length = searched;
      return searched > 0;
    }
  }
}

std::string_view LineReader::peek_content() {
  std::size_t length = 0;
  while (find(length)) {
    std::string_view line(buffer_.data() + begin_, length);
    if (line_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    }
    std::string_view blank;
    next(blank);
  }
  return {};
}

std::string_view LineReader::peek_bytes(std::size_t size) {
  while (end_ - begin_ < size && fill()) {
  }
  return {buffer_.data() + begin_, std::min(size, end_ - begin_)};
}

bool LineReader::next(std::string_view& line) {
  std::size_t length = 0;
  if (!find(length)) return false;
  line = std::string_view(buffer_.data() + begin_, length);
  begin_ = std::min(begin_ + length + 1, end_);
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return true;
}

}  // namespace spillway

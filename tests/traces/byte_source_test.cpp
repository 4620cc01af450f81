// Bytes and lines: compression known by content, damage always noticed, lines as users write them.
#include "traces/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/rng.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::gzip;
using test::Scratch;
using test::zstd;

std::string read_all(ByteSource& source, std::size_t step) {
  std::string out;
  std::string buffer(step, '\0');
  for (;;) {
    const std::size_t got = source.read(buffer.data(), buffer.size());
    if (got == 0) return out;
    out.append(buffer, 0, got);
  }
}

std::string content_of(std::string_view file, std::size_t step = 4096) {
  const Scratch scratch;
  return read_all(*open_bytes(scratch.file("bytes", file)), step);
}

/// Text that compresses, with enough variety that a cut or a flip hurts.
std::string sample_text(std::size_t lines) {
  Stream random(1, "sample text");
  std::string out;
  for (std::size_t i = 0; i < lines; ++i) {
    out += fmt::format("line {} draws {}\n", i, random.below(1'000'000));
  }
  return out;
}

// ---- compression

TEST_CASE("compression is known by content, never by name", "[traces]") {
  const Scratch scratch;
  const std::string text = sample_text(100);
  const auto read = [&](std::string_view name, const std::string& bytes) {
    return read_all(*open_bytes(scratch.file(name, bytes)), 4096);
  };
  CHECK(read("plain.gz", text) == text);
  CHECK(read("gzip.jsonl", gzip(text)) == text);
  CHECK(read("zstd.gz", zstd(text)) == text);
}

TEST_CASE("reads of any size give the same bytes", "[traces]") {
  const std::string text = sample_text(2'000);
  const auto step = GENERATE(as<std::size_t>{}, 1, 7, 1000, 1 << 20);
  CHECK(content_of(text, step) == text);
  CHECK(content_of(gzip(text), step) == text);
  CHECK(content_of(zstd(text), step) == text);
}

TEST_CASE("streams that expand a thousandfold arrive whole", "[traces]") {
  // A decoder then holds output back after its input is used up; the end must wait for it.
  const std::string text(5 << 20, 'x');
  CHECK(content_of(gzip(text), 1000) == text);
  CHECK(content_of(zstd(text, true), 1000) == text);
  CHECK(content_of(zstd(text, false), 1000) == text);
}

TEST_CASE("several gzip members or zstd frames are one stream", "[traces]") {
  CHECK(content_of(gzip("one\n") + gzip("two\n") + gzip("three\n")) == "one\ntwo\nthree\n");
  CHECK(content_of(zstd("one\n") + zstd("two\n")) == "one\ntwo\n");
  CHECK(content_of(gzip("") + gzip("after an empty member")) == "after an empty member");
}

TEST_CASE("empty files and empty streams are empty", "[traces]") {
  CHECK(content_of("").empty());
  CHECK(content_of(gzip("")).empty());
  CHECK(content_of(zstd("")).empty());
}

TEST_CASE("files shorter than a magic number are plain", "[traces]") {
  for (const std::string text : {"x", "\x1f", "\x28\xb5\x2f", "{}"}) {
    CHECK(content_of(text) == text);
  }
}

// ---- damage

/// What reading `bytes` ends in: the error's text, or "" when it succeeds.
std::string damage(std::string_view bytes) {
  try {
    content_of(bytes);
    return "";
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kTrace);
    return error.what();
  }
}

TEST_CASE("a gzip stream cut anywhere is truncated", "[traces]") {
  const std::string whole = gzip(sample_text(20));
  std::size_t noticed = 0;
  for (std::size_t cut = 2; cut < whole.size(); ++cut) {  // the magic itself takes two bytes
    const std::string text = damage(whole.substr(0, cut));
    noticed += text.find("truncated: the gzip stream ends early") != std::string::npos ? 1 : 0;
  }
  CHECK(noticed == whole.size() - 2);
}

TEST_CASE("a gzip stream cut in a later member is truncated", "[traces]") {
  const std::string first = gzip("one\n");
  const std::string second = gzip("two\n");
  for (std::size_t cut = 1; cut < second.size(); ++cut) {
    CHECK_THAT(damage(first + second.substr(0, cut)), ContainsSubstring("truncated"));
  }
}

TEST_CASE("a zstd stream cut anywhere is truncated", "[traces]") {
  const bool checksum = GENERATE(true, false);
  const std::string whole = zstd(sample_text(20), checksum);
  std::size_t noticed = 0;
  for (std::size_t cut = 4; cut < whole.size(); ++cut) {
    const std::string text = damage(whole.substr(0, cut));
    noticed += text.find("truncated: the zstd stream ends early") != std::string::npos ? 1 : 0;
  }
  CHECK(noticed == whole.size() - 4);
}

TEST_CASE("a large stream cut at its middle and before its checksum is truncated", "[traces]") {
  const std::string text = sample_text(100'000);
  for (const std::string& whole : {gzip(text), zstd(text)}) {
    CHECK_THAT(damage(whole.substr(0, whole.size() / 2)), ContainsSubstring("truncated"));
    CHECK_THAT(damage(whole.substr(0, whole.size() - 1)), ContainsSubstring("truncated"));
  }
}

TEST_CASE("a flipped bit never changes what is read", "[traces]") {
  // Some header bits (time, system) mean nothing; everything else is noticed by a checksum.
  const std::string text = sample_text(20);
  const std::string whole = GENERATE_COPY(gzip(text), zstd(text));
  Stream random(1, "flip");
  std::size_t wrong = 0;
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << random.below(8)));
    if (at < 4) continue;  // another magic number: another kind of file
    try {
      wrong += content_of(broken) == text ? 0 : 1;
    } catch (const InputError& error) {
      ++noticed;
      wrong += error.fault() == Fault::kTrace ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(noticed > whole.size() / 2);
}

TEST_CASE("a wrong checksum or length behind a gzip member is corrupt", "[traces]") {
  const std::string whole = gzip(sample_text(20));
  for (std::size_t back = 1; back <= 8; ++back) {  // CRC-32 and length: the last eight bytes
    std::string broken = whole;
    broken[whole.size() - back] = static_cast<char>(broken[whole.size() - back] ^ 0x10);
    CHECK_THAT(damage(broken), ContainsSubstring("corrupt gzip data"));
  }
}

TEST_CASE("garbage behind a stream is not silently dropped", "[traces]") {
  CHECK_THAT(damage(gzip("one\n") + "garbage"), ContainsSubstring("garbage after the gzip stream"));
  CHECK_THAT(damage(gzip("one\n") + std::string(512, '\0')), ContainsSubstring("garbage"));
  CHECK_THAT(damage(zstd("one\n") + "garbage"), ContainsSubstring("garbage after the zstd stream"));
  CHECK_FALSE(damage(gzip("one\n") + "x").empty());
  CHECK_FALSE(damage(zstd("one\n") + "x").empty());
}

TEST_CASE("errors name the file and what was expected", "[traces]") {
  const Scratch scratch;
  const std::string path = scratch.file("t.jsonl.gz", gzip("x").substr(0, 12));
  const InputError error = error_of([&] { read_all(*open_bytes(path), 100); });
  CHECK(std::string(error.what()) ==
        path + ": truncated: the gzip stream ends early; expected a complete gzip file");
}

// ---- what a path may lead to

TEST_CASE("a path that leads to no file is an I/O fault", "[traces]") {
  const Scratch scratch;
  SECTION("nothing there") {
    const InputError error = error_of([&] { open_bytes(scratch.path("none.jsonl")); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("none.jsonl: cannot open: No such file"));
  }
  SECTION("a directory") {
    std::filesystem::create_directory(scratch.path("dir"));
    const InputError error = error_of([&] { open_bytes(scratch.path("dir")); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("dir: is a directory; expected a trace file"));
  }
  SECTION("a loop of symbolic links") {
    std::filesystem::create_symlink("b", scratch.path("a"));
    std::filesystem::create_symlink("a", scratch.path("b"));
    const InputError error = error_of([&] { open_bytes(scratch.path("a")); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("cannot open: Too many levels of symbolic links"));
  }
  SECTION("a file without permission") {
    if (geteuid() == 0) return;  // root may read everything
    const std::string path = scratch.file("secret", "x");
    REQUIRE(chmod(path.c_str(), 0) == 0);
    CHECK(error_of([&] { open_bytes(path); }).fault() == Fault::kIo);
  }
}

TEST_CASE("a symbolic link leads to its file", "[traces]") {
  const Scratch scratch;
  scratch.file("real", "text");
  std::filesystem::create_symlink("real", scratch.path("link"));
  CHECK(read_all(*open_bytes(scratch.path("link")), 100) == "text");
}

TEST_CASE("a named pipe is read like a file", "[traces]") {
  const Scratch scratch;
  const std::string path = scratch.path("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const std::string bytes = gzip(sample_text(1000));
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  const std::string got = read_all(*open_bytes(path), 4096);
  writer.join();
  CHECK(got == sample_text(1000));
}

TEST_CASE("a dash is standard input", "[traces]") {
  const Scratch scratch;
  const std::string path = scratch.file("in", gzip("from standard input"));
  const int saved = dup(STDIN_FILENO);
  const int fd = open(path.c_str(), O_RDONLY);
  REQUIRE(fd >= 0);
  dup2(fd, STDIN_FILENO);
  close(fd);
  const std::string got = read_all(*open_bytes("-"), 100);
  const bool still_open = fcntl(STDIN_FILENO, F_GETFD) >= 0;
  dup2(saved, STDIN_FILENO);
  close(saved);
  CHECK(got == "from standard input");
  CHECK(still_open);  // it is not ours to close
}

TEST_CASE("progress counts the file's own bytes up to its size", "[traces]") {
  const Scratch scratch;
  const std::string bytes = gzip(sample_text(50'000));
  std::vector<std::uint64_t> done;
  std::uint64_t size = 0;
  const auto source = open_bytes(scratch.file("t.gz", bytes), [&](auto at, auto total) {
    done.push_back(at);
    size = total;
  });
  read_all(*source, 4096);
  REQUIRE_FALSE(done.empty());
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(done.back() == bytes.size());
  CHECK(size == bytes.size());
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST_CASE("reading closes what it opened, also after an error", "[traces]") {
  const Scratch scratch;
  const std::string good = scratch.file("good", gzip("x"));
  const std::string bad = scratch.file("bad", gzip("x").substr(0, 12));
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 10; ++i) {
    read_all(*open_bytes(good), 100);
    error_of([&] { read_all(*open_bytes(bad), 100); });
  }
  CHECK(open_files() == before);
}

TEST_CASE("refusing a directory closes it again", "[traces]") {
  const Scratch scratch;
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 10; ++i) error_of([&] { open_bytes(scratch.path(".")); });
  CHECK(open_files() == before);
}

// ---- lines

/// Gives out `text` in pieces of `step` bytes.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = std::min({size, step_, text_.size() - at_});
    text_.copy(out, got, at_);
    at_ += got;
    return got;
  }

 private:
  std::string text_;
  std::size_t step_;
  std::size_t at_ = 0;
};

std::vector<std::string> lines_of(const std::string& text, std::size_t step = 1 << 20) {
  LineReader reader("t", std::make_unique<Pieces>(text, step));
  std::vector<std::string> out;
  for (std::string_view line; reader.next(line);) out.emplace_back(line);
  CHECK(reader.line() == static_cast<std::int64_t>(out.size()));
  return out;
}
using Lines = std::vector<std::string>;

TEST_CASE("lines end with a newline, which is not theirs", "[traces]") {
  CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n") == Lines{""});
}

TEST_CASE("the last line may lack its newline", "[traces]") {
  CHECK(lines_of("a\nb") == Lines{"a", "b"});
  CHECK(lines_of("a\r\nb\r") == Lines{"a", "b"});
}

TEST_CASE("blank lines are lines and count", "[traces]") {
  CHECK(lines_of("a\n\n\nb\n") == Lines{"a", "", "", "b"});
}

TEST_CASE("carriage returns before a newline are dropped, others stay", "[traces]") {
  CHECK(lines_of("a\r\nb\r\n") == Lines{"a", "b"});
  CHECK(lines_of("a\rb\r\r\n") == Lines{"a\rb\r"});
}

TEST_CASE("a byte order mark is dropped from the first line only", "[traces]") {
  CHECK(lines_of("\xef\xbb\xbf"
                 "a\n"
                 "\xef\xbb\xbf"
                 "b\n") == Lines{"a",
                                 "\xef\xbb\xbf"
                                 "b"});
  CHECK(lines_of("\xef\xbb\xbf") == Lines{""});
}

TEST_CASE("lines do not depend on how the bytes arrive", "[traces]") {
  const std::string text =
      "\xef\xbb\xbf"
      "one\r\n\r\ntwo\nthree";
  for (std::size_t step = 1; step < text.size(); ++step) {
    CHECK(lines_of(text, step) == Lines{"one", "", "two", "three"});
  }
}

TEST_CASE("a line may be far longer than the buffer", "[traces]") {
  const std::string longest(3'000'000, 'x');
  const Lines lines = lines_of("a\n" + longest + "\r\nb", 100'000);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == longest);
  CHECK(lines[2] == "b");
}

TEST_CASE("many lines across many refills keep their content", "[traces]") {
  Lines expected;
  std::string text;
  for (std::size_t i = 0; i < 20'000; ++i) {
    expected.emplace_back(i % 301, static_cast<char>('a' + i % 26));
    text += expected.back() + '\n';
  }
  CHECK(lines_of(text, 65'537) == expected);
}

TEST_CASE("a line beyond the limit is refused before memory runs out", "[traces]") {
  struct Endless final : ByteSource {
    std::size_t read(char* out, std::size_t size) override {
      std::fill(out, out + size, 'x');
      return size;
    }
  };
  LineReader reader("endless", std::make_unique<Endless>());
  const InputError error = error_of([&] {
    std::string_view line;
    reader.next(line);
  });
  CHECK(error.fault() == Fault::kTrace);
  CHECK(std::string(error.what()) == "endless:1: line longer than 64 MiB");
}

TEST_CASE("peeking shows what comes without taking it", "[traces]") {
  LineReader reader("t", std::make_unique<Pieces>("first\nsecond", 2));
  CHECK(reader.peek_content() == "first");
  CHECK(reader.peek_bytes(8) == "first\nse");
  CHECK(reader.peek_bytes(100) == "first\nsecond");
  CHECK(reader.line() == 0);
  std::string_view line;
  REQUIRE(reader.next(line));
  CHECK(line == "first");
  CHECK(reader.peek_content() == "second");
  REQUIRE(reader.next(line));
  CHECK(line == "second");
  CHECK(reader.peek_content().empty());
  CHECK_FALSE(reader.next(line));
}

}  // namespace
}  // namespace spillway

// Reading a file whole: what comes back, and what is said where it does not.
#include "sim/input_file.hpp"

#include <unistd.h>

#include <filesystem>

#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::Scratch;

TEST_CASE("a file comes back byte by byte, from anywhere on", "[sim]") {
  const Scratch scratch;
  const std::string bytes("one\0two\n", 8);
  const std::string path = scratch.file("f", bytes);
  CHECK(read_file(path) == bytes);
  CHECK(read_file(path, 4) == "two\n");
  CHECK(read_file(path, 100).empty());
  CHECK(read_head(path, 3) == "one");
  CHECK(read_head(path, 100) == bytes);
}

TEST_CASE("what the system says is told, and is an I/O fault", "[sim]") {
  const Scratch scratch;
  const auto said = [](const std::string& path) {
    const InputError error = error_of([&] { read_file(path); });
    CHECK(error.fault() == Fault::kIo);
    return std::string(error.what());
  };
  CHECK(said(scratch.path("none")) ==
        scratch.path("none") + ": cannot open: No such file or directory");
  CHECK(said(scratch.path("")) == scratch.path("") + ": is a directory; expected a file");
  // A read that fails in the middle is no end of the file.
  if (access("/proc/self/mem", R_OK) == 0) {
    CHECK(said("/proc/self/mem") == "/proc/self/mem: cannot read: Input/output error");
  }
}

TEST_CASE("a document without an end is refused", "[sim]") {
  const Scratch scratch;
  const std::string path = scratch.file("f", std::string(3 << 20, 'x'));
  CHECK(read_file(path, 0, 3 << 20).size() == 3 << 20);
  const InputError error = error_of([&] { read_file(path, 0, 2 << 20); });
  CHECK(error.fault() == Fault::kIo);
  CHECK_THAT(error.what(), ContainsSubstring("f: is longer than 2 MiB; expected a document"));
}

TEST_CASE("a text with a NUL byte is refused with its line", "[sim]") {
  const Scratch scratch;
  const std::string path = scratch.file("f", std::string("a\nb\nc\0d\n", 8));
  const InputError error = error_of([&] { read_text_file(path); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK(error.what() == path + ":3: contains a NUL byte; expected text in UTF-8");
}

}  // namespace
}  // namespace spillway

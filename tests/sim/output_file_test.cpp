// Output files: complete or absent, never half.
#include "sim/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::read_file;
using test::Scratch;

TEST_CASE("a committed file holds everything and leaves nothing beside it", "[sim]") {
  const Scratch scratch;
  OutputFile file(scratch.path("out.json"));
  file.write("one ");
  file.write("");
  file.write("two");
  file.commit();
  CHECK(read_file(scratch.path("out.json")) == "one two");
  CHECK(scratch.listing() == "out.json");
}

TEST_CASE("before the commit the target does not exist", "[sim]") {
  const Scratch scratch;
  OutputFile file(scratch.path("out.json"));
  file.write(std::string(1 << 20, 'x'));  // more than any buffer holds
  CHECK_FALSE(std::filesystem::exists(scratch.path("out.json")));
}

TEST_CASE("an abandoned file vanishes and the former content stays", "[sim]") {
  const Scratch scratch;
  const std::string path = scratch.file("out.json", "former");
  {
    OutputFile file(path);
    file.write("half of the n");
    CHECK(read_file(path) == "former");
  }
  CHECK(read_file(path) == "former");
  CHECK(scratch.listing() == "out.json");
}

TEST_CASE("a commit replaces the former content as a whole", "[sim]") {
  const Scratch scratch;
  const std::string path = scratch.file("out.json", "a long former content");
  write_file(path, "new");
  CHECK(read_file(path) == "new");
  CHECK(scratch.listing() == "out.json");
}

TEST_CASE("two writers of one file do not meet: the last to commit has all of it", "[sim]") {
  const Scratch scratch;
  const std::string path = scratch.path("out");
  OutputFile one(path);
  OutputFile other(path);
  one.write("one");
  other.write("the other");
  other.commit();
  one.write(" whole");
  one.commit();
  CHECK(read_file(path) == "one whole");
  CHECK(scratch.listing() == "out");
}

TEST_CASE("a temporary file has a name that nobody can know, and the user's permissions", "[sim]") {
  const Scratch scratch;
  const TemporaryFile one(scratch.path("out"));
  const TemporaryFile other(scratch.path("out"));
  CHECK(one.path() != other.path());
  const mode_t mask = umask(0);
  umask(mask);
  struct stat info {};
  REQUIRE(stat(one.path().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("what is unfinished when a signal comes is removed", "[sim]") {
  const Scratch scratch;
  OutputFile unfinished(scratch.path("out"));
  unfinished.write("half");
  write_file(scratch.path("finished"), "whole");
  remove_unfinished();
  CHECK(scratch.listing() == "finished");
}

TEST_CASE("bytes are written as they are", "[sim]") {
  const Scratch scratch;
  const std::string bytes("\0\r\n\xff\x1a", 5);
  write_file(scratch.path("out.bin"), bytes);
  CHECK(read_file(scratch.path("out.bin")) == bytes);
}

TEST_CASE("an empty file is a file", "[sim]") {
  const Scratch scratch;
  write_file(scratch.path("out.txt"), "");
  CHECK(read_file(scratch.path("out.txt")).empty());
}

TEST_CASE("a directory is no target", "[sim]") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("dir"));
  const InputError error = error_of([&] { write_file(scratch.path("dir"), "x"); });
  CHECK(error.fault() == Fault::kIo);
  CHECK_THAT(error.what(), ContainsSubstring("dir: is a directory; expected a file to write"));
  CHECK(scratch.listing() == "dir");
}

TEST_CASE("a directory that cannot be written is an I/O fault", "[sim]") {
  const Scratch scratch;
  SECTION("it does not exist") {
    const InputError error = error_of([&] { write_file(scratch.path("none/out"), "x"); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("cannot open for writing: No such file"));
  }
  SECTION("it is a file") {
    scratch.file("file", "x");
    const InputError error = error_of([&] { write_file(scratch.path("file/out"), "x"); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("cannot open for writing: Not a directory"));
  }
  SECTION("it is read-only") {
    if (geteuid() == 0) return;  // root may write everywhere
    std::filesystem::create_directory(scratch.path("locked"));
    REQUIRE(chmod(scratch.path("locked").c_str(), 0500) == 0);
    const InputError error = error_of([&] { write_file(scratch.path("locked/out"), "x"); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("Permission denied"));
  }
}

TEST_CASE("a target that turned into a directory meanwhile is refused without litter", "[sim]") {
  const Scratch scratch;
  {
    OutputFile file(scratch.path("out"));
    file.write("x");
    std::filesystem::create_directory(scratch.path("out"));
    const InputError error = error_of([&] { file.commit(); });
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("cannot rename into place"));
  }
  CHECK(scratch.listing() == "out");
  CHECK(std::filesystem::is_directory(scratch.path("out")));
}

TEST_CASE("devices are written in place, and a full one is an I/O fault", "[sim]") {
  write_file("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/null"));  // not renamed over
  if (!std::filesystem::is_character_file("/dev/full")) return;
  const InputError error = error_of([&] { write_file("/dev/full", "x"); });
  CHECK(error.fault() == Fault::kIo);
  CHECK_THAT(error.what(), ContainsSubstring("/dev/full: cannot write: No space left on device"));
}

TEST_CASE("a disk that fills up in the middle is an I/O fault", "[sim]") {
  if (!std::filesystem::is_character_file("/dev/full")) return;
  OutputFile file("/dev/full");
  const std::string chunk(1 << 20, 'x');  // larger than stdio's buffer: fails at once
  const InputError error = error_of([&] { file.write(chunk); });
  CHECK(error.fault() == Fault::kIo);
}

/// Sends standard output into a file while it lives.
class Redirected {
 public:
  explicit Redirected(const std::string& path) : saved_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(fd, STDOUT_FILENO);
    close(fd);
  }
  ~Redirected() {
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int saved_;
};

TEST_CASE("a dash is standard output, which stays open", "[sim]") {
  const Scratch scratch;
  {
    const Redirected redirected(scratch.path("stdout"));
    write_file("-", "first ");
    write_file("-", "second");
  }
  CHECK(read_file(scratch.path("stdout")) == "first second");
  CHECK(scratch.listing() == "stdout");
}

}  // namespace
}  // namespace spillway

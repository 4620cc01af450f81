// What a signal handler removes. Nothing here is a signal: the handler's part is called by itself.
#include "sim/at_end.hpp"

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

namespace fs = std::filesystem;
using test::Scratch;

TEST_CASE("an unfinished file is removed, a finished one stays", "[sim]") {
  const Scratch scratch;
  const std::string begun = scratch.file("begun", "x");
  const std::string ended = scratch.file("ended", "x");
  { const Unfinished over(ended); }
  const Unfinished now(begun);
  remove_unfinished();
  CHECK_FALSE(fs::exists(begun));
  CHECK(fs::exists(ended));
}

TEST_CASE("an unfinished folder goes with all that is in it, and nothing beside it", "[sim]") {
  const Scratch scratch;
  const std::string folder = scratch.path("camp.tmp");
  fs::create_directories(folder + "/traces/deep");
  fs::create_directories(folder + "/locks");
  // More than one call of getdents64(2) gives: names of 40 letters into a kilobyte.
  for (int i = 0; i < 500; ++i) {
    scratch.file(fmt::format("camp.tmp/traces/{:040}", i), "x");
  }
  scratch.file("camp.tmp/traces/deep/a", "x");
  const std::string beside = scratch.file("beside", "x");
  fs::create_symlink(beside, folder + "/locks/link");
  fs::create_directory_symlink(scratch.path(""), folder + "/locks/up");
  const Unfinished unfinished(folder);
  remove_unfinished();
  CHECK_FALSE(fs::exists(folder));
  CHECK(fs::exists(beside));
  remove_unfinished();  // what is gone is no trouble
}

}  // namespace
}  // namespace spillway

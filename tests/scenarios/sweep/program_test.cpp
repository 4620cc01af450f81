// Programs run without a shell: words arrive as they are, both streams come back.
#include "scenarios/sweep/program.hpp"
#include "reports/shell_word.hpp"

#include "scenarios/machine/child_process.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a program gets its words unchanged and is heard on both streams", "[scenarios]") {
  const ProgramEnd end = run_program(
      {"sh", "-c", "printf '%s|' \"$@\"; echo no >&2; exit 3", "sh", "a b", "$(x)", ""});
  CHECK(end.code == 3);
  CHECK(end.out == "a b|$(x)||");
  CHECK(end.err == "no\n");
}

TEST_CASE("a program that writes more than a pipe holds is not blocked", "[scenarios]") {
  const ProgramEnd end = run_program(
      {"sh", "-c", "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; kill -9 $$"});
  CHECK(end.code == 137);  // 128 + SIGKILL
  CHECK(end.out.size() == 300'000);
  CHECK(end.err.size() == 300'000);
}

TEST_CASE("variables that a program should not see are kept from it", "[scenarios]") {
  setenv("SPILLWAY_TEST_ONE", "1", 1);
  CHECK(run_program({"sh", "-c", "echo $SPILLWAY_TEST_ONE"}).out == "1\n");
  CHECK(run_program({"sh", "-c", "echo $SPILLWAY_TEST_ONE"}, "SPILLWAY_TEST_").out == "\n");
  unsetenv("SPILLWAY_TEST_ONE");
}

TEST_CASE("a program that is not there is an error of the machine", "[scenarios]") {
  CHECK_THROWS_AS(run_program({"spillway-no-such-program"}), InputError);
  CHECK(find_program("spillway-no-such-program").empty());
  CHECK_THAT(find_program("sh"), ContainsSubstring("/sh"));
}

TEST_CASE("a quoted word survives a shell", "[scenarios]") {
  for (const std::string word : {"plain", "it's", "a b", "$(date) `x` \\ \" * ;", "line\nbreak"}) {
    CHECK(run_program({"sh", "-c", "printf %s " + shell_quoted(word)}).out == word);
  }
}

}  // namespace
}  // namespace spillway::test

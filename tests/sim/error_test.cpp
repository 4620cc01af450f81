// Errors: where something stands, what the exit code is, and what a broken invariant says.
#include "sim/error.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("the place is told as far as it is known", "[sim]") {
  CHECK(SourceRef{"t.jsonl", 14, "hash_ids"}.prefix() == "t.jsonl:14: hash_ids: ");
  CHECK(SourceRef{"t.jsonl", 14, ""}.prefix() == "t.jsonl:14: ");
  CHECK(SourceRef{"t.jsonl", 0, ""}.prefix() == "t.jsonl: ");
  CHECK(SourceRef{"t.jsonl", 0, "name"}.prefix() == "t.jsonl: name: ");
  CHECK(SourceRef{"", 0, "turns"}.prefix() == "turns: ");
  CHECK(SourceRef{"", 14, ""}.prefix().empty());  // a line of no file says nothing
  CHECK(SourceRef{}.prefix().empty());
}

TEST_CASE("an input error is its place, its message and an exit code", "[sim]") {
  const InputError error(Fault::kTrace, {"t.csv", 3, "input_length"}, "expected 1 or more");
  CHECK(std::string(error.what()) == "t.csv:3: input_length: expected 1 or more");
  CHECK(error.fault() == Fault::kTrace);
}

TEST_CASE("exit codes are those of the command line's contract", "[sim]") {
  CHECK(static_cast<int>(Fault::kUsage) == 2);
  CHECK(static_cast<int>(Fault::kTrace) == 3);
  CHECK(static_cast<int>(Fault::kInfeasible) == 4);
  CHECK(static_cast<int>(Fault::kInconclusive) == 5);
  CHECK(static_cast<int>(Fault::kIo) == 7);
  CHECK(static_cast<int>(Fault::kInternal) == 70);
}

TEST_CASE("a broken invariant names file, line, message and condition, in release too", "[sim]") {
  const int blocks = 3;
  const int line = __LINE__ + 1;
  const auto broken = [&] { KV_ASSERT(blocks < 2, "{} blocks in a tier of {}", blocks, 2); };
  REQUIRE_THROWS_AS(broken(), InternalError);
  REQUIRE_THROWS_WITH(broken(), "error_test.cpp:" + std::to_string(line) +
                                    ": 3 blocks in a tier of 2 (blocks < 2)");
}

TEST_CASE("an invariant that holds costs nothing and formats nothing", "[sim]") {
  int formatted = 0;
  const auto count = [&] { return ++formatted; };
  KV_ASSERT(true, "{}", count());
  CHECK(formatted == 0);
}

}  // namespace
}  // namespace spillway

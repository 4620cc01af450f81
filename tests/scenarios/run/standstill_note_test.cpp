// Why a server ceases to serve, in words and figures.
#include "scenarios/run/standstill_note.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

TEST_CASE("requests that wait for each other are named with what they hold", "[scenarios]") {
  Standstill why;
  why.kind = Standstill::Kind::kMutualLoads;
  why.head = RequestId{3};
  why.holds = 8;
  why.needs = 4;
  why.usable = 16;
  why.others = {{RequestId{4}, 8}};
  const Note note = standstill_note(why);
  CHECK(note.code == "mutual-loads");
  CHECK(note.text ==
        "Request 3 at the head of the queue needs 4 more blocks (it holds 8); 0 of 16 are free. "
        "The other 8 blocks in use belong to request 4 (8 blocks), whose prefixes were loaded too. "
        "Each waits for the others (vLLM issues 45387, 45388). engine.async_load_reservation=true "
        "avoids it (PR 44560).");
}

TEST_CASE("of many holders three are named", "[scenarios]") {
  Standstill many;
  many.kind = Standstill::Kind::kStrandedLoads;
  for (std::uint32_t i = 1; i < 6; ++i) many.others.push_back({RequestId{i}, 10 * i});
  const Note note = standstill_note(many);
  CHECK(figure(note, "blocks") == 150);
  CHECK_THAT(note.text, Catch::Matchers::Contains("Requests 1 (10 blocks), 2 (20), 3 (30) and 2 "
                                                  "more behind it hold 150 blocks"));
}

}  // namespace
}  // namespace spillway::test

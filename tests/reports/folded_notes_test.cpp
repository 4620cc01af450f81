// Notes of many cells, each kind once.
#include "reports/folded_notes.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("what every cell says in the same words is said once, as it is", "[reports]") {
  CHECK(folded_notes({{"hits are a lower bound"}, {"hits are a lower bound"}}) ==
        Texts{"hits are a lower bound"});
  CHECK(folded_notes({{"1,234 preemptions"}}) == Texts{"1,234 preemptions"});
  CHECK(folded_notes({}).empty());
}

TEST_CASE("notes that differ in their figures become one with the range of each", "[reports]") {
  // 1,341 is more than 5 although it is less as text; the cell without the note counts too.
  CHECK(folded_notes({{"5 preemptions (vLLM 45357)"},
                      {},
                      {"1,341 preemptions (vLLM 45357)"},
                      {"27 preemptions (vLLM 45357)"}}) ==
        Texts{"3 of 4 cells: 5 to 1,341 preemptions (vLLM 45357)"});
  CHECK(folded_notes({{"moved by -0.5, 1e+16 of 2"}, {"moved by -2, 3e+16 of 2"}}) ==
        Texts{"moved by -2 to -0.5, 1e+16 to 3e+16 of 2"});
}

TEST_CASE("a range that a note tells already is widened", "[reports]") {
  CHECK(folded_notes({{"2 instances that serve 40 to 60 requests each"},
                      {"4 instances that serve 18 to 31 requests each"}}) ==
        Texts{"2 to 4 instances that serve 18 to 60 requests each"});
  CHECK(folded_notes(
            {{"3 copies of 64.00 KiB each"}, {"1 to 2 copies of 8.00 KiB to 1.50 MiB each"}}) ==
        Texts{"1 to 3 copies of 8.00 KiB to 1.50 MiB each"});
}

TEST_CASE("sizes and times are compared with their units", "[reports]") {
  CHECK(folded_notes({{"900.00 MiB written in 2 s"}, {"1.50 GiB written in 300 ms"}}) ==
        Texts{"900.00 MiB to 1.50 GiB written in 300 ms to 2 s"});
  // "5 slots" is no five seconds.
  CHECK(folded_notes({{"5 slots"}, {"7 slots"}}) == Texts{"5 to 7 slots"});
}

TEST_CASE("figures in names tell notes apart", "[reports]") {
  CHECK(folded_notes({{"link h2d: 5 copies"}, {"link d2h: 5 copies"}, {"p99_ttft_ms"}}) ==
        Texts{"1 of 3 cells: link h2d: 5 copies", "1 of 3 cells: link d2h: 5 copies",
              "1 of 3 cells: p99_ttft_ms"});
  CHECK(folded_notes({{"tier n1: 5"}, {"tier n2: 5"}}).size() == 2);
}

TEST_CASE("a cell that says a kind twice counts once", "[reports]") {
  CHECK(folded_notes({{"engine 0: 5 stuck", "engine 1: 9 stuck"}, {"fine"}}) ==
        Texts{"1 of 2 cells: engine 0 to 1: 5 to 9 stuck", "1 of 2 cells: fine"});
}

TEST_CASE("whatever a name of the trace holds does no harm", "[reports]") {
  CHECK(folded_notes({{"tenant \x01n\x01 of 5"}, {"tenant 7 of 6"}, {"\xff-"}, {"- 1,23 .e"}})
            .size() == 4);
}

}  // namespace
}  // namespace spillway::test

// Notes: words from a code and figures, of many runs at once, and what a terminal shows.
#include "reports/notes/notes.hpp"

#include <algorithm>
#include <set>

#include "reports/notes/note_fields.hpp"
#include "reports/notes/run_notes.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

Note preempted(std::uint64_t times) {
  return run_note("deferred-free", {{"preemptions", times}});
}

TEST_CASE("a figure is shown by the unit that its name ends in", "[reports]") {
  const NoteFigures figures = {{"busy_share", 0.125},      {"pool_bytes", 1536},
                               {"rate_bytes_per_s", 25e9}, {"arrive_per_s", 2.5},
                               {"wait_ms", 1250.0},        {"span_s", 0.5},
                               {"step_us", 12.5},          {"requests", 12345},
                               {"off_share", 0.03},        {"name", "h2d"}};
  const auto text = [&](std::string_view form) { return note_text(form, figures); };
  CHECK(text("{busy_share}, {pool_bytes}, {rate_bytes_per_s}") == "12.5%, 1.50 KiB, 25.0 GB/s");
  CHECK(text("{arrive_per_s}, {wait_ms}, {span_s}, {step_us}") ==
        "2.50/s, 1.25 s, 500 ms, 12.5 us");
  CHECK(text("{name}: {requests}, {off_share:+}") == "h2d: 12,345, +3.0%");
}

TEST_CASE("words follow a count, and what is not given falls out with its bracket", "[reports]") {
  const auto text = [](std::uint64_t n, std::optional<double> share) {
    NoteFigures figures = {{"n", n}, {"share", share}};
    std::erase_if(figures, [](const NoteFigure& f) { return !f.given; });
    return note_text("{n} request{n||s} {n|is|are} stuck[ of {share}]", figures);
  };
  CHECK(text(1, {}) == "1 request is stuck");
  CHECK(text(2, 3.0) == "2 requests are stuck of 3.00");
  CHECK_THROWS_AS(note_text("{n} of {share}", NoteFigures{{"n", 1}}), InternalError);
}

TEST_CASE("what every run says alike is said once, as it is", "[reports]") {
  const Notes one = {preempted(1234)};
  const std::vector<Notes> runs = {one, one};
  CHECK(folded(runs) == one);
  CHECK(folded({}).empty());
}

TEST_CASE("notes that differ in their figures become one with the range of each", "[reports]") {
  // 1,341 is more than 5 although it is less as text; the run without the note counts too.
  const std::vector<Notes> runs = {{preempted(5)}, {}, {preempted(1341)}, {preempted(27)}};
  const Notes out = folded(runs);
  REQUIRE(out.size() == 1);
  CHECK(out[0].text.starts_with("3 of 4 configurations: 5 to 1,341 preemptions. "));
  CHECK(figure(out[0], "preemptions") == 5);
  CHECK(figure(out[0], "configurations") == 3);
  // What is folded already is widened, also after it was written and read.
  const Notes again = nlohmann::json(out).get<Notes>();
  const auto seen = std::ranges::find(again[0].figures, "preemptions", &NoteFigure::name);
  CHECK(std::get<std::int64_t>(seen->most.value()) == 1341);
  CHECK(folded(std::vector<Notes>{out, again}) == folded(std::vector<Notes>{again, out}));
  const std::vector<Notes> more = {{preempted(2)}, {preempted(9)}};
  CHECK(folded(std::vector<Notes>{folded(more), {preempted(30)}})[0].text.starts_with(
      "2 to 30 preemptions. "));
}

TEST_CASE("names tell notes apart, and a run that says a kind twice counts once", "[reports]") {
  const auto of = [](const char* link, int transfers) {
    return run_note("between-rates", {{"link", link},
                                      {"transfers", transfers},
                                      {"transfers_in_all", 9},
                                      {"copies", 2},
                                      {"piece_bytes", 4096},
                                      {"source", "measured"}});
  };
  CHECK(folded(std::vector<Notes>{{of("h2d", 5)}, {of("d2h", 5)}}).size() == 2);
  const Notes twice = folded(std::vector<Notes>{{of("h2d", 5), of("h2d", 7)}, {Note("fine")}});
  REQUIRE(twice.size() == 2);
  CHECK(twice[0].text.starts_with("1 of 2 configurations: Link h2d: 5 to 7 of 9 transfers"));
  CHECK(twice[1].text == "1 of 2 configurations: fine");
}

TEST_CASE("a terminal shows the three gravest, and counts the others", "[reports]") {
  const Notes notes = {run_note("reuse-lower-bound"), preempted(3), run_note("nothing-measured"),
                       run_note("clients-waited", {{"mean_wait_ms", 2.0}}), preempted(4)};
  const std::vector<std::string> shown = shown_notes(notes, {});
  REQUIRE(shown.size() == 4);
  CHECK(shown[0].starts_with("No request was measured."));
  CHECK(shown[1].starts_with("3 preemptions."));
  CHECK(shown[3] == "2 more: add --notes");
  // An assumption is never shown in place of a warning that is not there.
  CHECK(shown_notes({run_note("reuse-lower-bound")}, {}) ==
        std::vector<std::string>{"1 more: add --notes"});
  // In a line as many sentences as fit, the first in any case.
  CHECK(shown_notes({preempted(3)}, {1, 40}) == std::vector<std::string>{"3 preemptions."});
}

TEST_CASE("a note comes back from its document, and a plain text is one without a code",
          "[reports]") {
  const Note note =
      run_note("not-admitted", {{"requests", 3}, {"requests_in_all", 50}, {"too_large", 3}});
  const nlohmann::json written = note;
  CHECK(written["code"] == "not-admitted");
  CHECK(written["grade"] == "danger");
  CHECK(written["figures"]["requests_in_all"] == 50);
  CHECK(nlohmann::json(written.get<Note>()) == written);
  const Note plain = nlohmann::json("a sentence").get<Note>();
  CHECK(plain.text == "a sentence");
  CHECK(plain.code.empty());
}

TEST_CASE("codes are unique, and words are sentences", "[reports]") {
  std::set<std::string_view> codes;
  for (const NoteTable table : note_tables()) {
    for (const NoteRow& row : table) {
      CAPTURE(row.code);
      CHECK(codes.insert(row.code).second);
      CHECK((row.text.ends_with('.') || row.text.ends_with("]") || row.text.ends_with("}")));
    }
  }
}

}  // namespace
}  // namespace spillway::test

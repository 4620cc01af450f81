// Rows on disk: whole lines come back, a last line that was cut off does not.
#include "scenarios/machine/journal.hpp"

#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::Scratch;

RunCell cell(const std::string& op, double gbs) {
  RunCell out;
  out.plan = {"dram", {{"op", op}}, 1, 0};
  out.row = {{"op", op}, {"gbs", gbs}};
  return out;
}

std::string two_rows(const std::string& path) {
  Journal journal(path, "2026-11-21T10:00:00Z", "00ff");
  journal.append(cell("copy", 10), 1.5);
  journal.append(cell("triad", 20), 3);
  return test::read_file(path);
}

TEST_CASE("a journal gives back what was appended", "[scenarios]") {
  const Scratch scratch;
  const std::string path = scratch.path("p.json.partial.jsonl");
  CHECK(journal_path(scratch.path("p.json")) == path);
  two_rows(path);
  const JournalContent content = read_journal(path);
  CHECK(content.created == "2026-11-21T10:00:00Z");
  CHECK(content.machine_hash == "00ff");
  CHECK(content.spent_s == 3);
  CHECK_FALSE(content.torn);
  REQUIRE(content.rows.size() == 2);
  CHECK(content.rows.at(cell("triad", 0).key())["gbs"] == 20);
}

TEST_CASE("a journal cut off anywhere gives back its whole lines", "[scenarios]") {
  const Scratch scratch;
  const std::string text = two_rows(scratch.path("j"));
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string head = text.substr(0, size);
    const std::string path = scratch.file("cut", head);
    const JournalContent content = read_journal(path);
    const auto lines = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n'));
    INFO(size);
    CHECK(content.machine_hash.empty() == (lines == 0));
    CHECK(content.rows.size() == (lines == 0 ? 0 : lines - 1));
    CHECK(content.torn == (!head.empty() && !head.ends_with('\n')));
    if (lines == 0) continue;
    Journal(path, content).append(cell("copy", 30), 9);  // goes on behind the last whole line
    const JournalContent later = read_journal(path);
    CHECK_FALSE(later.torn);
    CHECK(later.rows.at(cell("copy", 0).key())["gbs"] == 30);  // the later row counts
  }
}

TEST_CASE("what is no journal is refused with its line", "[scenarios]") {
  const Scratch scratch;
  const auto says = [&](const std::string& text) -> std::string {
    try {
      read_journal(scratch.file("j", text));
    } catch (const InputError& error) {
      CHECK(error.fault() == Fault::kUsage);
      return error.what();
    }
    return "";
  };
  const std::string header =
      R"({"kind":"calibration-journal","journal_version":1,"created":"c","machine_hash":"0"})"
      "\n";
  CHECK_THAT(says("{}\n"), ContainsSubstring("j:1: expected a journal"));
  CHECK_THAT(says("[1]\n"), ContainsSubstring("j:1: expected a journal"));
  CHECK_THAT(says(R"({"kind":"calibration-journal","journal_version":2})"
                  "\n"),
             ContainsSubstring("of this version"));
  CHECK_THAT(says(header + "nonsense\n"), ContainsSubstring("j:2: expected a line of JSON"));
  CHECK_THAT(says(header + "{\"section\":\"dram\"}\n"), ContainsSubstring("j:2: expected a row"));
  CHECK(says(header).empty());
}

TEST_CASE("a journal is removed when it has served", "[scenarios]") {
  const Scratch scratch;
  Journal journal(scratch.path("j"), "c", "0");
  CHECK(scratch.listing() == "j");
  journal.remove();
  CHECK(scratch.listing().empty());
}

TEST_CASE("a journal that cannot be written is an I/O error", "[scenarios]") {
  const Scratch scratch;
  try {
    const Journal journal(scratch.path("missing/j"), "c", "0");
    FAIL("it was written");
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kIo);
  }
}

}  // namespace
}  // namespace spillway

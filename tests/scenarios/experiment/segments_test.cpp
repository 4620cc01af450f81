// Finished runs on disk survive kills, damage and full disks line by line.
#include "scenarios/experiment/segments.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "scenarios/experiment/run_store.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::Scratch;

std::string key_of(int i) {
  return fmt::format("{:064x}", i);
}

SegmentEntry entry_of(int i) {
  return {key_of(i), fmt::format("{{\"completed\":{}}}", i), fmt::format("{{\"took_s\":0.{}}}", i)};
}

std::map<std::string, std::string> read_all(const std::string& folder, SegmentReport& report) {
  std::map<std::string, std::string> out;
  report = read_segments(folder, [&](SegmentEntry&& entry, const SegmentPlace&) {
    CHECK(out.emplace(entry.key, entry.payload).second);
  });
  return out;
}

/// Three entries in w-1.jsonl.
std::string three_entries(const Scratch& scratch) {
  SegmentWriter writer(scratch.path("."), "w");
  for (int i = 1; i <= 3; ++i) writer.append(entry_of(i));
  writer.sync();
  return scratch.path("w-1.jsonl");
}

TEST_CASE("what was appended is read again, whichever segment it is in", "[scenarios]") {
  const Scratch scratch;
  three_entries(scratch);
  SegmentWriter again(scratch.path("."), "w");
  CHECK(scratch.listing() == "w-1.jsonl");  // a writer without entries leaves no file
  again.append(entry_of(4));
  CHECK(again.path() == scratch.path("./w-2.jsonl"));
  SegmentReport report;
  const auto all = read_all(scratch.path("."), report);
  CHECK(all.size() == 4);
  CHECK(all.at(key_of(3)) == "{\"completed\":3}");
  CHECK(report.files == 2);
  CHECK(report.torn + report.corrupt == 0);
}

TEST_CASE("a segment cut off anywhere loses its last line and nothing else", "[scenarios]") {
  const Scratch scratch;
  const std::string path = three_entries(scratch);
  const std::string whole = test::read_file(path);
  const std::size_t second = whole.find('\n') + 1;
  const std::size_t third = whole.find('\n', second) + 1;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    scratch.file("w-1.jsonl", whole.substr(0, length));
    SegmentReport report;
    const std::size_t lines = (length >= second ? 1 : 0) + (length >= third ? 1 : 0);
    const bool clean = length == 0 || length == second || length == third;
    INFO("length " << length << " of " << whole.size());
    REQUIRE(read_all(scratch.path("."), report).size() == lines);
    REQUIRE(report.torn == (clean ? 0 : 1));
    REQUIRE(report.corrupt == 0);
    REQUIRE(report.notes.size() == report.torn);
  }
}

TEST_CASE("any damaged byte costs its own line only, and is told", "[scenarios]") {
  const Scratch scratch;
  const std::string path = three_entries(scratch);
  const std::string whole = test::read_file(path);
  const std::size_t second = whole.find('\n') + 1;
  const std::size_t third = whole.find('\n', second) + 1;
  for (std::size_t at = second; at + 1 < third; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    scratch.file("w-1.jsonl", damaged);
    SegmentReport report;
    const auto left = read_all(scratch.path("."), report);
    INFO("byte " << at);
    REQUIRE(left.size() == 2);
    REQUIRE_FALSE(left.contains(key_of(2)));
    REQUIRE(report.torn == 0);
    REQUIRE(report.corrupt >= 1);
  }
}

TEST_CASE("a full disk ends a segment with exit 7, and what stood there stays", "[scenarios]") {
  const Scratch scratch;
  // Files of this process may grow to two and a half lines; a write beyond is refused like one on
  // a full disk.
  const auto line = static_cast<rlim_t>(segment_line(entry_of(1)).size() + 1);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = line * 5 / 2;
  setrlimit(RLIMIT_FSIZE, &tight);
  int code = 0;
  std::string said;
  {
    SegmentWriter writer(scratch.path("."), "w");
    try {
      for (int i = 1; i <= 3; ++i) writer.append(entry_of(i));
    } catch (const InputError& error) {
      code = static_cast<int>(error.fault());
      said = error.what();
    }
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(code == 7);
  CHECK_THAT(said, ContainsSubstring("w-1.jsonl: cannot write: File too large"));
  SegmentReport report;
  CHECK(read_all(scratch.path("."), report).size() == 2);
  CHECK(report.torn == 0);  // the half line was cut off
}

TEST_CASE("a store finds what earlier processes stored, and refuses another result",
          "[scenarios]") {
  const Scratch scratch;
  const std::string folder = scratch.path("cache");
  {
    RunStore store(folder, "plan");
    CHECK_FALSE(store.find(key_of(1)).has_value());
    store.put(key_of(1), {{"completed", 1}});
    store.put(key_of(1), {{"completed", 1}});  // known: nothing to write
    CHECK(store.find(key_of(1)) == nlohmann::json{{"completed", 1}});
  }
  RunStore store(folder, "plan");
  CHECK(store.size() == 1);
  CHECK(store.find(key_of(1)) == nlohmann::json{{"completed", 1}});
  CHECK_THROWS_AS(store.put(key_of(1), {{"completed", 2}}), InternalError);
}

}  // namespace
}  // namespace spillway

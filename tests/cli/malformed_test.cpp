// The corpus in tests/traces/malformed, and what is too large or too alive to lie there: each is
// refused with file, line, field and exit code, or read as it says; nothing is left behind.
//
// A row of manifest.json: the exit code; where it is not 0, line (0: the file as a whole), field
// and the start of the message (a member that is missing is not checked); `problems` when trace
// check finds more than one; `requests` of a valid file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::error_of;
using test::json;
using test::refused;
using test::row;
using test::Scene;
using test::Scratch;

const std::string kFolder = "tests/traces/malformed/";

json manifest() {
  return json::parse(test::read_file(test::source_path(kFolder + "manifest.json")));
}

bool controls(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
}

/// "path:line: field: says", as far as the case says it.
std::string expected(const std::string& path, const json& c) {
  if (!c.contains("field")) return fmt::format("{}:{}: ", path, c["line"].get<int>());
  return SourceRef{path, c.value("line", 0), c["field"]}.prefix() + c.value("says", "");
}

void check_reader(const std::string& path, const json& c) {
  if (c["exit"] == 0) {
    CHECK(open_trace(path, {}).size() == c["requests"].get<std::uint32_t>());
    return;
  }
  const InputError error = error_of([&] { open_trace(path, {}); });
  CHECK(static_cast<int>(error.fault()) == c["exit"].get<int>());
  CHECK_THAT(error.what(), StartsWith(expected(path, c)));
}

void check_convert(const std::string& path, const json& c, const Scratch& scratch) {
  const CliResult result =
      test::spillway({"trace", "convert", path, scratch.path("out.jsonl"), "--quiet"});
  CHECK(result.code == c["exit"].get<int>());
  CHECK_FALSE(controls(result.out + result.err));
  if (c["exit"] == 0) {
    CHECK(result.err.empty());
    CHECK(open_trace(scratch.path("out.jsonl"), {}).content_hash() ==
          open_trace(path, {}).content_hash());
    std::filesystem::remove(scratch.path("out.jsonl"));
  } else {
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    const std::string says = "spillway: " + expected(path, c);
    // What the file itself says may not be fit to print.
    if (!controls(says)) CHECK_THAT(result.err, StartsWith(says));
  }
  CHECK(scratch.listing().empty());
}

void check_check(const std::string& path, const json& c) {
  const CliResult result = test::spillway({"trace", "check", path, "--quiet", "--json", "-"});
  CHECK(result.code == c["exit"].get<int>());
  CHECK(result.err.empty());
  const json results = test::parse_document(result.out)["results"];
  CHECK(results["problems"] == (c["exit"] == 0 ? 0 : c.value("problems", 1)));
  if (c["exit"] == 0) return;
  const json& first = results["listed"][0];
  CHECK(first["line"] == c.value("line", 0));
  if (!c.contains("field")) return;
  CHECK(first["field"] == c["field"]);
  CHECK_THAT(first["message"].get<std::string>(), StartsWith(c.value("says", "")));
}

TEST_CASE("each file of the malformed corpus ends as its manifest says", "[cli]") {
  const Scratch scratch;
  for (const json& c : manifest()) {
    const std::string path = test::source_path(kFolder + c["file"].get<std::string>());
    INFO(c.dump());
    check_reader(path, c);
    check_convert(path, c, scratch);
    check_check(path, c);
  }
}

TEST_CASE("the manifest names each file of the malformed corpus once", "[cli]") {
  std::set<std::string> named = {"manifest.json", ".gitattributes"};
  std::size_t faulty = 0;
  for (const json& c : manifest()) {
    INFO(c["file"]);
    CHECK(named.insert(c["file"].get<std::string>()).second);
    faulty += c["exit"] == 0 ? 0 : 1;
  }
  CHECK(faulty >= 100);
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path(kFolder))) {
    there.insert(entry.path().filename().string());
  }
  CHECK(there == named);
}

/// Every verb that takes a trace as a file.
std::vector<Args> readers(const std::string& path, const Scratch& scratch) {
  return {{"trace", "stats", path},
          {"trace", "convert", path, scratch.path("out.bin")},
          {"replay", "--trace", path}};
}

TEST_CASE("what is no trace file at all is exit 7 from every verb", "[cli]") {
  const Scratch scratch;
  const Scratch out;
  std::filesystem::create_symlink("b", scratch.path("a"));
  std::filesystem::create_symlink("a", scratch.path("b"));
  const std::string secret = scratch.file("secret.jsonl", test::good_row());
  REQUIRE(chmod(secret.c_str(), 0) == 0);
  std::vector<std::pair<std::string, std::string>> cases = {
      {scratch.path("none.jsonl"), "cannot open: No such file"},
      {scratch.path(""), "is a directory; expected a trace file"},
      {secret + "/below", "cannot open: Not a directory"},
      {scratch.path("a"), "cannot open: Too many levels of symbolic links"},
      {scratch.path(std::string(300, 'x')), "cannot open: File name too long"}};
  if (geteuid() != 0) cases.emplace_back(secret, "cannot open: Permission denied");
  for (const auto& [path, says] : cases) {
    refused({"trace", "check", path}, 7, path + ": " + says);
    for (const Args& call : readers(path, out)) refused(call, 7, path + ": " + says);
  }
  CHECK(out.listing().empty());
}

// ---- too large to lie there

TEST_CASE("a gzip stream that only expands is refused, unpacked it is read", "[cli]") {
  // 16 rows of 1 MiB blanks a member, 1 GiB in 1 MiB: as a bomb of many members would be.
  std::string text;
  for (int i = 0; i < 16; ++i) {
    std::string line = test::good_row();
    text += line.insert(line.size() - 2, std::size_t{1} << 20, ' ');
  }
  std::string bomb;
  for (const std::string member = test::gzip(text); bomb.size() < (1U << 20);) bomb += member;
  const Scratch scratch;
  const Scratch out;
  const std::string path = scratch.file("bomb.jsonl.gz", bomb);
  refused({"trace", "convert", path, out.path("out.bin")}, 3,
          "bytes so far; expected at most 500 times the packed size; unpack the file first");
  CHECK(out.listing().empty());
  CHECK(open_trace(scratch.file("t.jsonl", text), {}).size() == 16);
  CHECK(open_trace(scratch.file("t.gz", test::gzip(text)), {}).size() == 16);  // 16 MiB are free
}

TEST_CASE("a million block ids are legal where the length asks for them", "[cli]") {
  std::string ids = "[0";
  for (int i = 1; i < 1'000'000; ++i) ids += fmt::format(",{}", i);
  const Scratch scratch;
  const std::string good = scratch.file("t.jsonl", row("0", "16000000", "1", ids + "]"));
  const std::string bad = scratch.file("b.jsonl", row("0", "16000001", "1", ids + "]"));
  const json stats = test::document_of({"trace", "stats", good, "--block-tokens", "16"});
  CHECK(stats["results"]["unique_blocks"] == 1'000'000);
  refused({"trace", "stats", bad, "--block-tokens", "16"}, 3,
          "b.jsonl:1: hash_ids: expected 1000001 ids, ceil(16000001 tokens / 16 per block), found "
          "1000000");
}

TEST_CASE("a line of more than 64 MiB is refused by its number", "[cli]") {
  const Scratch scratch;
  const std::string path = scratch.file(
      "t.jsonl", test::good_row() + "{\"x\": \"" + std::string(std::size_t{65} << 20, 'x'));
  refused({"trace", "stats", path}, 3, "t.jsonl:2: line longer than 64 MiB");
}

#ifndef SPILLWAY_SANITIZED

/// What a command says before it ends with exit 7 where it may use so much address space.
std::string short_of_memory(const std::string& command, int limit_kb) {
  const Scratch scratch;
  const std::string all = fmt::format("ulimit -v {}; '" SPILLWAY_BINARY "' {} >{} 2>'{}'", limit_kb,
                                      command, scratch.path("out"), scratch.path("err"));
  CHECK(WEXITSTATUS(std::system(all.c_str())) == 7);
  return test::read_file(scratch.path("err"));
}

TEST_CASE("memory that does not suffice is exit 7", "[cli]") {
  const Scratch scratch;
  const std::string path = scratch.file(
      "t.jsonl", test::good_row() + "{\"x\": \"" + std::string(std::size_t{60} << 20, 'x'));
  const std::string said = short_of_memory("trace stats '" + path + "'", 100'000);
  CHECK_THAT(said, ContainsSubstring("spillway: "));
  CHECK_THAT(said, ContainsSubstring("out of memory: "));
}

TEST_CASE("a few bytes that stand for gigabytes are refused at the row where they do not fit",
          "[cli]") {
  // 5,000 rows of 2^24 tokens: 2^15 blocks of 512 each, four bytes a block, 655 MB in all.
  const Scratch scratch;
  std::string text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  for (int i = 0; i < 5000; ++i) text += "5,ChatGPT,16777216,18,490,Conversation log\n";
  const std::string path = scratch.file("t.csv", text);
  for (const char* verb : {"trace check", "trace stats", "replay --policy lru --trace"}) {
    CAPTURE(verb);
    const std::string said = short_of_memory(fmt::format("{} '{}'", verb, path), 400'000);
    CHECK_THAT(said, ContainsSubstring("out of memory: "));
    CHECK_THAT(said, ContainsSubstring(" MiB more are needed, "));
  }
  CHECK_THAT(
      short_of_memory("trace check '" + path + "'", 400'000),
      ContainsSubstring("t.csv:") && ContainsSubstring(" requests; expected a shorter trace"));
}

TEST_CASE("a run that does not fit says so, and one that does says what it takes", "[cli]") {
  const Scratch scratch;
  const std::string library = SPILLWAY_SOURCE_DIR "/scenarios/library/";
  // Two requests of 2^24 tokens in blocks of one: 2^25 names of eight bytes, 268 MB.
  std::string text = "{\"spillway_trace\": 1, \"block_tokens\": 512}\n";
  for (int i = 0; i < 2; ++i) {
    text += "{\"timestamp\": 0, \"input_length\": 16777216, \"output_length\": 1}\n";
  }
  const std::string trace = scratch.file("t.jsonl", text);
  const std::string run = "run '" + library + "quickstart.json' --set 'workload={\"trace\": \"" +
                          trace +
                          "\"}' --set engine.block_tokens=1 --set engine.num_gpu_blocks=20000000";
  CHECK_THAT(
      short_of_memory(run, 200'000),
      ContainsSubstring("workload: out of memory: ") &&
          ContainsSubstring(", for a run of 2 requests with 65536 references to blocks of 512 "
                            "tokens; expected fewer requests (workload.limit)"));
  const Scene scene;
  const auto sim = test::document_of({"run", scene.scenario})["results"]["sim"];
  // A small run is hardly more than the program, whose libraries come in as they are needed.
  const auto estimate = sim["memory_estimate_bytes"].get<double>();
  CHECK(estimate > 1 << 20);
  CHECK(sim["peak_rss_bytes"].get<double>() < 1.3 * estimate + (32 << 20));
}

#endif

// ---- too alive to lie there

/// Opens a trace of many rows and changes the file as soon as reading has begun.
InputError changed(const std::string& text, const std::function<void(const std::string&)>& change) {
  const Scratch scratch;
  const std::string path = scratch.file("t.jsonl", text);
  bool done = false;
  OpenOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    if (!done) change(path);
    done = true;
  };
  return error_of([&] { open_trace(path, options); });
}

TEST_CASE("a file that changes while it is read is exit 7", "[cli]") {
  std::string text;  // 3 MB: several reads
  for (int i = 0; i < 40'000; ++i) text += test::good_row(std::to_string(i));
  const auto grow = [](const std::string& path) {
    std::ofstream(path, std::ios::binary | std::ios::app) << test::good_row("99999");
  };
  const auto cut = [](const std::string& path) { std::filesystem::resize_file(path, 2'000'000); };
  const auto half_a_row = [](const std::string& path) {
    std::ofstream(path, std::ios::binary | std::ios::app) << "{\"timesta";
  };
  for (const std::function<void(const std::string&)>& change :
       {std::function<void(const std::string&)>(grow), {cut}, {half_a_row}}) {
    const InputError error = changed(text, change);
    CHECK(error.fault() == Fault::kIo);
    CHECK_THAT(error.what(), ContainsSubstring("changed while being read: "));
    CHECK_THAT(error.what(), ContainsSubstring("bytes when opened"));
  }
  const InputError packed = changed(test::gzip(text), [](const auto& path) {
    std::ofstream(path, std::ios::binary | std::ios::app) << test::gzip(test::good_row("99999"));
  });
  CHECK(packed.fault() == Fault::kIo);
}

/// The result of a call whose trace arrives through a named pipe.
CliResult through_pipe(const std::string& bytes, Args call) {
  const Scratch scratch;
  const std::string path = scratch.path("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  for (std::string& word : call) word = word == "PIPE" ? path : word;
  const CliResult result = test::spillway(call);
  writer.join();
  return result;
}

TEST_CASE("a trace may come through a named pipe, unless it must be mapped", "[cli]") {
  const Scratch scratch;
  const std::string text = test::good_row("0") + test::good_row("5");
  for (const std::string& bytes : {text, test::gzip(text), test::zstd(text)}) {
    for (const Args& call : {Args{"trace", "stats", "PIPE"}, Args{"trace", "check", "PIPE"},
                             Args{"replay", "--trace", "PIPE"}}) {
      CHECK(through_pipe(bytes, call).code == 0);
    }
  }
  CHECK(through_pipe(text + "{", {"trace", "stats", "PIPE"}).code == 3);
  CHECK(through_pipe("", {"trace", "stats", "PIPE"}).code == 3);
  const std::string trace = scratch.file("t.jsonl", text);
  const std::string binary = scratch.path("t.bin");
  REQUIRE(test::spillway({"trace", "convert", trace, binary}).code == 0);
  const std::string bytes = test::read_file(binary);
  const CliResult piped = through_pipe(bytes, {"trace", "stats", "PIPE"});
  CHECK(piped.code == 3);
  CHECK_THAT(piped.err, ContainsSubstring("comes through a pipe; expected a file, to map it"));
  const std::string packed = scratch.file("t.bin.gz", test::gzip(bytes));
  refused({"trace", "stats", packed}, 3, "is compressed; expected it unpacked, to map it");
}

// ---- cut anywhere

TEST_CASE("a text trace cut anywhere loses whole rows or is refused by its line", "[cli]") {
  const std::string first = test::good_row("0");
  const std::string second =
      "{\"session_id\": \"caf\xc3\xa9 \xe2\x82\xac\", " + test::good_row("5").substr(1);
  const std::string text = first + second;
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    INFO("cut at " << cut);
    const std::string part = text.substr(0, cut);
    const bool whole = cut + 1 == first.size() || cut == first.size() || cut + 1 == text.size();
    if (whole) {
      CHECK(test::open_bytes_as_trace(part).size() == (cut > first.size() ? 2 : 1));
      continue;
    }
    const InputError error = error_of([&] { test::open_bytes_as_trace(part); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK(error.where().line == (cut > first.size() ? 2 : 1));
  }
}

TEST_CASE("a binary trace cut anywhere is refused", "[cli]") {
  const test::Scene scene;
  const std::string path = scene.path("t.bin");
  REQUIRE(test::spillway({"trace", "convert", scene.trace, path}).code == 0);
  const std::string whole = test::read_file(path);
  for (std::size_t cut = 0; cut < whole.size(); cut += 5) {
    INFO("cut at " << cut);
    const std::string part = whole.substr(0, cut);
    CHECK(error_of([&] { test::open_bytes_as_trace(part); }).fault() == Fault::kTrace);
  }
  for (const std::size_t cut : {std::size_t{8}, std::size_t{71}, whole.size() / 2}) {
    const std::string half = scene.file("half.bin", whole.substr(0, cut));
    refused({"trace", "stats", half}, 3, "; expected a complete binary trace");
    const CliResult check = test::spillway({"trace", "check", half});
    CHECK(check.code == 3);
    CHECK_THAT(check.out, ContainsSubstring("half.bin: 1 problem\n"));
  }
}

// ---- terminals

TEST_CASE("what a trace or its name holds cannot steer the terminal", "[cli]") {
  const test::Scene scene;
  const std::string name = "\x1b]0;x\x07\xc2\x9b\r\nt.csv";
  const std::string path = scene.file(
      name, "timestamp_ms,input_length,output_length,hash_ids\n0,600,5,1 2\n\x1b[2J,600,5,1 2\n");
  const std::string jsonl =
      scene.file("\x1b.jsonl", test::good_row() + "{\"session_id\": 1, \"\\u001b[2J\": 0, " +
                                   row("\"\\u001b[2J\\u009b\"", "600", "5", "[1, 2]").substr(1));
  for (const std::string& trace : {path, jsonl}) {
    for (const Args& call :
         {Args{"trace", "stats", trace}, Args{"trace", "check", trace},
          Args{"trace", "check", trace, "--lenient"}, Args{"replay", "--trace", trace}}) {
      const CliResult result = test::spillway(call);
      INFO(json(call).dump() << result.out << result.err);
      CHECK(result.code == 3);
      CHECK_FALSE(controls(result.out + result.err));
      CHECK((result.out + result.err).find("\xc2\x9b") == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace spillway

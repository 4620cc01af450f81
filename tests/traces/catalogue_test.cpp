// The one way to open a trace: the table of formats, limits, notes and progress.
#include "traces/catalogue.hpp"

#include <set>
#include <string>
#include <vector>

#include "sim/catalogue.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::good_row;
using test::open_bytes_as_trace;
using test::Scratch;

TEST_CASE("every trace format has a name of its own and a sentence about it", "[traces]") {
  std::set<std::string_view> names;
  for (const TraceFormat& format : trace_formats()) {
    names.insert(format.name);
    CHECK_FALSE(format.summary.empty());
    CHECK(format.summary.back() == '.');
    CHECK((format.matches == nullptr) == (format.make == nullptr));
  }
  CHECK(names ==
        std::set<std::string_view>{"azure", "binary", "burstgpt", "csv", "mooncake", "rate-table"});
}

TEST_CASE("a file is claimed by one format only", "[traces]") {
  const std::vector<std::string> lines = {
      good_row(), "timestamp_ms,input_length,output_length,hash_ids",
      "TIMESTAMP,ContextTokens,GeneratedTokens",
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
      "client,start_s,rate_rps,cv,dist,param1,param2"};
  for (const std::string& line : lines) {
    int claims = 0;
    for (const TraceFormat& format : trace_formats()) {
      claims += format.matches != nullptr && format.matches(line) ? 1 : 0;
    }
    CHECK(claims == 1);
  }
}

TEST_CASE("a limit of 0 reads all, a large one too", "[traces]") {
  const std::string text = good_row("0") + good_row("1") + good_row("2");
  const auto size = [&](std::uint32_t limit) {
    OpenOptions options;
    options.limit = limit;
    return open_bytes_as_trace(text, options).size();
  };
  CHECK(size(0) == 3);
  CHECK(size(1) == 1);
  CHECK(size(3) == 3);
  CHECK(size(1000) == 3);
}

TEST_CASE("a limited trace is the head of the whole one", "[traces]") {
  OpenOptions options;
  options.limit = 2;
  const Workload head = open_bytes_as_trace(good_row("0") + good_row("1") + good_row("2"), options);
  CHECK(head.content_hash() == open_bytes_as_trace(good_row("0") + good_row("1")).content_hash());
}

TEST_CASE("the source remembers name, format and notes", "[traces]") {
  const Scratch scratch;
  const std::string path = scratch.file("t.any", good_row());
  const Workload w = open_trace(path, {});
  CHECK(w.source().name == path);
  CHECK(w.source().format == "mooncake");
  CHECK(w.source().notes.empty());
}

TEST_CASE("progress is reported while a trace is opened", "[traces]") {
  const Scratch scratch;
  const std::string bytes = test::gzip(good_row("0") + good_row("1"));
  std::uint64_t done = 0;
  OpenOptions options;
  options.progress = [&](std::uint64_t at, std::uint64_t) { done = at; };
  open_trace(scratch.file("t.gz", bytes), options);
  CHECK(done == bytes.size());
}

}  // namespace
}  // namespace spillway

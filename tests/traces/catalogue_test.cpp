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
  CHECK(names == std::set<std::string_view>{"agentic", "azure", "bailian", "binary", "burstgpt",
                                            "csv", "mooncake", "native", "rag", "rate-table"});
}

TEST_CASE("a file is claimed by one format only", "[traces]") {
  const std::pair<std::string_view, std::string> first_lines[] = {
      {"mooncake", good_row()},
      {"mooncake", "{\"note\": \"chat_id\", \"chat_id\": 1, " + good_row().substr(1)},
      {"mooncake", "{\"type\": \"segments\", \"requests\": 2, " + good_row().substr(1)},
      {"native", "{\"spillway_trace\": 1, \"block_tokens\": 16}"},
      {"native", "{ \"spillway_trace\" : 1}"},
      {"agentic", R"({"id":"a","block_size":64,)"
                  R"("requests":[{"t":0,"type":"n","in":1,"out":1,"hash_ids":[]}]})"},
      {"rag", R"({"timestamp":82,"input_length":3,"output_length":1,"segments":[[8302,3]]})"},
      {"bailian",
       R"({"chat_id":1,"parent_chat_id":-1,"timestamp":0.5,"input_length":3,"output_length":1,)"
       R"("type":"text","turn":1,"hash_ids":[1]})"},
      {"csv", "timestamp_ms,input_length,output_length,hash_ids"},
      {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens"},
      {"burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"},
      {"rate-table", "client,start_s,rate_rps,cv,dist,param1,param2"},
  };
  for (const auto& [name, line] : first_lines) {
    INFO(line);
    for (const TraceFormat& format : trace_formats()) {
      if (format.matches != nullptr) CHECK(format.matches(line) == (format.name == name));
    }
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

// Malformed rows of the JSON formats beside Mooncake's: refused with line, path of the key, what
// was found and what was expected.
#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::Scratch;

struct Case {
  std::string line;
  std::string says;  ///< what the message has behind "file:2: "
};

constexpr const char* kNotJson = "expected a JSON object, found something else (";
constexpr const char* kNoTokens = "expected a whole number of tokens from ";

/// `good`, which may be several lines, with each bad line behind it.
void refused(const std::string& good, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path = scratch.file("t.jsonl", good + c.line + "\n");
    INFO("line: " << c.line.substr(0, 200));
    const InputError error = error_of([&] { open_trace(path, {}); });
    CHECK(error.fault() == Fault::kTrace);
    const std::string text = error.what();
    const std::string expected = path + ":2: " + c.says;
    INFO("text: " << text);
    CHECK(text.substr(0, expected.size()) == expected);
  }
}

/// `line` with its first `from`, which it has, replaced.
std::string with(std::string line, std::string_view from, std::string_view to) {
  return line.replace(line.find(from), from.size(), to);
}

// ---- agent sessions

const std::string kSession =
    R"({"id":"b","block_size":4,"hash_id_scope":"local","requests":[)"
    R"({"t":0,"type":"n","in":9,"out":3,"hash_ids":[1,2],"api_time":1.5,"think_time":0},)"
    R"({"t":9,"type":"subagent","duration_ms":4000,"requests":[)"
    R"({"t":1,"type":"s","in":4,"out":1,"hash_ids":[1]}]}]})";
const std::string kFirstSession = with(kSession, "\"b\"", "\"a\"") + "\n";

TEST_CASE("malformed agent sessions", "[traces]") {
  const auto bad = [](std::string_view from, std::string_view to) {
    return with(kSession, from, to);
  };
  const std::string keys = "missing; expected the keys ";
  refused(
      kFirstSession,
      {
          {bad("\"id\":\"b\"", "\"id\":\"a\""), "id: is the id of a session above"},
          {bad("\"id\":\"b\",", ""), "id: " + keys + "id, block_size, requests"},
          {bad("\"id\":\"b\"", "\"id\":null"), "id: expected a number or a string, found null"},
          {bad("\"id\":\"b\"", "\"id\":\"b\",\"id\":\"b\""), "id: appears twice in one row"},
          {bad("\"block_size\":4,", ""), "block_size: " + keys},
          {bad("\"block_size\":4", "\"block_size\":8"),
           "block_size: expected 4 as in the whole file, found 8"},
          {bad("\"block_size\":4", "\"block_size\":0"), std::string("block_size: ") + kNoTokens},
          {bad("\"block_size\":4", "\"block_size\":4.5"), std::string("block_size: ") + kNoTokens},
          {bad("\"local\"", "\"cosmic\""),
           "hash_id_scope: expected \"local\" or \"global\", found \"cosmic\""},
          {bad("\"local\"", "7"), "hash_id_scope: expected a string, found 7"},
          {R"({"id":"b","block_size":4,"requests":[]})", "requests: expected at least one request"},
          {R"({"id":"b","block_size":4,"requests":{}})",
           "requests: expected an array of requests, found an object"},
          {R"({"id":"b","block_size":4,"requests":[5]})",
           "requests[0]: expected an object, found 5"},
          {bad("{\"t\":0,", "{"), "requests[0].t: " + keys + "t, type, in, out, hash_ids"},
          {bad("\"t\":0", "\"t\":-1"),
           "requests[0].t: expected seconds from 0 to 100000000, found -1"},
          {bad("\"t\":0", "\"t\":1e9"),
           "requests[0].t: expected seconds from 0 to 100000000, found 1"},
          {bad("\"t\":0", "\"t\":NaN"), kNotJson},
          {bad("\"t\":0", "\"t\":0,\"t\":0"), "requests[0].t: appears twice in one row"},
          {bad("\"in\":9", "\"in\":0"),
           std::string("requests[0].in: ") + kNoTokens + "1 to 16777216, found 0"},
          {bad("\"in\":9", "\"in\":16777217"), std::string("requests[0].in: ") + kNoTokens},
          {bad("\"out\":3", "\"out\":-3"), std::string("requests[0].out: ") + kNoTokens + "0 to"},
          {bad("[1,2]", "[1,2,3]"),
           "requests[0].hash_ids: expected 2 ids, floor(9 tokens / 4 per block), found 3"},
          {bad("[1,2]", "[1,2.5]"),
           "requests[0].hash_ids: expected whole numbers of at most 64 bits, found 2.5 at position "
           "1"},
          {bad("[1,2]", "[1,18446744073709551616]"), kNotJson},
          {bad("[1,2]", "7"), "requests[0].hash_ids: expected an array of block ids, found 7"},
          {bad("1.5", "-1.5"),
           "requests[0].api_time: expected seconds from 0 to 100000000, found -1.5"},
          {bad("\"think_time\":0", "\"think_time\":\"0\""),
           "requests[0].think_time: expected seconds"},
          {bad("\"duration_ms\":4000,", ""),
           "requests[1].duration_ms: " + keys + "t, type, duration_ms, requests"},
          {bad("4000", "-4000"), "requests[1].duration_ms: expected milliseconds from 0"},
          {bad("\"hash_ids\":[1]", "\"hash_ids\":[]"),
           "requests[1].requests[0].hash_ids: expected 1 ids, floor(4 tokens / 4 per block), found "
           "0"},
          {bad("\"in\":4,", ""), "requests[1].requests[0].in: " + keys},
          {kSession.substr(0, kSession.size() - 1), kNotJson},
          {bad("[1,2]", std::string(2000, '[') + std::string(2000, ']')), kNotJson},
      });
}

TEST_CASE("an agent session beyond the last arrival a trace may have", "[traces]") {
  OpenOptions options;
  options.reader.session_interval_s = 1e7;
  std::string text;
  // The eleventh starts at 10 x 10^7 s, the last that is allowed; what follows in it is beyond.
  for (int i = 0; i < 12; ++i) text += with(kSession, "\"b\"", fmt::format("\"s{}\"", i)) + "\n";
  CHECK_THAT(error_of([&] { test::open_bytes_as_trace(text, options); }).what(),
             ContainsSubstring(":11: requests[1].t: the request arrives after 100000000 s"));
}

TEST_CASE("a first agent session that is faulty is named by its line", "[traces]") {
  const std::string bad = with(kFirstSession, "\"block_size\":4", "\"block_size\":\"4\"");
  CHECK_THAT(error_of([&] { test::open_bytes_as_trace(bad + kSession); }).what(),
             ContainsSubstring(":1: block_size: expected a whole number of tokens"));
}

// ---- segments

const std::string kRag = R"({"timestamp":1,"input_length":9,"output_length":2,"session_id":"s",)"
                         R"("segments":[[5,4],[6,3]]})";

TEST_CASE("malformed RAG rows", "[traces]") {
  const auto bad = [](std::string_view from, std::string_view to) { return with(kRag, from, to); };
  const std::string keys =
      "missing; expected the keys timestamp, input_length, output_length, segments";
  refused(
      kRag + "\n",
      {
          {bad("\"timestamp\":1,", ""), "timestamp: " + keys},
          {bad("\"timestamp\":1", "\"timestamp\":\"1\""),
           "timestamp: expected seconds from 0 to 100000000, found the string \"1\""},
          {bad("\"timestamp\":1", "\"timestamp\":100000001"), "timestamp: expected seconds"},
          {bad(",\"segments\":[[5,4],[6,3]]", ""), "segments: " + keys},
          {bad("[[5,4],[6,3]]", "null"), "segments: expected an array of segments, found null"},
          {bad("[6,3]", "6"),
           "segments[1]: expected an array of a content id and its tokens, found 6"},
          {bad("[6,3]", "[6]"),
           "segments[1]: expected a content id and its tokens, found 1 values"},
          {bad("[6,3]", "[6,3,1]"), "segments[1]: expected a content id and its tokens, found 3"},
          {bad("[6,3]", "[6,0]"), std::string("segments[1]: ") + kNoTokens + "1 to"},
          {bad("[6,3]", "[6.5,3]"), "segments[1]: expected a number or a string, found 6.5"},
          {bad("[5,4]", "[5,3]"),
           "segments[0]: expected 4 tokens as where this content stood first, found 3"},
          {bad("[6,3]", "[5,3]"), "segments[1]: expected 4 tokens as where"},
          {bad("\"input_length\":9", "\"input_length\":6"),
           "segments: add up to 7 tokens; expected at most the 6 of input_length"},
          {bad("\"input_length\":9", "\"input_length\":0"),
           std::string("input_length: ") + kNoTokens},
          {bad("\"s\"", "[]"), "session_id: expected a number or a string, found an array"},
          {bad("\"s\"", "\"s\",\"session_id\":\"s\""), "session_id: appears twice in one row"},
          {bad("]]", "]"), kNotJson},
      });
}

// ---- Qwen-Bailian

const std::string kChat =
    R"({"chat_id":2,"parent_chat_id":1,"timestamp":1.5,"input_length":20,"output_length":2,)"
    R"("hash_ids":[1,2]})";
const std::string kFirstChat = with(with(kChat, "\"chat_id\":2", "\"chat_id\":1"),
                                    "\"parent_chat_id\":1", "\"parent_chat_id\":-1") +
                               "\n";

TEST_CASE("malformed Bailian rows", "[traces]") {
  const auto bad = [](std::string_view from, std::string_view to) { return with(kChat, from, to); };
  refused(
      kFirstChat,
      {
          {bad("\"parent_chat_id\":1", "\"parent_chat_id\":17"),
           "parent_chat_id: 17 is not the chat_id of a row above; expected one, or -1 for none"},
          {bad("\"parent_chat_id\":1", "\"parent_chat_id\":2"),
           "parent_chat_id: 2 is not the chat_id"},
          {bad("\"parent_chat_id\":1", "\"parent_chat_id\":\"1\""),
           "parent_chat_id: the string \"1\" is not the chat_id of a row above"},
          {bad("\"parent_chat_id\":1", "\"parent_chat_id\":null"),
           "parent_chat_id: expected a number or a string, found null"},
          {bad("\"chat_id\":2", "\"chat_id\":1"), "chat_id: is the chat_id of a row above"},
          {bad("\"chat_id\":2,", ""),
           "chat_id: missing; expected the keys chat_id, parent_chat_id"},
          {bad("1.5", "-1.5"), "timestamp: expected seconds from 0 to 100000000, found -1.5"},
          {bad("[1,2]", "[1,2,3]"),
           "hash_ids: expected 1 or 2 ids, for 20 tokens in blocks of 16, found 3"},
          {bad("[1,2]", "[1,\"2\"]"), "hash_ids: expected whole numbers of at most 64 bits"},
          {bad("\"output_length\":2", "\"output_length\":null"),
           std::string("output_length: ") + kNoTokens},
          {bad("\"timestamp\":1.5", "\"timestamp\":Infinity"), kNotJson},
      });
}

// ---- the native form

TEST_CASE("malformed native rows", "[traces]") {
  const std::string row =
      R"({"timestamp":1,"input_length":20,"output_length":2,"id":3,"hash_ids":[1,2]})";
  const auto bad = [&](std::string_view from, std::string_view to) { return with(row, from, to); };
  const auto more = [&](std::string_view keys) { return with(row, "\"id\":3", keys); };
  refused("{\"spillway_trace\":1,\"block_tokens\":16}\n",
          {
              {more("\"after\":[9]"), "after: names a row that is not above this one"},
              {more("\"after\":9"), "after: expected an array of row ids, found 9"},
              {more("\"after\":[1.5]"), "after: expected a number or a string, found 1.5"},
              {more("\"id\":null"), "id: expected a number or a string, found null"},
              {more("\"think_ms\":-1"),
               "think_ms: expected milliseconds from 0 to 100000000000, found -1"},
              {more("\"think_ms\":null"), "think_ms: expected milliseconds"},
              {more("\"tenant\":5"), "tenant: expected a string, found 5"},
              {more("\"tenant\":\"a\",\"tenant\":\"a\""), "tenant: appears twice in one row"},
              {bad("[1,2]", "[1,2,3]"),
               "hash_ids: expected 1 or 2 ids, for 20 tokens in blocks of 16, found 3"},
              {bad("\"timestamp\":1,", ""),
               "timestamp: missing; expected the keys timestamp, input_length, output_length"},
          });
}

TEST_CASE("an id of a native row comes once", "[traces]") {
  const std::string row = "{\"timestamp\":1,\"input_length\":2,\"output_length\":2,\"id\":3}\n";
  CHECK_THAT(
      error_of([&] { test::open_bytes_as_trace("{\"spillway_trace\":1}\n" + row + row); }).what(),
      ContainsSubstring(":3: id: is the id of a row above"));
}

}  // namespace
}  // namespace spillway

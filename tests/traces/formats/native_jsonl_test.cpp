// The native form: everything a workload knows, row by row.
#include "traces/formats/native_jsonl.hpp"

#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::chain_of;
using test::error_of;
using test::good_row;
using test::open_bytes_as_trace;
using test::values;
using Ids = std::vector<std::uint32_t>;

const std::string kHeader = "{\"spillway_trace\": 1, \"block_tokens\": 16}\n";

std::string native(std::string_view timestamp, std::string_view more) {
  return fmt::format("{{\"timestamp\": {}, \"input_length\": 40, \"output_length\": 3{}}}\n",
                     timestamp, more);
}

TEST_CASE("a native trace says its block size, links, pauses and tenants", "[traces]") {
  const Workload w = open_bytes_as_trace(
      kHeader + native("0", ", \"id\": 7, \"tenant\": \"free\", \"hash_ids\": [5, 6]") +
      native("1.5", ", \"id\": \"b\", \"hash_ids\": [5, 6, 9]") +
      native("9",
             ", \"after\": [7, \"b\"], \"think_ms\": 2.000001, \"tenant\": \"paid\", "
             "\"hash_ids\": [5, 8]"));
  CHECK(w.source().format == "native");
  CHECK(w.source().notes.empty());
  CHECK(w.block_tokens() == 16);
  CHECK_FALSE(w.has_sessions());
  CHECK(chain_of(w, 1) == Ids{0, 1, 2});
  REQUIRE(w.after(RequestId{2}).size() == 2);
  CHECK(raw(w.after(RequestId{2})[0]) == 0);
  CHECK(raw(w.after(RequestId{2})[1]) == 1);
  CHECK(values(w.columns().think_ns) == std::vector<std::int64_t>{-1, -1, 2'000'001});
  CHECK(w.source().tenants == std::vector<std::string>{"free", "", "paid"});
  CHECK(values(w.columns().tenant) == Ids{0, 1, 2});
}

TEST_CASE("rows say how long their KV is kept", "[traces]") {
  const Workload w = open_bytes_as_trace(
      kHeader + native("0", R"(, "retention": [[0, 8, 80, 2.5], [8, null, 5, null]])") +
      native("1", R"(, "retention": [], "decode_retention": [20, null])") + native("2", ""));
  REQUIRE(w.retention(RequestId{0}) != nullptr);
  const KvRetention& first = *w.retention(RequestId{0});
  REQUIRE(first.prompt);
  CHECK(first.prompt->at(0) == RetentionRange{0, 8, {80, Duration(2'500'000)}});
  CHECK(first.prompt->at(1) == RetentionRange{8, ~std::uint32_t{0}, {5, std::nullopt}});
  CHECK_FALSE(first.decode);
  CHECK(w.retention(RequestId{1})->prompt->empty());
  CHECK(w.retention(RequestId{1})->decode == RetentionRule{20, std::nullopt});
  CHECK(*w.retention(RequestId{2}) == KvRetention());
  CHECK(open_bytes_as_trace(kHeader + native("0", "")).retention(RequestId{0}) == nullptr);

  for (const std::string bad :
       {"5", "[[0, 8, 101, null]]", "[[8, 8, 1, null]]", "[[0, 8, 1]]", "[[0, 8, 1, -1]]",
        "[[0, null, 1, null], [4, 6, 1, null]]", "[[0, \"a\", 1, null]]"}) {
    INFO(bad);
    const auto error =
        error_of([&] { open_bytes_as_trace(kHeader + native("0", ", \"retention\": " + bad)); });
    CHECK(std::string(error.what()).find(":2: retention: expected ") != std::string::npos);
  }
}

TEST_CASE("rows say what they ask of a store", "[traces]") {
  const Workload w = open_bytes_as_trace(
      kHeader + native("0", R"(, "soft_pin": true, "poll_ms": [2.5, 3])") +
      native("1", R"(, "hard_pin": true, "soft_pin": false)") + native("2", ""));
  CHECK(w.hints(RequestId{0}) == StoreHints{Duration(2'500'000), 3, StoreHints::kSoft});
  CHECK(w.hints(RequestId{1}) == StoreHints{Duration(0), 0, StoreHints::kHard});
  CHECK(w.hints(RequestId{2}) == StoreHints());
  const Workload none = open_bytes_as_trace(kHeader + native("0", ""));
  CHECK(none.columns().hints.empty());
  CHECK(none.content_hash() !=
        open_bytes_as_trace(kHeader + native("0", R"(, "hard_pin": true)")).content_hash());
  // Plain rows may say so too.
  const std::string plain = good_row("0");
  const std::string pinned = plain.substr(0, plain.rfind('}')) + ", \"soft_pin\": true}\n";
  CHECK(open_bytes_as_trace(pinned).hints(RequestId{0}).soft());

  for (const std::string bad :
       {R"("soft_pin": 1)", R"("poll_ms": 5)", R"("poll_ms": [1])", R"("poll_ms": [1, 2.5])",
        R"("poll_ms": [-1, 2])", R"("poll_ms": [1, -2])"}) {
    INFO(bad);
    const auto error = error_of([&] { open_bytes_as_trace(kHeader + native("0", ", " + bad)); });
    CHECK(std::string(error.what()).find("expected ") != std::string::npos);
  }
}

TEST_CASE("a native header may stand before plain rows", "[traces]") {
  const Workload plain = open_bytes_as_trace(good_row("0") + good_row("1"));
  const Workload headed =
      open_bytes_as_trace("{\"spillway_trace\": 1}\n" + good_row("0") + good_row("1"));
  CHECK(headed.block_tokens() == 512);
  CHECK(headed.content_hash() == plain.content_hash());
}

TEST_CASE("without ids, native turns follow each other in their session", "[traces]") {
  const std::string a = ", \"session_id\": \"a\", \"hash_ids\": [1, 2]";
  const Workload follow = open_bytes_as_trace(kHeader + native("0", a) + native("1", a));
  CHECK(follow.after(RequestId{1}).size() == 1);
  const std::string named = ", \"id\": 1" + a;
  const Workload apart = open_bytes_as_trace(kHeader + native("0", named) + native("1", a));
  CHECK(apart.after(RequestId{1}).empty());
}

TEST_CASE("a native row without block ids says nothing about reuse", "[traces]") {
  const Workload w = open_bytes_as_trace(kHeader + native("0", "") + native("1", ""));
  // Two rows, each with blocks of its own.
  CHECK(w.unique_blocks() == w.references());
  CHECK(w.references() == 6);
}

TEST_CASE("a native trace's block size is the file's", "[traces]") {
  const std::string text = kHeader + native("0", ", \"hash_ids\": [1, 2]");
  CHECK(open_bytes_as_trace(text, blocks_of(16)).block_tokens() == 16);
  CHECK(error_of([&] { open_bytes_as_trace(text, blocks_of(512)); }).fault() == Fault::kTrace);
}

TEST_CASE("malformed native headers", "[traces]") {
  const auto says = [](const std::string& header) {
    const InputError error = error_of([&] { open_bytes_as_trace(header + "\n" + good_row()); });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  CHECK_THAT(says("{\"spillway_trace\": 2}"),
             ContainsSubstring(":1: spillway_trace: expected version 1, found 2"));
  CHECK_THAT(says("{\"spillway_trace\": \"1\"}"), ContainsSubstring("found the string \"1\""));
  CHECK_THAT(says("{\"spillway_trace\": 1, \"block_tokens\": 0}"),
             ContainsSubstring(
                 "block_tokens: expected a whole number of tokens from 1 to 65536, found 0"));
  CHECK_THAT(says("{\"spillway_trace\": 1, \"block_tokens\": 65537}"),
             ContainsSubstring("found 65537"));
  CHECK_THAT(says("{\"spillway_trace\": 1, \"spillway_trace\": 1}"),
             ContainsSubstring("appears twice"));
  CHECK_THAT(says("{\"spillway_trace\": 1"), ContainsSubstring(":1: expected a JSON object"));
}

TEST_CASE("a native header alone is no trace", "[traces]") {
  CHECK_THAT(error_of([] { open_bytes_as_trace(kHeader); }).what(),
             ContainsSubstring("no requests"));
}

TEST_CASE("unknown keys of a native trace are ignored and said", "[traces]") {
  const Workload w =
      open_bytes_as_trace("{\"spillway_trace\": 1, \"made_by\": \"x\"}\n" + good_row());
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("made_by"));
}

}  // namespace
}  // namespace spillway

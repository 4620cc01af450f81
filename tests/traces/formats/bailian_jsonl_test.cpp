// Qwen-Bailian's format, as its publisher documents it.
#include "traces/formats/bailian_jsonl.hpp"

#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::open_bytes_as_trace;
using test::values;
using Ids = std::vector<std::uint32_t>;

std::string bailian(std::string_view chat, std::string_view parent, std::string_view timestamp,
                    int input, std::string_view ids) {
  return fmt::format(
      "{{\"chat_id\": {}, \"parent_chat_id\": {}, \"timestamp\": {}, \"input_length\": {}, "
      "\"output_length\": 9, \"type\": \"text\", \"turn\": 1, \"hash_ids\": {}}}\n",
      chat, parent, timestamp, input, ids);
}

TEST_CASE("a Bailian chat is a chain of turns", "[traces]") {
  const Workload w = open_bytes_as_trace(
      bailian("55", "-1", "0.5", 20, "[7, 8]") + bailian("90", "-1", "1", 16, "[9]") +
      bailian("159", "55", "61.114", 40, "[7, 10, 11]") + bailian("160", "159", "62", 16, "[9]"));
  CHECK(w.source().format == "bailian");
  CHECK(w.source().notes.empty());
  CHECK(w.block_tokens() == 16);
  CHECK(nanoseconds_of(w.arrival(RequestId{2})) == 61'114'000'000);
  CHECK(values(w.columns().session) == Ids{0, 1, 0, 0});
  CHECK(w.after(RequestId{1}).empty());
  CHECK(raw(w.after(RequestId{2})[0]) == 0);
  CHECK(raw(w.after(RequestId{3})[0]) == 2);
  CHECK(w.columns().think_ns.empty());
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 2) == Ids{0, 3, 4});
  CHECK(chain_of(w, 3) == Ids{2});
}

TEST_CASE("two turns may have one parent", "[traces]") {
  const Workload w =
      open_bytes_as_trace(bailian("1", "-1", "0", 1, "[1]") + bailian("2", "1", "1", 1, "[1]") +
                          bailian("3", "1", "2", 1, "[1]"));
  CHECK(raw(w.after(RequestId{2})[0]) == 0);
  CHECK(values(w.columns().session) == Ids{0, 0, 0});
}

TEST_CASE("a Bailian block behind another prefix is another block", "[traces]") {
  const Workload w = open_bytes_as_trace(bailian("1", "-1", "0", 32, "[1, 5]") +
                                         bailian("2", "-1", "0", 32, "[2, 5]") +
                                         bailian("3", "-1", "0", 32, "[1, 5]"));
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{2, 3});
  CHECK(chain_of(w, 2) == Ids{0, 1});
}

TEST_CASE("Bailian's last, partial block may be named or not", "[traces]") {
  CHECK(open_bytes_as_trace(bailian("1", "-1", "0", 33, "[1, 2, 3]")).references() == 3);
  CHECK(open_bytes_as_trace(bailian("1", "-1", "0", 33, "[1, 2]")).references() == 2);
}

}  // namespace
}  // namespace spillway

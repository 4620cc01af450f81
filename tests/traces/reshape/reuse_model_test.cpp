// Reuse models: what they share, to the block, and that nothing is shared unless asked for.
#include "traces/reshape/reuse_model.hpp"

#include <set>
#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::error_of;
using test::open_bytes_as_trace;
using test::values;
using Ids = std::vector<std::uint32_t>;

OpenOptions reuse(const std::string& name, std::uint32_t block_tokens = 0) {
  OpenOptions options;
  options.reader.reuse = parse_reuse_model(name, {});
  options.reader.block_tokens = block_tokens;
  return options;
}

/// Spillway's own CSV without block ids.
std::string lengths(const std::string& rows) {
  return "timestamp_ms,session_id,input_length,output_length\n" + rows;
}

TEST_CASE("without a reuse model every request has blocks of its own", "[traces]") {
  const Workload w = open_bytes_as_trace(lengths("0,1,1024,5\n1,1,1025,5\n2,1,1,5\n"));
  CHECK(w.block_tokens() == 512);
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{2, 3, 4});
  CHECK(chain_of(w, 2) == Ids{5});
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0],
             ContainsSubstring("says nothing about prefixes (--reuse none): every request has "
                               "blocks of its own, so no hits are invented"));
}

TEST_CASE("session-prefix: a prompt that can hold the last turn begins with it", "[traces]") {
  // In blocks of 16. Turn 1: 40 tokens, 2 full blocks and a part; with its answer 48. Turn 2: 50
  // tokens hold these 48, so its first 2 blocks are turn 1's; the third is full now and new; its
  // answer makes 80. Turn 3: 79 tokens cannot hold 80, so all is new.
  const Workload w = open_bytes_as_trace(lengths("0,7,40,8\n1,7,50,30\n2,7,79,1\n3,7,80,1\n"),
                                         reuse("session-prefix"));
  CHECK(w.block_tokens() == 16);
  CHECK(chain_of(w, 0) == Ids{0, 1, 2});
  CHECK(chain_of(w, 1) == Ids{0, 1, 3, 4});
  CHECK(chain_of(w, 2) == Ids{5, 6, 7, 8, 9});
  CHECK(chain_of(w, 3) == Ids{5, 6, 7, 8, 10});  // 80 = 79 + 1: exactly holds it
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("(--reuse session-prefix)"));
  CHECK_THAT(w.source().notes[0], ContainsSubstring("2 of 4 requests do, in 1 sessions"));
}

TEST_CASE("session-prefix: sessions share nothing with each other", "[traces]") {
  const Workload w =
      open_bytes_as_trace(lengths("0,7,32,1\n1,8,32,1\n2,,32,1\n3,,64,1\n4,8,33,1\n5,7,33,1\n"),
                          reuse("session-prefix"));
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{2, 3});
  CHECK(chain_of(w, 2) == Ids{4, 5});
  CHECK(chain_of(w, 3) == Ids{6, 7, 8, 9});  // no session: nothing before it
  CHECK(chain_of(w, 4) == Ids{2, 3, 10});
  CHECK(chain_of(w, 5) == Ids{0, 1, 11});
}

TEST_CASE("session-prefix: a block is shared once a later turn has filled it", "[traces]") {
  // Turn 2's third block holds turn 1's answer; turn 3 has it from turn 2.
  const Workload w =
      open_bytes_as_trace(lengths("0,7,40,8\n1,7,64,16\n2,7,96,1\n"), reuse("session-prefix", 16));
  CHECK(chain_of(w, 1) == Ids{0, 1, 3, 4});
  CHECK(chain_of(w, 2) == Ids{0, 1, 3, 4, 5, 6});
}

TEST_CASE("shared-prefix: the full blocks of the system prompt are everybody's", "[traces]") {
  // 40 shared tokens are 2 full blocks of 16; a prompt of 20 has one of them full.
  const Workload w =
      open_bytes_as_trace(lengths("0,1,64,1\n1,2,50,1\n2,1,20,1\n"), reuse("shared-prefix:40"));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2, 3});
  CHECK(chain_of(w, 1) == Ids{0, 1, 4, 5});
  CHECK(chain_of(w, 2) == Ids{0, 6});
  CHECK_THAT(w.source().notes[0], ContainsSubstring("(--reuse shared-prefix:40)"));
  CHECK_THAT(w.source().notes[0], ContainsSubstring("up to 2 full blocks of 16 tokens"));
}

TEST_CASE("shared-prefix below one block shares nothing, which is refused", "[traces]") {
  const std::string rows = lengths("0,1,64,1\n");
  CHECK(open_bytes_as_trace(rows, reuse("shared-prefix:16")).size() == 1);
  const InputError error = error_of([&] { open_bytes_as_trace(rows, reuse("shared-prefix:15")); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("less than one block of 16 tokens"));
}

TEST_CASE("a model for a trace that names its blocks is refused", "[traces]") {
  const std::string csv = "timestamp_ms,input_length,output_length,hash_ids\n0,1,1,5\n";
  for (const std::string& bytes : {test::good_row(), csv}) {
    for (const char* name : {"session-prefix", "shared-prefix:1024"}) {
      const InputError error = error_of([&] { open_bytes_as_trace(bytes, reuse(name)); });
      CHECK(error.fault() == Fault::kUsage);
      CHECK_THAT(error.what(), ContainsSubstring("names its blocks itself; the reuse model "));
    }
    CHECK(open_bytes_as_trace(bytes, reuse("none")).source().notes.empty());
  }
}

TEST_CASE("names of reuse models", "[traces]") {
  for (const char* name : {"none", "session-prefix", "shared-prefix:1", "shared-prefix:16777216"}) {
    CHECK(parse_reuse_model(name, {}).name() == name);
  }
  for (const char* name :
       {"", "None", "sessions", "shared-prefix", "shared-prefix:", "shared-prefix:0",
        "shared-prefix:-1", "shared-prefix:1.5", "shared-prefix: 1", "shared-prefix:1 ",
        "shared-prefix:16777217", "shared-prefix:99999999999999999999", "shared-prefix:x"}) {
    INFO(name);
    CHECK(error_of([&] { parse_reuse_model(name, {}); }).fault() == Fault::kUsage);
  }
  CHECK_THAT(error_of([] {
               parse_reuse_model("lru", {"--reuse", 0, ""});
             }).what(),
             ContainsSubstring("--reuse: unknown reuse model \"lru\"; known: none, session-prefix, "
                               "shared-prefix:TOKENS"));
}

TEST_CASE("reuse models know BurstGPT's sessions and Azure's lack of them", "[traces]") {
  const std::string burst =
      "Timestamp,Session ID,Request tokens,Response tokens\n"
      "0,a,64,16\n1,b,64,16\n2,a,96,16\n3,a,0,0\n4,a,128,1\n5,b,70,1\n";
  // Session a: 64 + 16 <= 96, then 96 + 16 <= 128 (the failure between does not count): 4 + 6
  // blocks again; b's second prompt is too short.
  const Workload w = open_bytes_as_trace(burst, reuse("session-prefix"));
  CHECK(trace_stats(w).infinite_hits == 4 + 6);
  const std::string azure =
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,64,1\n"
      "2024-05-10 00:00:01,65,1\n";
  CHECK(trace_stats(open_bytes_as_trace(azure, reuse("session-prefix"))).infinite_hits == 0);
  CHECK(trace_stats(open_bytes_as_trace(azure, reuse("shared-prefix:32"))).infinite_hits == 2);
}

TEST_CASE("made-up blocks never meet", "[traces]") {
  // 2,000 requests of up to 40 blocks, partial and full.
  std::string rows;
  std::uint64_t blocks = 0;
  for (int i = 0; i < 2000; ++i) {
    const int tokens = 1 + (i * 37) % 640;
    rows += fmt::format("{},{},{},3\n", i, i % 50, tokens);
    blocks += static_cast<std::uint64_t>((tokens + 15) / 16);
  }
  const Workload w = open_bytes_as_trace(lengths(rows), reuse("none", 16));
  CHECK(w.references() == blocks);
  CHECK(w.unique_blocks() == blocks);
}

}  // namespace
}  // namespace spillway

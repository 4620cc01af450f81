// Which traces can size a cache: those that name blocks, and whose blocks come back.
#include "traces/stats/block_identity.hpp"

#include "tests/traces/trace_text.hpp"

namespace spillway::test {
namespace {

constexpr char kAzure[] =
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9951690,396,109\n";

TEST_CASE("a trace whose blocks come back names them", "[traces]") {
  const Workload shared =
      open_bytes_as_trace(row("0", "600", "5", "[1, 2]") + row("9", "600", "5", "[1, 3]"));
  CHECK(block_identity(shared) == BlockIdentity::kNamed);
  CHECK(names_blocks(shared));
  CHECK(missing_identity(BlockIdentity::kNamed).empty());
}

TEST_CASE("formats without ids name no blocks, whatever their lengths", "[traces]") {
  CHECK(block_identity(open_bytes_as_trace(kAzure)) == BlockIdentity::kNone);
  CHECK(block_identity(open_bytes_as_trace(
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,API log\n")) ==
        BlockIdentity::kNone);
  CHECK(block_identity(open_bytes_as_trace(
            "{\"spillway_trace\": 1, \"block_tokens\": 16}\n"
            "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 9}\n"
            "{\"timestamp\": 5, \"input_length\": 40, \"output_length\": 9}\n")) ==
        BlockIdentity::kNone);
  CHECK_THAT(missing_identity(BlockIdentity::kNone), ContainsSubstring("no block identities"));
  CHECK_THAT(identity_to_record(), ContainsSubstring("hash_ids") &&
                                       ContainsSubstring("spillway trace check") &&
                                       ContainsSubstring("workload.reuse"));
}

TEST_CASE("ids that never come back size no cache either", "[traces]") {
  // An Azure trace converted to rows with an id of its own for each block. Within one request an id
  // may repeat: that is no reuse.
  const Workload fresh =
      open_bytes_as_trace(row("0", "600", "5", "[1, 1]") + row("9", "600", "5", "[2, 3]"));
  CHECK(block_identity(fresh) == BlockIdentity::kNeverRepeats);
  CHECK_FALSE(names_blocks(fresh));
  CHECK_THAT(missing_identity(BlockIdentity::kNeverRepeats), ContainsSubstring("share a block"));
  // One request cannot share anything, whatever is recorded.
  CHECK(names_blocks(open_bytes_as_trace(good_row())));
}

TEST_CASE("assumed reuse is an identity", "[traces]") {
  OpenOptions options;
  options.reader.reuse = parse_reuse_model("shared-prefix:64", {});
  CHECK(names_blocks(open_bytes_as_trace(kAzure, options)));
}

TEST_CASE("published traces are told apart", "[traces]") {
  const std::pair<const char*, BlockIdentity> expected[] = {
      {"azure_llm_2023_conv.csv.gz", BlockIdentity::kNone},
      {"burstgpt_1_head400.csv.gz", BlockIdentity::kNone},
      {"mooncake_fast25_conversation.jsonl.gz", BlockIdentity::kNamed},
      {"ragpulse_days1-4.jsonl.gz", BlockIdentity::kNamed}};
  for (const auto& [name, identity] : expected) {
    INFO(name);
    const Material trace = material(std::string("traces/") + name);
    CHECK(block_identity(open_trace(trace.path, {})) == identity);
  }
}

}  // namespace
}  // namespace spillway::test

#include "traces/formats/mooncake_jsonl.hpp"

#include <array>

#include "sim/units.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/formats/mooncake_fast.hpp"

namespace spillway {

namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "timestamp",   "input_length",      "output_length", "hash_ids",  "session_id",
    kRetentionKey, kDecodeRetentionKey, kSoftPinKey,     kHardPinKey, kPollKey};
constexpr JsonKeys kKeys = {kNames, 4};  // the others are optional

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : json_(std::move(lines)),
        block_tokens_(options.block_tokens > 0 ? options.block_tokens : kMooncakeBlockTokens) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!json_.next_row(row, line)) return false;
    if (!read_canonical_mooncake(line, row)) parse(line, row);
    const std::int64_t expected = ceil_div(row.input_tokens, block_tokens_);
    if (static_cast<std::int64_t>(row.blocks.size()) != expected) {
      json_.fail(
          "hash_ids",
          fmt::format("expected {} ids, ceil({} tokens / {} per block), found {}; give the trace's "
                      "block size (block_tokens) if it is not {}",
                      expected, row.input_tokens, block_tokens_, row.blocks.size(), block_tokens_));
    }
    return true;
  }

  std::vector<std::string> notes() const override { return json_.ignored_keys(); }

 private:
  void parse(std::string_view line, TraceRow& row) {
    json_.each(json_.parse(line), kKeys, [&](std::size_t which, const JsonValue& value) {
      if (json_.put(kNames[which], value, kMilliseconds, row)) return;
      if (json_.put_retention(kNames[which], value, row)) return;
      json_.put_hints(kNames[which], value, row);
    });
  }

  JsonRows json_;
  std::uint32_t block_tokens_;
};

}  // namespace

bool looks_like_mooncake(std::string_view first_line) {
  return has_json_key(first_line, "hash_ids") && has_json_key(first_line, "input_length") &&
         !has_json_key(first_line, "parent_chat_id") && !has_json_key(first_line, "segments");
}

std::unique_ptr<TraceReader> make_mooncake_reader(std::unique_ptr<LineReader> lines,
                                                  const ReaderOptions& options) {
  return std::make_unique<MooncakeReader>(std::move(lines), options);
}

}  // namespace spillway

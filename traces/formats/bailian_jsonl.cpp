#include "traces/formats/bailian_jsonl.hpp"

#include <array>

#include "sim/rng.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/interner.hpp"

namespace spillway {

namespace {

enum Key : std::size_t { kChat, kParent, kHashes = 5, kType };
constexpr std::array<std::string_view, 8> kNames = {
    "chat_id",       "parent_chat_id", "timestamp", "input_length",
    "output_length", "hash_ids",       "type",      "turn"};
constexpr JsonKeys kKeys = {kNames, kType};

constexpr std::uint32_t kBailianBlockTokens = 16;

class BailianReader final : public TraceReader {
 public:
  BailianReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : json_(std::move(lines)),
        block_tokens_(options.block_tokens > 0 ? options.block_tokens : kBailianBlockTokens) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!json_.next_row(row, line)) return false;
    parse(line, row);
    json_.check_blocks(kNames[kHashes], row, block_tokens_);
    if (chats_.find(*row.id)) json_.fail(kNames[kChat], "is the chat_id of a row above");
    std::uint64_t root = *row.id;
    if (!row.after.empty()) {
      const auto parent = chats_.find(row.after.front());
      if (!parent) {
        json_.fail(kNames[kParent], fmt::format("{} is not the chat_id of a row above; expected "
                                                "one, or -1 for none",
                                                parent_words_));
      }
      root = root_[*parent];
    }
    row.session = root;
    chats_.intern(*row.id);
    root_.push_back(root);
    std::uint64_t prefix = 0;
    for (std::uint64_t& id : row.blocks) id = prefix = mix64(prefix + mix64(id));
    return true;
  }

  std::vector<std::string> notes() const override { return json_.ignored_keys(); }

 private:
  void parse(std::string_view line, TraceRow& row) {
    json_.each(json_.parse(line), kKeys, [&](std::size_t which, const JsonValue& value) {
      const std::string_view key = kNames[which];
      if (json_.put(key, value, kSeconds, row)) return;
      if (which == kChat) {
        row.id = json_.name(key, value);
      } else if (which == kParent) {
        parent_words_ = describe(value);
        if (parent_words_ != "-1") row.after.push_back(json_.name(key, value));
      }  // type and turn say nothing that a cache would see
    });
  }

  JsonRows json_;
  std::uint32_t block_tokens_;
  Interner chats_;
  std::vector<std::uint64_t> root_;  ///< the chat that each one's session began with
  std::string parent_words_;
};

}  // namespace

bool looks_like_bailian(std::string_view first_line) {
  return has_json_key(first_line, "parent_chat_id") && has_json_key(first_line, "hash_ids");
}

std::unique_ptr<TraceReader> make_bailian_reader(std::unique_ptr<LineReader> lines,
                                                 const ReaderOptions& options) {
  return std::make_unique<BailianReader>(std::move(lines), options);
}

}  // namespace spillway

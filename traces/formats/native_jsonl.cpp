#include "traces/formats/native_jsonl.hpp"

#include <array>

#include "traces/formats/json_row.hpp"
#include "traces/formats/mooncake_jsonl.hpp"

namespace spillway {

namespace {

enum HeaderKey : std::size_t { kVersion, kBlockTokens };
constexpr std::array<std::string_view, 2> kHeaderNames = {"spillway_trace", "block_tokens"};
constexpr JsonKeys kHeaderKeys = {kHeaderNames, kBlockTokens};

enum Key : std::size_t {
  kHashes = 3,  // of those that JsonRows::put() knows
  kId = 5,
  kAfter,
  kThink,
  kTenant
};
constexpr std::array<std::string_view, 14> kNames = {
    "timestamp", "input_length", "output_length", "hash_ids",    "session_id",        "id",
    "after",     "think_ms",     "tenant",        kRetentionKey, kDecodeRetentionKey, kSoftPinKey,
    kHardPinKey, kPollKey};
constexpr JsonKeys kKeys = {kNames, kHashes};

class NativeReader final : public TraceReader {
 public:
  NativeReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : json_(std::move(lines)), block_tokens_(kMooncakeBlockTokens) {
    std::string_view line;
    json_.next_line(line);
    json_.each(json_.parse(line), kHeaderKeys, [&](std::size_t which, const JsonValue& value) {
      if (which == kVersion) check_version(value);
      if (which == kBlockTokens) block_tokens_ = json_.block_size(kHeaderNames[which], value);
    });
    json_.check_given(kHeaderNames[kBlockTokens], block_tokens_, options.block_tokens);
  }

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!json_.next_row(row, line)) return false;
    row.identified = false;
    parse(line, row);
    if (row.identified) json_.check_blocks(kNames[kHashes], row, block_tokens_);
    return true;
  }

  std::vector<std::string> notes() const override { return json_.ignored_keys(); }

 private:
  void check_version(const JsonValue& value) const {
    if (!value.is<std::int64_t>() || std::int64_t(value) != kNativeVersion) {
      json_.fail(kHeaderNames[kVersion],
                 fmt::format("expected version {}, found {}", kNativeVersion, describe(value)));
    }
  }

  void parse(std::string_view line, TraceRow& row) {
    json_.each(json_.parse(line), kKeys, [&](std::size_t which, const JsonValue& value) {
      const std::string_view key = kNames[which];
      row.identified = row.identified || which == kHashes;
      if (json_.put(key, value, kMilliseconds, row)) return;
      switch (which) {
        case kId:
          row.id = json_.name(key, value);
          break;
        case kAfter:
          for (const JsonValue id : json_.array(key, value, "row ids")) {
            row.after.push_back(json_.name(key, id));
          }
          break;
        case kThink:
          row.think_ns = json_.time(key, value, kMilliseconds);
          break;
        case kTenant:
          row.tenant = json_.text(key, value);
          break;
        default:
          if (!json_.put_retention(key, value, row)) json_.put_hints(key, value, row);
      }
    });
  }

  JsonRows json_;
  std::uint32_t block_tokens_;
};

}  // namespace

bool looks_like_native(std::string_view first_line) {
  return has_json_key(first_line, kHeaderNames[kVersion]);
}

std::unique_ptr<TraceReader> make_native_reader(std::unique_ptr<LineReader> lines,
                                                const ReaderOptions& options) {
  return std::make_unique<NativeReader>(std::move(lines), options);
}

}  // namespace spillway

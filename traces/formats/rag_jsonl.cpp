#include "traces/formats/rag_jsonl.hpp"

#include <algorithm>
#include <array>

#include "sim/rng.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/interner.hpp"

namespace spillway {

namespace {

constexpr std::string_view kSegments = "segments";
constexpr std::array<std::string_view, 5> kNames = {"timestamp", "input_length", "output_length",
                                                    kSegments, "session_id"};
constexpr JsonKeys kKeys = {kNames, 4};  // session_id is optional

constexpr std::uint32_t kRagBlockTokens = 16;
constexpr std::uint64_t kTemplate = 0x74656d706c617465ULL;  // keeps clear of content ids

struct Segment {
  std::uint64_t content = 0;
  std::int64_t tokens = 0;
};

std::uint64_t chained(std::uint64_t parent, std::uint64_t name) {
  return mix64(parent + mix64(name));
}

/// Cuts segments into blocks, each named by all that stands up to its end.
class BlockCutter {
 public:
  BlockCutter(std::int64_t block_tokens, std::vector<std::uint64_t>& out)
      : block_tokens_(block_tokens), out_(out) {}

  void add(const Segment& segment) {
    for (std::int64_t begin = 0; begin < segment.tokens;) {
      const std::int64_t end = std::min(segment.tokens, begin + block_tokens_ - filled_);
      name_ = chained(name_, segment.content);
      name_ = chained(name_, static_cast<std::uint64_t>(begin << 32 | end));
      filled_ += end - begin;
      begin = end;
      if (filled_ == block_tokens_) close();
    }
  }
  void finish() {
    if (filled_ > 0) close();
  }

 private:
  void close() {
    out_.push_back(name_);
    filled_ = 0;
  }
  std::int64_t block_tokens_;
  std::vector<std::uint64_t>& out_;
  std::uint64_t name_ = 0;
  std::int64_t filled_ = 0;
};

class RagReader final : public TraceReader {
 public:
  RagReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : json_(std::move(lines)),
        block_tokens_(options.block_tokens > 0 ? options.block_tokens : kRagBlockTokens) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!json_.next_row(row, line)) return false;
    parse(line, row);
    std::int64_t covered = 0;
    for (const Segment& segment : segments_) covered += segment.tokens;
    if (covered > row.input_tokens) {
      json_.fail(kSegments, fmt::format("add up to {} tokens; expected at most the {} of "
                                        "input_length",
                                        covered, row.input_tokens));
    }
    BlockCutter cutter(block_tokens_, row.blocks);
    for (const Segment& segment : segments_) cutter.add(segment);
    cutter.add(
        {mix64(kTemplate + static_cast<std::uint64_t>(row.line)), row.input_tokens - covered});
    cutter.finish();
    count_reuse();
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out = json_.ignored_keys();
    if (tokens_ == 0) return out;
    const auto percent = [&](std::int64_t part) {
      return 100 * static_cast<double>(part) / static_cast<double>(tokens_);
    };
    out.push_back(fmt::format(
        "{}: {:.1f}% of the segments' tokens repeat the beginning of an earlier prompt; {:.1f}% "
        "repeat a content seen before at any place, which caching by position does not reach",
        json_.path(), percent(prefix_tokens_), percent(content_tokens_)));
    return out;
  }

 private:
  void parse(std::string_view line, TraceRow& row) {
    json_.each(json_.parse(line), kKeys, [&](std::size_t which, const JsonValue& value) {
      const std::string_view key = kNames[which];
      if (!json_.put(key, value, kSeconds, row)) read_segments(key, value);
    });
  }

  void read_segments(std::string_view key, const JsonValue& value) {
    segments_.clear();
    for (const JsonValue item : json_.array(key, value, "segments")) {
      json_.enter(key, segments_.size());
      const auto pair = json_.array("", item, "a content id and its tokens");
      if (pair.size() != 2) {
        json_.fail(
            "", fmt::format("expected a content id and its tokens, found {} values", pair.size()));
      }
      const Segment segment{json_.name("", pair.at(0).value_unsafe()),
                            json_.tokens("", pair.at(1).value_unsafe(), 1)};
      check_length(segment);
      segments_.push_back(segment);
      json_.leave();
    }
  }

  /// A content is as long wherever it stands.
  void check_length(const Segment& segment) {
    const std::uint32_t id = contents_.intern(segment.content);
    if (id == length_.size()) {
      length_.push_back(segment.tokens);
      used_.push_back(false);
    }
    if (length_[id] != segment.tokens) {
      json_.fail("", fmt::format("expected {} tokens as where this content stood first, found {}",
                                 length_[id], segment.tokens));
    }
  }

  void count_reuse() {
    std::uint64_t prefix = 0;
    for (const Segment& segment : segments_) {
      prefix = chained(prefix, segment.content);
      const std::uint32_t known = prefixes_.size();
      const std::uint32_t content = contents_.intern(segment.content);
      tokens_ += segment.tokens;
      if (prefixes_.intern(prefix) < known) prefix_tokens_ += segment.tokens;
      if (used_[content]) content_tokens_ += segment.tokens;
      used_[content] = true;
    }
  }

  JsonRows json_;
  std::uint32_t block_tokens_;
  std::vector<Segment> segments_;
  Interner contents_;
  std::vector<std::int64_t> length_;  ///< of each content, in tokens
  std::vector<bool> used_;            ///< whether a good row has brought it
  Interner prefixes_;
  std::int64_t tokens_ = 0;
  std::int64_t prefix_tokens_ = 0;
  std::int64_t content_tokens_ = 0;
};

}  // namespace

bool looks_like_rag(std::string_view first_line) {
  return has_json_key(first_line, "segments") && has_json_key(first_line, "input_length");
}

std::unique_ptr<TraceReader> make_rag_reader(std::unique_ptr<LineReader> lines,
                                             const ReaderOptions& options) {
  return std::make_unique<RagReader>(std::move(lines), options);
}

}  // namespace spillway

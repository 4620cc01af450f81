#include "traces/reshape/reuse_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/numbers.hpp"
#include "sim/rng.hpp"
#include "sim/units.hpp"
#include "traces/interner.hpp"
#include "traces/stats/block_identity.hpp"

namespace spillway {

namespace {

constexpr std::string_view kSessionPrefix = "session-prefix";
constexpr std::string_view kSharedPrefix = "shared-prefix:";

/// Without reuse the block size changes nothing, and few large blocks are cheap; with reuse only
/// full blocks are shared, so they are as small as the engines' (vLLM's default).
constexpr std::uint32_t kOwnBlockTokens = 512;
constexpr std::uint32_t kSharedBlockTokens = 16;

enum Owner : std::uint64_t { kConversation, kPartial, kEverybody };

/// Names block `index` of an owner. Distinct arguments give distinct names: number < 2^32 and
/// index <= kMaxTokens share 57 bits, and mix64 is a bijection, which also keeps the names away
/// from the small numbers of other files.
std::uint64_t block_name(Owner owner, std::uint64_t number, std::int64_t index) {
  constexpr std::uint64_t kSalt = 0x72657573655f6d6fULL;
  return mix64(kSalt + (owner << 60) + (number << 25) + static_cast<std::uint64_t>(index));
}

class ReuseReader final : public TraceReader {
 public:
  ReuseReader(std::unique_ptr<TraceReader> reader, const ReuseModel& model, std::string path,
              bool named)
      : reader_(std::move(reader)), model_(model), path_(std::move(path)), named_(named) {}

  std::uint32_t block_tokens() const override { return reader_->block_tokens(); }
  std::uint64_t dropped() const override { return reader_->dropped(); }

  bool next(TraceRow& row) override {
    if (!reader_->next(row)) return false;
    if (!row.identified) {
      name_blocks(row);
    } else if (model_.kind != ReuseModel::Kind::kNone) {
      refuse_reuse_model(model_, path_);
    }
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out = reader_->notes();
    if (rows_ > 0) out.push_back(assumption());
    return out;
  }

 private:
  /// A session's prompts as one growing text: where a prompt extends it, its full blocks keep
  /// their names.
  struct Conversation {
    std::uint64_t number = 0;
    std::int64_t tokens = -1;  ///< last prompt and answer; -1: none yet
  };

  void name_blocks(TraceRow& row) {
    const std::uint64_t own = rows_++;
    const std::int64_t size = block_tokens();
    if (model_.kind == ReuseModel::Kind::kNone && !named_) {
      row.own_blocks = static_cast<std::uint32_t>((row.input_tokens + size - 1) / size);
      return;
    }
    std::uint64_t number = own;
    if (model_.kind == ReuseModel::Kind::kSessionPrefix && row.session) {
      number = conversation(*row.session, own, row);
    }
    const std::int64_t full = row.input_tokens / size;
    const std::int64_t shared = std::min(full, model_.tokens / size);
    shared_blocks_ = std::max(shared_blocks_, shared);
    row.blocks.clear();
    for (std::int64_t i = 0; i < full; ++i) {
      row.blocks.push_back(i < shared ? block_name(kEverybody, 0, i)
                                      : block_name(kConversation, number, i));
    }
    // A partial block is never shared: the next turn's text goes on inside it.
    if (row.input_tokens % size != 0) row.blocks.push_back(block_name(kPartial, own, full));
  }

  std::uint64_t conversation(std::uint64_t session, std::uint64_t own, const TraceRow& row) {
    const std::uint32_t index = sessions_.intern(session);
    if (index == conversations_.size()) conversations_.emplace_back();
    Conversation& c = conversations_[index];
    const bool extends = c.tokens >= 0 && row.input_tokens >= c.tokens;
    if (extends) {
      ++extensions_;
    } else {
      c.number = own;
    }
    c.tokens = row.input_tokens + row.output_tokens;
    return c.number;
  }

  std::string assumption() const {
    const std::string who =
        fmt::format("{} {} (--reuse {}): ", path_, kNothingAboutPrefixes, model_.name());
    switch (model_.kind) {
      case ReuseModel::Kind::kNone:
        break;
      case ReuseModel::Kind::kSessionPrefix:
        return who + fmt::format(
                         "a session's prompt at least as long as the one before it and its "
                         "answer is assumed to begin with them; {} of {} requests do, in "
                         "{} sessions",
                         extensions_, rows_, sessions_.size());
      case ReuseModel::Kind::kSharedPrefix:
        return who + fmt::format(
                         "the first {} tokens of every prompt are assumed to be one system "
                         "prompt, of which up to {} full blocks of {} tokens are shared",
                         model_.tokens, shared_blocks_, block_tokens());
    }
    return who + "every request has blocks of its own, so no hits are invented";
  }

  std::unique_ptr<TraceReader> reader_;
  ReuseModel model_;
  std::string path_;
  bool named_;
  Interner sessions_;
  std::vector<Conversation> conversations_;
  std::uint64_t rows_ = 0;  ///< that were not identified
  std::uint64_t extensions_ = 0;
  std::int64_t shared_blocks_ = 0;
};

}  // namespace

std::string ReuseModel::name() const {
  switch (kind) {
    case Kind::kNone:
      break;
    case Kind::kSessionPrefix:
      return std::string(kSessionPrefix);
    case Kind::kSharedPrefix:
      return fmt::format("{}{}", kSharedPrefix, tokens);
  }
  return "none";
}

std::uint32_t ReuseModel::block_tokens(std::uint32_t asked) const {
  if (asked > 0) return asked;
  return kind == Kind::kNone ? kOwnBlockTokens : kSharedBlockTokens;
}

ReuseModel parse_reuse_model(std::string_view text, const SourceRef& where) {
  if (text == "none") return {};
  if (text == kSessionPrefix) return {ReuseModel::Kind::kSessionPrefix, 0};
  if (text.starts_with(kSharedPrefix)) {
    const std::string_view digits = text.substr(kSharedPrefix.size());
    const std::int64_t tokens = parse_whole<std::int64_t>(digits).value_or(0);
    if (tokens >= 1 && tokens <= kMaxTokens) {
      return {ReuseModel::Kind::kSharedPrefix, tokens};
    }
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected {}TOKENS with 1 to {} tokens, found \"{}\"",
                                 kSharedPrefix, kMaxTokens, text));
  }
  throw InputError(Fault::kUsage, where,
                   fmt::format("unknown reuse model \"{}\"; known: none, {}, {}TOKENS", text,
                               kSessionPrefix, kSharedPrefix));
}

void refuse_reuse_model(const ReuseModel& model, const std::string& path) {
  throw InputError(
      Fault::kUsage, {path, 0, ""},
      fmt::format("names its blocks itself; the reuse model {} is only for traces that "
                  "do not, expected none",
                  model.name()));
}

std::unique_ptr<TraceReader> with_reuse_model(std::unique_ptr<TraceReader> reader,
                                              const ReuseModel& model, std::string path,
                                              bool named) {
  const std::int64_t size = reader->block_tokens();
  if (model.kind == ReuseModel::Kind::kSharedPrefix && model.tokens < size) {
    throw InputError(Fault::kUsage, {path, 0, ""},
                     fmt::format("the reuse model {} shares less than one block of {} tokens; "
                                 "expected at least {}, or smaller blocks (block_tokens)",
                                 model.name(), size, size));
  }
  return std::make_unique<ReuseReader>(std::move(reader), model, std::move(path), named);
}

}  // namespace spillway

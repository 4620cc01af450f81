#include "traces/formats/retention_bytes.hpp"

#include <cstring>

namespace spillway {

namespace {

constexpr std::int64_t kNone = -1;

class Writer {
 public:
  void number(std::int64_t value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void rule(const RetentionRule& rule) {
    number(rule.priority);
    number(rule.duration ? rule.duration->count() : kNone);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Stays false once a number is missing, or beyond its limits.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    std::int64_t value = least;
    good_ = good_ && bytes_.size() >= sizeof value;
    if (!good_) return least;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    good_ = value >= least && value <= most;
    return good_ ? value : least;
  }
  RetentionRule rule() {
    RetentionRule out;
    out.priority = static_cast<std::uint32_t>(number(0, kMostRetention));
    const std::int64_t ns = number(kNone, kLongestDuration.count());
    if (ns != kNone) out.duration = Duration(ns);
    return out;
  }
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

std::string retention_bytes(const KvRetention& says) {
  Writer out;
  out.number(says.prompt ? static_cast<std::int64_t>(says.prompt->size()) : kNone);
  for (const RetentionRange& range : says.prompt.value_or(std::vector<RetentionRange>())) {
    out.number(range.begin);
    out.number(range.end);
    out.rule(range.rule);
  }
  out.number(says.decode ? 1 : 0);
  if (says.decode) out.rule(*says.decode);
  return out.take();
}

std::optional<KvRetention> retention_in(std::string_view bytes) {
  constexpr std::int64_t kMostToken = ~std::uint32_t{0};
  Reader in(bytes);
  KvRetention out;
  const std::int64_t ranges = in.number(kNone, static_cast<std::int64_t>(bytes.size()));
  if (ranges != kNone) out.prompt.emplace();
  for (std::int64_t i = 0; i < ranges && in.good(); ++i) {
    RetentionRange range;
    range.begin = static_cast<std::uint32_t>(in.number(0, kMostToken));
    range.end = static_cast<std::uint32_t>(in.number(0, kMostToken));
    range.rule = in.rule();
    if (range.end <= range.begin) return std::nullopt;
    out.prompt->push_back(range);
  }
  if (in.number(0, 1) == 1) out.decode = in.rule();
  if (!in.good() || !in.at_end() || (out.prompt && overlap(*out.prompt))) return std::nullopt;
  return out;
}

}  // namespace spillway

#include "traces/formats/azure_csv.hpp"

#include <fmt/format.h>

#include <chrono>

#include "traces/formats/csv_table.hpp"

namespace spillway {

namespace {

/// Takes the front of a text, piece by piece; once a piece does not fit, nothing does.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  /// Exactly `digits` of them, as a number from `least` to `most`.
  int digits(std::size_t digits, int least, int most) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + digit();
    ok_ = ok_ && value >= least && value <= most;
    return value;
  }
  /// Any one character of `wanted`.
  char any(std::string_view wanted) {
    ok_ = ok_ && !rest_.empty() && wanted.find(rest_.front()) != std::string_view::npos;
    return ok_ ? take() : '\0';
  }
  /// One to nine decimals of a second, as nanoseconds.
  std::int32_t decimals() {
    std::int32_t value = digit();
    int count = 1;
    while (at_digit() && count < 9) {
      value = value * 10 + digit();
      ++count;
    }
    for (; count < 9; ++count) value *= 10;
    return value;
  }
  bool at(char c) const { return rest_.starts_with(c); }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  int digit() {
    ok_ = ok_ && at_digit();
    return ok_ ? take() - '0' : 0;
  }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  std::string_view rest_;
  bool ok_ = true;
};

enum Column : std::size_t { kTimestamp, kContext, kGenerated };
constexpr CsvColumn kColumns[] = {{"TIMESTAMP"}, {"ContextTokens"}, {"GeneratedTokens"}};

class AzureReader final : public TraceReader {
 public:
  AzureReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : table_(std::move(lines), kColumns, OtherColumns::kIgnore),
        block_tokens_(options.reuse.block_tokens(options.block_tokens)) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }
  std::vector<std::string> notes() const override { return table_.notes(); }

  bool next(TraceRow& row) override {
    row.clear();
    if (!table_.next()) return false;
    row.line = table_.line();
    row.identified = false;
    const CivilTime at = timestamp();
    row.input_tokens = table_.whole(kContext, 1, kMaxTokens);
    row.output_tokens = table_.whole(kGenerated, 0, kMaxTokens);
    row.arrival_ns = since_first(at);
    return true;
  }

 private:
  CivilTime timestamp() const {
    const auto at = parse_civil_time(table_.cell(kTimestamp));
    if (!at) {
      table_.fail(kTimestamp,
                  fmt::format("expected a date and time like 2023-11-16 18:15:46.6805900, with up "
                              "to nine decimals and perhaps an offset like +00:00, found \"{}\"",
                              table_.cell(kTimestamp).substr(0, 40)));
    }
    return *at;
  }

  std::int64_t since_first(const CivilTime& at) {
    constexpr std::int64_t kMaxSeconds = kMaxArrivalMs / 1000;
    if (!first_) first_ = at;
    const std::int64_t seconds = at.seconds - first_->seconds;
    const bool near = seconds >= 0 && seconds < kMaxSeconds;
    const std::int64_t ns = near ? seconds * 1'000'000'000 + at.nanos - first_->nanos : -1;
    if (ns < 0) {
      table_.fail(kTimestamp, fmt::format("expected a time from the first row's to {} days behind "
                                          "it, found \"{}\"",
                                          kMaxSeconds / 86400, table_.cell(kTimestamp)));
    }
    return ns;
  }

  CsvTable table_;
  std::uint32_t block_tokens_;
  std::optional<CivilTime> first_;
};

}  // namespace

std::optional<CivilTime> parse_civil_time(std::string_view text) {
  Cursor c(text);
  const int year = c.digits(4, 1, 9999);
  c.any("-");
  const int month = c.digits(2, 1, 12);
  c.any("-");
  const int day = c.digits(2, 1, 31);
  c.any(" T");
  const int hour = c.digits(2, 0, 23);
  c.any(":");
  const int minute = c.digits(2, 0, 59);
  c.any(":");
  const int second = c.digits(2, 0, 59);
  CivilTime out;
  if (c.at('.')) {
    c.any(".");
    out.nanos = c.decimals();
  }
  int offset = 0;  // minutes ahead of UTC
  if (c.at('Z')) {
    c.any("Z");
  } else if (!c.done()) {
    const char sign = c.any("+-");
    offset = 60 * c.digits(2, 0, 23);
    c.any(":");
    offset += c.digits(2, 0, 59);
    if (sign == '-') offset = -offset;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!c.done() || !date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  out.seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
  return out;
}

bool looks_like_azure(std::string_view first_line) {
  return is_csv_header(first_line, "ContextTokens");
}

std::unique_ptr<TraceReader> make_azure_reader(std::unique_ptr<LineReader> lines,
                                               const ReaderOptions& options) {
  return std::make_unique<AzureReader>(std::move(lines), options);
}

}  // namespace spillway

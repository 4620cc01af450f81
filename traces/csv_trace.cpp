#include "traces/csv_trace.hpp"

#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "sim/units.hpp"
#include "traces/arrival_time.hpp"
#include "traces/mooncake_jsonl.hpp"

namespace spillway {

namespace {

enum Column : std::size_t { kTimestamp, kInput, kOutput, kSession, kHashes, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {
    "timestamp_ms", "input_length", "output_length", "session_id", "hash_ids"};

class CsvReader final : public TraceReader {
 public:
  CsvReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : lines_(std::move(lines)),
        block_tokens_(options.block_tokens > 0 ? options.block_tokens : kMooncakeBlockTokens) {
    std::string_view header;
    lines_->next(header);
    position_.fill(-1);
    split(header);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      std::size_t which = 0;
      while (which < kColumns && cells_[i] != kNames[which]) ++which;
      if (which == kColumns) {
        fail_header(
            fmt::format("unknown column \"{}\"; expected {}", cells_[i], fmt::join(kNames, ", ")));
      }
      if (position_[which] >= 0) fail_header(fmt::format("two columns \"{}\"", cells_[i]));
      position_[which] = static_cast<int>(i);
    }
    columns_ = cells_.size();
    for (std::size_t which = 0; which < kColumns; ++which) {
      if (position_[which] < 0 && which != kSession) {
        fail_header(fmt::format("missing column \"{}\"", kNames[which]));
      }
    }
  }

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    row.clear();
    std::string_view line;
    do {
      if (!lines_->next(line)) return false;
    } while (line.empty());
    row.line = lines_->line();
    split(line);
    if (cells_.size() != columns_) {
      fail("", fmt::format("expected {} columns, found {}", columns_, cells_.size()));
    }
    row.arrival_ns = timestamp();
    row.input_tokens = whole(kInput, 1, kMaxTokens);
    row.output_tokens = whole(kOutput, 0, kMaxTokens);
    if (position_[kSession] >= 0 && !cell(kSession).empty()) {
      row.session = number(kSession, cell(kSession));
    }
    std::string_view ids = cell(kHashes);
    while (!ids.empty()) {
      const std::size_t space = std::min(ids.find(' '), ids.size());
      row.blocks.push_back(number(kHashes, ids.substr(0, space)));
      ids.remove_prefix(std::min(space + 1, ids.size()));
    }
    const std::int64_t expected = ceil_div(row.input_tokens, block_tokens_);
    if (static_cast<std::int64_t>(row.blocks.size()) != expected) {
      fail(kNames[kHashes],
           fmt::format("expected {} ids for {} tokens in blocks of {}, found {}", expected,
                       row.input_tokens, block_tokens_, row.blocks.size()));
    }
    return true;
  }

 private:
  void split(std::string_view line) {
    cells_.clear();
    for (;;) {
      const std::size_t comma = line.find(',');
      cells_.push_back(line.substr(0, comma));
      if (comma == std::string_view::npos) return;
      line.remove_prefix(comma + 1);
    }
  }

  std::string_view cell(Column column) const {
    return cells_[static_cast<std::size_t>(position_[column])];
  }

  std::uint64_t number(Column column, std::string_view text) const {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size()) {
      fail(kNames[column],
           fmt::format("expected a whole number, found \"{}\"", text.substr(0, 40)));
    }
    return value;
  }

  std::int64_t whole(Column column, std::uint64_t least, std::uint64_t most) const {
    const std::uint64_t value = number(column, cell(column));
    if (value < least || value > most) {
      fail(kNames[column], fmt::format("expected {} to {}, found {}", least, most, value));
    }
    return static_cast<std::int64_t>(value);
  }

  std::int64_t timestamp() const {
    const std::string_view text = cell(kTimestamp);
    const auto ns = arrival_time(text, 6);
    if (!ns) {
      fail(kNames[kTimestamp], fmt::format("expected milliseconds from 0 to {}, found \"{}\"",
                                           kMaxArrivalMs, text.substr(0, 40)));
    }
    return *ns;
  }

  [[noreturn]] void fail(std::string_view field, const std::string& message) const {
    throw RowError({lines_->path(), lines_->line(), std::string(field)}, message);
  }
  [[noreturn]] void fail_header(const std::string& message) const {
    throw InputError(Fault::kTrace, {lines_->path(), lines_->line(), "header"}, message);
  }

  std::unique_ptr<LineReader> lines_;
  std::uint32_t block_tokens_;
  std::array<int, kColumns> position_{};
  std::size_t columns_ = 0;
  std::vector<std::string_view> cells_;
};

}  // namespace

bool looks_like_csv(std::string_view first_line) {
  return first_line.find("input_length") != std::string_view::npos &&
         first_line.find(',') != std::string_view::npos && first_line.front() != '{';
}

std::unique_ptr<TraceReader> make_csv_reader(std::unique_ptr<LineReader> lines,
                                             const ReaderOptions& options) {
  return std::make_unique<CsvReader>(std::move(lines), options);
}

}  // namespace spillway

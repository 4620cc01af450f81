#include "traces/formats/burstgpt_csv.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "traces/formats/csv_table.hpp"

namespace spillway {

namespace {

enum Column : std::size_t { kTimestamp, kRequest, kResponse, kSession };
constexpr CsvColumn kColumns[] = {
    {"Timestamp"},
    {"Request tokens"},
    {"Response tokens"},
    {"Session ID", false},
    // Known, and without a meaning for caches.
    {"Elapsed time", false},
    {"Model", false},
    {"Total tokens", false},
    {"Log Type", false},
};

class BurstGptReader final : public TraceReader {
 public:
  BurstGptReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : table_(std::move(lines), kColumns, OtherColumns::kIgnore),
        block_tokens_(options.reuse.block_tokens(options.block_tokens)) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }
  std::uint64_t dropped() const override { return failures_; }

  bool next(TraceRow& row) override {
    row.clear();
    for (;;) {
      if (!table_.next()) return false;
      row.arrival_ns = table_.time_ns(kTimestamp, 9);
      row.output_tokens = table_.whole(kResponse, 0, kMaxTokens);
      const bool failed = row.output_tokens == 0;
      row.input_tokens = table_.whole(kRequest, failed ? 0 : 1, kMaxTokens);
      if (!failed) break;
      ++failures_;
    }
    row.line = table_.line();
    row.identified = false;
    const std::string_view session = table_.cell(kSession);
    if (!session.empty()) row.session = XXH3_64bits(session.data(), session.size());
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out = table_.notes();
    if (failures_ > 0) {
      out.push_back(
          fmt::format("{} rows of {} are recorded failures, without response tokens, and "
                      "left out",
                      failures_, table_.path()));
    }
    return out;
  }

 private:
  CsvTable table_;
  std::uint32_t block_tokens_;
  std::uint64_t failures_ = 0;
};

}  // namespace

bool looks_like_burstgpt(std::string_view first_line) {
  return is_csv_header(first_line, "Request tokens");
}

std::unique_ptr<TraceReader> make_burstgpt_reader(std::unique_ptr<LineReader> lines,
                                                  const ReaderOptions& options) {
  return std::make_unique<BurstGptReader>(std::move(lines), options);
}

}  // namespace spillway

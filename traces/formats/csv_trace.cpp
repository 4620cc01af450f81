#include "traces/formats/csv_trace.hpp"

#include <algorithm>

#include "traces/formats/csv_table.hpp"
#include "traces/formats/mooncake_jsonl.hpp"

namespace spillway {

namespace {

enum Column : std::size_t { kTimestamp, kInput, kOutput, kSession, kTenant, kThink, kHashes };
constexpr CsvColumn kColumns[] = {
    {"timestamp_ms"},  {"input_length"},    {"output_length"},   {"session_id", false},
    {"tenant", false}, {"think_ms", false}, {"hash_ids", false},
};

class CsvReader final : public TraceReader {
 public:
  CsvReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : table_(std::move(lines), kColumns, OtherColumns::kRefuse),
        block_tokens_(block_tokens_of(options, table_.has(kHashes))) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    row.clear();
    if (!table_.next()) return false;
    row.line = table_.line();
    row.arrival_ns = table_.time_ns(kTimestamp, 6);
    row.input_tokens = table_.whole(kInput, 1, kMaxTokens);
    row.output_tokens = table_.whole(kOutput, 0, kMaxTokens);
    if (!table_.cell(kSession).empty()) {
      row.session = table_.number(kSession, table_.cell(kSession));
    }
    row.tenant = table_.cell(kTenant);
    if (!table_.cell(kThink).empty()) row.think_ns = table_.time_ns(kThink, 6);
    row.identified = table_.has(kHashes);
    if (row.identified) read_blocks(row);
    return true;
  }

 private:
  static std::uint32_t block_tokens_of(const ReaderOptions& options, bool identified) {
    if (!identified) return options.reuse.block_tokens(options.block_tokens);
    return options.block_tokens > 0 ? options.block_tokens : kMooncakeBlockTokens;
  }

  void read_blocks(TraceRow& row) const {
    std::string_view ids = table_.cell(kHashes);
    while (!ids.empty()) {
      const std::size_t space = std::min(ids.find(' '), ids.size());
      row.blocks.push_back(table_.number(kHashes, ids.substr(0, space)));
      ids.remove_prefix(std::min(space + 1, ids.size()));
    }
    if (const auto expected = expected_blocks(row, block_tokens_)) {
      table_.fail(
          kHashes,
          fmt::format("expected {} ids for {} tokens in blocks of {}, found {}; give the trace's "
                      "block size (block_tokens) if it is not {}",
                      *expected, row.input_tokens, block_tokens_, row.blocks.size(),
                      block_tokens_));
    }
  }

  CsvTable table_;
  std::uint32_t block_tokens_;
};

}  // namespace

bool looks_like_csv(std::string_view first_line) {
  return is_csv_header(first_line, "input_length");
}

std::unique_ptr<TraceReader> make_csv_reader(std::unique_ptr<LineReader> lines,
                                             const ReaderOptions& options) {
  return std::make_unique<CsvReader>(std::move(lines), options);
}

}  // namespace spillway

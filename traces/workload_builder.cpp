#include "traces/workload_builder.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr std::uint64_t kOwnSession = 0x6f776e2073657373ULL;  // keeps clear of small named ids

struct OwnedColumns final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns;
  std::vector<std::uint32_t> input_tokens;
  std::vector<std::uint32_t> output_tokens;
  std::vector<std::uint32_t> session;
  std::vector<std::uint64_t> chain_begin;
  std::vector<TraceBlockId> chain;
};

}  // namespace

WorkloadBuilder::WorkloadBuilder(std::string name, std::uint32_t block_tokens)
    : name_(std::move(name)), block_tokens_(block_tokens) {
  KV_ASSERT(block_tokens > 0, "blocks of no tokens");
}

void WorkloadBuilder::add(const TraceRow& row) {
  if (!arrival_ns_.empty() && row.arrival_ns < arrival_ns_.back()) {
    throw InputError(
        Fault::kTrace, {name_, row.line, "timestamp"},
        fmt::format("arrives {} ms before the row above; expected rows in order of time",
                    static_cast<double>(arrival_ns_.back() - row.arrival_ns) / 1e6));
  }
  if (arrival_ns_.size() >= 0xffffffffU - 1) {
    throw InputError(Fault::kTrace, {name_, row.line, ""}, "more than 2^32 requests");
  }
  arrival_ns_.push_back(row.arrival_ns);
  input_tokens_.push_back(static_cast<std::uint32_t>(row.input_tokens));
  output_tokens_.push_back(
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, row.output_tokens)));
  for (const std::uint64_t hash : row.blocks) {
    chain_.push_back(TraceBlockId{blocks_.intern(hash)});
  }
  chain_begin_.push_back(chain_.size());
  // A row without a session is a session of its own once any row names one.
  any_session_ = any_session_ || row.session.has_value();
  const std::uint64_t own = mix64(kOwnSession + session_.size());
  session_.push_back(sessions_.intern(row.session.value_or(own)));
}

Workload WorkloadBuilder::build(WorkloadSource source) {
  if (arrival_ns_.empty()) {
    throw InputError(Fault::kTrace, {name_, 0, ""}, "no requests; expected at least one row");
  }
  auto owned = std::make_unique<OwnedColumns>();
  owned->arrival_ns = std::move(arrival_ns_);
  owned->input_tokens = std::move(input_tokens_);
  owned->output_tokens = std::move(output_tokens_);
  owned->chain_begin = std::move(chain_begin_);
  owned->chain = std::move(chain_);
  if (any_session_) owned->session = std::move(session_);

  WorkloadColumns columns;
  columns.arrival_ns = owned->arrival_ns;
  columns.input_tokens = owned->input_tokens;
  columns.output_tokens = owned->output_tokens;
  columns.session = owned->session;
  columns.chain_begin = owned->chain_begin;
  columns.chain = owned->chain;
  columns.block_tokens = block_tokens_;
  columns.unique_blocks = blocks_.size();
  *this = WorkloadBuilder(name_, block_tokens_);
  return Workload(std::move(owned), columns, std::move(source));
}

}  // namespace spillway

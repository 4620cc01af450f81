#include "models/engine/chain_map.hpp"

#include "sim/error.hpp"

namespace spillway {

namespace {
constexpr std::uint64_t kMaxBlocks = (std::uint64_t{1} << 31) - 2;  // the residency table's limit
}

ChainMap::ChainMap(const Workload& workload, std::uint32_t block_tokens)
    : workload_(workload),
      block_tokens_(block_tokens),
      trace_block_tokens_(workload.block_tokens()),
      base_(workload.unique_blocks()),
      own_base_(workload.size()) {
  KV_ASSERT(block_tokens > 0 && trace_block_tokens_ > 0, "blocks of no tokens");
  // How many engine blocks end inside each trace block, at its fullest use.
  IdVector<TraceBlockId, std::uint32_t> count(workload.unique_blocks(), 0);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId request{i};
    const auto chain = workload.chain(request);
    const std::uint32_t full = workload.input_tokens(request) / block_tokens_;
    for (std::uint32_t k = 0; k < chain.size(); ++k) {
      const std::uint32_t first = first_block(k);
      const std::uint32_t end = std::min(first_block(k + 1), full);
      if (end > first) count[chain[k]] = std::max(count[chain[k]], end - first);
    }
  }
  std::uint64_t next = 0;
  for (std::uint32_t id = 0; id < workload.unique_blocks(); ++id) {
    base_[TraceBlockId{id}] = static_cast<std::uint32_t>(next);
    next += count[TraceBlockId{id}];
  }
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId request{i};
    const std::uint32_t full = workload.input_tokens(request) / block_tokens_;
    const auto total = static_cast<std::uint32_t>(
        (std::uint64_t{workload.input_tokens(request)} + workload.output_tokens(request)) /
        block_tokens_);
    own_base_[request] = static_cast<std::uint32_t>(next);
    next += total - full;
    longest_chain_ = std::max(longest_chain_, total + 1);
    if (next > kMaxBlocks) {
      throw InputError(
          Fault::kIo, {workload.source().name, 0, ""},
          fmt::format("more than {} distinct blocks of {} tokens; use a larger block or "
                      "fewer requests",
                      kMaxBlocks, block_tokens_));
    }
  }
  block_count_ = static_cast<std::uint32_t>(next);
}

}  // namespace spillway

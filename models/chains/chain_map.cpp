#include "models/chains/chain_map.hpp"

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
      reach_(workload.size()),
      own_base_(workload.size()) {
  KV_ASSERT(block_tokens > 0 && trace_block_tokens_ > 0, "blocks of no tokens");
  if (!workload.columns().after.empty()) join_outputs();
  find_reach();
  number_blocks();
}

bool ChainMap::continues(RequestId later, RequestId earlier) const {
  const auto prefix = workload_.full_chain(earlier);
  const std::uint64_t held =
      std::uint64_t{workload_.input_tokens(earlier)} + workload_.output_tokens(earlier);
  const auto whole = workload_.full_chain(later);
  if (prefix.empty() || prefix.size() > whole.size() || workload_.input_tokens(later) < held) {
    return false;
  }
  return std::equal(prefix.begin(), prefix.end(), whole.begin());
}

/// Two answers cannot stand at one place of a prompt: of several requests that it could continue, a
/// prompt continues the longest.
void ChainMap::join_outputs() {
  next_.assign(workload_.size(), kNobody);
  const auto held = [&](RequestId r) {
    return std::uint64_t{workload_.input_tokens(r)} + workload_.output_tokens(r);
  };
  for (std::uint32_t i = 0; i < workload_.size(); ++i) {
    const RequestId later{i};
    RequestId best = kNobody;
    for (const RequestId earlier : workload_.after(later)) {
      if (next_[earlier] != kNobody || !continues(later, earlier)) continue;
      if (best == kNobody || held(earlier) > held(best)) best = earlier;
    }
    if (best == kNobody) continue;
    next_[best] = later;
    ++joined_;
  }
}

/// How many engine blocks each request's own chain identifies.
void ChainMap::find_reach() {
  IdVector<TraceBlockId, std::uint8_t> uses(joined_ > 0 ? workload_.unique_blocks() : 0);
  if (joined_ > 0) {
    for (const TraceBlockId id : workload_.columns().chain) {
      if (uses[id] < 2) ++uses[id];
    }
  }
  for (std::uint32_t i = 0; i < workload_.size(); ++i) {
    const RequestId request{i};
    const auto chain = workload_.chain(request);
    const auto full = static_cast<std::uint32_t>(workload_.full_chain(request).size());
    auto named = static_cast<std::uint32_t>(chain.size());
    if (continued_by(request) != kNobody && named > full && uses[chain.back()] == 1) named = full;
    reach_[request] = std::min(workload_.input_tokens(request) / block_tokens_, first_block(named));
  }
}

void ChainMap::number_blocks() {
  // How many engine blocks end inside each trace block, at its fullest use.
  IdVector<TraceBlockId, std::uint32_t> count(workload_.unique_blocks(), 0);
  for (std::uint32_t i = 0; i < workload_.size(); ++i) {
    const RequestId request{i};
    const auto chain = workload_.chain(request);
    for (std::uint32_t k = 0; k < chain.size(); ++k) {
      const std::uint32_t first = first_block(k);
      const std::uint32_t end = std::min(first_block(k + 1), reach_[request]);
      if (end > first) count[chain[k]] = std::max(count[chain[k]], end - first);
    }
  }
  std::uint64_t next = 0;
  for (std::uint32_t id = 0; id < workload_.unique_blocks(); ++id) {
    base_[TraceBlockId{id}] = static_cast<std::uint32_t>(next);
    next += count[TraceBlockId{id}];
  }
  shared_ = static_cast<std::uint32_t>(next);
  for (std::uint32_t i = 0; i < workload_.size(); ++i) {
    const RequestId request{i};
    const std::uint32_t total = blocks_of(request);
    own_base_[request] = static_cast<std::uint32_t>(next);
    if (continued_by(request) == kNobody) next += total - reach_[request];
    longest_chain_ = std::max(longest_chain_, total + 1);
    if (next > kMaxBlocks) {
      throw InputError(
          Fault::kIo, {workload_.source().name, 0, ""},
          fmt::format("more than {} distinct blocks of {} tokens; use a larger block or "
                      "fewer requests",
                      kMaxBlocks, block_tokens_));
    }
  }
  block_count_ = static_cast<std::uint32_t>(next);
}

}  // namespace spillway

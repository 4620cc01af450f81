// Which engine blocks a request's tokens consist of.
//
// Engine block i of trace block t is (t, i): ids of one trace block are consecutive, so a chain is
// a few runs of consecutive ids. An engine block belongs to the trace block that holds its last
// token (trace ids name whole prefixes, so that names the engine block's prefix too). Only full
// blocks have a shared id; from the first block that the prompt does not fill, a request has ids of
// its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/workload.hpp"

namespace spillway {

class ChainMap {
 public:
  /// Throws InputError (exit 7) when the ids do not fit 31 bits.
  ChainMap(const Workload& workload, std::uint32_t block_tokens);

  std::uint32_t block_count() const { return block_count_; }
  std::uint32_t longest_chain() const { return longest_chain_; }

  /// Calls run(first id, count) for the blocks [from, to) of the request's prompt and output, in
  /// order; stops early when it returns false.
  template <class Run>
  void for_runs(RequestId request, std::uint32_t from, std::uint32_t to, Run run) const {
    const std::uint32_t full = workload_.input_tokens(request) / block_tokens_;
    const auto chain = workload_.chain(request);
    while (from < to && from < full) {
      const std::uint64_t last_token = (std::uint64_t{from} + 1) * block_tokens_ - 1;
      const auto k = static_cast<std::uint32_t>(last_token / trace_block_tokens_);
      const std::uint32_t first = first_block(k);
      const std::uint32_t end = std::min({first_block(k + 1), full, to});
      if (!run(base_[chain[k]] + (from - first), end - from)) return;
      from = end;
    }
    if (from < to) run(own_base_[request] + (from - full), to - from);
  }

 private:
  /// The first engine block whose last token lies in the k-th trace block of a chain.
  std::uint32_t first_block(std::uint32_t k) const {
    return static_cast<std::uint32_t>(std::uint64_t{k} * trace_block_tokens_ / block_tokens_);
  }

  const Workload& workload_;
  std::uint32_t block_tokens_;
  std::uint32_t trace_block_tokens_;
  IdVector<TraceBlockId, std::uint32_t> base_;
  IdVector<RequestId, std::uint32_t> own_base_;
  std::uint32_t block_count_ = 0;
  std::uint32_t longest_chain_ = 0;
};

}  // namespace spillway

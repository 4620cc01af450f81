// Which engine blocks a request's tokens consist of: the block ids of a whole simulation, computed
// once and shared by its engines. Each engine may call them otherwise (local_chains.hpp).
//
// Engine block i of trace block t is (t, i): ids of one trace block are consecutive, so a chain is
// a few runs of consecutive ids. An engine block belongs to the trace block that holds its last
// token (trace ids name whole prefixes, so that names the engine block's prefix too). Only full
// engine blocks have a shared id.
//
// What a request's chain does not reach (a prompt's tail, when the trace names full blocks only,
// and the output) joins the chain of the request that continues it: the first one that waited for
// its answer, has all its full trace blocks as a prefix, at least one, and has room for its prompt
// and its output. The continuing prompt is taken to contain the answer. A partial trace block that
// no other request names gives way, or what lies behind it could never be found as a prefix.
// Whatever remains is the request's own.
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
  std::uint32_t block_tokens() const { return block_tokens_; }
  const Workload& workload() const { return workload_; }
  /// Requests whose output joins the chain of a later prompt.
  std::uint32_t joined() const { return joined_; }

  /// Full blocks of the request's prompt and output.
  std::uint32_t blocks_of(RequestId request) const {
    return static_cast<std::uint32_t>(
        (std::uint64_t{workload_.input_tokens(request)} + workload_.output_tokens(request)) /
        block_tokens_);
  }
  /// The ids of a trace block's engine blocks, and of those that are a request's own: the first,
  /// and how many follow each other.
  std::uint32_t base(TraceBlockId block) const { return base_[block]; }
  std::uint32_t base(RequestId request) const { return own_base_[request]; }
  std::uint32_t count(TraceBlockId block) const {
    const std::uint32_t next = raw(block) + 1;
    return (next < base_.size() ? base_[TraceBlockId{next}] : shared_) - base_[block];
  }
  std::uint32_t count(RequestId request) const {
    const std::uint32_t next = raw(request) + 1;
    return (next < own_base_.size() ? own_base_[RequestId{next}] : block_count_) -
           own_base_[request];
  }

  /// Calls run(first id, count) for the blocks [from, to) of the request's prompt and output, in
  /// order; stops early when it returns false.
  template <class Run>
  void for_runs(RequestId request, std::uint32_t from, std::uint32_t to, Run run) const {
    for_runs_as([this](auto whose) { return this->base(whose); }, request, from, to, run);
  }
  /// The same where base_of(whose) is the first id of a trace block's blocks, or of a request's
  /// own: the runs are as long as here.
  template <class Base, class Run>
  void for_runs_as(Base base_of, RequestId request, std::uint32_t from, std::uint32_t to,
                   Run& run) const {
    for (;;) {
      const std::uint32_t reach = std::min(reach_[request], to);
      const auto chain = workload_.chain(request);
      while (from < reach) {
        const std::uint64_t last_token = (std::uint64_t{from} + 1) * block_tokens_ - 1;
        const auto k = static_cast<std::uint32_t>(last_token / trace_block_tokens_);
        const std::uint32_t first = first_block(k);
        const std::uint32_t end = std::min(first_block(k + 1), reach);
        if (!run(base_of(chain[k]) + (from - first), end - from)) return;
        from = end;
      }
      if (from >= to) return;
      if (continued_by(request) == kNobody) break;
      request = continued_by(request);
    }
    run(base_of(request) + (from - reach_[request]), to - from);
  }

 private:
  static constexpr RequestId kNobody{~std::uint32_t{0}};

  /// The first engine block whose last token lies in the k-th trace block of a chain.
  std::uint32_t first_block(std::uint32_t k) const {
    return static_cast<std::uint32_t>(std::uint64_t{k} * trace_block_tokens_ / block_tokens_);
  }
  RequestId continued_by(RequestId request) const {
    return next_.size() == 0 ? kNobody : next_[request];
  }
  bool continues(RequestId later, RequestId earlier) const;
  void join_outputs();
  void find_reach();
  void number_blocks();

  const Workload& workload_;
  std::uint32_t block_tokens_;
  std::uint32_t trace_block_tokens_;
  IdVector<TraceBlockId, std::uint32_t> base_;
  IdVector<RequestId, std::uint32_t> reach_;     ///< blocks that the own chain identifies
  IdVector<RequestId, RequestId> next_;          ///< who continues it; empty without links
  IdVector<RequestId, std::uint32_t> own_base_;  ///< blocks of nobody else, from reach_ on
  std::uint32_t shared_ = 0;                     ///< ids below this are of trace blocks
  std::uint32_t block_count_ = 0;
  std::uint32_t longest_chain_ = 0;
  std::uint32_t joined_ = 0;
};

}  // namespace spillway

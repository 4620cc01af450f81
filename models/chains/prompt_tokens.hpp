// Which tokens of two requests are the same, token by token: for caches that share parts of blocks.
//
// Token p of a prompt is the trace block that holds it, and its place therein; what the trace names
// no block for, answers included, is the request's own. So two requests have tokens in common as
// far as the trace's ids agree, up to where the shorter prompt ends; a request has all of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/ids.hpp"
#include "sim/workload.hpp"

namespace spillway {

class PromptTokens {
 public:
  explicit PromptTokens(const Workload& workload)
      : workload_(workload), trace_block_(workload.block_tokens()) {}

  /// What is equal for equal tokens of one place, and seldom else.
  std::uint64_t name(RequestId r, std::uint32_t at) const {
    if (at >= named(r)) return kOwn | raw(r);
    return raw(workload_.chain(r)[at / trace_block_]);
  }
  /// Of the tokens [from, from + most) of both, how many are the same until the first that is not.
  std::uint32_t common(RequestId a, RequestId b, std::uint32_t from, std::uint32_t most) const {
    if (a == b) return most;
    const std::uint32_t end = std::min({from + most, named(a), named(b)});
    const auto x = workload_.chain(a);
    const auto y = workload_.chain(b);
    std::uint32_t at = from;
    while (at < end && x[at / trace_block_] == y[at / trace_block_]) {
      at = (at / trace_block_ + 1) * trace_block_;
    }
    return at > from ? std::min(at, end) - from : 0;
  }

 private:
  static constexpr std::uint64_t kOwn = std::uint64_t{1} << 32;

  /// Tokens of the prompt that the trace has ids for.
  std::uint32_t named(RequestId r) const {
    const std::uint64_t tokens = std::uint64_t{workload_.chain(r).size()} * trace_block_;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(workload_.input_tokens(r), tokens));
  }

  const Workload& workload_;
  std::uint32_t trace_block_;
};

}  // namespace spillway

// Policies that want to hear of whole chains: what a request looks for, has grown to, or releases.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chains/local_chains.hpp"
#include "models/requests/active_request.hpp"
#include "policies/eviction_policy.hpp"

namespace spillway {

class ChainListeners {
 public:
  using Event = void (EvictionPolicy::*)(BlockSpan chain, const Access& access);

  explicit ChainListeners(const LocalChains& chains) : chains_(chains) {}
  /// Takes it up where it wants chains; it may be null. Its tier keeps so many blocks as one.
  void add(EvictionPolicy* policy, std::uint32_t blocks_per_key);
  /// Of the request's first `blocks` full blocks.
  void tell(Event event, const ActiveRequest& r, std::uint32_t blocks, const Access& access);

 private:
  struct Listener {
    EvictionPolicy* policy;
    std::uint32_t blocks_per_key;
  };
  BlockSpan keys_of(const Listener& listener);

  const LocalChains& chains_;
  std::vector<Listener> listeners_;
  std::vector<BlockId> chain_;  ///< scratch: what they are told
  std::vector<BlockId> keys_;   ///< scratch: the same of a tier of chunks
};

}  // namespace spillway

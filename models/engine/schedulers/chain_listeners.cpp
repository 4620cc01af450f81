#include "models/engine/schedulers/chain_listeners.hpp"

namespace spillway {

void ChainListeners::add(EvictionPolicy* policy, std::uint32_t blocks_per_key) {
  if (policy == nullptr || !policy->wants_chains()) return;
  listeners_.push_back({policy, blocks_per_key});
  chain_.reserve(chains_.longest_chain());
}

void ChainListeners::tell(Event event, const ActiveRequest& r, std::uint32_t blocks,
                          const Access& access) {
  if (listeners_.empty()) return;
  chain_.clear();
  chains_.for_runs(r.id, 0, blocks, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chain_.push_back(BlockId{first + i});
    return true;
  });
  for (const Listener& l : listeners_) (l.policy->*event)(keys_of(l), access);
}

/// chain_ as a tier of chunks knows it: by the last block of each.
BlockSpan ChainListeners::keys_of(const Listener& listener) {
  if (listener.blocks_per_key == 1) return chain_;
  keys_.clear();
  for (std::size_t i = listener.blocks_per_key - 1; i < chain_.size();
       i += listener.blocks_per_key) {
    keys_.push_back(chain_[i]);
  }
  return keys_;
}

}  // namespace spillway

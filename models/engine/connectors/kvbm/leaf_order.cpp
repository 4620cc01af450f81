#include "models/engine/connectors/kvbm/leaf_order.hpp"

#include <algorithm>
#include <functional>

#include "sim/error.hpp"

namespace spillway {

void LeafOrder::rest(BlockId block) {
  const BlockId parent = parents_[raw(block)];
  nodes_.grow(std::size_t{raw(block)} + 1, {});
  if (parent != kNoBlock) nodes_.grow(std::size_t{raw(parent)} + 1, {});
  Node& node = nodes_[raw(block)];
  node.since = ++rests_;
  ++resting_;
  if (parent != kNoBlock && !node.joined) {
    node.joined = true;
    ++nodes_[raw(parent)].children;
  }
  if (node.children == 0) push(block);
}

void LeafOrder::leave(BlockId block) {
  nodes_[raw(block)].since = 0;
  --resting_;
  while (nodes_[raw(block)].children == 0 && nodes_[raw(block)].joined) {
    nodes_[raw(block)].joined = false;
    block = parents_[raw(block)];
    Node& parent = nodes_[raw(block)];
    if (--parent.children > 0) return;
    if (parent.since != 0) return push(block);
  }
}

BlockId LeafOrder::oldest_leaf() {
  KV_ASSERT(resting_ > 0, "no block rests");
  while (!valid(leaves_.front())) {
    std::pop_heap(leaves_.begin(), leaves_.end(), std::greater<>());
    leaves_.pop_back();
  }
  return leaves_.front().block;
}

void LeafOrder::push(BlockId block) {
  constexpr std::size_t kFew = 64;
  if (leaves_.size() >= 2 * resting_ + kFew) compact();
  leaves_.push_back({nodes_[raw(block)].since, block});
  std::push_heap(leaves_.begin(), leaves_.end(), std::greater<>());
}

/// A sorted column is a heap.
void LeafOrder::compact() {
  std::erase_if(leaves_, [&](const Entry& entry) { return !valid(entry); });
  std::sort(leaves_.begin(), leaves_.end());
  leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
}

}  // namespace spillway

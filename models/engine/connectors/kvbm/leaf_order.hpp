// The lineage pool of KVBM v2: of resting blocks those leave first that no block behind them rests
// on (lib/kvbm-logical/src/pools/inactive/backends/lineage.rs).
//
// A resting block is among the children of the block before it. It stays there while it has
// children itself, at rest or not: upstream's ghosts. Of resting blocks without children the one
// that has rested longest leaves. A block that never rested here is nobody's child, so what lies
// before it in the chain is not protected.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

/// By block, the one before it in its chain; kNoBlock: it is the first.
using Parents = GrowingColumn<BlockId>;

class LeafOrder {
 public:
  explicit LeafOrder(const Parents& parents) : parents_(parents) {}

  void rest(BlockId block);
  /// It rests no longer.
  void leave(BlockId block);
  /// Precondition: some block rests.
  BlockId oldest_leaf();

 private:
  struct Node {
    std::uint64_t since = 0;  ///< number of its rest; 0: it does not rest
    std::uint32_t children = 0;
    bool joined = false;  ///< the one before it counts it
  };
  struct Entry {
    std::uint64_t since;
    BlockId block;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  bool valid(const Entry& entry) const {
    const Node& node = nodes_[raw(entry.block)];
    return node.since == entry.since && node.children == 0;
  }
  void push(BlockId block);
  void compact();

  const Parents& parents_;
  GrowingColumn<Node> nodes_;  ///< by block
  std::vector<Entry> leaves_;  ///< a heap, the oldest first; some are leaves no longer
  std::uint64_t rests_ = 0;
  std::size_t resting_ = 0;
};

}  // namespace spillway

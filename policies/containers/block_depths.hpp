// How far from its chain's root each block stands, learned from the chains that name it: four bytes
// a block. A block whose id hashes its prefix has one depth for ever; of one that has several the
// last counts.
#pragma once

#include <cstdint>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class BlockDepths {
 public:
  explicit BlockDepths(std::uint32_t blocks) { grow(blocks); }
  void grow(std::uint32_t blocks) { depth_.grow(blocks, 0); }

  void learn(BlockSpan chain) {
    std::uint32_t depth = 0;
    for (const BlockId block : chain) depth_[raw(block)] = depth++;
  }
  /// Blocks before it in its chain; 0 until a chain names it. Precondition: it has a name.
  std::uint32_t operator[](BlockId block) const { return depth_[raw(block)]; }

 private:
  GrowingColumn<std::uint32_t> depth_;
};

}  // namespace spillway

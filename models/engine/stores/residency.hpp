// Where each block is: its slot in HBM and in the tier below, one array read each.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sim/ids.hpp"
#include "sim/memory.hpp"

namespace spillway {

/// Slot 0 of either tier is never used for a block, so zeroed memory means "nowhere".
struct BlockResidency {
  std::uint32_t hbm;
  std::uint32_t below_state;  ///< slot below, and kBusy while it is being written or read

  static constexpr std::uint32_t kBusy = std::uint32_t{1} << 31;
  std::uint32_t below() const { return below_state & ~kBusy; }
  bool idle_below() const { return below_state != 0 && (below_state & kBusy) == 0; }
};

/// Zero-filled on demand by the system: blocks that are nowhere cost no memory. A page is counted
/// as its first block comes to be somewhere.
class ResidencyTable {
 public:
  /// Throws MemoryShort where the system has no addresses for all of it.
  explicit ResidencyTable(std::uint32_t blocks)
      : entries_(static_cast<BlockResidency*>(
            std::calloc(std::size_t{blocks} + 1, sizeof(BlockResidency)))),
        written_(std::size_t{blocks} / kPageBlocks + 1) {
    if (entries_ == nullptr) refuse_memory((std::size_t{blocks} + 1) * sizeof(BlockResidency));
  }
  BlockResidency& operator[](BlockId id) { return entries_.get()[raw(id)]; }
  const BlockResidency* from(std::uint32_t first) const { return entries_.get() + first; }
  /// Of a block that may have been nowhere. Throws MemoryShort.
  BlockResidency& place(BlockId id) {
    std::uint8_t& written = written_[raw(id) / kPageBlocks];
    if (written == 0) {
      claim_.grow(kPageBlocks * sizeof(BlockResidency));
      written = 1;
    }
    return (*this)[id];
  }

 private:
  static constexpr std::uint32_t kPageBlocks = 4096 / sizeof(BlockResidency);
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<BlockResidency, Free> entries_;
  std::vector<std::uint8_t> written_;  ///< by page
  MemoryClaim claim_{0};
};

}  // namespace spillway

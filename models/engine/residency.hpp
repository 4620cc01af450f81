// Where each block is: its slot in HBM and in the tier below, one array read each.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

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

/// Zero-filled on demand by the system: blocks that are never touched cost no memory.
class ResidencyTable {
 public:
  /// Throws MemoryShort where all of it would not fit.
  explicit ResidencyTable(std::uint32_t blocks)
      : claim_((std::size_t{blocks} + 1) * sizeof(BlockResidency)),
        entries_(static_cast<BlockResidency*>(std::calloc(claim_.bytes(), 1))) {
    if (entries_ == nullptr) refuse_memory(claim_.bytes());
  }
  BlockResidency& operator[](BlockId id) { return entries_.get()[raw(id)]; }
  BlockResidency* from(std::uint32_t first) { return entries_.get() + first; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  MemoryClaim claim_;
  std::unique_ptr<BlockResidency, Free> entries_;
};

}  // namespace spillway

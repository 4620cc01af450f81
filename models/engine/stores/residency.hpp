// Where the blocks of one store are: a column over block ids, one array read each. A store has a
// column of its own, so that a hierarchy has as many levels as its scenario names.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sim/ids.hpp"
#include "sim/memory.hpp"

namespace spillway {

/// Slot 0 is never used for a block, so zeroed memory means "nowhere".
struct BlockPlace {
  std::uint32_t word;  ///< the slot, and kBusy while it is being written or read

  static constexpr std::uint32_t kBusy = std::uint32_t{1} << 31;
  bool here() const { return word != 0; }
  bool idle() const { return word != 0 && (word & kBusy) == 0; }
  SlotId slot() const { return SlotId{word & ~kBusy}; }
};

/// Zero-filled on demand by the system: blocks that are nowhere cost no memory. A page is counted
/// as its first block comes to be somewhere.
class ResidencyColumn {
 public:
  /// Throws MemoryShort where the system has no addresses for all of it.
  explicit ResidencyColumn(std::uint32_t blocks)
      : places_(static_cast<BlockPlace*>(std::calloc(std::size_t{blocks} + 1, sizeof(BlockPlace)))),
        written_(std::size_t{blocks} / kPageBlocks + 1) {
    if (places_ == nullptr) refuse_memory((std::size_t{blocks} + 1) * sizeof(BlockPlace));
  }
  BlockPlace& operator[](BlockId id) { return places_.get()[raw(id)]; }
  BlockPlace operator[](BlockId id) const { return places_.get()[raw(id)]; }
  const BlockPlace* from(std::uint32_t first) const { return places_.get() + first; }
  /// Of a block that may have been nowhere. Throws MemoryShort.
  BlockPlace& place(BlockId id) {
    std::uint8_t& written = written_[raw(id) / kPageBlocks];
    if (written == 0) {
      claim_.grow(kPageBlocks * sizeof(BlockPlace));
      written = 1;
    }
    return (*this)[id];
  }

 private:
  static constexpr std::uint32_t kPageBlocks = 4096 / sizeof(BlockPlace);
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<BlockPlace, Free> places_;
  std::vector<std::uint8_t> written_;  ///< by page
  MemoryClaim claim_{0};
};

/// Told what a store gains and loses, by the store's block ids. A store that nobody watches pays a
/// look at a null pointer.
class StoreWatch {
 public:
  /// The block can be found there from now on.
  virtual void on_stored(BlockId block) = 0;
  virtual void on_dropped(BlockId block) = 0;

 protected:
  ~StoreWatch() = default;
};

}  // namespace spillway

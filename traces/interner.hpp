// 64-bit block hashes to dense ids, numbered by first appearance. The only hash map on the data
// path: after interning, residency is an array read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/error.hpp"
#include "sim/rng.hpp"

namespace spillway {

class Interner {
 public:
  Interner() : slots_(kInitialSlots) {}

  std::uint32_t intern(std::uint64_t hash) {
    std::size_t at = mix64(hash) & (slots_.size() - 1);
    while (slots_[at].id != kFree) {
      if (slots_[at].hash == hash) return slots_[at].id;
      at = (at + 1) & (slots_.size() - 1);
    }
    KV_ASSERT(count_ < kFree - 1, "more than 2^32 distinct blocks");
    slots_[at] = {hash, count_};
    if (2 * (count_ + 1) > slots_.size()) grow();
    return count_++;
  }
  /// The id of a hash that has one.
  std::optional<std::uint32_t> find(std::uint64_t hash) const {
    std::size_t at = mix64(hash) & (slots_.size() - 1);
    for (; slots_[at].id != kFree; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash) return slots_[at].id;
    }
    return std::nullopt;
  }
  std::uint32_t size() const { return count_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  static constexpr std::size_t kInitialSlots = std::size_t{1} << 12;  // a power of two
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = kFree;
  };

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id == kFree) continue;
      std::size_t at = mix64(slot.hash) & (slots_.size() - 1);
      while (slots_[at].id != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace spillway

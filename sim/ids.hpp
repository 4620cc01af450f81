// Dense ids, numbered by first appearance, and the vector indexed by one.
//
// Every id is a distinct enum over uint32, so a request cannot be used where a block is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace spillway {

enum class TraceBlockId : std::uint32_t {};  ///< A block as the trace numbers it (512 tokens, ...).
enum class BlockId : std::uint32_t {};       ///< A block of the engine (16 tokens, ...).
enum class SlotId : std::uint32_t {};        ///< A place in a tier that holds one block.
enum class RequestId : std::uint32_t {};
enum class SessionId : std::uint32_t {};

using SlotSpan = std::span<const SlotId>;
using BlockSpan = std::span<const BlockId>;  ///< a prefix chain or part of one, root first

/// No element of a column.
inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};
inline constexpr SlotId kNoSlot{~std::uint32_t{0}};
inline constexpr BlockId kNoBlock{~std::uint32_t{0}};

template <class Id>
constexpr std::uint32_t raw(Id id) {
  return static_cast<std::uint32_t>(id);
}

/// Where the engine's blocks are the trace's own.
constexpr BlockId as_block(TraceBlockId id) {
  return BlockId{raw(id)};
}

/// A vector that only its own id type indexes.
template <class Id, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t n, const T& value = T()) : items_(n, value) {}

  T& operator[](Id id) { return items_[raw(id)]; }
  const T& operator[](Id id) const { return items_[raw(id)]; }
  std::size_t size() const { return items_.size(); }
  void assign(std::size_t n, const T& value) { items_.assign(n, value); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace spillway

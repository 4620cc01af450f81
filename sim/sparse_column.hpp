// A column over a large space of ids of which its owner meets few, in runs of neighbours: memory
// follows the ids that were placed, beyond address space for an index of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "sim/growing_column.hpp"
#include "sim/memory.hpp"

namespace spillway {

/// What was never placed reads as zero.
template <class T>
class SparseColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Ids are below `ids`. Throws MemoryShort where the system has no addresses for the index.
  explicit SparseColumn(std::size_t ids)
      : piece_of_(
            static_cast<std::uint32_t*>(std::calloc(ids / kPieceIds + 1, sizeof(std::uint32_t)))) {
    if (piece_of_ == nullptr) refuse_memory((ids / kPieceIds + 1) * sizeof(std::uint32_t));
    values_.grow(kPieceIds, T{});  // of all pieces that nobody placed
  }

  T operator[](std::uint32_t id) const {
    return values_[std::size_t{piece_of_.get()[id / kPieceIds]} * kPieceIds + id % kPieceIds];
  }
  /// The reference holds until the next call.
  T& place(std::uint32_t id) {
    std::uint32_t& piece = piece_of_.get()[id / kPieceIds];
    if (piece == 0) {
      piece = static_cast<std::uint32_t>(values_.size() / kPieceIds);
      values_.grow(values_.size() + kPieceIds, T{});
    }
    return values_[std::size_t{piece} * kPieceIds + id % kPieceIds];
  }

 private:
  static constexpr std::size_t kPieceIds = 16;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<std::uint32_t, Free> piece_of_;
  GrowingColumn<T> values_;
};

}  // namespace spillway

// A column that grows to gigabytes without ever being there twice: the heap moves its pages instead
// of copying them, and it grows in steps of a quarter. What it takes is counted (memory.hpp).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <utility>

#include "sim/memory.hpp"

namespace spillway {

template <class T>
class GrowingColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingColumn() = default;
  ~GrowingColumn() {
    std::free(data_);
    if (counted()) give_memory(capacity_ * sizeof(T));
  }
  GrowingColumn(GrowingColumn&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)),
        size_(std::exchange(from.size_, 0)),
        capacity_(std::exchange(from.capacity_, 0)) {}
  GrowingColumn& operator=(GrowingColumn&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    std::swap(capacity_, from.capacity_);
    return *this;
  }

  void push_back(T value) {
    if (size_ == capacity_) grow_to(size_ + 1);
    data_[size_++] = value;
  }
  /// As many more, for the caller to fill.
  std::span<T> append(std::size_t count) {
    if (capacity_ - size_ < count) grow_to(size_ + count);
    size_ += count;
    return {data_ + size_ - count, count};
  }
  /// Larger, with `value` behind what is there.
  void grow(std::size_t size, T value) {
    if (size <= size_) return;
    for (T& added : append(size - size_)) added = value;
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  bool counted() const { return capacity_ * sizeof(T) >= kLargePiece; }

  /// Throws MemoryShort; the column is then as it was.
  void grow_to(std::size_t least) {
    const bool large = least * sizeof(T) >= kLargePiece;
    std::size_t wanted = capacity_ + capacity_ / (large ? 4 : 1);
    if (wanted < least) wanted = least;
    if (wanted < 64) wanted = 64;
    const std::size_t more = (wanted - (counted() ? capacity_ : 0)) * sizeof(T);
    const bool count = wanted * sizeof(T) >= kLargePiece;
    if (count) take_memory(more);
    void* const moved = std::realloc(data_, wanted * sizeof(T));
    if (moved == nullptr) {
      if (count) give_memory(more);
      refuse_memory(wanted * sizeof(T));
    }
    data_ = static_cast<T*>(moved);
    capacity_ = wanted;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace spillway

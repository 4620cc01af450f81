// Things known by a number while they are in use; numbers are used again, and so is the memory that
// a thing has grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

template <class T>
class Slab {
 public:
  /// A number in use from now on. What was last under it, if anything, is still there.
  std::uint32_t take() {
    if (free_.empty()) {
      things_.emplace_back();
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void release(std::uint32_t number) { free_.push_back(number); }

  T& operator[](std::uint32_t number) { return things_[number]; }
  const T& operator[](std::uint32_t number) const { return things_[number]; }
  bool none_in_use() const { return things_.size() == free_.size(); }

 private:
  std::vector<T> things_;
  std::vector<std::uint32_t> free_;
};

}  // namespace spillway

// A double-ended queue in one block of memory that grows by doubling and never shrinks, so that a
// run loop stops allocating once it has seen its peak.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace spillway {

template <class T>
class RingQueue {
 public:
  explicit RingQueue(std::size_t capacity = 16) : items_(power_of_two(capacity)) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return items_[(head_ + i) & mask()]; }
  const T& operator[](std::size_t i) const { return items_[(head_ + i) & mask()]; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }

  void push_back(T item) {
    if (size_ == items_.size()) grow();
    items_[(head_ + size_++) & mask()] = std::move(item);
  }
  void push_front(T item) {
    if (size_ == items_.size()) grow();
    head_ = (head_ + mask()) & mask();
    items_[head_] = std::move(item);
    ++size_;
  }
  void pop_front() {
    head_ = (head_ + 1) & mask();
    --size_;
  }
  /// The first that equals `item` leaves; false where none does.
  bool erase_item(const T& item) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!((*this)[i] == item)) continue;
      erase(i);
      return true;
    }
    return false;
  }
  /// Linear in the items behind it.
  void erase(std::size_t i) {
    for (; i + 1 < size_; ++i) (*this)[i] = std::move((*this)[i + 1]);
    --size_;
  }

 private:
  static std::size_t power_of_two(std::size_t n) {
    std::size_t p = 1;
    while (p < n) p *= 2;
    return p;
  }
  std::size_t mask() const { return items_.size() - 1; }
  void grow() {
    std::vector<T> bigger(2 * items_.size());
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = std::move((*this)[i]);
    items_ = std::move(bigger);
    head_ = 0;
  }

  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace spillway

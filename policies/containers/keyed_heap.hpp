// A four-way min-heap of items that have a dense `id` and <, with removal from the middle and new
// keys in O(log n). A key that rises costs little: most items stand near the leaves.
#pragma once

#include <cstdint>
#include <vector>

namespace spillway {

/// Items that < tells apart make the order independent of the heap's history.
template <class Item>
class KeyedHeap {
 public:
  explicit KeyedHeap(std::uint32_t ids) : position_(ids, kOut) {}
  void grow(std::uint32_t ids) { position_.resize(ids, kOut); }

  bool empty() const { return heap_.empty(); }
  bool contains(std::uint32_t id) const { return position_[id] != kOut; }
  /// Precondition: not empty.
  const Item& front() const { return heap_.front(); }

  /// Precondition: its id is not in the heap.
  void push(const Item& item) {
    heap_.push_back(item);
    sift_up(static_cast<std::uint32_t>(heap_.size() - 1));
  }
  /// Precondition: its id is in the heap.
  void set(const Item& item) {
    heap_[position_[item.id]] = item;
    sift_down(position_[item.id]);
    sift_up(position_[item.id]);
  }
  /// Precondition: `id` is in the heap.
  void erase(std::uint32_t id) {
    const std::uint32_t hole = position_[id];
    const Item last = heap_.back();
    heap_.pop_back();
    position_[id] = kOut;
    if (last.id == id) return;
    place(hole, last);
    sift_down(hole);
    sift_up(position_[last.id]);
  }
  /// Takes out the least. Precondition: not empty.
  Item pop() {
    const Item least = front();
    erase(least.id);
    return least;
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  static constexpr std::uint32_t kArity = 4;  ///< half the levels of two, for as many comparisons

  void place(std::uint32_t at, const Item& item) {
    heap_[at] = item;
    position_[item.id] = at;
  }
  void sift_up(std::uint32_t at) {
    const Item item = heap_[at];
    for (; at > 0 && item < heap_[(at - 1) / kArity]; at = (at - 1) / kArity) {
      place(at, heap_[(at - 1) / kArity]);
    }
    place(at, item);
  }
  /// A knock-out, whose first two comparisons do not wait for each other.
  std::uint32_t least_of_four(std::uint32_t first) const {
    const Item* four = &heap_[first];
    const std::uint32_t a = four[1] < four[0] ? 1 : 0;
    const std::uint32_t b = four[3] < four[2] ? 3 : 2;
    return four[b] < four[a] ? b : a;
  }
  std::uint32_t least_of(std::uint32_t first, std::uint32_t end) const {
    std::uint32_t least = first;
    for (std::uint32_t i = first + 1; i < end; ++i) {
      if (heap_[i] < heap_[least]) least = i;
    }
    return least - first;
  }
  void sift_down(std::uint32_t at) {
    const Item item = heap_[at];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = kArity * at + 1; child < size; child = kArity * at + 1) {
      const std::uint32_t least =
          child + (size - child < kArity ? least_of(child, size) : least_of_four(child));
      if (!(heap_[least] < item)) break;
      place(at, heap_[least]);
      at = least;
    }
    place(at, item);
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace spillway

// A binary min-heap of dense ids by a 64-bit key, with removal from the middle in O(log n).
#pragma once

#include <cstdint>
#include <vector>

namespace spillway {

class IndexHeap {
 public:
  explicit IndexHeap(std::uint32_t ids) : position_(ids, kOut) {}
  void grow(std::uint32_t ids) { position_.resize(ids, kOut); }

  bool empty() const { return heap_.empty(); }
  bool contains(std::uint32_t id) const { return position_[id] != kOut; }
  /// Preconditions of both: not empty.
  std::uint32_t front() const { return heap_.front().id; }
  std::uint64_t front_key() const { return heap_.front().key; }

  /// Precondition: `id` is not in the heap.
  void push(std::uint32_t id, std::uint64_t key) {
    heap_.push_back({key, id});
    sift_up(static_cast<std::uint32_t>(heap_.size() - 1));
  }
  /// Precondition: `id` is in the heap.
  void erase(std::uint32_t id) {
    const std::uint32_t hole = position_[id];
    const Item last = heap_.back();
    heap_.pop_back();
    position_[id] = kOut;
    if (last.id == id) return;
    heap_[hole] = last;
    position_[last.id] = hole;
    sift_down(hole);
    sift_up(position_[last.id]);
  }
  /// Precondition: `id` is in the heap.
  void rekey(std::uint32_t id, std::uint64_t key) {
    heap_[position_[id]].key = key;
    sift_down(position_[id]);
    sift_up(position_[id]);
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  struct Item {
    std::uint64_t key;
    std::uint32_t id;
  };

  void place(std::uint32_t at, Item item) {
    heap_[at] = item;
    position_[item.id] = at;
  }
  void sift_up(std::uint32_t at) {
    const Item item = heap_[at];
    for (; at > 0 && item.key < heap_[(at - 1) / 2].key; at = (at - 1) / 2) {
      place(at, heap_[(at - 1) / 2]);
    }
    place(at, item);
  }
  void sift_down(std::uint32_t at) {
    const Item item = heap_[at];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && heap_[child + 1].key < heap_[child].key) ++child;
      if (item.key <= heap_[child].key) break;
      place(at, heap_[child]);
      at = child;
    }
    place(at, item);
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace spillway

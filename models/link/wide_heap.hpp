// A binary min-heap of ids by a wide key, then by order of entry. Each id's place is kept by the
// owner (an id is in one heap at a time), so that it can be taken out of the middle.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

class WideHeap {
 public:
  struct Item {
    WideInt key;
    std::uint64_t order;
    std::uint32_t id;
  };

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  const Item& front() const { return items_.front(); }
  const Item& at(std::size_t i) const { return items_[i]; }

  /// `place(id, position)` is told of every item that moves.
  template <class Place>
  void push(const Item& item, Place place) {
    items_.push_back(item);
    sift_up(items_.size() - 1, place);
  }
  template <class Place>
  void erase(std::size_t hole, Place place) {
    const Item last = items_.back();
    items_.pop_back();
    if (hole == items_.size()) return;
    items_[hole] = last;
    settle(hole, place);
  }
  template <class Place>
  void rekey(std::size_t at, WideInt key, Place place) {
    items_[at].key = key;
    settle(at, place);
  }

 private:
  static bool before(const Item& a, const Item& b) {
    return a.key != b.key ? a.key < b.key : a.order < b.order;
  }
  template <class Place>
  void settle(std::size_t at, Place place) {
    if (at > 0 && before(items_[at], items_[(at - 1) / 2])) {
      sift_up(at, place);
    } else {
      sift_down(at, place);
    }
  }
  template <class Place>
  void sift_up(std::size_t at, Place place) {
    const Item item = items_[at];
    for (; at > 0 && before(item, items_[(at - 1) / 2]); at = (at - 1) / 2) {
      items_[at] = items_[(at - 1) / 2];
      place(items_[at].id, static_cast<std::uint32_t>(at));
    }
    items_[at] = item;
    place(item.id, static_cast<std::uint32_t>(at));
  }
  template <class Place>
  void sift_down(std::size_t at, Place place) {
    const Item item = items_[at];
    for (std::size_t child = 2 * at + 1; child < items_.size(); child = 2 * at + 1) {
      if (child + 1 < items_.size() && before(items_[child + 1], items_[child])) ++child;
      if (!before(items_[child], item)) break;
      items_[at] = items_[child];
      place(items_[at].id, static_cast<std::uint32_t>(at));
      at = child;
    }
    items_[at] = item;
    place(item.id, static_cast<std::uint32_t>(at));
  }

  std::vector<Item> items_;
};

}  // namespace spillway

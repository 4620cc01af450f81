// Lists of the same dense ids that know their sizes and which of them holds an id: nine bytes an id
// in all. The lists are numbered as an enumeration of its owner names them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policies/containers/index_lists.hpp"

namespace spillway {

template <std::uint8_t kLists>
class TaggedLists {
 public:
  static constexpr std::uint8_t kNone = kLists;  ///< where an id is that no list holds

  explicit TaggedLists(std::uint32_t ids) : lists_(kLists, ids), list_(ids, kNone) {}
  void grow(std::uint32_t ids) {
    lists_.grow(ids);
    list_.resize(ids, kNone);
  }

  std::uint32_t size(std::uint8_t list) const { return size_[list]; }
  bool empty(std::uint8_t list) const { return size_[list] == 0; }
  /// The list that holds `id`, or kNone.
  std::uint8_t list_of(std::uint32_t id) const { return list_[id]; }
  /// Precondition: the list is not empty.
  std::uint32_t front(std::uint8_t list) const { return lists_.front(list); }

  /// From front to back; kEnd behind the last.
  static constexpr std::uint32_t kEnd = IndexLists::kEnd;
  std::uint32_t first(std::uint8_t list) const { return lists_.first(list); }
  /// Precondition: some list holds `id`.
  std::uint32_t next(std::uint32_t id) const { return lists_.next(id); }

  /// Precondition: no list holds `id`.
  void push_back(std::uint8_t list, std::uint32_t id) {
    list_[id] = list;
    ++size_[list];
    lists_.push_back(list, id);
  }
  /// Precondition: some list holds `id`.
  void erase(std::uint32_t id) {
    --size_[list_[id]];
    list_[id] = kNone;
    lists_.erase(id);
  }
  /// Precondition: some list holds `id`.
  void move_to_back(std::uint8_t list, std::uint32_t id) {
    erase(id);
    push_back(list, id);
  }
  /// Precondition: the list is not empty.
  std::uint32_t pop_front(std::uint8_t list) {
    const std::uint32_t id = front(list);
    erase(id);
    return id;
  }

 private:
  IndexLists lists_;
  std::vector<std::uint8_t> list_;  ///< by id
  std::array<std::uint32_t, kLists> size_{};
};

}  // namespace spillway

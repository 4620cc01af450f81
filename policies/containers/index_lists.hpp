// Several doubly linked lists over one set of dense ids, each id in at most one of them: O(1)
// everywhere, eight bytes an id, no allocation but by construction and grow(). The first nodes are
// the lists' sentinels.
#pragma once

#include <cstdint>
#include <vector>

namespace spillway {

class IndexLists {
 public:
  IndexLists(std::uint32_t lists, std::uint32_t ids)
      : lists_(lists), nodes_(std::size_t{lists} + ids) {
    for (std::uint32_t list = 0; list < lists; ++list) nodes_[list] = {list, list};
  }
  void grow(std::uint32_t ids) { nodes_.resize(std::size_t{lists_} + ids); }

  std::uint32_t lists() const { return lists_; }
  bool empty(std::uint32_t list) const { return nodes_[list].next == list; }
  bool contains(std::uint32_t id) const { return nodes_[lists_ + id].next != kOut; }
  /// From front to back; kEnd behind the last.
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  std::uint32_t first(std::uint32_t list) const { return id_at(nodes_[list].next); }
  /// Precondition: `id` is in a list.
  std::uint32_t next(std::uint32_t id) const { return id_at(nodes_[lists_ + id].next); }
  /// Precondition: the list is not empty.
  std::uint32_t front(std::uint32_t list) const { return nodes_[list].next - lists_; }

  /// Precondition: `id` is in no list.
  void push_back(std::uint32_t list, std::uint32_t id) {
    const std::uint32_t node = lists_ + id;
    const std::uint32_t last = nodes_[list].previous;
    nodes_[node] = {last, list};
    nodes_[last].next = node;
    nodes_[list].previous = node;
  }
  /// Precondition: `id` is in a list.
  void erase(std::uint32_t id) {
    Node& node = nodes_[lists_ + id];
    nodes_[node.previous].next = node.next;
    nodes_[node.next].previous = node.previous;
    node.next = kOut;
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  std::uint32_t id_at(std::uint32_t node) const { return node < lists_ ? kEnd : node - lists_; }
  struct Node {
    std::uint32_t previous = 0;
    std::uint32_t next = kOut;
  };

  std::uint32_t lists_;
  std::vector<Node> nodes_;
};

}  // namespace spillway

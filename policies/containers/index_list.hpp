// A doubly linked list of dense ids: O(1) everywhere, eight bytes an id, no allocation but
// by construction and grow(). Node 0 is the sentinel, id i is node i + 1.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class IndexList {
 public:
  explicit IndexList(std::uint32_t ids) {
    nodes_.push_back({0, 0});
    grow(ids);
  }
  void grow(std::uint32_t ids) { nodes_.grow(std::size_t{ids} + 1, {}); }

  bool empty() const { return nodes_[0].next == 0; }
  bool contains(std::uint32_t id) const { return nodes_[id + 1].next != kOut; }
  /// Precondition of both: not empty.
  std::uint32_t front() const { return nodes_[0].next - 1; }
  std::uint32_t back() const { return nodes_[0].previous - 1; }
  /// The id before `id`. Precondition: `id` is in the list and not its front.
  std::uint32_t before(std::uint32_t id) const { return nodes_[id + 1].previous - 1; }
  /// The id after `id`, which is in the list or ~0, that is before the front; ~0 behind the back.
  std::uint32_t after(std::uint32_t id) const { return nodes_[id + 1].next - 1; }

  /// Precondition: `id` is not in the list.
  void push_back(std::uint32_t id) {
    const std::uint32_t node = id + 1;
    const std::uint32_t last = nodes_[0].previous;
    nodes_[node] = {last, 0};
    nodes_[last].next = node;
    nodes_[0].previous = node;
  }
  /// Precondition: `id` is in the list.
  void erase(std::uint32_t id) {
    Node& node = nodes_[id + 1];
    nodes_[node.previous].next = node.next;
    nodes_[node.next].previous = node.previous;
    node.next = kOut;
  }
  /// Takes out.size() ids from the front. Precondition: there are as many.
  template <class Out>
  void pop_front(Out& out) {
    std::uint32_t node = nodes_[0].next;
    for (auto& id : out) {
      id = static_cast<std::remove_reference_t<decltype(id)>>(node - 1);
      const std::uint32_t next = nodes_[node].next;
      nodes_[node].next = kOut;
      node = next;
    }
    nodes_[0].next = node;
    nodes_[node].previous = 0;
  }

  /// Moves ids[0], ids[1], ... to the back, in that order. Ids that already follow each other in
  /// the list move as one run: chains are mostly touched as they were touched before. Precondition:
  /// all are in the list, each once.
  template <class Ids>
  void move_to_back(const Ids& ids) {
    std::size_t i = 0;
    while (i < ids.size()) {
      const std::uint32_t first = raw(ids[i]) + 1;
      std::uint32_t last = first;
      while (++i < ids.size() && nodes_[last].next == raw(ids[i]) + 1) last = raw(ids[i]) + 1;
      if (nodes_[last].next == 0) continue;  // at the back already
      nodes_[nodes_[first].previous].next = nodes_[last].next;
      nodes_[nodes_[last].next].previous = nodes_[first].previous;
      const std::uint32_t back = nodes_[0].previous;
      nodes_[back].next = first;
      nodes_[first].previous = back;
      nodes_[last].next = 0;
      nodes_[0].previous = last;
    }
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  struct Node {
    std::uint32_t previous = 0;
    std::uint32_t next = kOut;
  };
  GrowingColumn<Node> nodes_;
};

}  // namespace spillway

// Dense ids by how often they were used, and among equals by who came to that count first: one list
// in that order, cut into groups of one count.
//
// Using an id moves it past the last of its group, which is the end of the group one above, if
// there is one: O(1), with neither a heap nor a search. Memory: 12 bytes an id and 8 a group; d
// counts at one time take d * d / 2 uses, so a few thousand groups outlast any trace. The groups'
// array only grows, in steps, where that is not enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace spillway {

class FrequencyList {
 public:
  explicit FrequencyList(std::uint32_t ids) : nodes_(std::size_t{ids} + 1) {
    nodes_[0] = {0, 0, kOut};
    groups_.reserve(std::min(ids, kGroupsAtOnce));
  }
  void grow(std::uint32_t ids) {
    nodes_.reserve(std::size_t{ids} + 1);  // exactly: whoever owns the slots grows them by doubling
    nodes_.resize(std::size_t{ids} + 1);
    groups_.reserve(std::min(ids, kGroupsAtOnce));
  }

  bool empty() const { return nodes_[0].next == 0; }
  bool contains(std::uint32_t id) const { return nodes_[id + 1].group != kOut; }
  /// The id least often used. Precondition: not empty.
  std::uint32_t front() const { return nodes_[0].next - 1; }
  /// Also of an id that erase() took out; 0 for one that never was in.
  std::uint32_t count(std::uint32_t id) const {
    const Node& node = nodes_[id + 1];
    return node.group == kOut ? node.previous : groups_[node.group].count;
  }
  /// The count after one use more.
  std::uint32_t next_count(std::uint32_t id) const {
    const std::uint32_t now = count(id);
    return now == kMostUses ? now : now + 1;
  }

  /// Precondition: `id` is out. Calls of rising counts cost a step for each count passed in all,
  /// and a low count few steps.
  void insert(std::uint32_t id, std::uint32_t count) {
    std::uint32_t after = 0;  // the last node whose count is at most this one
    if (last_group_ < groups_.size() && groups_[last_group_].last != 0 &&
        groups_[last_group_].count <= count) {
      after = groups_[last_group_].last;
    }
    while (nodes_[after].next != 0) {
      const Group& above = groups_[nodes_[nodes_[after].next].group];
      if (above.count > count) break;
      after = above.last;
    }
    const bool joins = after != 0 && groups_[nodes_[after].group].count == count;
    link(id + 1, after, joins ? nodes_[after].group : new_group(count));
    last_group_ = nodes_[id + 1].group;
  }

  /// One use more. Precondition: `id` is in.
  void use(std::uint32_t id) {
    const std::uint32_t node = id + 1;
    const std::uint32_t own = nodes_[node].group;
    const std::uint32_t last = groups_[own].last;
    if (groups_[own].count == kMostUses) return;
    const std::uint32_t count = groups_[own].count + 1;
    const std::uint32_t next = nodes_[last].next;
    const std::uint32_t above = nodes_[next].group;
    if (next != 0 && groups_[above].count == count) {
      const std::uint32_t after = groups_[above].last;
      unlink(node);
      link(node, after, above);
    } else if (last == node && nodes_[nodes_[node].previous].group != own) {
      groups_[own].count = count;  // alone in its group, which stays where it is
    } else {
      const std::uint32_t after = last == node ? nodes_[node].previous : last;
      unlink(node);
      link(node, after, new_group(count));
    }
  }

  /// Out of the list; its count is kept. Precondition of both: `id` is in.
  void erase(std::uint32_t id) {
    const std::uint32_t kept = count(id);
    unlink(id + 1);
    nodes_[id + 1].group = kOut;
    nodes_[id + 1].previous = kept;
  }
  void forget(std::uint32_t id) {
    erase(id);
    nodes_[id + 1].previous = 0;
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  static constexpr std::uint32_t kMostUses = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kGroupsAtOnce = 65'536;  ///< of two billion uses

  struct Node {
    std::uint32_t previous = 0;  ///< of an id that is out: its count
    std::uint32_t next = 0;
    std::uint32_t group = kOut;
  };
  struct Group {
    std::uint32_t count = 0;  ///< of a free group: the next free one
    std::uint32_t last = 0;   ///< its last node; 0 where the group is free
  };

  std::uint32_t new_group(std::uint32_t count) {
    if (free_ == kOut) {
      groups_.push_back({count, 0});
      return static_cast<std::uint32_t>(groups_.size() - 1);
    }
    const std::uint32_t group = free_;
    free_ = groups_[group].count;
    groups_[group].count = count;
    return group;
  }
  void link(std::uint32_t node, std::uint32_t after, std::uint32_t group) {
    const std::uint32_t next = nodes_[after].next;
    nodes_[node] = {after, next, group};
    nodes_[after].next = node;
    nodes_[next].previous = node;
    groups_[group].last = node;
  }
  void unlink(std::uint32_t node) {
    const Node leaving = nodes_[node];
    nodes_[leaving.previous].next = leaving.next;
    nodes_[leaving.next].previous = leaving.previous;
    Group& group = groups_[leaving.group];
    if (group.last != node) return;
    if (nodes_[leaving.previous].group == leaving.group) {
      group.last = leaving.previous;
    } else {
      group = {free_, 0};
      free_ = leaving.group;
    }
  }

  std::vector<Node> nodes_;  ///< node 0 is the sentinel, id i is node i + 1
  std::vector<Group> groups_;
  std::uint32_t free_ = kOut;
  std::uint32_t last_group_ = kOut;  ///< that insert() last used
};

}  // namespace spillway

// One tier of FlexKV: a radix tree of runs of blocks, a slot each, and what leaves it
// (taco-project/FlexKV, csrc/radix_tree.{h,cpp}, csrc/eviction_strategy.cpp,
// cache/cache_engine.py).
//
// A match touches every node that it enters. An insertion below a match that ends inside a node
// splits that node: a new one, its parent, takes the equal head. Only leaves leave, and only where
// they are ready and nobody holds them; a leaf larger than what has to leave is cut.
//
// Model: nodes that are equal by the key of the policy leave by number, in the order in which they
// were made; upstream's heap decides.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "models/releases/flexkv_config.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"
#include "sim/slab.hpp"

namespace spillway {

class FlexkvTree {
 public:
  enum class Node : std::uint32_t {};
  static constexpr Node kRoot{0};  ///< empty, always ready, never leaves

  /// How far a run of blocks is there.
  struct Match {
    std::uint32_t blocks = 0;  ///< equal ones
    Node last = kRoot;         ///< where it ended
    std::uint32_t within = 0;  ///< equal blocks of that node
    std::uint32_t ready = 0;   ///< equal blocks of the leading ready nodes
    Node last_ready = kRoot;   ///< the last of these
  };

  FlexkvTree(std::uint64_t slots, FlexkvEviction eviction, const FlexkvConfig& config);

  Match match(BlockSpan run, Time now);
  /// Room for so many blocks, others leaving for it, but not `kept`. False: there is none, and what
  /// had to leave is gone all the same.
  bool take(std::uint64_t blocks, Node kept);
  /// Room that is not used.
  void give_back(std::uint64_t blocks) { free_ += blocks; }
  /// Blocks behind a match, in room taken for them: a leaf that is not ready.
  Node insert(const Match& match, BlockSpan blocks, Time now);
  /// As if it had not been inserted; what that split stays so.
  void undo(Node leaf);
  /// What was split off its head since it was inserted is ready, too.
  void make_ready(Node node);
  void lock(Node node) { at(node).locks += node == kRoot ? 0 : 1; }
  void unlock(Node node);

  std::uint64_t stored() const { return stored_; }    ///< blocks that entered
  std::uint64_t evicted() const { return evicted_; }  ///< and those that left for others
  std::uint64_t resident() const { return stored_ - evicted_; }
  std::uint64_t used() const { return slots_ - free_; }

  /// Every slot is a block's, in a whole tree whose nodes are ready, and nobody holds any.
  void check_drained() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    std::vector<BlockId> blocks;
    Node parent = kRoot;
    std::uint32_t children = 0;
    std::uint32_t same = kNone;  ///< the next node that begins with the same block
    std::uint32_t leaf = kNone;  ///< its place among the leaves
    std::uint32_t locks = 0;
    bool ready = false;
    std::uint64_t number = 0;
    std::uint64_t inserted = 0;  ///< the number of the insertion that brought its blocks
    std::uint64_t hits = 0;
    Time access{};
    Time grace{};
    Time created{};
  };

  Entry& at(Node node) { return nodes_[raw(node)]; }
  const Entry& at(Node node) const { return nodes_[raw(node)]; }
  static std::uint32_t raw(Node node) { return static_cast<std::uint32_t>(node); }
  Node child(Node parent, BlockId first) const;
  Node make(Node parent);
  void hang(Node node);
  void unhang(Node node);
  void set_leaf(Node node, bool leaf);
  Node split(Node node, std::uint32_t head);
  void touch(Entry& node, Time now) const;
  void evict(std::uint64_t blocks);
  void remove(Node leaf);
  bool may_leave(Node node) const;
  std::tuple<std::int64_t, std::int64_t, std::uint64_t> rank(Node node) const;

  std::uint64_t slots_;
  std::uint64_t free_;
  FlexkvEviction eviction_;
  FlexkvConfig config_;
  Slab<Entry> nodes_;
  GrowingColumn<std::uint32_t> begins_;  ///< by block, 1 + a node that begins with it; 0: none
  std::vector<Node> leaves_;             ///< in no order
  std::vector<Node> heap_;               ///< scratch of an eviction
  std::uint64_t numbers_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace spillway

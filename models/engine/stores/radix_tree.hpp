// SGLang's radix cache, and HiCache's host pool behind it: which pages are cached where, who holds
// them, who leaves next (python/sglang/srt/mem_cache/radix_cache.py, hiradix_cache.py @ 9fec359a).
//
// A node is a run of pages that requests have met together; a walk that ends within one splits it.
// Pages of a node are on the device, in host memory, or both; those only in host memory lie below
// all that are on the device. Nodes leave in the order of their last access or as another policy
// says; time is a counter that every visit and every new node advances: no two are equal.
//
// What requests hold of the device beyond the nodes that they lock is counted here, not named.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/releases/sglang_config.hpp"
#include "policies/containers/index_heap.hpp"
#include "sim/ids.hpp"
#include "sim/slab.hpp"
#include "sim/sparse_column.hpp"

namespace spillway {

/// Pages with consecutive ids.
struct PageRun {
  std::uint32_t first;
  std::uint32_t count;
};
using PageChain = std::span<const PageRun>;
/// Pages [from, from + count) of the chain, behind what `out` holds.
void append_pages(PageChain chain, std::uint32_t from, std::uint32_t count,
                  std::vector<BlockId>& out);

class RadixTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  struct Config {
    std::uint32_t ids = 0;  ///< of pages
    std::uint32_t page_tokens = 1;
    std::uint64_t device_pages = 0;
    std::uint64_t host_pages = 0;   ///< 0: no host pool
    std::uint32_t write_after = 0;  ///< insertions; 0: when the device evicts
    RadixEviction eviction = RadixEviction::kLru;
  };
  /// Copies from the device to host memory, as they are decided.
  class Copies {
   public:
    /// Of a node's pages. One that is not written for an eviction is locked until unlock().
    virtual void write(Node node, std::uint32_t pages) = 0;
    /// All copies have to end before anything else happens.
    virtual void flush() = 0;

   protected:
    ~Copies() = default;
  };
  struct Counters {
    std::uint64_t inserted = 0;  ///< pages that entered the device's part, loads included
    std::uint64_t evicted = 0;   ///< pages that left it
    std::uint64_t written = 0;   ///< pages that entered host memory
    std::uint64_t dropped = 0;   ///< pages that left it
    std::uint64_t refused = 0;   ///< pages that found no room there
    std::uint64_t host_peak = 0;
  };

  RadixTree(const Config& config, Copies& copies);

  struct Match {
    Node device = kRoot;  ///< the deepest node on the device
    Node last = kRoot;    ///< the deepest one
    std::uint32_t device_pages = 0;
    std::uint32_t host_pages = 0;  ///< behind them, in host memory only
  };
  /// Walks along the first `pages` of the chain, touches what it meets and splits where it ends.
  Match match(PageChain chain, std::uint32_t pages);
  /// Pages [0, pages) of the chain are computed. Those that the device does not have yet are taken
  /// into the tree: how many is returned. `counts`: the insertion counts for writing through.
  std::uint32_t insert(PageChain chain, std::uint32_t pages, bool counts);
  /// All of the host-only nodes behind `match` become resident, and their last is locked; false
  /// where there is no room.
  bool load_back(const Match& match);

  // ---- what comes to host memory from storage
  /// A guarded node stays in host memory; the root does anyway.
  void guard(Node node);
  void unguard(Node node);
  bool copied(Node node) const { return nodes_[node].copy; }
  /// The last `pages` pages that end with `node`, in the order of the chain.
  void append_pages(Node node, std::uint32_t pages, std::vector<BlockId>& out) const;
  /// Takes host pages, making room: `pages`, or what is free where that is `least` or more, or 0.
  std::uint32_t reserve_host(std::uint32_t pages, std::uint32_t least);
  void give_host(std::uint64_t pages) { host_free_ += pages; }
  /// Pages [from, from + count) of the chain, below `anchor`, have come into reserved host pages.
  /// Those that the tree lacks enter it; how many is returned. None does behind a node without a
  /// copy.
  std::uint32_t insert_host(Node anchor, PageChain chain, std::uint32_t from, std::uint32_t count);

  /// Of a node and all above it.
  void lock(Node node);
  void unlock(Node node);

  /// Where less than `tokens` are free, evicts as many; whether so many are free then.
  bool make_room(std::uint64_t tokens);
  /// Precondition: so many are free.
  void take(std::uint64_t pages) { free_ -= pages; }
  void give(std::uint64_t pages) { free_ += pages; }

  /// Of waiting requests, by the node that each has found on the device: first goes who is deepest
  /// where most wait (schedule_policy.py, _sort_by_dfs_weight). `order` becomes their indices.
  void order_by_weight(std::span<const Node> found, std::vector<std::uint32_t>& order);

  std::uint64_t free_pages() const { return free_; }
  std::uint64_t evictable_pages() const { return evictable_; }
  std::uint64_t device_pages() const { return on_device_; }
  std::uint64_t host_used() const { return config_.host_pages - host_free_; }
  const Counters& counters() const { return counters_; }
  /// Nobody holds anything: all pages are free or in unlocked nodes.
  void check_drained() const;

 private:
  static constexpr Node kNone = ~Node{0};
  struct Data {
    std::vector<PageRun> key;
    Node parent = kRoot;
    Node first_child = kNone;
    Node next = kNone;  ///< among its siblings
    Node before = kNone;
    std::uint32_t pages = 0;
    std::uint32_t locks = 0;
    std::uint32_t guards = 0;  ///< it must stay in host memory
    std::uint32_t hits = 0;
    std::uint32_t device_children = 0;
    std::uint64_t access = 0;
    std::uint64_t made = 0;
    std::uint64_t branch = 0;  ///< when its parent got a child that begins so
    bool device = false;
    bool copy = false;     ///< in host memory, or on the way there
    bool skipped = false;  ///< by the eviction under way
  };
  struct Cursor;

  Node make(Node parent);
  void link(Node node, Node parent);
  void unlink(Node node);
  void remove(Node node);
  void touch(Node node);
  std::uint64_t leaves_at(const Data& d) const;
  void reorder(Node node);
  void rank(Node node);
  std::uint64_t tokens_of(std::uint64_t pages) const { return pages * config_.page_tokens; }
  std::uint32_t common(Node node, Cursor& cursor) const;
  Node split(Node node, std::uint32_t pages);
  Node next(Cursor& cursor);
  void fill(Node leaf, Cursor& cursor);
  void hit(Node node);
  bool write(Node node);
  void put_on_device(Node node);
  void leave_device(Node node);
  void evict(std::uint64_t tokens);
  void evict_back(std::uint64_t tokens);
  void evict_host(std::uint64_t pages);
  void flush_staged();
  std::uint64_t drop_subtree(Node top);

  Config config_;
  Copies& copies_;
  Slab<Data> nodes_;
  SparseColumn<Node> child_by_page_;  ///< the node that begins with a page; 0: none
  IndexHeap device_leaves_{0};        ///< unlocked, without children on the device
  IndexHeap host_leaves_{0};          ///< host-only, without children
  Node heap_ids_ = 0;                 ///< of nodes that both know
  std::uint64_t clock_ = 0;
  std::uint64_t free_;
  std::uint64_t host_free_;
  std::uint64_t evictable_ = 0;
  std::uint64_t on_device_ = 0;
  Counters counters_;
  std::vector<Node> staged_;   ///< written for the eviction under way
  std::vector<Node> skipped_;  ///< it could neither write nor drop these
  std::vector<Node> subtree_;  ///< scratch
  /// Scratch of order_by_weight, by node.
  struct Weight {
    std::uint32_t requests = 0;  ///< at the node and below it
    std::uint32_t place = 0;     ///< of the next of them
  };
  std::vector<Weight> weights_;
  std::vector<Node> weighed_;
};

}  // namespace spillway

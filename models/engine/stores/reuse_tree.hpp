// TensorRT-LLM's blocks on the GPU and in host memory, its tree of those that can be used again,
// and its queues of those that nobody uses (cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp,
// evictionPolicy.cpp @ 05a919198).
//
// A block is content, and goes from level to level with its place in the tree and its priority:
// what is evicted from the GPU is exchanged with what host memory gives up. A block in the tree
// stands behind the blocks before it, whoever uses these; several behind one have no tokens in
// common, or begin alike. Each level has a queue for each priority, in order of release: children
// do not protect what they stand behind, so whatever leaves takes all behind it out of the tree.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/chains/prompt_tokens.hpp"
#include "policies/containers/index_heap.hpp"
#include "policies/containers/index_lists.hpp"
#include "sim/retention.hpp"

namespace spillway {

class ReuseTree {
 public:
  using Block = std::uint32_t;
  static constexpr Block kNone = ~Block{0};

  struct Config {
    std::uint32_t block_tokens = 1;
    std::uint32_t gpu_blocks = 0;
    std::uint32_t host_blocks = 0;
    std::uint32_t offload_min_priority = 0;  ///< what is evicted below it is not kept
    std::uint32_t disk_blocks = 0;           ///< only of the manager V2
  };
  static constexpr std::uint32_t kLevels = 3;  ///< GPU, host memory, disk
  struct Place {
    std::uint8_t level = 0;
    std::uint32_t slot = 0;
  };
  /// Copies between slots of two levels, as they are decided.
  class Copies {
   public:
    virtual void copy(const Place& from, const Place& to, std::uint32_t tokens) = 0;

   protected:
    ~Copies() = default;
  };
  /// Of blocks in the tree, by level.
  struct Counters {
    std::uint64_t entered = 0;
    std::uint64_t left = 0;
    std::uint64_t resident = 0;
    std::uint64_t taken = 0;     ///< copied here from the level above, in the tree or not
    std::uint64_t given_up = 0;  ///< of those that left, for these; without what stood behind
  };

  ReuseTree(const Config& config, const Workload& workload, Copies& copies);

  // ---- the tree

  /// What all first blocks stand behind.
  Block root() const { return root_; }
  /// The block behind `parent` with exactly these `tokens` of the request's `number`-th block.
  Block find(Block parent, RequestId r, std::uint32_t number, std::uint32_t tokens) const;
  /// The block is in the tree there, with so many tokens.
  bool stands(Block block, Block parent, std::uint32_t tokens) const {
    const Data& b = blocks_[block];
    return b.stamp > 0 && b.parent == parent && b.tokens == tokens;
  }
  struct Closest {
    Block block = kNone;
    std::uint32_t tokens = 0;  ///< that both have from the start
  };
  /// The one with most of them, at least one; of equal ones that which entered first.
  /// `unused_leaves`: of no others.
  Closest closest(Block parent, RequestId r, std::uint32_t number, std::uint32_t tokens,
                  bool unused_leaves) const;
  /// So many tokens of the request's `number`-th block are in `block` from now on, and there for
  /// others behind `parent`. Precondition: it is not in the tree.
  void enter(Block block, Block parent, RequestId r, std::uint32_t number, std::uint32_t tokens);
  /// It alone leaves. Precondition: a leaf.
  void detach(Block leaf);
  bool leaf(Block block) const { return children_.empty(block); }
  /// Changes whenever the block enters; 0 while it is not in the tree.
  std::uint64_t stamp(Block block) const { return blocks_[block].stamp; }

  // ---- memory

  std::uint32_t free_blocks() const { return free_[0]; }
  std::uint32_t used_blocks() const { return config_.gpu_blocks - free_[0]; }
  bool used(Block block) const { return blocks_[block].refs > 0; }
  std::uint32_t users(Block block) const { return blocks_[block].refs; }
  std::uint32_t level_of(Block block) const { return blocks_[block].level; }
  bool on_gpu(Block block) const { return level_of(block) == 0; }
  /// With what `block` is kept.
  RetentionRule rule(Block block) const {
    const Data& b = blocks_[block];
    return {b.priority, b.timed ? std::optional(timed_[block].duration) : std::nullopt};
  }
  /// One more uses the block, and says how long to keep it behind that; nothing: as important as it
  /// was, and for good.
  void claim(Block block, const std::optional<RetentionRule>& rule);
  /// A block of the GPU for new content, with its first user. Precondition: one is free.
  Block take(const RetentionRule& rule);
  /// A claimed block in host memory comes to the GPU. Precondition: a block is free there.
  void onboard(Block block);
  /// The first tokens of `source` are written into `block`, which is on the GPU.
  void copy(Block source, Block block, std::uint32_t tokens);
  /// One less uses it.
  void release(Block block, Time now);
  /// What is no longer worth its priority becomes like all others.
  void expire(Time now);
  /// Changes whenever a block in the tree finds its first user or loses its last.
  std::uint64_t use_version() const { return use_version_; }

  const Counters& counters(std::size_t level) const { return counters_[level]; }
  /// Nobody uses anything.
  void check_drained() const;

 protected:
  /// Small, as most of what a run waits for is memory.
  struct Data {
    std::uint64_t stamp = 0;
    RequestId owner{};  ///< whose tokens these are
    std::uint32_t tokens = 0;
    Block parent = kNone;
    std::uint32_t refs = 0;
    std::uint32_t slot = 0;
    std::uint8_t priority = kDefaultRetention;
    std::uint8_t level = 0;
    bool written = false;  ///< somebody has had it
    bool timed = false;    ///< it is worth its priority for a time
  };
  static_assert(kMostRetention <= 255);
  struct Timed {
    Duration duration{};
    std::int64_t expiry = 0;
    std::uint64_t released = 0;
  };

  std::uint32_t queue_of(const Data& b) const {
    return b.level * (kMostRetention + 1) + b.priority;
  }
  Place place_of(Block block) const { return {blocks_[block].level, blocks_[block].slot}; }
  void keep(Block block, const RetentionRule& rule);
  void enqueue(Block block);
  void dequeue(Block block);
  Block victim(std::uint32_t level) const;
  std::uint32_t bucket(Block parent, std::uint64_t name, std::uint32_t tokens) const;
  void leave(Block block);
  /// It and what stands behind it have left; scratch_ has them, nearest first.
  void leave_with_all_behind(Block block);
  void swap_places(Block a, Block b);

  Config config_;
  PromptTokens tokens_;
  Copies& copies_;
  Block root_;
  std::vector<Data> blocks_;
  std::vector<Timed> timed_;                 ///< of those that are
  IndexLists queues_;                        ///< by level and priority
  IndexLists children_;                      ///< by parent
  std::uint32_t mask_;                       ///< buckets, less one
  IndexLists by_first_;                      ///< in the tree, by parent and first token
  IndexLists by_last_;                       ///< by parent, number of tokens and last of them
  IndexHeap timers_{0};                      ///< by expiry
  std::array<std::uint32_t, kLevels> free_;  ///< in the queues
  std::array<Counters, kLevels> counters_{};
  std::uint64_t stamps_ = 0;
  std::uint64_t releases_ = 0;
  std::uint64_t use_version_ = 0;
  std::vector<Block> scratch_;
};

}  // namespace spillway

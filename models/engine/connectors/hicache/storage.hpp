// Storage behind HiCache's host pool (L3): what reaches host memory is written there, and what a
// request that joins the queue lacks is read ahead into host memory
// (python/sglang/srt/managers/cache_controller.py, mem_cache/hiradix_cache.py @ 9fec359a).
//
// One thread writes and one reads, an operation after the other, in batches of pages. A waiting
// request is looked at when the scheduler comes to it: its policy says whether reading may be
// stopped then; what has come goes into the tree, in host memory only, and the request is passed
// over while it may not.
//
// Model: whether pages are there is known at once; what ends at one instant is seen together, reads
// before writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/engine/connectors/hicache/page_storage.hpp"
#include "models/engine/stores/radix_tree.hpp"
#include "models/releases/sglang_config.hpp"
#include "models/requests/active_request.hpp"
#include "models/requests/transfer_waiter.hpp"
#include "sim/event_queue.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

namespace spillway {

class HicacheStorage final : private PageListener, private EventHandler {
 public:
  struct Environment {
    EventQueue& queue;
    TransferWaiter& waiter;
    RadixTree& tree;
    const PrefetchRules& rules;
    std::uint32_t page_tokens;
    std::uint64_t host_pages;
  };
  HicacheStorage(const Environment& environment, std::unique_ptr<PageStorage> pages);

  /// The `pages` pages that end with `node` have come to host memory.
  void back_up(RadixTree::Node node, std::uint32_t pages);
  /// The request joins the queue, with `tokens` known; `match` is what the tree has of them.
  void prefetch(Handle h, PageChain chain, std::uint32_t tokens, const RadixTree::Match& match);
  /// The scheduler comes to the request. False: it is passed over.
  bool admits(Handle h, PageChain chain);
  /// The request leaves the queue, or is dropped: what it has on its way may stop.
  void stop(Handle h, PageChain chain);
  /// Of the `loaded` pages of the request those that came from here, by tier; once.
  PageStorage::ByTier take_fetched(Handle h, std::uint32_t loaded);
  /// Takes note of what has ended (check_hicache_events).
  void drain();

  bool idle() const { return !reading_ && !writing_; }
  PageStorage& pages() { return *pages_; }
  const PageStorage& pages() const { return *pages_; }
  void check_drained() const;

 private:
  using Node = RadixTree::Node;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Backup {
    Node node = RadixTree::kRoot;
    std::vector<BlockId> pages;
    std::size_t at = 0;  ///< the first that no batch has taken
  };
  struct Prefetch {
    Node anchor = RadixTree::kRoot;
    std::uint32_t from = 0;           ///< the first page of the request's chain
    std::uint32_t reserved = 0;       ///< host pages
    std::vector<BlockId> pages;       ///< that storage has
    std::vector<std::uint8_t> tiers;  ///< of those completed, at least
    std::uint32_t completed = 0;
    Time issued{};
    std::uint16_t epoch = 0;
    bool stopped = false;  ///< by the scheduler
    bool failed = false;   ///< pages had gone meanwhile
    bool left = false;     ///< by the reader
  };

  void on_batches_ended(bool read, bool write) override;
  void on_event(EventPayload payload) override;  ///< a time-out
  void end_read();
  static std::span<const BlockId> batch_of(const Prefetch& p);
  void read_on();
  void write_on();
  void leave(std::uint32_t op);
  bool may_stop(const Prefetch& p) const;
  Duration limit(const Prefetch& p) const;
  std::uint64_t tokens_of(std::uint64_t pages) const { return pages * env_.page_tokens; }
  std::uint32_t& prefetch_of(Handle h);

  Environment env_;
  std::unique_ptr<PageStorage> pages_;
  Slab<Prefetch> prefetches_;
  Slab<Backup> backups_;
  std::vector<std::uint32_t> prefetch_of_;          ///< by handle
  std::vector<std::vector<std::uint8_t>> fetched_;  ///< tiers of pages, by handle
  std::uint64_t occupied_ = 0;        ///< pages reserved by those that are not stopped
  RingQueue<std::uint32_t> to_read_;  ///< the front one is being read
  RingQueue<std::uint32_t> to_write_;
  bool reading_ = false;
  bool writing_ = false;
  // For drain():
  std::vector<std::uint32_t> revoked_;
  std::vector<Node> written_;
  std::uint64_t released_ = 0;  ///< host pages
};

}  // namespace spillway

// What an engine keeps in Mooncake Store: each page is an object. What is in memory is read and
// written by a client of that tier's device, what is on the SSD is read by a client of its own
// (python/sglang/srt/mem_cache/storage/mooncake_store/mooncake_store.py: it asks page by page and
// counts leading successes).
//
// Model: one read for each source, submitted together; a batch is there when both have ended.
#pragma once

#include <optional>

#include "models/chains/local_chains.hpp"
#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/engine/connectors/hicache/page_storage.hpp"
#include "models/engine/connectors/mooncake/mooncake_master.hpp"

namespace spillway {

class MooncakePages final : public PageStorage, private PortListener, private EventHandler {
 public:
  struct Environment {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    MooncakeClock& clock;
    MooncakeMaster& master;
    const LocalChains& chains;
    Bytes page_bytes;
    Bytes memory_bytes;        ///< of these, on the way to and from memory: those of one rank
    std::uint32_t engine = 0;  ///< its number: of one instant the first goes first
  };
  /// `tiers`: memory, and the SSD if there is one.
  MooncakePages(const Environment& environment, std::span<const ChunkTierConfig> tiers);

  BlockId name_of(BlockId page) const override {
    return shared_ ? env_.chains.global_of(page) : page;
  }
  std::uint32_t ask(std::span<const BlockId> pages) override;
  bool begin_read(std::span<const BlockId> pages) override;
  std::uint32_t end_read(std::vector<std::uint8_t>& from) override;
  bool begin_write(std::span<const BlockId> pages) override;
  void end_write() override {}  // the puts have ended at their own time
  void count(std::uint64_t asked, const ByTier& hits) override;
  void on_request_end() override { env_.clock.on_request_end(); }
  std::uint32_t told_tiers() const override { return 0; }
  TierLevel level() override { return {}; }
  void report(EngineStats& stats) const override;
  void grow_blocks(std::uint32_t) override {}
  void check_drained() const override;

 private:
  void on_port_done(StorageOp op, std::uint32_t tier) override;
  void on_event(EventPayload payload) override;

  Environment env_;
  bool shared_;
  bool tells_of_store_;
  TierPort memory_;
  std::optional<TierPort> ssd_;
  // Of the batches under way:
  std::vector<std::uint8_t> found_;  ///< tiers of the pages that are read
  Time got_{};
  std::uint32_t reads_ = 0;
  std::array<bool, kMostTiers> late_{};
  std::vector<MooncakeStore::Put> puts_;
  bool read_ended_ = false;  ///< at this instant
  bool write_ended_ = false;
  bool going_on_ = false;  ///< the threads do, behind such ends and before the store's clock
  std::array<ChunkTierStats, kMostTiers> counts_;
};

}  // namespace spillway

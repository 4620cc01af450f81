// HiCache's storage as a level with rules of its own: the least recently used page leaves.
#pragma once

#include "models/engine/connectors/hicache/page_storage.hpp"
#include "models/engine/connectors/level.hpp"

namespace spillway {

class LevelPages final : public PageStorage, private LevelListener, private EventHandler {
 public:
  /// Of the level's environment all but the listener.
  struct Environment {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    std::uint32_t pages;  ///< ids of pages stay below or equal
    EvictionContext context;
    SharedStores* shared = nullptr;  ///< where the storage is
    GlobalNames global{};
    Bytes page_bytes;
  };
  LevelPages(const Environment& environment, const LevelConfig& config);

  BlockId name_of(BlockId page) const override { return level_.name_of(page); }
  std::uint32_t ask(std::span<const BlockId> pages) override;
  bool begin_read(std::span<const BlockId> pages) override;
  std::uint32_t end_read(std::vector<std::uint8_t>& from) override;
  bool begin_write(std::span<const BlockId> pages) override;
  void end_write() override { level_.store().end_write(write_slots_, access()); }
  void count(std::uint64_t asked, const ByTier& hits) override;
  std::uint32_t told_tiers() const override { return 1; }
  TierLevel level() override;
  void report(EngineStats& stats) const override { stats.levels.push_back(&level_); }
  void grow_blocks(std::uint32_t blocks) override { level_.grow_blocks(blocks); }
  void check_drained() const override;

 private:
  void on_level_read(std::uint32_t, bool) override {}
  void on_level_progress(std::uint32_t job) override;
  void on_event(EventPayload payload) override;
  Access access() const { return {queue_.now(), RequestId{}}; }

  EventQueue& queue_;
  Bytes page_bytes_;
  Level level_;
  std::vector<SlotId> read_slots_;  ///< of the batch under way
  std::vector<SlotId> write_slots_;
  std::vector<BlockId> batch_;  ///< scratch
  bool read_ended_ = false;     ///< at this instant
  bool write_ended_ = false;
};

}  // namespace spillway

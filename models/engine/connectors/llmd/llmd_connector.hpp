// llm-d's FS backend, the scheduler's side: vLLM's OffloadingConnector over files instead of a tier
// of its own (kv_connectors/llmd_fs_backend, manager and spec; offload_connector.hpp). A file is a
// chunk of blocks_per_chunk HBM blocks, known by its last block; there is nothing between HBM and
// the files.
//
// A look-up asks the file system for one file after another. Whatever is offered is accepted, files
// that are there too; nothing is tracked, pinned or evicted. What becomes of a write or a read is
// never told, so a request goes on whether its files were there or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/chunks/chunk_levels.hpp"
#include "models/engine/connectors/chunks/chunk_names.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/llmd/file_store.hpp"

namespace spillway {

class FileThreads;
class FileTurns;

class LlmdConnector final : public KvConnector {
 public:
  struct Place {
    EventQueue& queue;
    ChunkNames& names;
    FileTurns& turns;
    FileStore& store;
    std::unique_ptr<FileStore> own;  ///< that store, where no other engine has it
  };
  /// `tier` outlives it.
  LlmdConnector(const Environment& environment, const ChunkTierConfig& tier, Place place);
  /// Before the first step; they outlive the last.
  void connect(const FileThreads& threads) { threads_ = &threads; }

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override;
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool poll(Time now) override;
  /// One that only looked up is not: nothing has changed. One that also submitted stores is, as
  /// vLLM goes on polling for them.
  bool repeats_after_end() const override { return submitted_; }
  bool wants_step() const override {
    return jobs_.any_deferred() || !unoffered_.empty() || answered_ || refused_;
  }
  bool idle() const override {
    return jobs_.in_flight() == 0 && !jobs_.any_deferred() && unoffered_.empty();
  }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void tell_clocks(std::uint32_t job, LoadEvent event, Time now) override {
    env_.requests[jobs_[job].request].clock.on_load(event, now);
  }
  void check_drained() const override;

  // ---- for the worker's side

  /// What the pass's look-ups take of its worker part; asked once a pass.
  Duration take_lookup_time() { return std::exchange(lookup_time_, Duration(0)); }
  /// Stores that the pass waits for.
  const std::vector<std::uint32_t>& flushed() const { return flushed_; }

 private:
  /// What a request that asked asynchronously was told, by chunk. It holds for ever.
  struct Answer {
    bool asked = false;
    std::vector<bool> there;
  };

  bool exists(ChunkId id);
  void ask_all(Answer& answer);
  std::uint32_t hits_behind(const Answer* answer, std::uint32_t first, bool& loading);
  void fence(std::uint32_t job);
  void fence_given();
  void offer(Handle h, std::uint32_t tokens, bool finished);
  void watch_to_end(std::uint32_t job);
  void complete_store(std::uint32_t job);
  void complete_load(std::uint32_t job);
  void recycle_if_gone(Handle h);
  std::uint32_t storable_tokens(const ActiveRequest& r) const {
    return std::min(env_.config.offload_prompt_only ? r.prompt : r.tokens(), r.store_limit);
  }

  Environment env_;
  const ChunkTierConfig& tier_;
  Place place_;
  FileStore& store_;
  const FileThreads* threads_ = nullptr;
  std::uint32_t per_chunk_;                   ///< HBM blocks of a file
  std::uint32_t chunk_tokens_;                ///< and tokens
  ByHandle<Answer> answers_;                  ///< only with async_lookup
  std::vector<ChunkId> keys_;                 ///< scratch: of one request
  std::vector<Handle> unoffered_;             ///< finished, not offered yet, in order
  std::vector<std::uint32_t> finished_jobs_;  ///< pending stores of finished requests
  std::vector<std::uint32_t> flushed_;
  GrowingColumn<std::uint8_t> loading_;  ///< by chunk: loads of this engine
  std::uint64_t loads_seen_ = 0;         ///< begun and ended
  mutable std::uint64_t asked_for_version_ = 0;
  Duration lookup_time_{};

  // Whether an empty pass is followed by another.
  bool answers_due_ = false;  ///< the next pass will have them
  bool answered_ = false;     ///< asked in the pass before
  bool submitted_ = false;    ///< the last pass submitted stores
  bool refused_ = false;      ///< an arrival was refused since the last pass

  OffloadCounters counters_;
  ChunkTierStats stats_;
  mutable ChunkLevels levels_;
};

}  // namespace spillway

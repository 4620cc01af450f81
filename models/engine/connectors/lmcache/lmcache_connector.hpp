// LMCache in process, the scheduler's side: what a look-up finds in which backend, what is loaded
// of it, and what each request of a step may store (lmcache/integration/vllm/vllm_v1_adapter.py,
// lmcache/v1/cache_engine.py, storage_backend/storage_manager.py). The worker's side, all of whose
// transfers happen within the step, is lmcache_step.hpp.
//
// A look-up is made at the first scheduling attempt and kept until admission; what it found in host
// memory and on disk is pinned until the request's first step has computed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/chunks/chunk_levels.hpp"
#include "models/engine/connectors/chunks/chunk_names.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/lmcache/lmcache_backends.hpp"

namespace spillway {

/// One request of a step, as the connector's metadata names it.
struct LmcacheItem {
  Handle request{};
  std::uint32_t tokens = 0;  ///< known to it when the step has computed: C + n
  bool admitted = false;     ///< in this step
  bool loads = false;
};

class LmcacheConnector final : public KvConnector {
 public:
  static constexpr std::size_t kMostTiers = 3;

  struct Place {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    ChunkNames& names;
    SharedThings& shared;
    ChunkReader& reader;
  };
  /// `config` outlives it.
  LmcacheConnector(const Environment& environment, const ChunkedConfig& config, const Place& place);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override { return 0; }  // an answer is kept
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool poll(Time) override { return false; }
  bool wants_step() const override { return false; }
  void attribute(ActiveRequest& r, std::uint32_t, std::uint32_t) override {
    r.cached_tokens[1] = 0;  // told as they are read
  }
  std::uint32_t tiers() const override { return static_cast<std::uint32_t>(config_.tiers.size()); }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;

  // ---- for the worker's side

  /// What a request's look-up found.
  struct Found {
    std::uint32_t tokens = 0;                        ///< of all it found
    std::array<std::uint32_t, kMostTiers> chunks{};  ///< in a row, by tier
    std::uint32_t known = 0;                         ///< tokens of the request then
    std::uint32_t all() const { return chunks[0] + chunks[1] + chunks[2]; }
  };
  struct State {
    Found found;
    bool looked = false;
    bool pinned = false;
    bool decoding = false;
    bool admitted = false;  ///< in the pass under way
    bool loads = false;
    bool first = false;          ///< that admission was its first
    std::uint32_t local = 0;     ///< tokens that HBM had when it was admitted
    std::uint32_t external = 0;  ///< and those to load
    std::uint32_t saved = 0;
  };
  State& state(Handle h) { return states_[h]; }
  ActiveRequest& request(Handle h) { return env_.requests[h]; }
  /// Names of the chunks that the first `tokens` tokens fill.
  const std::vector<ChunkId>& names(Handle h, std::uint32_t tokens, bool partial);
  Bytes bytes_of(std::uint32_t chunk, std::uint32_t tokens) const;
  void unpin(Handle h);
  void count_lost(std::size_t tier, std::uint64_t chunks) { stats_[tier].lost += chunks; }
  void count_failure() { ++load_failures_; }
  void refuse(std::size_t tier, std::uint64_t chunks) { stats_[tier].refused += chunks; }

  const OffloadConfig& config() const { return env_.config; }
  ChunkTable& host() { return host_; }
  LmcacheDisk* disk() { return disk_.get(); }
  LmcacheRemote* remote() { return remote_.get(); }
  ChunkTierKind kind(std::size_t tier) const { return config_.tiers[tier].kind; }
  bool has(std::size_t tier, ChunkId id) const;
  /// The pass's requests, in the order in which the worker goes through them.
  const std::vector<LmcacheItem>& items() const { return items_; }
  /// What its look-ups take of the worker part; asked once a step.
  Duration take_lookup_time() { return std::exchange(lookup_time_, Duration(0)); }

 private:
  void make_backend(const ChunkTierConfig& tier, const Place& place);
  ChunkTable& table_for(const ChunkTierConfig& tier, const Place& place);
  std::uint32_t ask(std::size_t tier, std::uint32_t from);

  Environment env_;
  const ChunkedConfig& config_;
  ChunkNames& names_;
  EventQueue& queue_;
  ChunkTable host_;
  std::vector<std::unique_ptr<ChunkTable>> own_tables_;
  std::vector<ChunkTable*> tables_;  ///< by tier
  std::unique_ptr<DiskThreads> own_threads_;
  std::unique_ptr<LmcacheDisk> disk_;
  std::unique_ptr<LmcacheRemote> remote_;
  ByHandle<State> states_;
  std::vector<ChunkId> scratch_;
  std::vector<LmcacheItem> items_;
  Duration lookup_time_{};
  OffloadCounters counters_;
  std::array<ChunkTierStats, kMostTiers> stats_{};
  std::uint64_t load_failures_ = 0;
  mutable ChunkLevels levels_;
};

}  // namespace spillway

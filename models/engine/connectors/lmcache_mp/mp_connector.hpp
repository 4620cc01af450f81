// LMCache's multi-process connector: look-ups, loads and stores that its server does beside the
// engine (lmcache/integration/vllm/lmcache_mp_connector.py,
// multiprocess/modules/lmcache_driven_transfer.py).
//
// A look-up is answered a pass later at the earliest, and its answer kept until admission. Loads
// are submitted when a step's worker part begins, stores when it has computed, all in one queue;
// the engine sees their ends at ends of steps. A finished request keeps its HBM blocks until the
// first later pass by which its stores are done.
#pragma once

#include <memory>
#include <vector>

#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/chunks/chunk_levels.hpp"
#include "models/engine/connectors/chunks/chunk_names.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/lmcache_mp/mp_server.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "sim/slab.hpp"

namespace spillway {

class MpConnector final : public KvConnector, private MpWaiter, private Settled {
 public:
  struct Place {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    Ticker& ticker;
    ChunkNames& names;
    SharedThings& shared;
    std::uint32_t first_tier = 0;  ///< that is its L1, among the engine's below HBM
  };
  /// `config` outlives it.
  MpConnector(const Environment& environment, const ChunkedConfig& config, const Place& place);
  void attach(std::unique_ptr<TransferPath> path) { path_ = std::move(path); }

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override { return version_; }
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool holds_finished() const override { return true; }
  std::span<const Handle> let_go() override { return released_; }
  void on_let_go(Handle h) override { env_.let_go_of(h); }
  bool poll(Time now) override;
  bool wants_step() const override { return false; }
  bool idle() const override { return queue_.empty() && server_.idle() && finished_.empty(); }
  std::uint32_t tiers() const override { return static_cast<std::uint32_t>(config_.tiers.size()); }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;
  void on_load_service(std::uint32_t, bool) override {}  // its own queue tells
  void on_transfer_done(Direction direction, std::uint32_t job) override;

  // ---- the worker's side
  void submit_loads();
  void submit_stores();

 private:
  struct State {
    bool looked = false;
    std::uint32_t lookup = 0;    ///< number of it
    bool holds = false;          ///< its look-up
    bool admitted = false;       ///< in the pass under way, to compute
    std::uint32_t offered = 0;   ///< first chunk that was not offered for storing
    std::uint32_t stores = 0;    ///< operations that the engine has not seen the end of
    std::uint64_t finished = 0;  ///< passes scheduled before it did
  };
  /// An operation in the queue.
  struct Op {
    bool load = false;
    Handle request{};
    Bytes bytes{0};
    std::uint64_t order = 0;  ///< of submission
    std::vector<ChunkId> ids;
  };
  struct Offer {
    Handle request{};
    std::uint32_t from = 0;  ///< chunks
    std::uint32_t to = 0;
  };
  State& state(Handle h) { return states_[h]; }
  const std::vector<ChunkId>& names(const ActiveRequest& r, std::uint32_t tokens);
  void on_answer(std::uint32_t lookup) override;
  void let_go_of(State& s, std::uint32_t chunks);
  void submit(std::uint32_t op);
  void start(std::uint32_t op);
  void settle(std::uint32_t op) override;

  Environment env_;
  const ChunkedConfig& config_;
  ChunkNames& names_;
  EventQueue& clock_;
  Settlement& settlement_;
  std::uint32_t first_tier_;
  MpServer server_;
  std::unique_ptr<TransferPath> path_;
  ByHandle<State> states_;
  std::vector<ChunkId> scratch_;
  std::vector<ChunkId> fresh_;
  Slab<Op> ops_;
  RingQueue<std::uint32_t> queue_;      ///< operations, the first under way
  std::vector<std::uint32_t> planned_;  ///< loads of the pass
  std::vector<Offer> offers_;           ///< of the pass, in the order of requests
  std::vector<std::uint32_t> seen_;     ///< ended operations that the engine has not seen
  std::vector<Handle> finished_;        ///< hold their blocks
  std::vector<Handle> released_;
  std::uint64_t passes_ = 0;
  std::uint64_t version_ = 0;
  bool answered_ = false;  ///< since the last poll
  OffloadCounters counters_;
  std::vector<ChunkTable*> tables_;  ///< by tier
  std::vector<ChunkTierStats> stats_;
  mutable ChunkLevels levels_;
};

/// A step beside it waits for nothing.
class MpMoves final : public StepMoves {
 public:
  explicit MpMoves(MpConnector& connector) : connector_(connector) {}
  void start(const StepTransfers&) override { connector_.submit_loads(); }
  void computed(const StepPlan&, Time) override { connector_.submit_stores(); }

 private:
  MpConnector& connector_;
};

}  // namespace spillway

// A client of Mooncake Store that has nothing else: no HBM pool, no queue, no batch. Each request
// goes by itself: it asks for its prefix, gets it, computes the rest in a step of its own, puts
// what was not there.
//
// Model: no such engine exists; it shows what the store alone does to a workload.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/compute/forward_cost.hpp"
#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/mooncake/mooncake_master.hpp"
#include "models/engine/schedulers/scheduler.hpp"
#include "models/link/copy_path.hpp"
#include "models/requests/transfer_waiter.hpp"

namespace spillway {

class ChainMap;
class Workload;

class MooncakeClient final : public Scheduler,
                             public TransferListener,
                             public StoreClient,
                             private EventHandler,
                             private PortListener,
                             private Settled {
 public:
  struct Environment {
    EventQueue& queue;
    const Workload& workload;
    const ChainMap& chains;
    RequestPool& requests;
    ForwardCost& cost;
    TransferWaiter& waiter;  ///< told of requests that are done
    Settlement& settlement;
    MooncakeClock& clock;
    MooncakeMaster& master;
    std::uint32_t block_tokens = 0;
    Bytes block_bytes{0};
    bool tells_of_store = false;  ///< of those that share it, one reports what the store itself did
  };
  explicit MooncakeClient(const Environment& environment) : env_(environment) {}
  /// Both outlive it: to and from memory; from the SSD, where there is one.
  void attach(TransferPath& memory, TierPort* ssd) {
    memory_ = &memory;
    ssd_ = ssd;
  }
  PortListener& port_listener() { return *this; }

  // ---- what the engine asks
  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  Reason refuses(const ActiveRequest&) const override { return Reason::kNone; }
  void enqueue(Handle h) override;
  void schedule(Time now, StepPlan& plan) override;
  void apply(StepPlan&) override {}
  void collect(ActiveRequest&) override {}
  bool finish(Handle h, Time now) override;
  void withdraw(Handle) override {}
  std::uint32_t running() const override { return running_; }
  std::uint32_t waiting() const override { return 0; }
  TierLevel level(std::uint32_t) const override { return {}; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;
  std::vector<Handle> queued() const override { return {}; }

  void take_turn(Handle h) override;
  void on_load_service(std::uint32_t job, bool begins) override;
  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  using Source = MooncakeStore::Source;
  enum class Next : std::uint8_t { kAsk, kPut };
  enum : std::uint16_t { kTurn, kStepEnd };
  /// A request on its way.
  struct Visit {
    Next next = Next::kAsk;
    std::uint32_t full = 0;  ///< blocks of its prompt
    std::uint32_t polls = 0;
    Duration poll_interval{0};
    Time got{};                                  ///< when it began to get
    std::vector<MooncakeStore::Source> found{};  ///< of its leading blocks
    std::uint32_t cached = 0;                    ///< leading blocks that came
    std::uint32_t jobs = 0;                      ///< that it waits for
    bool memory_late = false;
    bool ssd_late = false;
    std::vector<MooncakeStore::Put> puts{};
  };
  struct Job {
    Handle request{};
    MooncakeStore::Source source{};  ///< nowhere: puts
    std::uint64_t order = 0;         ///< of submission
  };
  void on_event(EventPayload payload) override;
  void on_port_done(StorageOp op, std::uint32_t job) override;
  void settle(std::uint32_t job) override;
  std::uint32_t make_job(Handle h, MooncakeStore::Source source);
  std::uint32_t ask(Handle h, Visit& v);
  void get(Handle h, Visit& v);
  void end_get(Handle h, MooncakeStore::Source source);
  void begin_step(Handle h);
  void end_step(Handle h);
  void put(Handle h, Visit& v);
  void done(Handle h);
  void later(Handle h, std::uint16_t kind, Duration after);

  Environment env_;
  TransferPath* memory_ = nullptr;
  TierPort* ssd_ = nullptr;
  ByHandle<Visit> visits_;
  Slab<Job> jobs_;
  StepPlan step_;  ///< scratch
  std::vector<Handle> done_;
  std::uint32_t running_ = 0;
  ChunkTierStats counts_[2];  ///< of memory, of the SSD: what this client asked them for
};

}  // namespace spillway

// What an engine and its scheduler ask of the connector to the tiers below HBM: what can be loaded
// for a request, which blocks go down, and when transfers have ended.
//
// Per step: look_up() and plan_load() while it is scheduled, plan_stores() once it is, before its
// tokens count as computed; then its transfers are submitted through jobs(); poll() at its end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/chains/block_columns.hpp"
#include "models/engine/connectors/transfer_jobs.hpp"
#include "models/requests/engine_stats.hpp"
#include "policies/eviction_policy.hpp"

namespace spillway {

class KvPool;
class LocalChains;
class StoreWatch;

/// Where several connectors serve an engine: told which of its requests one needs no longer.
class RequestEnds {
 public:
  virtual void on_gone(Handle h) = 0;

 protected:
  ~RequestEnds() = default;
};

class KvConnector : public TransferListener, public BlockColumns {
 public:
  /// What connectors to a tier work on; it outlives them.
  struct Environment {
    const OffloadConfig& config;
    const LocalChains& chains;
    RequestPool& requests;
    KvPool& pool;  ///< HBM
    TransferWaiter& waiter;
    RequestEnds* ends = nullptr;  ///< null: what is needed no longer is recycled

    void let_go_of(Handle h) const { ends != nullptr ? ends->on_gone(h) : requests.recycle(h); }
  };
  struct Lookup {
    bool known;            ///< false: ask again at the next step
    std::uint32_t blocks;  ///< that can be loaded behind the local hit
  };
  /// The request has come, and waits to be scheduled.
  virtual void on_enqueue(Handle /*h*/) {}
  /// How much of the request lies below, beyond its first `local` blocks. Touches what it finds.
  virtual Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) = 0;
  /// Changes with everything that a look-up rests on: between two equal versions a repeated one
  /// finds the same and changes nothing.
  virtual std::uint64_t version() const = 0;
  /// The request is to be admitted with `local` hits: write admission may count what it looked for.
  virtual void note_lookup(const ActiveRequest& /*r*/, std::uint32_t /*local*/) {}
  virtual void count_admission(const ActiveRequest& r, std::uint32_t local,
                               std::uint32_t external) = 0;

  /// Pins `blocks` blocks behind the local hit and queues their load for this step. The request
  /// holds HBM slots for them already.
  virtual void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) = 0;
  /// Offers what this step computes, then what just finished, and decides the step's transfers and
  /// fences. `transfers` must stay where it is until the step has ended.
  virtual void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) = 0;
  /// The request has emitted its last token; `held` tells whether it held its blocks until then.
  virtual void on_finished(Handle h, bool held) = 0;
  /// A finished request keeps its HBM blocks until the connector lets it go.
  virtual bool holds_finished() const { return false; }
  /// Those that it has let go since whoever asked last; their blocks become free, in this order.
  virtual std::span<const Handle> let_go() { return {}; }
  /// One of these has done so.
  virtual void on_let_go(Handle /*h*/) {}
  /// Of the last poll: requests that waited for a load which did not come, and end with it.
  virtual std::span<const Handle> failed() const { return {}; }
  /// The request ends without having completed: what look-ups pinned or keep for it is let go.
  virtual void on_withdrawn(const ActiveRequest& /*r*/, Time /*now*/) {}

  /// Takes note of ended transfers, stores first; true when there was one.
  virtual bool poll(Time now) = 0;
  /// Whether a pass that computed nothing, and that followed the end of a transfer, is followed by
  /// another at the same instant.
  virtual bool repeats_after_end() const { return true; }
  /// The same of one that started a load.
  virtual bool repeats_after_load() const { return true; }
  /// Something waits for a step even if nothing can run.
  virtual bool wants_step() const = 0;
  virtual bool idle() const { return jobs_.in_flight() == 0 && !wants_step(); }

  /// At the first admission, with all that is loaded under the nearest tier's name: moves what came
  /// from tiers behind it to theirs.
  virtual void attribute(ActiveRequest& /*r*/, std::uint32_t /*local*/,
                         std::uint32_t /*external*/) {}
  /// Tiers below HBM, the nearest first.
  virtual std::uint32_t tiers() const { return 1; }
  virtual TierLevel level(std::uint32_t tier) const = 0;
  /// The nearest tier's; null where it has none.
  virtual EvictionPolicy* policy() = 0;
  virtual const OffloadCounters& counters() const = 0;
  virtual void report(EngineStats& stats) const { stats.offload = counters(); }
  void grow_blocks(std::uint32_t /*blocks*/) override {}
  /// What the nearest tier gains and loses.
  virtual void tell(StoreWatch& /*watch*/) {}
  /// Always-on invariants that are too slow for every step; called when a run ends.
  virtual void check_drained() const = 0;

  TransferJobs& jobs() { return jobs_; }
  void on_load_service(std::uint32_t job, bool begins) override {
    jobs_.on_load_service(job, begins);
  }
  /// The clocks of the requests that a load is for are told of it.
  virtual void tell_clocks(std::uint32_t /*job*/, LoadEvent, Time /*now*/) {}
  void on_transfer_done(Direction direction, std::uint32_t job) override {
    jobs_.on_transfer_done(direction, job);
  }
  virtual ~KvConnector() = default;

 protected:
  KvConnector(const OffloadConfig& config, TransferWaiter& waiter) : jobs_(config, waiter) {}

  TransferJobs jobs_;
};

/// Its scheduler does not ask it what lies below: it keeps that itself, or there is nothing.
class UnaskedConnector : public KvConnector {
 public:
  Lookup look_up(const ActiveRequest&, std::uint32_t, const Access&) override { return {true, 0}; }
  std::uint64_t version() const override { return 0; }
  void count_admission(const ActiveRequest&, std::uint32_t, std::uint32_t) override {}
  void plan_load(Handle, std::uint32_t, std::uint32_t) override {}
  void plan_stores(const StepPlan&, Time, StepTransfers&) override {}
  void on_finished(Handle h, bool) override { requests_.recycle(h); }
  bool poll(Time) override { return false; }
  bool wants_step() const override { return false; }
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  OffloadCounters& counts() { return counters_; }
  void check_drained() const override {}

 protected:
  UnaskedConnector(const OffloadConfig& config, RequestPool& requests, TransferWaiter& waiter)
      : KvConnector(config, waiter), requests_(requests) {}

  RequestPool& requests_;
  OffloadCounters counters_;
};

/// Nothing lies below HBM: nothing is found there, nothing goes there.
class NoConnector final : public UnaskedConnector {
 public:
  NoConnector(const OffloadConfig& config, RequestPool& requests, TransferWaiter& waiter)
      : UnaskedConnector(config, requests, waiter) {}

  std::uint32_t tiers() const override { return 0; }
  TierLevel level(std::uint32_t) const override { return {}; }
  void report(EngineStats&) const override {}
};

}  // namespace spillway

// Mooncake Store as vLLM's connector (vllm-project/vllm @ 003df296: MooncakeStoreConnector in
// vllm/distributed/kv_transfer/kv_connector/v1/mooncake/store/, scheduler.py and worker.py). Its
// rules are those of tests/oracle/AMBIGUITIES_VLLM_MOONCAKE.md, V1 to V14.
//
// Look-up (at each attempt): the store is asked for all full blocks of the request, which renews
//   their leases. An aligned prompt that is there whole computes its last block again.
// Get: a request that loads waits. One get follows another: a job from memory, one from the SSD. If
//   not all of it came in time, the request fails or computes the rest.
// Save: each step of a prefill offers the blocks up to its end. One save follows another, each once
//   its step has ended, and puts what is not there. After a put without room the request saves
//   nothing until some save succeeds.
// A finished request that saved keeps its HBM blocks until a later pass finds its saves ended.
//
// At one instant: jobs end, then the next get and the next save of each engine begin, then the
// store's clock, then engines take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/hicache/page_storage.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/mooncake/mooncake_master.hpp"
#include "models/engine/connectors/step_moves.hpp"

namespace spillway {

class StoreConnector final : public KvConnector, private PageListener {
 public:
  struct Place {
    EventQueue& queue;
    MooncakeMaster& master;
    std::unique_ptr<MooncakeMaster> own;  ///< that one, where nobody shares it
    std::unique_ptr<PageStorage> pages;   ///< in its store
  };
  StoreConnector(const Environment& environment, Place place);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  /// Each look-up renews leases: none stands for another.
  std::uint64_t version() const override { return ++asked_; }
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  bool holds_finished() const override { return true; }
  std::span<const Handle> let_go() override { return released_; }
  void on_let_go(Handle h) override { env_.requests.recycle(h); }
  std::span<const Handle> failed() const override { return failed_; }
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool poll(Time now) override;
  bool repeats_after_end() const override { return false; }
  bool repeats_after_load() const override { return false; }
  bool wants_step() const override { return false; }
  bool idle() const override;
  std::uint32_t tiers() const override { return 0; }  // the store tells of them
  TierLevel level(std::uint32_t) const override { return {}; }
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;

  /// The step that was planned last has ended: what it computed may be put.
  void on_step_over();

 private:
  /// Of a request, since it came or was preempted last.
  struct State {
    std::uint32_t prefill = 0;   ///< tokens that it prefills; 0: none of them was scheduled yet
    std::uint32_t offered = 0;   ///< leading blocks
    std::uint32_t saved = 0;     ///< of these, there or put
    std::uint32_t saves = 0;     ///< that have not ended
    bool given_up = false;       ///< nothing of a load came: the store is not asked again
    std::uint64_t refused = 0;   ///< the shortage in which one found no room
    std::uint64_t finished = 0;  ///< passes before it did
  };
  struct Get {
    std::optional<Handle> request;  ///< none: it has left
    std::uint32_t local = 0;        ///< blocks before the first
    std::uint32_t asked = 0;        ///< blocks that HBM did not have
    bool first = false;             ///< of the request's first admission
    std::vector<BlockId> blocks;
  };
  struct Save {
    std::optional<Handle> request;  ///< none: it was preempted, or has left
    std::uint64_t pass = 0;
    std::uint32_t end = 0;  ///< blocks
  };
  struct Loaded {
    Handle request{};
    std::uint32_t blocks = 0;  ///< leading ones that it has now
    bool whole = false;
  };

  template <class Visit>
  void for_names(const ActiveRequest& r, std::uint32_t from, std::uint32_t to, Visit visit) const;
  void receive();
  void end_get();
  void offer(const ScheduledTokens& item);
  void send();
  void begin_save(const Save& save);
  void end_save();
  void drop_saves(Handle h);
  void on_batches_ended(bool read, bool write) override;

  Environment env_;
  EventQueue& queue_;
  MooncakeMaster& master_;
  std::unique_ptr<MooncakeMaster> own_;
  std::unique_ptr<PageStorage> pages_;
  ByHandle<State> states_;
  Slab<Get> gets_;
  RingQueue<std::uint32_t> to_get_;  ///< the first under way, if reading_
  bool reading_ = false;
  RingQueue<Save> to_save_;  ///< the first under way, if writing_
  bool writing_ = false;
  bool refused_ = false;            ///< of the save under way: some put found no room
  std::vector<BlockId> missing_;    ///< of the save under way
  std::uint64_t shortage_ = 1;      ///< ends with each save that finds room
  bool first_ = false;              ///< the request that is being admitted never was before
  std::uint32_t lacking_ = 0;       ///< its blocks that HBM does not have
  std::vector<std::uint8_t> from_;  ///< scratch of a get
  std::vector<Loaded> loaded_;      ///< gets that have ended, which the engine has not seen
  std::vector<Handle> failed_;
  std::vector<Handle> unheld_;    ///< finished without a save
  std::vector<Handle> finished_;  ///< hold their blocks
  std::vector<Handle> released_;
  std::uint64_t passes_ = 0;
  std::uint64_t over_ = 0;  ///< of these
  std::uint64_t load_failures_ = 0;
  OffloadCounters counters_;
  mutable std::uint64_t asked_ = 0;
};

/// A step beside it waits for nothing.
class StoreMoves final : public StepMoves {
 public:
  explicit StoreMoves(StoreConnector& connector) : connector_(connector) {}
  void end(const StepTransfers&, Time) override { connector_.on_step_over(); }
  bool idle() const override { return connector_.idle(); }

 private:
  StoreConnector& connector_;
};

}  // namespace spillway

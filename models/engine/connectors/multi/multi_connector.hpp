// vLLM's MultiConnector over two others: its native one, and LMCache's multi-process one
// (vllm/distributed/kv_transfer/kv_connector/v1/multi_connector.py @ 00f4240ee6).
//
// Both are asked at each look-up, in order, until one cannot tell yet: then the request is put off,
// whatever an earlier one has. The first that has anything loads it; the other counts it as not
// loaded. Both store, each by its own rules, so that host memory holds what is computed twice. A
// finished request keeps its blocks as long as either needs them.
#pragma once

#include <array>
#include <memory>

#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/multi/shared_path.hpp"
#include "models/engine/connectors/step_moves.hpp"

namespace spillway {

class MultiConnector final : public KvConnector, public RequestEnds {
 public:
  MultiConnector(const OffloadConfig& config, RequestPool& requests, TransferWaiter& waiter)
      : KvConnector(config, waiter), requests_(requests) {}
  /// In the order in which they are asked.
  void attach(std::unique_ptr<KvConnector> first, std::unique_ptr<KvConnector> second,
              std::unique_ptr<SharedPath> path) {
    parts_ = {std::move(first), std::move(second)};
    path_ = std::move(path);
  }

  void on_enqueue(Handle h) override;
  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override;
  void note_lookup(const ActiveRequest& r, std::uint32_t local) override;
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool holds_finished() const override;
  std::span<const Handle> let_go() override;
  void on_let_go(Handle h) override { on_gone(h); }
  bool poll(Time now) override;
  bool wants_step() const override;
  bool idle() const override;
  std::uint32_t tiers() const override { return parts_[0]->tiers() + parts_[1]->tiers(); }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return parts_[0]->policy(); }
  const OffloadCounters& counters() const override { return parts_[0]->counters(); }
  void report(EngineStats& stats) const override;
  void grow_blocks(std::uint32_t blocks) override;
  void tell(StoreWatch& watch) override { parts_[0]->tell(watch); }
  void tell_clocks(std::uint32_t job, LoadEvent event, Time now) override {
    parts_[0]->tell_clocks(job, event, now);  // the other tells its own
  }
  void check_drained() const override;

  /// One of the two needs the request no longer; both: it is let go.
  void on_gone(Handle h) override;
  KvConnector& part(std::size_t i) { return *parts_[i]; }

 private:
  RequestPool& requests_;
  std::array<std::unique_ptr<KvConnector>, 2> parts_;
  std::unique_ptr<SharedPath> path_;
  ByHandle<std::uint8_t> chosen_;  ///< who loads
  ByHandle<std::uint8_t> gone_;    ///< how many need it no longer
};

/// What each moves beside a step. LMCache's loads begin where the native one's do, behind its
/// fences: handle_preemptions() of all comes before start_load_kv(). Stores that both begin at the
/// end of the forward begin in the same order (wait_for_save()).
class MultiMoves final : public StepMoves {
 public:
  MultiMoves(std::unique_ptr<StepMoves> first, std::unique_ptr<StepMoves> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void start(const StepTransfers& transfers) override { first_->start(transfers); }
  bool flushed(const StepPlan& plan, const StepTransfers& transfers) override {
    return first_->flushed(plan, transfers);
  }
  void load(const StepPlan& plan, const StepTransfers& transfers, Time now) override {
    transfers_ = &transfers;
    first_->load(plan, transfers, now);
    second_->start(transfers);
  }
  bool may_compute() override { return first_->may_compute(); }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override {
    return first_->begin_forward(plan, now, compute);
  }
  std::optional<Time> new_end(Time now) override { return first_->new_end(now); }
  void computed(const StepPlan& plan, Time now) override {
    end(*transfers_, now);
    second_->computed(plan, now);
  }
  /// Once a step: one that does not compute has only its end.
  void end(const StepTransfers& transfers, Time now) override {
    if (transfers_ == nullptr) return;
    transfers_ = nullptr;
    first_->end(transfers, now);
  }
  ConnectorWork work() const override { return first_->work(); }
  bool idle() const override { return first_->idle() && second_->idle(); }
  void report(EngineStats& stats) const override { first_->report(stats); }

 private:
  std::unique_ptr<StepMoves> first_;          ///< the native one's
  std::unique_ptr<StepMoves> second_;         ///< of LMCache, which no step waits for
  const StepTransfers* transfers_ = nullptr;  ///< of a step that has not ended
};

}  // namespace spillway

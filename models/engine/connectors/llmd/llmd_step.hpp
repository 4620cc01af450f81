// llm-d's FS backend, the worker's side of a pass: what its look-ups took, then earlier stores and
// its flush, then loads and compute beside them (kv_connectors/llmd_fs_backend, worker).
//
// A flush cancels what no thread has begun and waits for the rest. What the pass does once that has
// ended, it does in its engine's turn (chunks/settlement.hpp).
#pragma once

#include <memory>

#include "models/engine/connectors/llmd/file_threads.hpp"
#include "models/engine/connectors/llmd/llmd_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"

namespace spillway {

class LlmdStep final : public StepMoves, private EventHandler {
 public:
  struct Place {
    EventQueue& queue;
    TransferWaiter& waiter;
    std::uint32_t rank = 0;  ///< of the engine's turns
  };
  /// `connector` outlives it.
  LlmdStep(const Place& place, LlmdConnector& connector, std::unique_ptr<FileThreads> threads)
      : place_(place), connector_(connector), threads_(std::move(threads)) {}

  void start(const StepTransfers& transfers) override;
  bool flushed(const StepPlan& plan, const StepTransfers& transfers) override;
  Duration asked() const override { return asked_; }
  void load(const StepPlan& plan, const StepTransfers& transfers, Time now) override;
  bool may_compute() override { return !submitting_; }
  ConnectorWork work() const override { return work_; }
  bool idle() const override { return threads_->idle(); }
  void report(EngineStats& stats) const override { stats.connector = all_asked_; }

 private:
  void submit();
  void on_event(EventPayload payload) override;

  Place place_;
  LlmdConnector& connector_;
  std::unique_ptr<FileThreads> threads_;
  const StepTransfers* transfers_ = nullptr;  ///< of the pass whose worker part is under way
  bool submitted_ = false;                    ///< its stores, and the flush
  bool clear_ = false;                        ///< nothing is in its way
  bool called_ = false;                       ///< it goes on in the engine's next turn
  bool submitting_ = false;                   ///< loads; some may end at once
  Duration asked_{};
  Duration all_asked_{};
  ConnectorWork work_;
};

}  // namespace spillway

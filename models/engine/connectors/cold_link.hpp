// Moves a streaming step's blocks over the link: one job up for what the step reads, jobs down for
// what leaves HBM.
//
// Reads are submitted when the step begins to compute, and the step ends with both (step_overlap).
// Blocks written down go at the same time, those beyond a budget when the step that filled them
// ends. Nobody waits for them at once; but a step begins only when everything written down before
// the previous step began to compute has arrived. Model: the slots they leave are handed on at
// once, so up to one step's blocks are staged; a slower link down thereby bounds the pace.
#pragma once

#include <cstdint>
#include <memory>

#include "models/engine/connectors/step_moves.hpp"
#include "models/link/copy_path.hpp"
#include "models/releases/offload_config.hpp"

namespace spillway {

class ColdLink final : public StepMoves, public TransferListener {
 public:
  ColdLink(const BlockConfig& blocks, const ColdDecode& cold, TransferWaiter& waiter)
      : blocks_(blocks), cold_(cold), waiter_(waiter) {}
  /// Without a path nothing may move.
  void attach(std::unique_ptr<TransferPath> path) { path_ = std::move(path); }

  /// Blocks written down earlier have arrived.
  bool flushed(const StepPlan& plan, const StepTransfers&) override {
    return plan.items.empty() || down_ended_ >= down_due_;
  }
  /// Submits what the step moves.
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  std::optional<Time> new_end(Time now) override;
  bool idle() const override { return path_ == nullptr || path_->idle(); }
  /// Blocks that a step filled and that go below now.
  void write_down(std::uint64_t blocks);

  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  bool read(const StepPlan& plan);

  const BlockConfig& blocks_;
  const ColdDecode& cold_;
  TransferWaiter& waiter_;
  std::unique_ptr<TransferPath> path_;
  Time start_{};          ///< of the forward
  Duration compute_{};    ///< it would last
  bool awaited_ = false;  ///< it ends with the blocks that it reads
  bool reading_ = false;
  std::uint32_t down_submitted_ = 0;
  std::uint32_t down_ended_ = 0;
  std::uint32_t down_due_ = 0;  ///< jobs that must have ended before the next step begins
};

}  // namespace spillway

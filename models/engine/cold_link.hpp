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

#include "models/engine/connectors/transfer_waiter.hpp"
#include "models/engine/engine_config.hpp"
#include "models/engine/step_plan.hpp"
#include "models/link/copy_path.hpp"

namespace spillway {

class ColdLink final : public TransferListener {
 public:
  ColdLink(const EngineConfig& config, TransferWaiter& waiter) : config_(config), waiter_(waiter) {}
  /// The path must outlive the last transfer. Without one nothing may move.
  void attach(TransferPath& path) { path_ = &path; }

  /// A step may not begin yet: blocks written down earlier have not arrived.
  bool must_wait() const { return down_ended_ < down_due_; }
  /// Submits what the step moves. Returns whether it has to wait for blocks from below.
  bool begin_step(const StepPlan& plan);
  /// Blocks that a step filled and that go below now.
  void write_down(std::uint64_t blocks);
  bool reading() const { return reading_; }
  bool idle() const { return !reading_ && down_ended_ == down_submitted_; }

  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  const EngineConfig& config_;
  TransferWaiter& waiter_;
  TransferPath* path_ = nullptr;
  bool reading_ = false;
  std::uint32_t down_submitted_ = 0;
  std::uint32_t down_ended_ = 0;
  std::uint32_t down_due_ = 0;  ///< jobs that must have ended before the next step begins
};

}  // namespace spillway

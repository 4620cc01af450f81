// Steps beside a connector's transfers: stores that a step submits and waits for, loads that it or
// its layers wait for (load_wait.hpp), what the connector itself takes (connector_costs.hpp), and
// copies that slow its compute (copy_interference.hpp).
#pragma once

#include <memory>

#include "models/engine/connectors/load_wait.hpp"
#include "models/engine/connectors/step_moves.hpp"

namespace spillway {

class ForwardCost;

class TierMoves : public StepMoves {
 public:
  /// `jobs` go over `path` from now on; they and `config` outlive this.
  TierMoves(const OffloadConfig& config, TransferJobs& jobs, std::unique_ptr<TransferPath> path);

  void start(const StepTransfers& transfers) override { jobs_.submit_stores(transfers.stores); }
  bool flushed(const StepPlan&, const StepTransfers& transfers) override {
    return transfers.fences_pending == 0;
  }
  void load(const StepPlan& plan, const StepTransfers& transfers, Time now) override;
  bool may_compute() override { return wait_.may_compute(); }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  std::optional<Time> new_end(Time now) override;
  void end(const StepTransfers& transfers, Time) override { jobs_.submit_stores(transfers.behind); }
  ConnectorWork work() const override { return work_; }
  bool idle() const override { return path_->idle(); }
  void report(EngineStats& stats) const override;

 protected:
  TransferJobs& jobs_;
  Duration compute_{};  ///< of the forward
  Duration own_{};      ///< by which the connector delays it

 private:
  void count(const std::vector<std::uint32_t>& jobs, std::uint32_t& number,
             std::uint32_t& copies) const;

  const OffloadConfig& config_;
  ConnectorWork work_;  ///< of this step
  Duration connector_{};
  LoadWait wait_;
  std::unique_ptr<TransferPath> path_;
  Time flushed_{};
  bool told_ = true;  ///< when the forward ends
  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

/// The same where copies slow steps. Not with layer-wise loads, nor in a pipeline.
class SlowedMoves final : public TierMoves {
 public:
  SlowedMoves(TierMoves moves, const CopyInterference& interference, ForwardCost& cost);

  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  std::optional<Time> new_end(Time now) override;
  void end(const StepTransfers& transfers, Time now) override;
  void report(EngineStats& stats) const override;

 private:
  StepClock clock_;
  ForwardCost& cost_;
  StepWork left_;
  Time undisturbed_ = kNever;  ///< the end of the step that computes if copies did not slow it
  Duration harm_{};
};

}  // namespace spillway

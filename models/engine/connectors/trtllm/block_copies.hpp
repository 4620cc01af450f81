// TensorRT-LLM's copies between the GPU and host memory, and the steps that wait for them
// (cpp/tensorrt_llm/batch_manager/kvCacheTransferManager.cpp @ 03d4aac90).
//
// Allocating for a step decides its copies, one for each block; they run on a stream for each
// direction from the instant of the schedule, and the forward waits for all of them. A copy also
// waits for those of the other direction that it would overtake at its source or destination:
// within a direction they keep their order anyway.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "models/engine/stores/reuse_tree.hpp"
#include "models/link/copy_path.hpp"

namespace spillway {

class BlockCopies final : public UnaskedConnector, public ReuseTree::Copies {
 public:
  struct Environment {
    const OffloadConfig& config;
    RequestPool& requests;
    TransferWaiter& waiter;
    EventQueue& queue;
  };
  explicit BlockCopies(const Environment& environment)
      : UnaskedConnector(environment.config, environment.requests, environment.waiter),
        env_(environment) {}
  /// Both outlive it; the path may be null: no host memory.
  void attach(const ReuseTree& tree, TransferPath* path) {
    tree_ = &tree;
    path_ = path;
  }

  // ---- the scheduler's side
  /// What is decided from now on is the next step's: that before has ended.
  void begin_step();
  /// For whom blocks are taken.
  void allocate_for(Handle h) { for_ = h; }
  void copy_down(std::uint32_t from, std::uint32_t to) override;
  void copy_up(std::uint32_t from, std::uint32_t to, std::uint32_t tokens) override;

  // ---- the worker's side
  /// As many as may begin.
  void submit();
  bool all_done() const { return lanes_[0].all_done() && lanes_[1].all_done(); }

  // ---- KvConnector
  bool idle() const override { return all_done(); }
  std::uint32_t tiers() const override { return path_ != nullptr ? 1 : 0; }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override;
  void on_load_service(std::uint32_t job, bool begins) override;
  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  struct Copy {
    Bytes bytes{0};
    std::uint64_t behind = 0;  ///< copies of the other direction that have to have ended
    Handle request{};
  };
  /// A direction; copies are counted from the start of the run.
  struct Lane {
    std::vector<Copy> step;    ///< of this step
    std::uint64_t before = 0;  ///< those of earlier steps
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;

    std::uint64_t decided() const { return before + step.size(); }
    bool all_done() const { return done == decided(); }
  };
  /// Up to which copy of each direction a slot is read or written.
  using Touched = std::array<std::uint64_t, 2>;

  void decide(Direction direction, std::uint32_t gpu, std::uint32_t host, std::uint32_t tokens);
  static Touched& touched(std::vector<Touched>& slots, std::uint32_t slot);
  void tell_clock(const Copy& copy, LoadEvent event);

  Environment env_;
  const ReuseTree* tree_ = nullptr;
  TransferPath* path_ = nullptr;
  std::array<Lane, 2> lanes_;
  std::vector<Touched> gpu_;
  std::vector<Touched> host_;
  Handle for_{};
};

/// Told when all tokens of a step are collected.
class StepSettler {
 public:
  virtual void settle(Time now) = 0;

 protected:
  ~StepSettler() = default;
};

/// A step whose forward waits for its copies.
class BlockCopiesStep final : public StepMoves {
 public:
  BlockCopiesStep(BlockCopies& copies, StepSettler& settler, std::unique_ptr<TransferPath> path)
      : copies_(copies), settler_(settler), path_(std::move(path)) {}

  void load(const StepPlan&, const StepTransfers&, Time now) override {
    began_ = now;
    copies_.submit();
  }
  bool may_compute() override { return copies_.all_done(); }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  void end(const StepTransfers&, Time now) override { settler_.settle(now); }
  bool idle() const override { return path_ == nullptr || path_->idle(); }
  void report(EngineStats& stats) const override;

 private:
  BlockCopies& copies_;
  StepSettler& settler_;
  std::unique_ptr<TransferPath> path_;
  Time began_{};
  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

}  // namespace spillway

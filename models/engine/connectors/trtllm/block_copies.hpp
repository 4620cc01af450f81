// TensorRT-LLM's copies between the GPU, host memory and a disk, and the steps that wait for them
// (cpp/tensorrt_llm/batch_manager/kvCacheTransferManager.cpp @ 03d4aac90; the disk is that of the
// manager V2, runtime/kv_cache_manager_v2/_storage_manager.py).
//
// Allocating for a step decides its copies, one for each block; they run on a stream for each
// direction from the instant of the schedule, and the forward waits for all of them. A copy also
// waits for those of the other streams that it would overtake at its source or destination: within
// a stream they keep their order anyway.
//
// Model: a block from the disk crosses only the disk's link on its way to the GPU.
#pragma once

#include <algorithm>
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
  /// All outlive it; paths may be null: no host memory, no disk.
  void attach(const ReuseTree& tree, TransferPath* host, TransferPath* disk) {
    tree_ = &tree;
    paths_ = {host, disk};
  }
  /// Of the path to the disk; `ranks` write their parts of a block there.
  TransferListener& disk_listener(std::uint32_t ranks) {
    ranks_ = ranks;
    return disk_listener_;
  }

  // ---- the scheduler's side
  /// What is decided from now on is the next step's: that before has ended.
  void begin_step();
  /// For whom blocks are taken.
  void allocate_for(Handle h) { for_ = h; }
  void copy(const ReuseTree::Place& from, const ReuseTree::Place& to,
            std::uint32_t tokens) override;
  /// Of the disk: what requests asked for there.
  ExchangeStats& disk_counts() { return disk_counts_; }

  // ---- the worker's side
  /// As many as may begin.
  void submit();
  bool all_done() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.all_done(); });
  }

  // ---- KvConnector
  bool idle() const override { return all_done(); }
  std::uint32_t tiers() const override {
    return static_cast<std::uint32_t>(2 - std::count(paths_.begin(), paths_.end(), nullptr));
  }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override;
  void on_load_service(std::uint32_t job, bool begins) override { serve(kUpLane, job, begins); }
  void on_transfer_done(Direction direction, std::uint32_t job) override {
    end(index_of(direction), job);
  }

 private:
  // A path's lanes, down and up, stand beside one another: the host's, then the disk's.
  static constexpr std::size_t kUpLane = 1;
  static constexpr std::size_t kLanes = 4;
  /// Copies by lane, counted from the start of the step: those of earlier ones have ended.
  using Counts = std::array<std::uint32_t, kLanes>;
  struct Copy {
    Bytes bytes{0};
    Counts behind{};  ///< that have to have ended
    Handle request{};
  };
  struct Lane {
    std::vector<Copy> step;    ///< of this step
    std::uint64_t before = 0;  ///< those of earlier steps
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;

    std::uint64_t decided() const { return before + step.size(); }
    bool all_done() const { return done == decided(); }
  };
  class DiskListener final : public TransferListener {
   public:
    explicit DiskListener(BlockCopies& copies) : copies_(copies) {}
    void on_load_service(std::uint32_t job, bool begins) override {
      copies_.serve(2 + kUpLane, job, begins);
    }
    void on_transfer_done(Direction direction, std::uint32_t job) override {
      copies_.end(2 + index_of(direction), job);
    }

   private:
    BlockCopies& copies_;
  };

  static std::size_t lane_of(const ReuseTree::Place& from, const ReuseTree::Place& to);
  /// Slots of a level, up to which copy of each lane each is read or written. A bit says that a
  /// copy of this step does: most slots are then not looked at, which would wait for memory.
  struct Slots {
    std::vector<Counts> touched;
    std::vector<std::uint64_t> in_step;

    /// Those of the slot, which copy `number` of `lane` touches now.
    Counts touch(std::uint32_t slot, std::size_t lane, std::uint32_t number);
  };
  bool may_begin(const Copy& copy) const;
  void serve(std::size_t lane, std::uint32_t job, bool begins);
  void end(std::size_t lane, std::uint32_t job);
  void tell_clock(const Copy& copy, LoadEvent event);

  Environment env_;
  const ReuseTree* tree_ = nullptr;
  std::array<TransferPath*, 2> paths_{};
  DiskListener disk_listener_{*this};
  std::uint32_t ranks_ = 1;
  std::array<Lane, kLanes> lanes_;
  std::array<Slots, ReuseTree::kLevels> slots_;  ///< by level
  Handle for_{};
  ExchangeStats disk_counts_;
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
  using Paths = std::array<std::unique_ptr<TransferPath>, 2>;
  BlockCopiesStep(BlockCopies& copies, StepSettler& settler, Paths paths)
      : copies_(copies), settler_(settler), paths_(std::move(paths)) {}

  void load(const StepPlan&, const StepTransfers&, Time now) override {
    began_ = now;
    copies_.submit();
  }
  bool may_compute() override { return copies_.all_done(); }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  void end(const StepTransfers&, Time now) override { settler_.settle(now); }
  bool idle() const override {
    return std::all_of(paths_.begin(), paths_.end(),
                       [](const auto& path) { return path == nullptr || path->idle(); });
  }
  void report(EngineStats& stats) const override;

 private:
  BlockCopies& copies_;
  StepSettler& settler_;
  Paths paths_;
  Time began_{};
  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

}  // namespace spillway

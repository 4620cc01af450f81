// HiCache: SGLang's copies between the device and host memory, and what steps wait for because of
// them (python/sglang/srt/managers/cache_controller.py, mem_cache/hiradix_cache.py @ 9fec359a).
//
// The tree decides; this carries out. What results of a batch bring down is submitted at once. What
// forming a batch decides is carried out in its order: copies for an eviction, which forming waits
// for, then its loads, one job for all. That begins once no prefill is in flight, at once beside a
// decode.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/engine/connectors/hicache/storage.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "models/engine/stores/radix_tree.hpp"
#include "models/link/copy_path.hpp"
#include "sim/slab.hpp"

namespace spillway {

/// Told when the batch that is formed is there, where it had to wait for evictions.
class BatchFormer {
 public:
  virtual void on_formed(Time now) = 0;

 protected:
  ~BatchFormer() = default;
};

class Hicache final : public UnaskedConnector, public RadixTree::Copies {
 public:
  struct Environment {
    const OffloadConfig& config;
    RequestPool& requests;
    TransferWaiter& waiter;
    EventQueue& queue;
  };
  explicit Hicache(const Environment& environment)
      : UnaskedConnector(environment.config, environment.requests, environment.waiter),
        env_(environment) {}
  /// All outlive it; the path may be null: no host memory. So may the storage behind that.
  void attach(RadixTree& tree, BatchFormer& former, TransferPath* path,
              std::unique_ptr<HicacheStorage> storage) {
    tree_ = &tree;
    former_ = &former;
    path_ = path;
    storage_ = std::move(storage);
  }
  HicacheStorage* storage() { return storage_.get(); }

  // ---- the scheduler's side
  void begin_forming() { forming_ = true; }
  void write(RadixTree::Node node, std::uint32_t pages) override;
  void flush() override { ops_.push_back({Op::kFlush, 0, 0}); }
  void add_load(RadixTree::Node node, std::uint32_t pages) {
    pending_.push_back(node);
    pending_pages_ += pages;
  }
  /// The batch that is formed is a prefill, which waits for all loads that are pending.
  void start_loads();
  /// `held`: until release().
  void end_forming(bool held);
  /// What ended is unlocked.
  void acknowledge();
  /// After a pass that formed nothing there is another; after two in a row the engine sleeps, and
  /// what wakes it begins anew.
  void count_pass(bool formed) { one_empty_pass_ = !formed && !one_empty_pass_; }

  // ---- the worker's side
  void release();
  bool formed() const { return at_ == ops_.size(); }
  /// Whether the batch formed last has loads; asked once, as it is launched.
  bool take_loads() { return std::exchange(loads_, false); }
  /// Of the batch launched last, where it has loads: no other is under way before its end.
  struct Load {
    Time start = kNever;
    Time end = kNever;
  };
  const Load& load() const { return load_; }

  // ---- KvConnector
  bool wants_step() const override { return one_empty_pass_; }
  bool idle() const override {
    return under_way_ == 0 && (storage_ == nullptr || storage_->idle());
  }
  std::uint32_t tiers() const override {
    if (path_ == nullptr) return 0;
    return 1 + (storage_ == nullptr ? 0 : storage_->pages().told_tiers());
  }
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override;
  void grow_blocks(std::uint32_t blocks) override {
    if (storage_ != nullptr) storage_->pages().grow_blocks(blocks);
  }
  void check_drained() const override {
    if (storage_ != nullptr) storage_->check_drained();
  }
  void on_load_service(std::uint32_t job, bool begins) override;
  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  struct Op {
    enum Kind : std::uint8_t { kWrite, kFlush, kLoad } kind;
    RadixTree::Node node;
    std::uint32_t pages;
  };
  struct Job {
    bool awaited = false;                 ///< by the batch that is formed
    std::uint32_t written = 0;            ///< pages
    std::vector<RadixTree::Node> locked;  ///< until it is acknowledged
  };

  void submit(Direction direction, std::uint32_t job, std::uint32_t pages);
  void submit_write(const Op& op, bool awaited);
  void go_on();

  Environment env_;
  RadixTree* tree_ = nullptr;
  BatchFormer* former_ = nullptr;
  TransferPath* path_ = nullptr;
  std::unique_ptr<HicacheStorage> storage_;
  Slab<Job> jobs_of_;
  std::vector<std::uint32_t> ended_;
  std::vector<RadixTree::Node> pending_;  ///< loads that no batch waits for yet
  std::uint32_t pending_pages_ = 0;
  std::vector<Op> ops_;  ///< of the batch formed last
  std::size_t at_ = 0;   ///< the first that is not carried out
  bool forming_ = false;
  bool held_ = false;
  bool flushed_ = false;       ///< forming waited
  bool loads_ = false;         ///< the batch formed last has some
  std::uint32_t awaited_ = 0;  ///< copies of the eviction under way
  std::uint32_t under_way_ = 0;
  bool one_empty_pass_ = false;
  Load load_;
};

/// A prefill waits for its loads, layer by layer or as a whole, and its end for the next batch to
/// be formed where that takes longer.
class HicacheStep final : public StepMoves {
 public:
  HicacheStep(const OffloadConfig& config, Hicache& cache, std::unique_ptr<TransferPath> path)
      : config_(config), cache_(cache), path_(std::move(path)) {}

  bool flushed(const StepPlan&, const StepTransfers&) override { return cache_.formed(); }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  std::optional<Time> new_end(Time now) override;
  bool may_end() override;
  bool plans_ahead() const override { return false; }
  bool idle() const override { return path_ == nullptr || path_->idle(); }
  void report(EngineStats& stats) const override;

 private:
  Time forward_end() const;

  const OffloadConfig& config_;
  Hicache& cache_;
  std::unique_ptr<TransferPath> path_;
  Time launch_{};  ///< of the step that computes
  Duration compute_{};
  bool loads_ = false;
  bool told_ = true;
  bool late_ = false;  ///< it has computed, and waits for the next batch to be formed
  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

}  // namespace spillway

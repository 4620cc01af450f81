// What most limits a run: the resource that is used up while requests wait for it, and the figures
// that say so.
//
// Asked in this order, the first that holds names it: a link or a device that hardly ever rests;
// steps that stand still for transfers; where requests wait for much of the time, what most of that
// goes with: HBM blocks that run out, a batch without a free place, loads beside room for all, or
// else a GPU that hardly ever rests; a lower tier whose blocks are pinned. Else nothing binds.
#pragma once

#include <cstdint>

#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace spillway {

/// Watches a run of `engines` engines of `max_num_seqs` places and `step_tokens` a step each.
class BindingWatch final : public Observer {
 public:
  BindingWatch(std::uint32_t max_num_seqs, std::uint32_t step_tokens, std::uint32_t engines)
      : max_num_seqs_(max_num_seqs), step_tokens_(step_tokens), engines_(engines) {}

  void on_step(const StepRecord& record) override;
  void on_request(const RequestRecord& record) override;

  /// `run` is complete but for this.
  BindingResource find(const RunResult& run) const;
  /// The time of steps of all engines.
  Duration steps() const { return computing_; }

 private:
  double share(Duration part) const;

  std::uint32_t max_num_seqs_;
  std::uint32_t step_tokens_;
  std::uint32_t engines_;
  Time first_ = Time::max();
  Time last_{};
  Duration computing_{};
  Duration stalled_{};
  Duration queued_{};   ///< steps beside which requests waited
  Duration starved_{};  ///< of these, as HBM had too few blocks for one of them
  Duration loading_{};  ///< of these, with blocks, places and tokens of the step to spare
  Duration crowded_{};  ///< of these, with every place in the batch taken
};

}  // namespace spillway

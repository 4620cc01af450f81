// vLLM v0's scheduler and its swapping (vllm/core/scheduler.py @ db66e018ea).
//
// The default policy computes prompts or decodes in a step, never both: prompts go first, whole,
// and only while nothing is swapped out. Chunked prefill mixes them: running requests, then swapped
// ones, then waiting ones, until the step's tokens are spent. Either way a decode that finds no
// block preempts the last running request, in the end itself, and nothing is swapped in during that
// step.
//
// A preempted request computes everything again, from the front of the queue, or its blocks are
// copied to the CPU pool and it resumes where it was. All groups here have one sequence, for which
// v0 recomputes unless it is told to swap. A swap-out that the CPU pool has no room for is the
// engine's end.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/schedulers/queue_scheduler.hpp"
#include "models/engine/stores/v0_block_manager.hpp"

namespace spillway {

class V0Scheduler final : public QueueScheduler {
 public:
  struct Environment {
    const SchedulerConfig& config;
    SchedulerRules rules;
    StepRules step;
    RequestPool& requests;
    Observer& observer;
  };
  explicit V0Scheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  /// v0 finds out when the request reaches the head of its queue.
  Reason refuses(const ActiveRequest&) const override { return Reason::kNone; }
  void schedule(Time now, StepPlan& plan) override;
  bool finish(Handle h, Time now) override;
  /// HBM, and the CPU pool where there is one.
  std::uint32_t tiers() const override { return blocks_.cpu().total > 0 ? 2 : 1; }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override { stats.swap = swaps_; }
  void check_drained() const override { blocks_.check_drained(); }
  std::vector<Handle> abandon() override;

  const V0BlockManager& blocks() const { return blocks_; }
  const SwapStats& swaps() const { return swaps_; }

 private:
  /// What a step may still take (SchedulingBudget).
  struct Budget {
    std::uint32_t tokens = 0;
    std::uint32_t seqs = 0;
    bool fits(std::uint32_t n) const { return n > 0 && n <= tokens && seqs > 0; }
    void take(std::uint32_t n) {
      tokens -= n;
      --seqs;
    }
  };
  /// Requests scheduled by one of the three walks, apart by stage.
  struct Scheduled {
    std::vector<ScheduledTokens> prefills;
    std::vector<ScheduledTokens> decodes;
    void clear() {
      prefills.clear();
      decodes.clear();
    }
  };

  void schedule_default(Time now, StepPlan& plan);
  void schedule_chunked(Time now, StepPlan& plan);
  void schedule_running(Time now, StepPlan& plan, Budget& budget);
  void schedule_swapped(Time now, StepPlan& plan, Budget& budget);
  void schedule_waiting(Time now, StepPlan& plan, Budget& budget);
  void preempt(Handle victim, Time now, StepPlan& plan);
  void count_swaps(const StepPlan& plan);
  void note_scheduled(std::vector<ScheduledTokens>& to, Handle h, std::uint32_t tokens, Time now);
  std::uint32_t new_tokens(Handle h, const Budget& budget) const;
  std::uint32_t longest_prompt() const;
  bool restarts_for_ever(std::uint32_t tokens) const;

  std::uint32_t block_tokens_;
  V0BlockManager blocks_;
  SwapStats swaps_;
  // Scratch of one schedule().
  Scheduled from_running_;
  Scheduled from_swapped_;
  std::vector<ScheduledTokens> from_waiting_;
  std::vector<Handle> left_;  ///< running requests that the budget did not reach
};

}  // namespace spillway

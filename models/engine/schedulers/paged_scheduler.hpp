// TensorRT-LLM's scheduler with the KV cache manager V2: what runs next, with its blocks at once
// (tensorrt_llm/_torch/pyexecutor/scheduler/scheduler_v2.py, kv_cache/kv_cache_manager_v2.py, main
// of 2026), without beams, LoRA, speculation and the overlap scheduler.
//
// Decodes come first. One that finds no room suspends the requests behind it, the last one first:
// they keep what they have computed, and their blocks go down as others need the room. Then come
// prompts, a chunk at a time, which suspend nobody; nobody begins, or goes on after it was
// suspended, while more than a share of the pool is locked. Only prompts stay for others.
#pragma once

#include <span>
#include <vector>

#include "models/engine/schedulers/trtllm_scheduler.hpp"
#include "models/engine/stores/paged_tree.hpp"

namespace spillway {

class PagedScheduler final : public TrtllmScheduler {
 public:
  PagedScheduler(const Environment& environment, PagedTree& levels)
      : TrtllmScheduler(environment), levels_(levels) {}

  void schedule(Time now, StepPlan& plan) override;
  void on_step_end(StepPlan& plan, Time now) override;
  std::uint32_t running() const override;
  std::uint32_t waiting() const override;
  void check_drained() const override;

 private:
  using Reuse = SequenceBlocks::Reuse;

  void give_back(Finished& finished, Time now) override;
  void choose_decodes(Time now, StepPlan& plan);
  bool make_room(std::size_t place, Time now, StepPlan& plan);
  void suspend(Handle h, Time now, StepPlan& plan);
  void give_up(Handle h, Time now, StepPlan& plan);
  void choose_prompts(Time now);
  bool more_prompts() const;
  std::uint32_t chunk_of(std::uint32_t rest) const;
  void ask_under_way(Handle h);
  bool ask_first(Handle h, Time now);
  bool begin(Handle h, const ReuseTree::Closest& part, Time now);
  void choose_prompt(Handle h, std::uint32_t tokens);
  bool has_next(Handle h, const Reuse& reuse) const;
  void contribute(Handle h, const Reuse& reuse);
  bool may_resume();
  bool fits(std::span<const ReuseTree::Block> blocks, std::uint32_t fresh, ReuseTree::Block source);
  bool grow(Handle h, std::uint32_t blocks);
  void lock_all(Handle h);
  void take(Handle h, std::uint32_t blocks);
  void fill(StepPlan& plan);

  PagedTree& levels_;
  std::uint32_t suspended_ = 0;
  // Of one schedule:
  std::uint64_t end_ = 0;          ///< requests are asked that came before this one
  std::uint32_t room_ = 0;         ///< tokens that the step still takes
  bool starved_ = false;           ///< somebody found no room for blocks
  std::vector<Handle> under_way_;  ///< prompts that have blocks, in order of arrival
  std::vector<ReuseTree::Block> below_;
};

}  // namespace spillway

// TensorRT-LLM's two schedulers: which requests have room (cpp/tensorrt_llm/batch_manager/
// capacityScheduler.cpp @ 02a10fed0), and what of them one step computes (microBatchScheduler.cpp,
// main of 2026), without beams, LoRA and the overlap scheduler.
//
// All requests are active from their arrival, in that order. Those that have begun hold blocks; the
// others wait for their first chunk. Whoever would compute what another has just begun to compute
// is passed over, and finds it later.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/connectors/trtllm/block_copies.hpp"
#include "models/engine/schedulers/next_blocks.hpp"
#include "models/engine/schedulers/scheduler.hpp"
#include "models/engine/stores/sequence_blocks.hpp"
#include "models/releases/engine_config.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class TrtllmScheduler : public Scheduler, public StepSettler {
 public:
  struct Environment {
    const EngineConfig& config;
    const Workload& workload;
    RequestPool& requests;
    ReuseTree& tree;
    BlockCopies& copies;
    Observer& observer;
  };
  explicit TrtllmScheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  Reason refuses(const ActiveRequest& r) const override;
  void enqueue(Handle h) override;
  void schedule(Time now, StepPlan& plan) override;
  void apply(StepPlan& plan) override;
  void on_step_end(StepPlan& plan, Time now) override;
  void collect(ActiveRequest& r) override { ++r.generated; }
  bool finish(Handle h, Time now) override;
  void settle(Time now) override;
  void withdraw(Handle h) override;
  std::uint32_t running() const override {
    return asleep_ ? 0 : static_cast<std::uint32_t>(started_.size());
  }
  std::uint32_t waiting() const override { return static_cast<std::uint32_t>(waiting_.size()); }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override;
  void check_drained() const override;
  std::vector<Handle> queued() const override;
  Standstill standstill() const override;

 protected:
  /// What a request has here, by its handle.
  struct Held {
    Sequence sequence;
    std::uint64_t order = 0;    ///< of its arrival
    std::uint32_t context = 0;  ///< tokens before it generates: its prompt, and what it had
                                ///< generated when it was paused last
    bool suspended = false;     ///< V2: it has blocks, and does not run
  };
  /// It has room, and will find so many tokens of its context, as far as was estimated.
  struct Chosen {
    Handle request;
    std::uint32_t estimate = 0;
  };
  struct Part {
    Handle request;
    std::uint32_t tokens;
    std::uint32_t estimate;
  };
  /// A request with its last token; by order of arrival it gives its blocks back.
  struct Finished {
    std::uint64_t order;
    std::uint32_t tokens;
    Sequence sequence;
  };

  std::uint32_t page() const { return config_.block_tokens; }
  Held& held(Handle h) { return held_[static_cast<std::size_t>(h)]; }
  const Held& held(Handle h) const { return held_[static_cast<std::size_t>(h)]; }
  bool decodes(Handle h) const { return requests_[h].computed >= held(h).context; }
  std::uint64_t order(Handle h) const { return held(h).order; }

  /// What a finished request leaves in the tree.
  virtual void give_back(Finished& finished, Time now);
  void put_into_started(Handle h);
  /// It has no blocks left, and waits to begin again.
  void begin_again(Handle h, Time now, StepPlan& plan);
  void preempted(Handle h, Time now, StepPlan& plan);

  void meet_chunks();
  bool passed_over(Handle h, const SequenceBlocks::Reuse& reuse);
  void choose_to_completion();
  void choose_for_step();
  bool pause_last(Handle from, std::size_t& end);
  void form_batch();
  void cut_prompts(std::uint32_t room);
  void pause(Handle h, Time now, StepPlan& plan);
  void requeue(Handle h);
  void compute_prompts(Time now, StepPlan& plan);
  void compute_decodes(StepPlan& plan);
  bool start(Handle h, Time now, std::uint32_t& tokens);
  void count_admission(ActiveRequest& r, const SequenceBlocks::Admission& admission);
  void take_from_waiting();
  void leave_started(Handle h);

  const EngineConfig& config_;
  const TrtllmConfig& rules_;
  RequestPool& requests_;
  ReuseTree& tree_;
  BlockCopies& copies_;
  Observer& observer_;
  SequenceBlocks blocks_;
  NextBlocks next_;
  std::vector<Held> held_;
  std::uint64_t arrivals_ = 0;
  std::vector<Handle> started_;  ///< holding blocks, in order of arrival
  RingQueue<Handle> waiting_;    ///< the others, likewise
  bool asleep_ = true;           ///< the last schedule found nothing to compute
  PrefixCacheCounters counters_;
  // Of one schedule:
  std::size_t asked_ = 0;  ///< of those that wait, from the front
  std::vector<Chosen> chosen_;
  std::vector<Handle> paused_;
  std::vector<Part> prompts_;
  std::vector<Handle> decodes_;
  std::uint32_t given_ = 0;  ///< blocks that those paused give
  // Of one step's end:
  std::vector<Finished> finished_;
  std::size_t finishing_ = 0;
};

}  // namespace spillway

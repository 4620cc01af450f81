// SGLang's scheduler over its radix cache (python/sglang/srt/managers/scheduler.py,
// schedule_policy.py, schedule_batch.py, scheduler_components/new_token_ratio_tracker.py
// @ 9fec359a).
//
// A batch computes prompts or decodes, and both with mixed chunks only; prompts go first. A prompt
// is admitted if it fits beside what running requests are estimated to generate: a share of what
// they may, which falls with every decode and rises when a decode finds no room and requests are
// retracted.
//
// With overlap the next batch is formed while one computes, without knowing its tokens: whoever
// ends with it decodes once more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/chains/local_chains.hpp"
#include "models/engine/connectors/hicache/hicache.hpp"
#include "models/engine/schedulers/scheduler.hpp"
#include "models/engine/stores/radix_tree.hpp"
#include "models/releases/engine_config.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class SglangScheduler final : public Scheduler, public BatchFormer {
 public:
  struct Environment {
    const EngineConfig& config;
    const LocalChains& chains;
    RequestPool& requests;
    RadixTree& tree;
    Hicache& cache;
    Observer& observer;
  };
  explicit SglangScheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  Reason refuses(const ActiveRequest& r) const override;
  void enqueue(Handle h) override;
  void schedule(Time now, StepPlan& plan) override;
  void apply(StepPlan& plan) override;
  void on_step_end(StepPlan& plan, Time now) override;
  void collect(ActiveRequest& r) override;
  bool finish(Handle h, Time now) override;
  void withdraw(Handle h) override;
  std::uint32_t running() const override { return slots_; }
  std::uint32_t waiting() const override { return static_cast<std::uint32_t>(waiting_.size()); }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override { stats.prefix = counters_; }
  void check_drained() const override;
  std::vector<Handle> abandon() override;
  std::vector<Handle> queued() const override;
  std::vector<Handle> served() const override;
  void on_formed(Time now) override;

 private:
  /// What a request has here, by its handle.
  struct Held {
    std::vector<PageRun> chain;  ///< of its full pages
    std::uint32_t kv = 0;        ///< tokens that it has memory for
    std::uint32_t locked = 0;    ///< pages of the tree that it locks, up to `node`
    std::uint32_t fill = 0;      ///< tokens that its last prefill reaches
    std::uint32_t max_new = 0;   ///< tokens that it may generate
    RadixTree::Node node = RadixTree::kRoot;
    std::uint32_t turn =
        0;                 ///< changes when it ends or is retracted: then nothing in flight counts
    bool inserts = false;  ///< its prefill ends with the batch in flight
    bool has_slot = false;
  };
  /// A seat among those that run; it stays taken when the request ends, until a decode is formed.
  struct Seat {
    Handle request;
    std::uint32_t turn;
    std::uint32_t left = 0;  ///< of one that has ended: what it was estimated to generate
  };
  struct Batch {
    std::vector<Seat> seats;  ///< as its items
    bool prefill = false;
    std::optional<Handle> chunk;  ///< whose prompt goes on behind it
  };
  /// What a prefill may still take (PrefillAdder), and what it takes.
  struct Budget {
    std::int64_t reserved_nano = 0;  ///< for those that run and those taken; 10^-9 tokens
    std::int64_t taken = 0;
    std::int64_t input = 0;
    std::int64_t chunk = 0;
    std::int64_t tokens = 0;  ///< to be allocated
    std::int64_t pages = 0;   ///< these, beyond what requests have
  };
  enum class Verdict : std::uint8_t { kGoOn, kStop, kNoToken };

  std::uint32_t page() const { return config_.block_tokens; }
  std::uint32_t pages_of(std::uint32_t tokens) const { return (tokens + page() - 1) / page(); }
  std::int64_t paged(std::int64_t tokens) const;
  std::uint32_t left_of(const Seat& seat) const;
  bool lives(const Seat& seat) const { return held(seat.request).turn == seat.turn; }
  bool chunked() const { return rules_.chunked_prefill_size > 0; }
  bool mixes() const { return chunked() && rules_.mixed_chunks; }
  Held& held(Handle h) { return held_[static_cast<std::size_t>(h)]; }
  const Held& held(Handle h) const { return held_[static_cast<std::size_t>(h)]; }
  std::int64_t pool_tokens() const { return std::int64_t{config_.num_gpu_blocks} * page(); }
  std::int64_t limit() const;
  std::int64_t bound(const ActiveRequest& r) const;

  void join(Handle h);
  void insert(Handle h, std::uint32_t tokens, bool counts);
  void stash_chunk();
  void merge_last();
  bool form_prefill(Time now, StepPlan& plan);
  void sort_queue();
  void sort_by_prefix();
  void sort_by_weight();
  void take_order();
  bool alike(Handle a, Handle b) const;
  std::int64_t rest_nano(const Budget& budget) const;
  void charge(Budget& budget, std::int64_t tokens, std::int64_t more) const;
  Batch& batch() { return batches_[formed_ % 2]; }
  void go_on_with_chunk(Budget& budget, Time now, StepPlan& plan);
  Verdict admit(Handle h, Budget& budget, Time now, StepPlan& plan);
  void add(Handle h, std::uint32_t tokens, bool ends, Budget& budget, Time now, StepPlan& plan);
  bool form_decode(Time now, StepPlan& plan);
  bool decode_running(StepPlan& plan);
  bool die(StepPlan& plan);
  std::uint64_t tokens_to_decode(const std::vector<Seat>& seats) const;
  void retract(Time now, StepPlan& plan);
  void give_up(Handle h);
  void count_admission(ActiveRequest& r, const RadixTree::Match& match, std::uint32_t loaded);

  const EngineConfig& config_;
  const SglangConfig& rules_;
  Environment env_;
  RequestPool& requests_;
  RadixTree& tree_;
  std::vector<Held> held_;
  RingQueue<Handle> waiting_;
  std::vector<Seat> running_;
  std::array<Batch, 2> batches_;  ///< formed last, by turns
  std::uint64_t formed_ = 0;      ///< batches
  std::uint64_t ended_ = 0;
  bool merges_ = false;          ///< the last pass formed a prefill: those in it are to run
  std::optional<Handle> chunk_;  ///< a prompt that is computed in part
  bool full_ = false;            ///< nobody is admitted until somebody leaves
  bool short_ = false;           ///< of memory, not of seats
  std::uint32_t slots_ = 0;      ///< of requests that have begun
  std::int64_t first_ratio_;     ///< new_token_ratio, in 10^-9
  std::int64_t least_ratio_;
  std::int64_t ratio_;
  std::uint32_t most_running_;
  bool dead_ = false;
  std::vector<Handle> first_scheduled_;  ///< by the batch formed last
  PrefixCacheCounters counters_;
  std::vector<Seat> sorted_;  ///< scratch
  struct Ranked {
    std::int64_t rank;  ///< the greatest goes first, of equal ones who is first now
    std::uint32_t at;
    Handle request;
  };
  std::vector<Ranked> ranked_;
  std::vector<Handle> first_alike_;
  std::vector<RadixTree::Node> found_;
  std::vector<std::uint32_t> order_;
  std::uint64_t draws_;  ///< of a random queue
};

}  // namespace spillway

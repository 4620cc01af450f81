// One serving engine: steps on the simulated clock, over the parts of its family.
//
// At one instant, in this order: outputs and frees of the step that ends, ended stores, ended
// loads, arrivals, then the next schedule. A step with nothing to compute lasts nothing; the engine
// then sleeps until an arrival or a completion, unless something is left for it to do at once.
//
// A step is scheduled, then its worker part runs: submit stores, wait for fences, submit loads,
// compute. Where a step waits for loads (load_wait.hpp), it does so behind its fences. Worker parts
// follow one another. With asynchronous scheduling the next step is scheduled while one computes,
// so its worker part waits for that one's end; otherwise the two coincide.
//
// An engine of a group (step_group.hpp) computes when all of it do, and schedules when none of it
// computes any longer.
//
// The engine knows no family: which requests compute is the scheduler's, what lies below HBM the
// connector's, what a step waits for beside its compute that of its moves (engine_parts.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "models/arrivals.hpp"
#include "models/compute/stage_pipeline.hpp"
#include "models/engine/admission_gate.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/step_group.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class Ticker;

class Engine final : public EventHandler,
                     public RequestSink,
                     public StepMember,
                     private TransferWaiter {
 public:
  /// `listener` may be set later, before the first request ends.
  /// `network` is the simulation's; nothing has been submitted to it yet. `chains` are those of the
  /// whole simulation, in blocks as large as this engine's.
  Engine(EventQueue& queue, Network& network, const ChainMap& chains, EngineParts parts,
         Observer& observer);

  void set_listener(RequestEndListener& listener) { listener_ = &listener; }
  void submit(RequestId request, Time due) override;
  void on_event(EventPayload payload) override;
  void begin_together(Duration compute, std::span<const StepShape> shapes) override;
  void wake() override;
  StepCost& step_cost() override { return cost_.step(); }

  /// After the last event: reports every request still here as stuck, and checks that nothing
  /// leaks. Returns how many were stuck.
  std::uint32_t finish_run();
  /// After finish_run(): why requests were stuck, where any was.
  const std::optional<Standstill>& standstill() const { return standstill_; }

  const Scheduler& scheduler() const { return scheduler_; }
  LocalChains& chains() { return chains_; }
  const LocalChains& chains() const { return chains_; }
  /// Ids in pool and tiers for each block of a chain: one a KV group, the block's times so many.
  std::uint32_t pages_per_block() const { return config_.groups.count(); }
  /// Whoever watches is told what a store gains and loses, by its own block ids: HBM's pool, or the
  /// tier below it. v0 and streaming tell nothing.
  void watch_pool(StoreWatch& watch);
  void watch_lower(StoreWatch& watch);
  /// What all its parts have counted.
  EngineStats stats() const;

 private:
  enum class Kind : std::uint16_t { kStepStart, kWorkerDone, kLeftStages, kWaitedTooLong };
  enum class State : std::uint8_t {
    kAsleep,
    kWoken,  ///< a schedule is due at this instant
    kBusy,   ///< a step or an empty step's fences must end first
  };
  struct PromptPart {
    Handle request;
    bool again;  ///< it begins below what the request had computed before a preemption
  };
  struct Step {
    StepPlan plan;
    StepTransfers transfers;
    Time worker_start{};
    Time flushed{};  ///< nothing was in its way any longer
    Time forward_start{};
    Duration compute{};  ///< of one stage: the forward's time if nothing holds it up
    Duration stall{};    ///< of its worker part, beside that
    ConnectorWork connector{};
    std::uint32_t recomputed = 0;     ///< tokens computed before a preemption already
    std::vector<PromptPart> prompts;  ///< of requests that have no first token yet
  };

  std::vector<StageMark>* marks_of(Handle h);
  void watch_waits();
  void reject_waiting();
  void on_transfer_progress() override;
  void on_step_progress() override;
  void on_load(std::uint32_t job, LoadEvent event) override;
  void on_promotion(Handle h, RequestId request, LoadEvent event) override;
  void schedule_steps();
  bool awaits_begin() const;
  Step& schedule_one();
  void start_workers();
  void go_on();
  void handle(Kind kind, std::uint32_t subject);
  void begin_forward();
  void compute_for(Duration compute);
  void end_empty(Step& step);
  void watch_forward();
  void end_empty_step(bool changed);
  void end_worker();
  void finish_step();
  void emit_tokens(StepPlan& plan);
  bool poll(Time now);
  bool void_of(const FailedLoad& failed, ScheduledTokens& item);
  void end_request(Handle h, RequestStatus status, Reason reason);
  void end_refused(const StepPlan& plan);
  void die(Step& step);
  void tell_tiers();

  EventQueue& queue_;
  const Workload& workload_;
  EngineConfig config_;
  Observer& observer_;
  Time measure_from_;
  std::vector<RequestClass> classes_;  ///< by tenant; empty: all alike
  RequestEndListener* listener_ = nullptr;
  StageWatch* stage_watch_;
  TokenListener* token_listener_;
  std::deque<std::vector<StageMark>> marks_;  ///< by handle, where stages are watched
  StepGroup* group_;
  std::uint32_t place_in_group_;
  bool joined_ = false;  ///< worker_ waits for its group
  /// Some engines take turns at one instant (chunks/settlement.hpp).
  bool takes_turns_;
  std::uint32_t rank_;        ///< of its turn; else 0
  bool in_turn_ = false;      ///< it goes on until it must wait
  Ticker* ticker_ = nullptr;  ///< told of requests that end
  bool arrived_ = false;      ///< a request has, since the last schedule
  ForwardCost cost_;
  LocalChains chains_;
  RequestPool requests_;
  AdmissionGate gate_;
  Assembly assembly_;
  Scheduler& scheduler_;
  KvConnector& connector_;
  StepMoves& moves_;
  bool dead_ = false;            ///< a plan was fatal
  bool waits_watched_ = false;   ///< an event is pending for the next deadline
  std::uint32_t end_epoch_ = 0;  ///< tells the scheduled end from those that no longer hold

  State state_ = State::kAsleep;
  std::uint32_t depth_;  ///< steps that may be in flight: 1, 2, or one a stage
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Step*> free_steps_;
  RingQueue<Step*> in_flight_;     ///< scheduled with tokens, not collected
  RingQueue<Step*> workers_;       ///< worker parts that have not begun, empty steps included
  Step* worker_ = nullptr;         ///< the one that waits for fences or computes
  StagePipeline stages_;           ///< over which the layers are spread
  const Step* awaited_ = nullptr;  ///< an empty step whose fences must end before the next schedule
  bool awaited_changed_ = false;   ///< it preempted a request or started a load
  Time last_step_end_{};
  bool completion_seen_ = false;   ///< since the last schedule
  std::uint32_t empty_steps_ = 0;  ///< in a row, at one instant
  std::uint64_t deferrals_ = 0;
  Duration flush_stall_{};
  std::optional<Standstill> standstill_;
  std::uint32_t repeating_ = 0;              ///< steps in a row that computed nothing new
  bool looping_ = false;                     ///< too many: nothing is scheduled any more
  std::array<TierLevel, kMaxTiers> told_{};  ///< what observers know of each tier
};

}  // namespace spillway

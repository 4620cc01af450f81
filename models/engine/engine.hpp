// One serving engine: steps on the simulated clock, a scheduler, a block pool, and the tier below.
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
// With engine.residency streaming the block pool and the connector give way to a store in which
// running requests may have blocks below HBM (streaming_store.hpp, streaming_scheduler.hpp), and a
// step that reads such blocks ends with compute and transfer (step_overlap.hpp).
//
// vLLM v0 (v0_scheduler.hpp) has pools of plain blocks instead, and copies that a step waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "models/arrivals.hpp"
#include "models/compute/step_cost.hpp"
#include "models/engine/admission_gate.hpp"
#include "models/engine/chain_map.hpp"
#include "models/engine/cold_link.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/load_wait.hpp"
#include "models/engine/connectors/tier_stack.hpp"
#include "models/engine/copy_interference.hpp"
#include "models/engine/schedulers/streaming_scheduler.hpp"
#include "models/engine/schedulers/v0_scheduler.hpp"
#include "models/engine/schedulers/vllm_scheduler.hpp"
#include "models/engine/stage_pipeline.hpp"
#include "models/engine/swap_copies.hpp"
#include "models/link/host_path.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "policies/catalogue.hpp"
#include "sim/event_queue.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"
#include "sim/workload.hpp"

namespace spillway {

class BlockStore;

/// The tier below HBM and the path to it.
struct LowerTierConfig {
  std::uint64_t capacity_blocks = 0;
  EvictionChoice eviction;
  WriteAdmissionChoice write_admission;
  /// Between HBM and the tier, or host memory before it.
  HostLanes lanes;
  /// Where the tier is storage: a client of it, or one of each rank if `direct`; then no lanes.
  std::vector<StorageClientConfig> storage;
  bool direct = false;
  std::uint32_t copies = 1;  ///< parts of ranks that tiers below keep of each block
  /// The tiers behind it, in the order of look-ups; only where it is memory.
  std::vector<LevelConfig> behind;
  TrimRule trim;  ///< of the tier itself
  /// The link up once more, to estimate loads with; null: whatever lies below is loaded.
  std::unique_ptr<LinkModel> load_estimate;
  CopyInterference interference;  ///< what its copies take from steps; not with layer-wise loads
};

/// What vLLM v0 swaps over: both ways run on the compute stream, never at once.
struct SwapLanes {
  LaneSpec down;  ///< HBM to the CPU pool
  LaneSpec up;
};

struct EngineParts {
  EngineConfig config;
  AdmissionChoice admission;  ///< of requests
  EvictionChoice eviction;    ///< HBM's policy for cached, unused blocks
  std::unique_ptr<StepCost> cost;
  std::unique_ptr<LowerTierConfig> lower;  ///< null: nothing below HBM
  Time measure_from{};                     ///< requests that arrive earlier are the warm-up's
  std::vector<RequestClass> classes;       ///< by tenant; empty: all alike
  std::unique_ptr<SwapLanes> swap;         ///< v0 that swaps, and has a CPU pool
  SharedStores* shared = nullptr;          ///< of the simulation; where tiers are shared
  StageWatch* stages = nullptr;            ///< null: nobody asks when stages came
};

class Engine final : public EventHandler, public RequestSink, private TransferWaiter {
 public:
  /// `listener` may be set later, before the first request ends.
  /// `network` is the simulation's; nothing has been submitted to it yet.
  Engine(EventQueue& queue, Network& network, const Workload& workload, EngineParts parts,
         Observer& observer);

  void set_listener(RequestEndListener& listener) { listener_ = &listener; }
  void submit(RequestId request, Time due) override;
  void on_event(EventPayload payload) override;

  /// After the last event: reports every request still here as stuck, and checks that nothing
  /// leaks. Returns how many were stuck.
  std::uint32_t finish_run();
  /// After finish_run(): why requests were stuck, where any was.
  const std::optional<Standstill>& standstill() const { return standstill_; }

  const KvPool* pool() const { return pool_.get(); }  ///< null when streaming, and of v0
  const Scheduler& scheduler() const { return *scheduler_; }
  const StreamingScheduler* streaming() const { return streaming_; }  ///< null unless streaming
  const V0Scheduler* v0() const { return v0_; }                       ///< null unless it is v0
  const SwapCopies* swap() const { return swap_.get(); }
  const KvConnector* connector() const { return connector_.get(); }
  const LoadChoice* load_choice() const { return load_choice_.get(); }  ///< null: always loads
  const ChainMap& chains() const { return chains_; }
  /// The tiers behind the first; null where there are none.
  const TierStack* stack() const { return connector_ == nullptr ? nullptr : connector_->stack(); }
  /// Its clients of the tier below; none where that is memory.
  std::span<const std::unique_ptr<StorageDevice>> storage() const { return storage_; }
  std::uint64_t deferrals() const { return deferrals_; }
  Duration flush_stall() const { return flush_stall_; }
  /// Steps that waited for loads, and how long in all.
  std::uint64_t load_stalls() const { return load_stalls_; }
  Duration load_stall() const { return load_stall_; }
  /// What copies added to the time of steps.
  Duration copy_harm() const { return copy_harm_; }
  /// Spent in collectives of ranks.
  Duration collective() const { return collective_; }

 private:
  enum class Kind : std::uint16_t { kStepStart, kStepDone, kWaitedTooLong, kStageDone };
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
    Time flushed{};  ///< its fences were down
    Time forward_start{};
    Duration compute{};  ///< the forward's time if no layer waits
    bool end_known = false;
    Time undisturbed{};               ///< its end if copies did not slow it
    std::uint32_t recomputed = 0;     ///< tokens computed before a preemption already
    std::vector<PromptPart> prompts;  ///< of requests that have no first token yet
  };

  void attach_path(LowerTierConfig& lower);
  std::unique_ptr<TransferPath> make_path(LowerTierConfig& lower, TransferListener& listener);
  EvictionContext policy_context() const;
  std::unique_ptr<BlockStore> first_store(const LowerTierConfig& lower) const;
  std::unique_ptr<TierStack> stack_over(BlockStore& first, const EngineParts& parts);
  EvictionContext chunk_context() const;
  std::unique_ptr<WriteAdmissionPolicy> write_admission(const LowerTierConfig& lower) const;
  std::unique_ptr<LoadChoice> load_choice_of(EngineParts& parts) const;
  void build_full(const EngineParts& parts);
  std::unique_ptr<KvConnector> grouped_connector(const EngineParts& parts);
  void build_streaming(const EngineParts& parts);
  void build_v0(EngineParts& parts);
  std::vector<StageMark>* marks_of(Handle h);
  void watch_waits();
  void reject_waiting();
  void on_transfer_progress() override;
  void on_load(std::uint32_t job, LoadEvent event) override;
  void on_promotion(Handle h, RequestId request, LoadEvent event) override;
  void wake();
  void schedule_steps();
  Step& schedule_one();
  void start_workers();
  void go_on();
  void begin_loads();
  void begin_forward();
  void watch_forward();
  void retime_forward();
  void schedule_end(Time end);
  StepWork work_of(const Step& step);
  void end_empty_step(bool changed);
  void on_cold_progress();
  void end_streamed_step(const StepPlan& plan);
  void leave_first_stage();
  void finish_step();
  void emit_tokens(const StepPlan& plan);
  Duration forward_time(const StepPlan& plan);
  void end_request(Handle h, RequestStatus status, Reason reason);
  void end_refused(const StepPlan& plan);
  void die(Step& step);
  void tell_tiers();
  void tell_needed();

  EventQueue& queue_;
  Network& network_;
  const Workload& workload_;
  EngineConfig config_;
  Observer& observer_;
  Time measure_from_;
  std::vector<RequestClass> classes_;  ///< by tenant; empty: all alike
  RequestEndListener* listener_ = nullptr;
  StageWatch* stages_ = nullptr;
  std::deque<std::vector<StageMark>> marks_;  ///< by handle, where stages are watched
  std::unique_ptr<StepCost> cost_;
  ChainMap chains_;
  RequestPool requests_;
  std::unique_ptr<RequestFacts> facts_;  ///< where a policy needs them
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<KvConnector> connector_;
  std::unique_ptr<StreamingStore> store_;  ///< streaming: instead of the pool and the connector
  std::unique_ptr<ColdLink> cold_;         ///< streaming
  std::unique_ptr<TransferPath> path_;
  std::span<const std::unique_ptr<StorageDevice>> storage_;  ///< of the path
  std::unique_ptr<LoadChoice> load_choice_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<LoadWait> load_wait_;
  StreamingScheduler* streaming_ = nullptr;  ///< scheduler_, where it is one
  V0Scheduler* v0_ = nullptr;                ///< scheduler_, where it is one
  std::unique_ptr<SwapCopies> swap_;         ///< v0 that swaps
  bool dead_ = false;                        ///< v0 ran out of CPU blocks
  std::unique_ptr<AdmissionGate> gate_;      ///< null: every request enters
  bool waits_watched_ = false;               ///< an event is pending for the next deadline
  std::optional<StepClock> clock_;           ///< where copies slow steps
  std::uint32_t end_epoch_ = 0;  ///< tells the scheduled end from those that no longer hold

  State state_ = State::kAsleep;
  std::uint32_t depth_;  ///< steps that may be in flight: 1, 2, or one a stage
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Step*> free_steps_;
  RingQueue<Step*> in_flight_;  ///< scheduled with tokens, not collected
  RingQueue<Step*> workers_;    ///< worker parts that have not begun, empty steps included
  Step* worker_ = nullptr;      ///< the one that waits for fences or computes
  std::optional<StagePipeline> pipeline_;  ///< where layers are spread over stages
  const Step* awaited_ = nullptr;  ///< an empty step whose fences must end before the next schedule
  bool awaited_changed_ = false;   ///< it preempted a request or started a load
  std::vector<PrefillChunk> chunks_;  ///< scratch
  bool cold_awaited_ = false;         ///< its cold blocks are on their way
  Time last_step_end_{};
  bool completion_seen_ = false;   ///< since the last schedule
  std::uint32_t empty_steps_ = 0;  ///< in a row, at one instant
  std::uint64_t deferrals_ = 0;
  Duration flush_stall_{};
  std::uint64_t load_stalls_ = 0;
  Duration load_stall_{};
  Duration copy_harm_{};
  std::optional<Standstill> standstill_;
  std::uint32_t repeating_ = 0;  ///< steps in a row that computed nothing new
  bool looping_ = false;         ///< too many: nothing is scheduled any more
  Duration collective_{};
  struct Told {
    std::uint64_t stored = 0;
    std::uint64_t evicted = 0;
    std::uint32_t used = 0;
    std::uint32_t resident = 0;
    bool operator==(const Told&) const = default;
  };
  std::array<Told, kMaxTiers> told_{};  ///< what observers know of each tier
};

}  // namespace spillway

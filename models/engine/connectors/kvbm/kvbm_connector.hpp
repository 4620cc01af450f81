// Dynamo's KV block manager as a connector of vLLM (ai-dynamo/dynamo @ 2a6da14c:
// lib/bindings/kvbm/src/block_manager/vllm/connector/, lib/llm/src/block_manager/offload.rs).
//
// Host memory (G2) has a copy of what HBM computes; blocks that were copied down more than once go
// on to a disk (G3), all of them to an object store (G4). Every tier is read straight into HBM.
//
// Look-up (at each attempt): from the local hit on, blocks in a row in G2, then in G3, then in G4.
//   Hits that end at the request's last token give up one block, so an aligned prompt computes its
//   last block again. It never defers. Model: it neither touches nor pins; upstream pins.
// Onboarding: at admission the blocks are pinned, and the request waits. One job for each tier with
//   hits, nearest first; jobs of all requests and tiers follow one another.
// Copy-down: after a schedule each of its requests offers what the step fills, answers included,
//   blocks that are there too. Jobs follow one another. At the head a job takes slots for all its
//   blocks or is dropped for good. It copies once its step has ended.
// A finished request keeps its HBM blocks until a later step ends and finds its jobs done. Model:
//   a preempted one loses them at once, whatever still copies them.
// Model: G4 does what G3 does, without the filter; v1 has no G4.
//
// v2 (kvbm_v2.cpp; lib/kvbm-engine/src/offload/): a hop has policies. What they let pass goes in
//   jobs of so many blocks, one after another on each hop. A job takes its slots as it begins.
//   There is no filter. Model: it looks up and loads as v1; upstream reads a disk via host memory.
//
// At one instant: ends of copy-downs, of writes to the tiers below, of onboarding; each time blocks
// that wait to go further down move before the next copy-down takes slots.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/engine/connectors/attached_tiers.hpp"
#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/kvbm/disk_filter.hpp"
#include "models/engine/connectors/kvbm/slot_pool.hpp"
#include "models/engine/connectors/kvbm/window_link.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "sim/event_queue.hpp"

namespace spillway {

class KvbmConnector final : public KvConnector, private EventHandler {
 public:
  static constexpr std::size_t kMostTiers = 3;

  struct Place {
    EventQueue& queue;
    Observer& observer;
  };
  KvbmConnector(const Environment& environment, std::vector<AttachedTierConfig> tiers,
                const Place& place);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override;
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  bool holds_finished() const override { return true; }
  std::span<const Handle> let_go() override { return released_; }
  void on_let_go(Handle h) override { env_.requests.recycle(h); }
  void on_withdrawn(const ActiveRequest& r, Time now) override;
  bool poll(Time now) override;
  bool wants_step() const override { return false; }
  bool idle() const override;
  std::uint32_t tiers() const override { return static_cast<std::uint32_t>(tiers_.size()); }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;

  /// The step that was planned last has ended: what it computed may be copied.
  void on_step_over();

 private:
  enum class Kind : std::uint16_t { kCopyDown, kWrite, kOnboard };
  /// Where the blocks of a look-up are, by tier.
  using Hits = std::array<std::uint32_t, kMostTiers>;

  /// What one request offered in one step.
  struct CopyDown {
    std::optional<Handle> request;  ///< none: it has left without completing
    std::uint64_t step = 0;
    bool copying = false;
    std::vector<BlockId> blocks;
    std::vector<SlotId> slots;  ///< of G2, once it is at the head
  };
  struct Onboard {
    std::optional<Handle> request;
    std::uint32_t tier = 0;
    std::vector<SlotId> slots;
  };
  /// One block on its way further down.
  struct Write {
    BlockId block{};
    SlotId source{};
    SlotId target{};
    TransferRecord transfer;
  };
  /// v2: what goes from host memory to a tier below it as one transfer.
  struct LowerJob {
    std::vector<BlockId> blocks;
    std::vector<SlotId> sources;
    std::vector<SlotId> targets;
    TransferRecord transfer;
  };
  struct Tier {
    Tier(AttachedTierConfig&& config, SlotPool&& slots, const KvbmConfig& rules,
         const KvbmPolicies& hop);
    SlotPool pool;
    KvbmPolicies policies;                 ///< v2: of the hop to here
    GrowingColumn<std::uint32_t> pending;  ///< v2: by block, its jobs of this hop
    RingQueue<std::uint32_t> jobs;         ///< v2: of lower tiers, the first under way
    WindowLink down;
    WindowLink up;
    std::optional<DiskFilter> filter;
    RingQueue<BlockId> queue;   ///< behind G2: blocks that may come
    RingQueue<Write> writes;    ///< under way
    std::uint64_t refused = 0;  ///< blocks that found no slot
    std::uint64_t filtered = 0;
  };
  struct State {
    std::uint32_t copies = 0;    ///< copy-downs that have neither ended nor been dropped
    std::uint64_t finished = 0;  ///< steps planned before it did
  };

  Hits hits_of(const ActiveRequest& r, std::uint32_t local) const;
  void offer(const ScheduledTokens& item);
  void queue_copy(Handle h, std::span<const BlockId> blocks);
  void go_on_copying();
  bool take_slots(CopyDown& job);
  void drop(const CopyDown& job);
  void end_copy_down();
  void end_write(Tier& tier);
  void end_onboard();
  void move_down(std::size_t tier);
  void start_onboard();
  // v2
  void name_parents(const ActiveRequest& r, std::uint32_t first, std::uint32_t end);
  void keep_passing(Tier& tier, std::vector<BlockId>& blocks);
  void settle(Tier& tier, std::span<const BlockId> blocks);
  void count_new(BlockId block);
  void queue_lower(std::size_t place, const std::vector<BlockId>& blocks);
  void begin_lower(std::size_t place);
  void end_lower(std::size_t place);
  void observe(const std::vector<TransferRecord>& batches);
  void begin(Kind kind, std::size_t tier, Time end);
  void on_event(EventPayload payload) override;

  Environment env_;
  Place place_;
  UseCounts uses_;           ///< v2
  Parents parents_;          ///< of the lineage pool
  std::vector<Tier> tiers_;  ///< G2, and those below
  std::vector<BlockId> offered_;
  Slab<LowerJob> lowers_;
  Slab<CopyDown> copies_;
  RingQueue<std::uint32_t> copying_;  ///< the first at the head
  std::vector<TransferRecord> copy_;  ///< batches of the head, if it is copied
  Slab<Onboard> loads_;
  RingQueue<std::uint32_t> loading_;  ///< the first under way
  std::vector<TransferRecord> load_;  ///< of that one
  std::vector<TransferRecord> scratch_;
  Hits admitted_{};  ///< of the request that is being admitted
  ByHandle<State> states_;
  std::vector<Handle> loaded_;    ///< all their jobs have ended, which the engine has not seen
  std::vector<Handle> finished_;  ///< hold their blocks
  std::vector<Handle> released_;
  std::uint64_t planned_ = 0;  ///< steps, empty ones too
  std::uint64_t over_ = 0;     ///< of these
  bool ended_ = false;         ///< some transfer has, since the last poll
  OffloadCounters counters_;
  std::array<ChunkTierStats, kMostTiers> stats_{};
};

/// A step beside it waits for nothing.
class KvbmMoves final : public StepMoves {
 public:
  explicit KvbmMoves(KvbmConnector& connector) : connector_(connector) {}
  void end(const StepTransfers&, Time) override { connector_.on_step_over(); }
  bool idle() const override { return connector_.idle(); }

 private:
  KvbmConnector& connector_;
};

}  // namespace spillway

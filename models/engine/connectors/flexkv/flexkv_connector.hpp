// FlexKV as a connector of vLLM (taco-project/FlexKV, main of 2026, flexkv/:
// integration/vllm/vllm_v1_adapter.py, cache/cache_engine.py, kvtask.py,
// transfer/transfer_engine.py). Its rules are those of tests/oracle/AMBIGUITIES_FLEXKV.md.
//
// Look-up (at each attempt): each tier matches the request's whole chain. What dram lacks of the
//   longest ready prefix gets room in dram, in its tree or as buffers beside it; what comes from
//   the remote store goes to the nvme too, as a back-fill. All of that is undone where the request
//   is not admitted. It never defers.
// Get: after the pass, jobs bring what the lower tiers have to dram, then one job brings all to
//   HBM. The request waits meanwhile.
// Put: a request that completes leaves what each tier lacks of its chain, answers included; the
//   next pass submits the copy to dram, whose end the copies to the lower tiers follow. The request
//   keeps its HBM blocks until a boundary sees the end of the first.
//
// A link carries one job at a time, first come first served. Ends of jobs come before anything else
// of their instant, in the order of submission. Model: jobs neither wait for steps nor slow them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/engine/connectors/attached_tiers.hpp"
#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/flexkv/flexkv_tree.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "sim/event_queue.hpp"

namespace spillway {

class FlexkvConnector final : public KvConnector, private EventHandler {
 public:
  struct Place {
    EventQueue& queue;
    Observer& observer;
  };
  FlexkvConnector(const Environment& environment, std::vector<AttachedTierConfig> tiers,
                  const Place& place);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  /// Each look-up touches, and may evict: none stands for another.
  std::uint64_t version() const override { return ++asked_; }
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
  bool repeats_after_end() const override { return false; }
  bool repeats_after_load() const override { return false; }
  bool wants_step() const override { return false; }
  bool idle() const override;
  std::uint32_t tiers() const override { return static_cast<std::uint32_t>(tiers_.size()); }
  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats& stats) const override;
  void check_drained() const override;

 private:
  using Tree = FlexkvTree;
  static constexpr std::size_t kMostTiers = FlexkvConfig::kMostTiers;
  static constexpr std::size_t kDram = 0;
  static constexpr std::size_t kNvme = 1;
  static constexpr std::size_t kRemote = 2;
  template <class T>
  using ByTier = std::array<T, kMostTiers>;

  /// What a job does.
  enum class Kind : std::uint16_t {
    kFetch,     ///< of a get: from a lower tier to dram
    kLoad,      ///< of a get: all of it to HBM
    kBackfill,  ///< of a get: what came from the remote store to the nvme
    kPut,       ///< from HBM to dram
    kLower      ///< of a put: from dram to a lower tier
  };
  /// A get or a put.
  struct Task {
    std::optional<Handle> request{};  ///< none: it has left, or needs this no longer
    ByTier<std::uint32_t> blocks{};   ///< found, or put, in each tier
    ByTier<Tree::Node> held{};        ///< locked; the root: none
    ByTier<bool> inserted{};          ///< that node is this task's own
    std::uint32_t buffers = 0;        ///< slots of dram outside its tree
    std::uint32_t fetching = 0;       ///< jobs to dram that have not ended
    std::uint32_t jobs = 0;           ///< all that have not ended
  };
  struct Lane {
    explicit Lane(AttachedWay way_) : way(std::move(way_)) {}
    AttachedWay way;
    Time free{};                    ///< end of the last job
    RingQueue<std::uint32_t> jobs;  ///< the first is under way
  };
  struct Job {
    Kind kind{};
    std::size_t tier = 0;
    std::uint32_t task = 0;
    Lane* lane = nullptr;
    TransferRecord transfer;
  };
  struct Tier {
    Tier(AttachedTierConfig&& config, FlexkvEviction eviction, const FlexkvConfig& rules)
        : tree(config.slots, eviction, rules),
          down(std::move(config.down)),
          up(std::move(config.up)) {}
    Tree tree;
    Lane down;
    Lane up;
    std::uint64_t refused = 0;  ///< blocks that found no room
  };

  BlockSpan chain_of(const ActiveRequest& r, std::uint32_t blocks);
  ByTier<Tree::Match> match(BlockSpan chain, Time now);
  bool take(std::size_t tier, std::uint64_t blocks, const Tree::Match& match);
  bool make_room(BlockSpan chain, std::uint32_t local, const ByTier<Tree::Match>& found, Time now);
  void hold(Task& task, std::size_t tier, const ByTier<Tree::Match>& found, BlockSpan chain,
            std::uint32_t end, Time now);
  void undo();
  bool put(const ActiveRequest& r);
  bool take_for_put(const ByTier<Tree::Match>& found, ByTier<std::uint32_t>& blocks);
  void submit(std::uint32_t task, Kind kind, std::size_t tier, std::uint32_t blocks);
  void load(std::uint32_t task);
  void observe(std::uint32_t job, LoadEvent event);
  void end(const Job& job);
  void end_task(std::uint32_t number);
  void on_event(EventPayload payload) override;

  Environment env_;
  Place place_;
  std::vector<Tier> tiers_;
  std::vector<BlockId> chain_;  ///< scratch of a match
  Task plan_;                   ///< of the request that is being admitted
  bool planned_ = false;
  Slab<Task> tasks_;
  Slab<Job> under_way_;
  ByHandle<std::optional<std::uint32_t>> get_of_;  ///< that a request waits for
  std::vector<std::uint32_t> gets_;                ///< of this pass
  std::vector<std::uint32_t> puts_;                ///< for the next pass
  std::vector<Handle> loaded_;  ///< loads that have ended, which the engine has not seen
  std::vector<Handle> unheld_;  ///< finished without a put
  std::vector<Handle> stored_;  ///< their puts no longer need HBM
  std::vector<Handle> released_;
  OffloadCounters counters_;
  ByTier<ChunkTierStats> stats_{};
  mutable std::uint64_t asked_ = 0;
};

}  // namespace spillway

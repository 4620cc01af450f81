// The levels below HBM and the rules by which blocks move between them: host memory, and behind it
// any number of levels, each with a store, a device and rules of its own (level_rules.hpp). With
// the rules as they are by default this is vLLM's TieringOffloadingManager
// (vllm/v1/kv_offload/tiering: manager.py).
//
// Host memory is the gateway. What arrives there from HBM is written to every level that is written
// through, one job each, and stays pinned until it is written: nothing bounds how much waits, so
// that a slow level turns host memory into pinned memory, then into refused stores and promotions.
// A chunk found behind gets a slot in host memory at once and is read into it (a promotion); only
// then can it go up. What was promoted is not written again, unless its level gave it away.
//
// A level that is written on eviction takes what the one before it gives up. That one makes room
// only as such writes end: a store or a promotion that lacks room is refused meanwhile, a write
// waits (or is dropped). What moves from one device to another crosses host memory beside its
// slots. A level may trim itself before its room is needed.
//
// Model: a chunk is there once the job that writes it has ended. Until then the level before holds
// it, so that nobody asks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/level.hpp"
#include "models/requests/transfer_waiter.hpp"
#include "sim/slab.hpp"

namespace spillway {

/// A chunk, and which one of a request's it is.
struct ChunkAt {
  std::uint32_t position;
  BlockId chunk;
};

class TierStack final : public BlockColumns,
                        private LevelListener,
                        private RoomListener,
                        private EventHandler {
 public:
  struct Environment {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    TransferWaiter& waiter;
    Bytes chunk_bytes;
    std::uint32_t chunks;            ///< ids of chunks stay below or equal
    EvictionContext context;         ///< what policies of levels may know beside their stores
    SharedStores* shared = nullptr;  ///< where a level is shared
    GlobalNames global{};            ///< where one is
  };
  TierStack(const Environment& environment, BlockStore& first, const TrimRule& first_trim,
            const std::vector<LevelConfig>& levels);

  void grow_blocks(std::uint32_t blocks) override;

  enum class Verdict : std::uint8_t {
    kMiss,
    kPending,  ///< on its way to host memory
    kRetry,    ///< not known yet
  };
  /// `access.request`, here by its handle, looks for a chunk that host memory lacks. The step has
  /// begun.
  Verdict look_up(const ChunkAt& at, Handle handle, const Access& access) {
    return find(at, handle, access, false);
  }
  /// The same before the scheduler comes to the request, as far as the levels' rules allow: kRetry
  /// too where as much is on its way as they do.
  Verdict look_ahead(const ChunkAt& at, Handle handle, const Access& access) {
    return find(at, handle, access, true);
  }
  bool looks_ahead() const { return looks_ahead_; }
  /// Room in host memory for `fresh`, none of `offered` leaving for it. All or nothing.
  bool make_room(BlockSpan fresh, SlotSpan offered, const Access& access);
  /// Blocks in these slots have come down from HBM.
  void cascade(SlotSpan slots, const Access& access);
  /// So many chunks were refused a place in host memory.
  void on_store_refused(std::size_t chunks);
  /// Loads towards HBM read this slot, not only writes to the levels behind.
  bool loading(SlotId slot) const { return first_.pins(slot) > pins_[raw(slot)]; }

  /// Takes note of what has ended; before the first look-up of a step, at the latest at its end.
  void begin_step(Time now);
  /// Submits the step's promotions and questions.
  void end_step(Time now);
  /// Something has ended that no step has taken note of.
  bool any_ended() const { return any_ended_; }
  /// No job and no question is under way.
  bool idle() const;
  void check_drained() const;

  /// The request is gone, or will never look again.
  void forget(RequestId request);
  /// What it waited for goes up.
  void on_load(RequestId request);
  /// The level from which the `position`-th chunk was promoted for the request, from 1; else 0.
  std::uint32_t source(RequestId request, std::uint32_t position) const;
  void count(std::size_t level, std::uint64_t queries, std::uint64_t hits);

  std::uint64_t version() const { return version_; }
  std::size_t size() const { return levels_.size(); }
  const LevelCounters& counters(std::size_t level) const { return levels_[level]->counters; }
  /// The same, with what has come and gone brought up to date.
  const LevelCounters& settled(std::size_t level) {
    levels_[level]->settle();
    return levels_[level]->counters;
  }
  std::vector<const Level*> levels() const {
    std::vector<const Level*> out;
    for (const auto& level : levels_) out.push_back(level.get());
    return out;
  }
  /// Most slots of host memory that writes pinned at once, whatever the level.
  std::uint32_t peak_pinned() const { return peak_pinned_slots_; }
  /// Refused while writes pinned what would have been enough.
  std::uint64_t stores_refused_by_pins() const { return stores_refused_; }
  std::uint64_t promotions_refused_by_pins() const { return promotions_refused_; }
  /// Requests that never end: see kMostPromotions.
  std::uint32_t livelocked() const { return livelocked_; }

 private:
  /// Host memory has no more slots in use than it has met chunks.
  std::size_t slots_for(std::uint32_t blocks) const {
    return levels_.empty() ? 0 : std::min<std::size_t>(first_.capacity(), blocks) + 1;
  }
  enum class Kind : std::uint8_t {
    kWrite,      ///< from host memory to the level
    kPromotion,  ///< from the level to host memory
    kMove,       ///< from the level before to the level; its first half, the read, under way
    kMoveWrite,  ///< its second half
  };
  struct Job {
    std::uint32_t level = 0;
    Kind kind = Kind::kWrite;
    RequestId request{};
    Handle handle{};              ///< its, where the job is a promotion
    std::vector<SlotId> slots;    ///< in host memory; of a move: in the level before
    std::vector<BlockId> chunks;  ///< of a write: those that go, as the level calls them
    std::vector<SlotId> below;    ///< in the level: written, or read
  };
  /// What one request knows of one chunk of its chain.
  struct Mark {
    BlockId chunk{};
    std::uint8_t asked = 0;     ///< bit by level
    std::uint8_t promoted = 0;  ///< times, since it was last admitted
    std::uint8_t source = 0;    ///< of the last one: level + 1
  };
  struct Asker {
    std::vector<Mark> marks;  ///< by position
    Handle handle{};
    bool livelocked = false;
  };
  /// A request for which one chunk was promoted so often, and was gone again before all were there
  /// at once, loops for ever: host memory does not hold its prefix (vLLM issues 49176, 49829).
  static constexpr std::uint8_t kMostPromotions = 32;
  static constexpr std::size_t kFirst = ~std::size_t{0};  ///< host memory, before level 0

  Verdict find(const ChunkAt& at, Handle handle, const Access& access, bool ahead);
  Asker& asker(RequestId request);
  Mark& mark_of(Asker& who, const ChunkAt& at);
  Level::Answer ask(std::uint32_t level, Mark& mark);
  bool promote(std::uint32_t level, Asker& who, std::uint32_t position, const Access& access);
  std::uint32_t make_job(std::uint32_t level, Kind kind, RequestId request);
  BlockStore& store_at(std::size_t level) {
    return level == kFirst ? first_ : levels_[level]->store();
  }
  /// What leaves the level goes to the next one.
  bool spills(std::size_t level) const {
    return level + 1 < levels_.size() &&
           levels_[level + 1]->rules().write == WriteRule::kOnEviction;
  }
  static std::size_t source_of(const Job& job) {
    const bool moves = job.kind == Kind::kMove || job.kind == Kind::kMoveWrite;
    return moves ? job.level - std::size_t{1} : kFirst;
  }
  /// What level `to` calls the chunk in a slot of the level `from`. What stands behind a shared
  /// level is shared too.
  BlockId name_at(std::uint32_t to, std::size_t from, SlotId slot) {
    const BlockId chunk = store_at(from).block_in(slot);
    const bool global = from != kFirst && levels_[from]->shared();
    return global ? chunk : levels_[to]->name_of(chunk);
  }
  Bytes bytes_of(const Job& job) const {
    return chunk_bytes_ * static_cast<std::int64_t>(job.chunks.size());
  }
  bool make_room_at(std::size_t level, BlockSpan fresh, SlotSpan offered, const Access& access);
  void give_up(std::size_t level, std::uint32_t count, BlockSpan fresh, SlotSpan offered,
               const Access& access);
  /// Blocks beyond what the rule leaves; 0 where it is not passed.
  std::uint32_t excess(std::size_t level, const TrimRule& rule);
  void trim(std::size_t level, const TrimRule& rule, const Access& access);
  void trim_now(std::size_t level, const TrimRule& rule, const Access& access);
  void on_event(EventPayload payload) override;
  void begin_or_wait(std::uint32_t job, const Access& access);
  void choose_chunks(std::uint32_t job, const Access& access);
  void drop_present(Job& job);
  bool begin_write(std::uint32_t job, const Access& access);
  void let_sources_go(std::uint32_t job, const Access& access);
  void retry_waiting(Time now);
  void end_job(std::uint32_t job, Time now);
  void end_promotion(std::uint32_t job, const Access& access);
  void end_write(std::uint32_t job, const Access& access);
  void tell(std::uint32_t job, LoadEvent event);
  void on_level_read(std::uint32_t job, bool begins) override;
  void on_level_progress(std::uint32_t job) override;
  void on_room() override;

  EventQueue& queue_;
  BlockStore& first_;
  TrimRule first_trim_;
  std::vector<std::uint8_t> trim_due_;  ///< by level + 1: an event is pending
  TransferWaiter& waiter_;
  Bytes chunk_bytes_;
  std::vector<std::unique_ptr<Level>> levels_;
  Slab<Job> jobs_;
  std::vector<std::vector<std::uint32_t>> to_submit_;  ///< promotions of this step, by level
  std::vector<RingQueue<std::uint32_t>> waiting_;      ///< writes that lack room, by level
  std::vector<std::uint32_t> writes_under_way_;        ///< jobs, by level
  std::vector<std::uint32_t> promoting_;               ///< chunks, by level
  std::vector<std::uint8_t> pins_;                     ///< by slot of host memory: writes under way
  std::uint32_t pinned_slots_ = 0;
  std::uint32_t peak_pinned_slots_ = 0;
  std::vector<std::uint32_t> asker_of_;  ///< by request: 1 + index, or 0
  std::vector<Asker> askers_;
  std::vector<std::uint32_t> free_askers_;
  MemoryClaim marks_claim_{0};  ///< all that askers ever had: it is used again
  std::uint64_t version_ = 0;
  bool begun_ = false;  ///< begin_step() has run in this step
  bool any_ended_ = false;
  bool refused_in_step_ = false;
  bool looks_ahead_ = false;  ///< some level is read before its requests are scheduled
  std::uint64_t stores_refused_ = 0;
  std::uint64_t promotions_refused_ = 0;
  std::uint32_t livelocked_ = 0;
  std::vector<SlotId> victims_;       ///< scratch
  std::vector<SlotId> ended_slots_;   ///< scratch
  std::vector<std::uint32_t> ended_;  ///< scratch
};

}  // namespace spillway

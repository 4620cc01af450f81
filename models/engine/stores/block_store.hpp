// A store of blocks below HBM: host memory, a drive, what instances share. It knows which blocks it
// holds, who reads or writes them, and which leaves next; how they travel is its owner's business
// (vllm/v1/kv_offload/cpu/manager.py, cpu/policies/). A block here is what one slot holds: a chunk
// of HBM blocks, named by the last of them.
//
// A slot is being written (not readable, not evictable), ready and idle (evictable), or ready and
// read by one or more transfers (pinned). A pinned one may be leaving: it is dropped with the last
// of its reads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/chains/block_columns.hpp"
#include "models/engine/stores/residency.hpp"
#include "policies/catalogue.hpp"
#include "sim/error.hpp"
#include "sim/ids.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

enum class LookupState : std::uint8_t { kMiss, kPending, kReady, kReading };

/// Why a block left.
enum class DropCause : std::uint8_t {
  kRoom,     ///< another one needed its place
  kTrimmed,  ///< a watermark was passed
  kExpired,  ///< nobody used it for its time to live
  kMoved,    ///< it is on a neighbouring level now, alone
};
inline constexpr std::size_t kDropCauses = 4;

class RoomListener {
 public:
  virtual void on_room() = 0;

 protected:
  ~RoomListener() = default;
};

class BlockStore final : public BlockColumns {
 public:
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};

  struct Size {
    std::uint64_t capacity = 0;  ///< in blocks
    std::uint32_t distinct = 0;  ///< block ids stay below or equal; more slots are never needed
    bool grows = false;          ///< slots are made as they are first used
    Duration time_to_live{0};    ///< what nobody uses for so long leaves; 0: for ever
  };
  /// `context` is what the policy may know beside the store. Throws InputError when it does not
  /// fit.
  BlockStore(const Size& size, const EvictionChoice& eviction, EvictionContext context);

  std::uint32_t used() const { return used_; }
  std::uint32_t evictable() const { return evictable_; }
  std::uint64_t stored() const { return stored_; }  ///< written, or being written
  std::uint64_t evictions() const { return evictions_; }
  std::uint64_t dropped(DropCause cause) const { return dropped_[static_cast<std::size_t>(cause)]; }
  std::uint64_t capacity() const { return capacity_; }

  BlockPlace place(BlockId id) const { return residency_[id]; }
  /// Those of the ids from `first` on.
  const BlockPlace* places(std::uint32_t first) const { return residency_.from(first); }
  LookupState state(BlockPlace place) const {
    if (!place.here()) return LookupState::kMiss;
    if (place.idle()) return LookupState::kReady;
    return pins(place.slot()) < 0 ? LookupState::kPending : LookupState::kReading;
  }

  BlockId block_in(SlotId slot) const { return contents_[slot]; }
  bool holds(SlotId slot) const { return contents_[slot] != kNoBlock; }
  EvictionPolicy& policy() { return *policy_; }
  /// Reads under way; -1: being written.
  std::int32_t pins(SlotId slot) const { return pins_[raw(slot)]; }
  /// Without those that are leaving.
  std::uint32_t room() const { return static_cast<std::uint32_t>(capacity_ - used_); }
  std::uint32_t leaving() const { return leaving_slots_; }
  std::uint32_t writing() const { return static_cast<std::uint32_t>(stored_ - written_); }

  /// Makes room for the blocks `fresh` without evicting any of `offered` (slots of this store that
  /// the same batch offers again). All or nothing: false leaves everything as it was.
  bool make_room(BlockSpan fresh, SlotSpan offered, const Access& access);
  /// The next `count` blocks to leave, as far as so many are idle, into `out`: each is read from
  /// now on, once, and leaves when nothing reads it any more. `offered` as for make_room(); `fresh`
  /// too, or empty.
  void begin_leaving(std::uint32_t count, BlockSpan fresh, SlotSpan offered, const Access& access,
                     std::vector<SlotId>& out);
  /// The next `count` blocks leave now, as far as so many are idle.
  void trim(std::uint32_t count, const Access& access);
  /// A block that is read leaves with the last read.
  void leave(SlotId slot, DropCause cause);
  /// Drops what nobody used for its time to live: to be called before anybody looks.
  void expire(Time now);
  bool expires() const { return time_to_live_ > Duration(0); }

  /// Blocks whose writes have ended, and blocks that have left, since whoever asked last.
  struct Flow {
    std::uint64_t stored = 0;
    std::uint64_t evicted = 0;
  };
  Flow take_flow();

  /// Where several share the store: tells `listener`, once, that there may be room.
  void await_room(RoomListener& listener);

  /// A slot for each of `blocks`, whose writes start now, behind what `out` holds. Precondition:
  /// room was made.
  void begin_write(BlockSpan blocks, std::vector<SlotId>& out);
  /// The writes ended: readable, evictable, the first of `slots` the oldest.
  void end_write(SlotSpan slots, const Access& access);
  /// Pins `slots`, all of them ready, for a load.
  void begin_read(SlotSpan slots);
  void end_read(SlotSpan slots, const Access& access);
  /// A request looked for these slots, all of them idle: they count as used, the first the oldest.
  void touch(SlotSpan idle, const Access& access);
  /// True where the policy wants the next instead, of every block that a request looked for:
  /// slots[i] is where blocks[i] is, whatever happens to it there, or kNoSlot.
  bool orders_all() const { return orders_all_; }
  void touch_all(BlockSpan blocks, SlotSpan slots);

  /// Changes with every change of content, pins or eviction order: between two equal versions a
  /// repeated look-up finds the same, and a repeated touch changes nothing.
  std::uint64_t version() const { return version_; }
  /// A step's look-ups are over: those of the next find a new version where repeating them would
  /// change something, here or (`counted`) with whoever counts them.
  void end_lookups(bool counted) {
    if (restless_ || counted) ++version_;
    restless_ = false;
  }

  void grow_blocks(std::uint32_t blocks) override;
  void tell(StoreWatch& watch) { watch_ = &watch; }

  void check_drained() const;

 private:
  static constexpr std::int32_t kWriting = -1;
  static constexpr std::uint8_t kForgotten = 1 << 7;  ///< by the policy, which named it
  void set_busy(SlotId slot, bool busy) {
    const std::uint32_t mark = busy ? BlockPlace::kBusy : 0;
    residency_[contents_[slot]].word = raw(slot) | mark;
  }
  bool forgotten(SlotId slot) const {
    return raw(slot) < leaving_.size() && (leaving_[raw(slot)] & kForgotten) != 0;
  }
  void grow();
  bool pop_victims(std::uint32_t count, BlockSpan fresh, SlotSpan offered, const Access& access);
  void free_slot(SlotId slot, DropCause cause);
  // Apart, so that nobody pays for them whom nobody watches.
  [[gnu::noinline]] void tell_stored(SlotSpan slots);
  [[gnu::noinline]] void tell_dropped(BlockId block);
  void note_use(SlotId slot, Time now);
  void tell_room();

  struct Use {
    Time at;
    SlotId slot;
    BlockId block;
  };
  ResidencyColumn residency_;
  StoreWatch* watch_ = nullptr;
  SlotContents contents_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::uint64_t capacity_;
  std::uint32_t blocks_;  ///< the policy's ids are below this
  std::uint32_t used_ = 0;
  std::uint32_t evictable_ = 0;
  std::uint32_t never_used_ = 1;
  std::uint64_t stored_ = 0;
  std::uint64_t evictions_ = 0;  ///< whatever the cause
  std::array<std::uint64_t, kDropCauses> dropped_{};
  std::uint64_t written_ = 0;
  Flow taken_;
  GrowingColumn<std::int32_t> pins_;  ///< by slot
  std::vector<std::uint32_t> free_;
  std::uint32_t leaving_slots_ = 0;
  std::vector<std::uint8_t> leaving_;  ///< by slot: 1 + cause; as long as needed
  Duration time_to_live_;
  RingQueue<Use> uses_;        ///< oldest first; superseded ones too
  std::vector<Time> used_at_;  ///< by slot, where blocks expire
  std::vector<RoomListener*> awaiting_room_;
  std::uint64_t version_ = 0;
  bool orders_all_ = false;
  bool restless_ = false;  ///< some touch would change something again if repeated
  std::vector<SlotId> scratch_;
  std::vector<SlotId> victims_;
};

/// The stores that several engines of a simulation share: what one wrote, the others find. A store
/// is known by the number of its drive or server (models/tier/network.hpp), and named by global
/// ids.
class SharedStores {
 public:
  /// Made by whoever asks first.
  template <class Make>
  BlockStore& at(std::uint32_t server, Make make) {
    if (stores_.size() <= server) stores_.resize(server + 1);
    if (stores_[server] == nullptr) stores_[server] = make();
    return *stores_[server];
  }
  /// When nothing is under way any more.
  void check_drained() const {
    for (const auto& store : stores_) {
      if (store != nullptr) store->check_drained();
    }
  }

 private:
  std::vector<std::unique_ptr<BlockStore>> stores_;
};

}  // namespace spillway

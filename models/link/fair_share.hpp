// Flows that share media (root ports, DRAM, NICs, ...) by max-min fairness: every flow gets the
// same, but none more than its own maximum, and what one cannot use goes to the others.
//
// Flows that cross the same media form a group: all get the group's level, or their own maximum
// where that is less. Flows of a group with the same maximum form a bucket and always move alike,
// so the bucket counts the bytes that each has moved (its virtual time), and a flow ends when that
// count reaches the value set at its start. A change of rates costs per group and per bucket that
// changes sides, never per flow.
//
// Exactness: bytes and rates are integers in 2^-60 bytes and 2^-60 bytes per ns. Rates are rounded
// down, so that the rates of a medium never add up to more than its capacity, and a flow that lacks
// less than 2^-16 bytes has moved all: what roundings leave undone in minutes. So an end that falls
// on a whole nanosecond is hit, and one within 2^-16 bytes behind a whole nanosecond is told at it.
// No flow ends before the time it takes alone. Ends are told on whole nanoseconds; where a medium
// is linked with others by common flows, the share of an ended flow is free from then on, else from
// the exact end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "models/link/wide_heap.hpp"
#include "sim/event_queue.hpp"
#include "sim/slab.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class MediumId : std::uint32_t {};

/// Told of flows that have moved all their bytes, in the phase kTransferDone of that instant.
class FlowListener {
 public:
  virtual void on_flows_done(std::span<const std::uint32_t> flows) = 0;

 protected:
  ~FlowListener() = default;
};

class FairShare final : public EventHandler {
 public:
  /// In 2^-60 bytes per nanosecond.
  using Rate = WideInt;
  enum class GroupId : std::uint32_t {};

  FairShare(EventQueue& queue, FlowListener& listener) : queue_(queue), listener_(listener) {}

  /// Media and groups are fixed before the first flow starts.
  MediumId add_medium(std::int64_t bytes_per_second);
  /// Moves so much with 1, 2, ... flows at once, and with more as much as with the last number.
  MediumId add_medium(std::span<const std::int64_t> bytes_per_second_by_flows);
  GroupId group_of(std::span<const MediumId> media);

  /// The rate of `payload` bytes in `alone`, times speed / full_speed.
  static Rate rate_of(Bytes payload, Duration alone, std::int64_t speed, std::int64_t full_speed);

  /// What a flow has to move, and how fast it could: `own` undisturbed, `maximum` now.
  struct Load {
    Bytes payload;
    Duration alone;  ///< it takes at least as long
    Rate own;
    Rate maximum;
  };
  /// `flow` is the listener's own number, used by no other flow in progress. Takes effect at
  /// settle(), as set_maximum() does.
  void start(GroupId group, std::uint32_t flow, const Load& load);
  void set_maximum(std::uint32_t flow, Rate maximum);
  /// Shares the media anew after the changes of this instant.
  void settle();

  /// How long the medium has had any flow.
  Duration busy(MediumId medium) const;
  /// What the flows of the medium move now, for tests; settled.
  BytesPerSecond rate_now(MediumId medium) const;

  void on_event(EventPayload payload) override;

 private:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};
  static constexpr Rate kUnlimited = Rate{1} << 120;

  struct Flow {
    Id bucket = kNone;
    std::uint32_t position = 0;  ///< in the bucket's heap
  };
  struct Bucket {
    Id group = kNone;
    Rate maximum = 0;
    bool limited = false;  ///< gets the group's level, less than its maximum
    WideInt moved = 0;     ///< bytes per flow at `since`; limited: beyond the group's
    Time since{};
    std::uint32_t position = 0;  ///< limited: in the group's heap
    std::uint32_t epoch = 0;
    Time event = kNoEvent;  ///< when its pending event comes; only where not limited
    WideHeap flows;         ///< by the value of `moved` at which each ends
  };
  struct Slot {
    Rate maximum;
    Id bucket;
  };
  struct Group {
    std::vector<Id> media;
    std::vector<Slot> buckets;  ///< ascending maximum
    std::size_t limited = 0;    ///< so many of them, the last ones, are limited
    std::uint32_t limited_flows = 0;
    std::uint32_t flows = 0;
    Rate level = kUnlimited;
    WideInt moved = 0;  ///< bytes per limited flow at `since`
    Time since{};
    Time joined = kNoEvent;   ///< when a flow last did
    Time gift_at = kNoEvent;  ///< when ended flows last gave back what they did not need,
    WideInt gift = 0;         ///< and how much of it each flow got
    std::uint32_t epoch = 0;
    Time event = kNoEvent;
    WideHeap ends;  ///< limited buckets, by the value of `moved` at which the first flow ends
    bool frozen = false;
    bool stale = true;       ///< `sums` is
    std::vector<Rate> sums;  ///< of maxima, up to and with each bucket
    std::vector<Id> counts;  ///< of flows, likewise
    Rate next_level = kUnlimited;
    bool touched = false;
    Id component = kNone;
  };
  struct Medium {
    std::vector<Rate> capacities;  ///< with 1, 2, ... flows
    Rate left = 0;
    std::vector<Id> groups;
    std::uint32_t flows = 0;
    Duration busy{};
    Time busy_since{};
    Id component = kNone;
    Rate capacity() const {
      return capacities[std::clamp<std::size_t>(flows, 1, capacities.size()) - 1];
    }
  };
  struct Component {
    std::vector<Id> media;
    std::vector<Id> groups;
    bool dirty = false;
  };
  static constexpr Time kNoEvent = Time::max();

  void connect();
  Id bucket_of(Id group, Rate maximum);
  void drop_bucket(Id bucket);
  void join(Id flow, Id group, Rate maximum, WideInt bytes);
  WideInt leave(Id flow);
  void touch(Id group);
  WideInt moved_now(const Bucket& bucket) const;
  WideInt moved_now(const Group& group) const;
  void enter_limited(Id bucket);
  void leave_limited(Id bucket);
  void rekey(Id bucket);
  void solve(Component& component);
  Rate fill(const Medium& medium);
  struct Below {
    Rate sum;
    std::uint32_t flows;
  };
  Below below(Group& group, Rate level);
  Rate demand(Group& group, Rate level);
  void apply(Id group);
  void schedule_bucket(Id bucket);
  void schedule_group(Id group);
  void take_due(Id bucket);
  void give_back(Id group, WideInt bytes);

  EventQueue& queue_;
  FlowListener& listener_;
  std::vector<Medium> media_;
  std::vector<Group> groups_;
  std::vector<Component> components_;
  Slab<Bucket> buckets_;
  std::vector<Flow> flows_;
  std::vector<Id> dirty_;    ///< components
  std::vector<Id> changed_;  ///< buckets whose flows or state changed, since settle()
  std::vector<Id> done_;
  std::uint64_t order_ = 0;
  bool connected_ = false;
};

}  // namespace spillway

// Mooncake Store as its master sees it: objects, their replicas in segments of memory, leases and
// pins, eviction by watermark, and the copies on an SSD that it keeps in buckets
// (mooncake-store/src/{master_service,storage_backend,file_storage}.cpp @ 3b5a5941).
//
// It has no clock: whoever owns it says what time it is, asks for checks and heartbeats when they
// are due, and carries out the writes of buckets (connectors/mooncake/mooncake_master.hpp).
//
// Model: a put goes to the segments with most free bytes (upstream: random ones); a segment is
// full when its bytes are, wherever they lie. Groups, promotion and upserts are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/releases/mooncake_config.hpp"
#include "sim/ids.hpp"
#include "sim/ring_queue.hpp"
#include "sim/sparse_column.hpp"
#include "sim/store_hints.hpp"
#include "sim/units.hpp"

namespace spillway {

/// What the master counts (master_metric_manager.cpp), and what a result needs beside that.
struct MooncakeCounters {
  std::uint64_t stored = 0;        ///< puts that ended
  std::uint64_t put_exists = 0;    ///< puts of what was there
  std::uint64_t put_failures = 0;  ///< puts without room
  std::uint64_t discarded = 0;     ///< puts that were never ended in time
  std::uint64_t evicted = 0;       ///< objects that lost memory
  std::uint64_t evicted_bytes = 0;
  std::uint64_t checks = 0;       ///< that had something to do
  std::uint64_t idle_checks = 0;  ///< of these, without success
  std::uint64_t queued = 0;       ///< for the SSD
  std::uint64_t not_queued = 0;   ///< as they were put, and the queue was full
  std::uint64_t forced = 0;       ///< evicted without a copy, as the queue had no room
  std::uint64_t pins_expired = 0;
  std::uint64_t ssd_stored = 0;
  std::uint64_t ssd_evicted = 0;
  std::uint64_t ssd_lost = 0;  ///< written, and gone from memory or without room by then
  std::int64_t peak_bytes = 0;
  std::int64_t ssd_peak_bytes = 0;

  /// Objects that were to go to the SSD and did not.
  std::uint64_t ssd_refused() const { return not_queued + forced + ssd_lost; }
};

class MooncakeStore {
 public:
  struct Size {
    std::uint32_t keys = 0;  ///< that there will ever be
    Bytes memory{0};
    Bytes ssd{0};  ///< 0: none
  };
  enum class Source : std::uint8_t { kNowhere, kMemory, kSsd };
  /// A put under way.
  struct Put {
    std::uint32_t object = 0;
    std::uint64_t number = 0;
    std::uint32_t replicas = 0;
  };
  /// What waits for the SSD, there or not by then.
  struct Entry {
    Put put;
    Bytes bytes{0};
  };
  /// A bucket, to be written or on the SSD.
  struct Bucket {
    Bytes bytes{0};
    std::vector<Entry> entries;
  };

  MooncakeStore(const MooncakeConfig& config, const Size& size);

  // ---- what clients ask
  /// Nothing: the key is there, or there is no room, which asks for eviction.
  std::optional<Put> put_start(BlockId key, Bytes bytes, const StoreHints& hints, Time now);
  /// Without effect where the put was replaced, or took too long.
  void put_end(const Put& put, Time now);
  /// Where it would be read from. Renews its lease; both exist and get do.
  Source find(BlockId key, Time now);

  // ---- what happens by the clock, in this order at one instant
  void free_abandoned(Time now);
  void expire_pins(Time now);
  /// A bucket has been written; `last` of its heartbeat.
  void written(const Bucket& bucket, bool last);
  /// The buckets that are full now, in order; they stay until the next heartbeat.
  std::span<const Bucket> heartbeat();
  void check(Time now);
  /// Whether the next check has something to do.
  bool wants_check() const { return requested_ || over_watermark(); }
  /// When space or pins become free next; Time::max(): never.
  Time next_expiry();

  const MooncakeConfig& config() const { return config_; }
  const MooncakeCounters& counters() const { return counters_; }
  Bytes used() const { return used_; }
  std::uint32_t replicas() const {
    return replicas_;
  }                                                 ///< that take memory, of unfinished puts too
  std::uint32_t on_ssd() const { return on_ssd_; }  ///< objects
  Bytes ssd_used() const { return ssd_used_; }
  /// Always-on: bytes, objects and pins add up.
  void check_consistent() const;

 private:
  enum class State : std::uint8_t { kNone, kUnfinished, kAbandoned, kComplete };
  struct Replica {
    std::uint32_t segment = 0;
    bool pinned = false;
  };
  struct Object {
    BlockId key{};
    State state = State::kNone;
    bool soft = false;
    bool hard = false;
    bool queued = false;  ///< has not been taken by a heartbeat
    Bytes bytes{0};
    std::uint32_t on_ssd = 0;  ///< copies; several where a pin ended before it was written
    std::uint64_t number = 0;  ///< of its put
    Time start{};
    Time lease{};
    Time soft_until{};
    std::uint64_t pin = 0;  ///< number of the pin for the SSD; 0: none
    std::vector<Replica> replicas;
  };
  struct Candidate {
    Time lease{};
    std::uint64_t number = 0;
    std::uint32_t object = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  /// Something of an object that ends by itself.
  struct Expiry {
    Time at{};
    std::uint32_t object = 0;
    std::uint64_t number = 0;  ///< of the put, or of the pin
  };
  bool over_watermark() const;
  std::uint32_t place(Bytes bytes, std::vector<Replica>& out);
  std::uint32_t make_object();
  Object* object_of(const Put& put);
  void forget(Object& o);
  void drop_replicas(Object& o);
  void unpin(Object& o);
  bool queue_for_ssd(std::uint32_t object, Time now);
  bool evictable(const Object& o) const;
  std::uint64_t collect(Time now);
  bool evict(std::uint32_t object, Time now);
  void evict_from(std::uint64_t base, Time now);
  bool make_room(Bytes bytes);
  void drop_oldest_bucket();

  MooncakeConfig config_;
  Size size_;
  Bytes segment_{0};
  std::vector<Bytes> free_;  ///< of each segment
  std::vector<std::uint32_t> order_;
  Bytes used_{0};
  std::uint32_t replicas_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t pins_ = 0;
  std::vector<Object> objects_;
  std::vector<std::uint32_t> unused_;
  SparseColumn<std::uint32_t> object_of_key_;  ///< 1 + its number
  RingQueue<Expiry> starts_;                   ///< puts, the oldest first
  RingQueue<Expiry> pin_ends_;
  bool requested_ = false;
  // Of a check: what may go, and what only a second pass takes.
  std::vector<Candidate> plain_;
  std::vector<Candidate> soft_;
  std::uint64_t queued_in_check_ = 0;
  /// Until then nothing can be evicted, if nothing that counts changes.
  Time quiet_until_{};
  bool no_base_ = false;
  // The SSD.
  std::vector<Entry> queue_;
  std::vector<Entry> residue_;
  std::vector<Bucket> full_;
  RingQueue<Bucket> buckets_;
  Bytes ssd_used_{0};
  std::uint32_t on_ssd_ = 0;
  MooncakeCounters counters_;
};

}  // namespace spillway

// Storage tiers behind the tier in host memory, as vLLM's TieringOffloadingManager keeps them
// (vllm/v1/kv_offload/tiering: manager.py, async_lookup.py, fs/manager.py, fs/thread_pool.py).
//
// Host memory is the gateway. What arrives there from HBM is written to every tier behind, one job
// each, and stays pinned until it is written: nothing bounds how much waits, so that a slow tier
// turns host memory into pinned memory, then into refused stores and promotions. A chunk found
// behind gets a slot in host memory at once and is read into it (a promotion); only then can it go
// up. What was promoted is not written again, and nothing ever leaves a tier behind.
//
// Whether a tier holds a chunk is asked asynchronously. The first question makes its request wait;
// the questions of a step go to one thread when it has been scheduled, and the answers are seen at
// the next step at the earliest. An answer is kept while any request that asked for it lives: one
// that says "no" goes on saying so when the chunk has been written since.
//
// Model: a chunk is there once the job that writes it has ended. Until then host memory holds it,
// so that nobody asks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/transfer_waiter.hpp"
#include "models/engine/stores/block_store.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "sim/event_queue.hpp"

namespace spillway {

struct SecondaryTierConfig {
  StorageClientConfig device;
  Duration lookup{0};  ///< of the thread that answers questions, for each chunk
};

struct SecondaryCounters {
  std::uint64_t queries = 0;  ///< blocks that nearer tiers did not have, at first admissions
  std::uint64_t hits = 0;     ///< of these, promoted from here for the request
  std::uint64_t promotions = 0;
  std::uint64_t promoted_chunks = 0;
  std::uint64_t promoted_behind = 0;  ///< chunks of the request before its promotion's first
  std::uint64_t cascades = 0;
  std::uint64_t promotion_failures = 0;  ///< chunks found that host memory had no room for
  std::uint32_t pinned = 0;              ///< slots of host memory, by writes to here
  std::uint32_t peak_pinned = 0;
  std::uint64_t stored = 0;  ///< chunks
};

/// A chunk, and which one of a request's it is.
struct ChunkAt {
  std::uint32_t position;
  BlockId chunk;
};

class Tiering final : private EventHandler {
 public:
  struct Environment {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    BlockStore& first;
    TransferWaiter& waiter;
    Bytes chunk_bytes;
    std::uint32_t blocks;  ///< ids of chunks are below or equal
  };
  Tiering(const Environment& environment, const std::vector<SecondaryTierConfig>& tiers);
  ~Tiering();

  enum class Verdict : std::uint8_t {
    kMiss,
    kPending,  ///< on its way to host memory
    kRetry,    ///< not known yet
  };
  /// `access.request`, here by its handle, looks for a chunk that host memory lacks. The step has
  /// begun.
  Verdict look_up(const ChunkAt& at, Handle handle, const Access& access);
  /// Blocks in these slots have come down from HBM.
  void cascade(SlotSpan slots, RequestId request);
  /// So many chunks were refused a place in host memory.
  void on_store_refused(std::size_t chunks);
  /// Loads towards HBM read this slot, not only writes to the tiers behind.
  bool loading(SlotId slot) const { return first_.pins(slot) > pins_[raw(slot)]; }

  /// Takes note of what has ended; before the first look-up of a step, at the latest at its end.
  void begin_step(Time now);
  /// Submits the step's promotions and questions.
  void end_step(Time now);
  /// Something has ended that no step has taken note of.
  bool any_ended() const { return any_ended_; }
  /// No job and no question is under way.
  bool idle() const;

  /// The request is gone, or will never look again.
  void forget(RequestId request);
  /// What it waited for goes up.
  void on_load(RequestId request);
  /// The tier from which the `position`-th chunk was promoted for the request, from 1; else 0.
  std::uint32_t source(RequestId request, std::uint32_t position) const;
  void count(std::size_t tier, std::uint64_t queries, std::uint64_t hits);

  std::uint64_t version() const { return version_; }
  std::size_t size() const { return tiers_.size(); }
  const SecondaryCounters& counters(std::size_t tier) const;
  const StorageDevice& device(std::size_t tier) const;
  /// Most slots of host memory that writes pinned at once, whatever the tier.
  std::uint32_t peak_pinned() const { return peak_pinned_slots_; }
  /// Refused while writes pinned what would have been enough.
  std::uint64_t stores_refused_by_pins() const { return stores_refused_; }
  std::uint64_t promotions_refused_by_pins() const { return promotions_refused_; }
  /// Requests that never end: see kMostPromotions.
  std::uint32_t livelocked() const { return livelocked_; }

 private:
  /// What is known of a chunk that was asked for.
  enum class Answer : std::uint8_t { kUnasked, kNoted, kAsked, kYes, kNo };
  struct Tier;
  struct Job {
    std::uint32_t tier = 0;
    bool promotion = false;
    RequestId request{};
    Handle handle{};  ///< its, where the job is a promotion
    std::vector<SlotId> slots;
  };
  /// What one request knows of one chunk of its chain.
  struct Mark {
    BlockId chunk{};
    std::uint8_t asked = 0;     ///< bit by tier
    std::uint8_t promoted = 0;  ///< times, since it was last admitted
    std::uint8_t source = 0;    ///< of the last one: tier + 1
  };
  struct Asker {
    std::vector<Mark> marks;  ///< by position
    Handle handle{};
    bool livelocked = false;
  };
  /// A request for which one chunk was promoted so often, and was gone again before all were there
  /// at once, loops for ever: host memory does not hold its prefix (vLLM issues 49176, 49829).
  static constexpr std::uint8_t kMostPromotions = 32;

  Asker& asker(RequestId request);
  bool promote(std::uint32_t tier, Asker& who, std::uint32_t position, const Access& access);
  std::uint32_t make_job(std::uint32_t tier, bool promotion, RequestId request);
  void end_job(std::uint32_t job, Time now);
  void tell(std::uint32_t job, LoadEvent event);
  void job_ended(Tier& tier, std::uint32_t job);
  void notify();
  void on_event(EventPayload payload) override;

  EventQueue& queue_;
  BlockStore& first_;
  TransferWaiter& waiter_;
  Bytes chunk_bytes_;
  std::vector<std::unique_ptr<Tier>> tiers_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> free_jobs_;
  std::vector<std::uint8_t> pins_;  ///< by slot of host memory: writes under way
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
  std::uint64_t stores_refused_ = 0;
  std::uint64_t promotions_refused_ = 0;
  std::uint32_t livelocked_ = 0;
};

}  // namespace spillway

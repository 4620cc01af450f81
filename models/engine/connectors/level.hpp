// One level behind host memory: what it holds, its device, and the questions about it
// (vllm/v1/kv_offload/tiering: async_lookup.py, fs/manager.py, fs/thread_pool.py).
//
// Whether a level holds a chunk is asked asynchronously. The first question makes its request wait;
// the questions of a step go to one thread when it has been scheduled, and the answers are seen at
// the next step at the earliest. An answer is kept while any request that asked for it lives: one
// that says "no" goes on saying so when the chunk has been written since.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/chains/local_chains.hpp"
#include "models/engine/connectors/level_rules.hpp"
#include "models/engine/stores/block_store.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "policies/write_admission_policy.hpp"
#include "sim/event_queue.hpp"

namespace spillway {

/// From an engine's names of chunks, pages of `per_block` groups, to those of the simulation.
struct GlobalNames {
  const LocalChains* chains = nullptr;
  std::uint32_t per_block = 1;
  BlockId operator()(BlockId chunk) const {
    const std::uint32_t block = raw(chains->global_of(BlockId{raw(chunk) / per_block}));
    return BlockId{block * per_block + raw(chunk) % per_block};
  }
};

struct LevelConfig {
  StorageClientConfig device;
  bool shared = false;  ///< what the device holds is there for all its clients
  Duration lookup{0};   ///< of the thread that answers questions, for each chunk
  std::uint64_t capacity = BlockStore::kUnbounded;  ///< in chunks
  EvictionChoice eviction;
  WriteAdmissionChoice write_admission;
  LevelRules rules;
};

struct LevelCounters {
  std::uint64_t queries = 0;  ///< blocks that nearer tiers did not have, at first admissions
  std::uint64_t hits = 0;     ///< of these, promoted from here for the request
  std::uint64_t promotions = 0;
  std::uint64_t promoted_chunks = 0;
  std::uint64_t promoted_behind = 0;  ///< chunks of the request before its promotion's first
  std::uint64_t cascades = 0;
  std::uint64_t promotion_failures = 0;  ///< chunks found that host memory had no room for
  std::uint32_t pinned = 0;              ///< slots of host memory, by writes to here
  std::uint32_t peak_pinned = 0;
  /// Chunks that came and left. Of a store that several share, each counts what came and left
  /// between the last time that another counted and the time it did: the sums are the store's.
  std::uint64_t stored = 0;
  std::uint64_t evicted = 0;
  std::uint64_t no_room = 0;  ///< chunks that were not written for want of it
  std::array<std::uint64_t, kWriteVerdicts> refused{};  ///< chunks, by write admission
};

/// Told of what happens at a level, outside of steps.
class LevelListener {
 public:
  virtual void on_level_read(std::uint32_t job, bool begins) = 0;
  /// In the phase kTransferDone: a job has ended, or a question was answered (kNoJob); what
  /// follows is for the next step to see, in ended() and see_answers().
  virtual void on_level_progress(std::uint32_t job) = 0;

 protected:
  ~LevelListener() = default;
};

class Level final : public BlockColumns, private StorageListener, private EventHandler {
 public:
  struct Environment {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    LevelListener& listener;
    std::uint32_t chunks;            ///< ids of chunks stay below or equal
    EvictionContext context;         ///< what its policy may know beside the store
    SharedStores* shared = nullptr;  ///< where the level is
    GlobalNames global{};            ///< where it is
  };
  Level(const Environment& environment, const LevelConfig& config);

  static constexpr std::uint32_t kNoJob = ~std::uint32_t{0};

  const LevelRules& rules() const { return rules_; }
  BlockStore& store() { return store_; }
  const BlockStore& store() const { return store_; }
  /// Others read and write the store, too.
  bool shared() const { return own_ == nullptr; }
  const StorageDevice& device() const { return device_; }
  /// Takes out of `chunks` what is not to be written.
  void admit(std::vector<BlockId>& chunks, Time now, std::uint32_t writes_under_way);
  LevelCounters counters;
  void settle() {
    const BlockStore::Flow flow = store_.take_flow();
    counters.stored += flow.stored;
    counters.evicted += flow.evicted;
  }

  /// What the store calls a chunk that the engine calls `chunk`.
  BlockId name_of(BlockId chunk) const { return shared() ? global_(chunk) : chunk; }
  /// Readable here; by the store's name.
  bool holds(BlockId name) const {
    const BlockPlace place = store_.place(name);
    return place.here() && store_.pins(place.slot()) >= 0;
  }

  void grow_blocks(std::uint32_t blocks) override;

  // ---- questions
  enum class Answer : std::uint8_t { kUnasked, kNoted, kAsked, kYes, kNo };
  Answer ask(BlockId chunk);
  /// Some request keeps the answer, or does no longer.
  void keep(BlockId chunk) { ++askers_[raw(chunk)]; }
  void let_go(BlockId chunk);
  /// What the answer said is there has gone.
  void deny(BlockId chunk) { answers_[raw(chunk)] = Answer::kNo; }
  /// Takes note of the answers; true where there were any.
  bool see_answers();
  /// The step's questions go to the thread. True where some are answered at once.
  bool submit_questions(Time now);

  // ---- jobs, by the owner's numbers
  void submit(StorageOp op, std::uint32_t job, Bytes bytes) { device_.submit(op, job, bytes); }
  /// Nothing had to be moved.
  void end_at_once(std::uint32_t job) { ended_.push_back(job); }
  std::vector<std::uint32_t>& ended() { return ended_; }
  bool idle() const { return batches_.empty() && device_.idle(); }

 private:
  struct Result {
    BlockId chunk;
    bool found;
  };
  struct Batch {
    Time answered;
    std::uint32_t chunks;
  };
  void on_read_service(std::uint32_t job, bool begins) override {
    listener_.on_level_read(job, begins);
  }
  void on_storage_done(StorageOp, std::uint32_t job) override {
    ended_.push_back(job);
    listener_.on_level_progress(job);
  }
  void on_event(EventPayload payload) override;

  EventQueue& queue_;
  LevelListener& listener_;
  LevelRules rules_;
  GlobalNames global_;
  Duration lookup_;
  std::unique_ptr<BlockStore> own_;  ///< null where it is shared
  BlockStore& store_;
  StorageDevice device_;
  std::unique_ptr<WriteAdmissionPolicy> admission_;  ///< null: every chunk is written
  std::vector<WriteVerdict> verdicts_;               ///< scratch
  std::vector<std::uint32_t> positions_;             ///< scratch
  std::vector<Answer> answers_;
  std::vector<std::uint32_t> askers_;  ///< requests that keep the answer
  std::vector<BlockId> noted_;         ///< asked for in this step
  RingQueue<Batch> batches_;           ///< with the thread
  RingQueue<BlockId> asked_;           ///< the chunks of these, in order
  Time thread_free_{};
  std::vector<Result> results_;       ///< not yet seen
  std::vector<std::uint32_t> ended_;  ///< jobs, not yet seen
};

}  // namespace spillway

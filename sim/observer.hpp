// What a run tells the outside: hooks at state changes, all no-ops until overridden.
//
// The engine calls them once per step, request, transfer or batch of blocks, never per block.
// Observers read; nothing they do can change the run.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/ids.hpp"
#include "sim/ttft_stages.hpp"
#include "sim/units.hpp"

namespace spillway {

/// HBM and up to this many tiers below it.
inline constexpr std::size_t kMaxTiers = 8;

enum class RequestStatus : std::uint8_t { kCompleted, kRejected, kFailed, kStuck, kNotSent };
inline constexpr std::size_t kRequestStatuses = 5;
std::string_view name_of(RequestStatus status);

/// Why a request did not complete.
enum class Reason : std::uint8_t {
  kNone,
  kTooLong,       ///< prompt + output exceed max_model_len
  kExceedsPool,   ///< its blocks exceed the whole HBM pool
  kDeadlock,      ///< nothing ran, nothing was in flight and nothing could be admitted
  kEngineDead,    ///< the engine had died of an error, or died under it
  kHorizon,       ///< due after the workload's horizon, or a later turn of such a session
  kKvLoadFailed,  ///< KV that a look-up had found did not come
  kOutOfMemory,   ///< it ran alone, and its next token found no room
  // Refused by an admission policy.
  kGpuFull,         ///< the sequences admitted would exceed HBM
  kTiersFull,       ///< the sequences admitted would exceed all tiers
  kQueueFull,       ///< too many requests waited when it arrived
  kQueueTimeout,    ///< it waited too long without being taken up
  kRateLimited,     ///< more tokens than the rate allows
  kSloUnreachable,  ///< its first token would have come too late
};
std::string_view name_of(Reason reason);

/// The time of something that did not happen.
inline constexpr Time kNever = Time::min();

/// One request, told once, when it ends (or is found stuck).
struct RequestRecord {
  RequestId request{};
  Time due = kNever;        ///< when its client wanted to send it
  Time arrival = kNever;    ///< at the server: later than due where clients hold requests back
  Duration way_in{};        ///< from there to the engine, where a front end takes time
  Time scheduled = kNever;  ///< first given tokens, after any load
  Time first_token = kNever;
  Time finish = kNever;  ///< of a completed request
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::array<std::uint32_t, kMaxTiers> cached_tokens{};  ///< by tier, at the first admission
  std::uint32_t preemptions = 0;
  RequestStatus status = RequestStatus::kCompleted;
  Reason reason = Reason::kNone;
  TtftParts ttft{};     ///< of a completed request: what its time to first token went into
  bool warmup = false;  ///< before or after the measured part of the run: left out of results
};

/// One engine step that had work, from the instant it was scheduled to its end.
/// What a connector made the host do for one step, and what of it may be hidden.
struct ConnectorWork {
  std::uint32_t lookups = 0;    ///< of waiting requests
  std::uint32_t jobs = 0;       ///< submitted before the forward
  std::uint32_t copies = 0;     ///< that these consist of
  std::uint32_t late_jobs = 0;  ///< submitted while the forward computes
  std::uint32_t late_copies = 0;
  Duration compute{};  ///< of the step's forward
  Duration cover{};    ///< of the one before, where its host part goes ahead
  Duration took{};     ///< by which the step lasts longer for it; no part of its stall
};

struct StepRecord {
  Time start{};
  Time end{};
  Duration stall{};  ///< beyond its own work: waits for stores and loads, copies
  std::uint32_t scheduled_tokens = 0;
  std::uint32_t recomputed_tokens = 0;
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;  ///< queued, deferred or loading
  bool starved = false;       ///< blocks ran out: a request was preempted or had to wait
  std::uint32_t engine = 0;   ///< which of several
  ConnectorWork connector{};  ///< nothing below HBM: its compute alone
};

/// How far a link's model can be trusted for one transfer.
enum class Reach : std::uint8_t {
  kInside,        ///< between measured points
  kExtrapolated,  ///< beyond them, in size or count: the nearest edge was used
  kAcrossStep,    ///< between neighbours whose rates differ by more than 2x
};

struct TransferRecord {
  std::uint32_t link = 0;
  Bytes payload;
  std::uint32_t copies = 0;
  Time submitted{};
  Time started{};
  Time ended{};
  Reach reach = Reach::kInside;
};

/// Blocks of one tier that changed at one instant.
struct TierChange {
  Time now{};
  std::uint32_t tier = 0;
  std::uint32_t stored = 0;    ///< blocks that entered
  std::uint32_t evicted = 0;   ///< blocks that left
  std::uint32_t resident = 0;  ///< blocks held after the change
  std::uint32_t used = 0;      ///< HBM: blocks in use by requests; other tiers: as resident
};

/// Blocks that running requests need, where they may hold some of them below HBM.
struct NeededBlocks {
  Time now{};
  std::uint64_t blocks = 0;  ///< distinct
  std::uint64_t in_hbm = 0;
  std::uint64_t below_only = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepRecord&) {}
  /// `count` requests received a token `gap` after their previous one. Those of the warm-up are
  /// not told.
  virtual void on_token_gap(Duration /*gap*/, std::uint32_t /*count*/) {}
  virtual void on_request(const RequestRecord&) {}
  virtual void on_transfer(const TransferRecord&) {}
  virtual void on_tier_change(const TierChange&) {}
  virtual void on_preemption(Time, RequestId) {}
  /// A decoded token had so many millionths of a block read from below HBM. Not told of the
  /// warm-up's, nor where all blocks are in HBM by rule.
  virtual void on_cold_decode(std::uint64_t /*millionths*/) {}
  virtual void on_needed_blocks(const NeededBlocks&) {}
};

/// Hands every call to several observers, in order.
class ObserverList final : public Observer {
 public:
  void add(Observer& observer) { observers_.push_back(&observer); }
  void on_step(const StepRecord& r) override {
    for (Observer* o : observers_) o->on_step(r);
  }
  void on_token_gap(Duration gap, std::uint32_t count) override {
    for (Observer* o : observers_) o->on_token_gap(gap, count);
  }
  void on_request(const RequestRecord& r) override {
    for (Observer* o : observers_) o->on_request(r);
  }
  void on_transfer(const TransferRecord& r) override {
    for (Observer* o : observers_) o->on_transfer(r);
  }
  void on_tier_change(const TierChange& c) override {
    for (Observer* o : observers_) o->on_tier_change(c);
  }
  void on_preemption(Time now, RequestId request) override {
    for (Observer* o : observers_) o->on_preemption(now, request);
  }
  void on_cold_decode(std::uint64_t millionths) override {
    for (Observer* o : observers_) o->on_cold_decode(millionths);
  }
  void on_needed_blocks(const NeededBlocks& n) override {
    for (Observer* o : observers_) o->on_needed_blocks(n);
  }

 private:
  std::vector<Observer*> observers_;
};

}  // namespace spillway

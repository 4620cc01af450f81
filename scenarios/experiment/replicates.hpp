// Replicates of a workload: other draws of it, made when they are first needed.
//
// Generated workloads are drawn with seeds seed, seed + 1, ...: independent, and as long as asked.
// A recording is one sample; its replicates are its sessions drawn again (session_bootstrap.hpp),
// several times in a row where it is too short. Several recordings (workload.days): as far as
// they are long enough, replicate i is day i itself, and as long as no more are asked for, these
// are independent samples. Beyond them, each replicate draws within one day, the days in turn:
// what differs from day to day stays between replicates, and no day's prefixes meet another's.
//
// What workload.growth asks for is applied last, to each replicate by itself with its own seed, so
// that replicate i of a grown workload is replicate i of the other, grown. Nothing here depends on
// what runs are made of a replicate: cells that differ in anything else see the same one.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/scenario.hpp"
#include "sim/paired_difference.hpp"
#include "traces/reshape/session_bootstrap.hpp"

namespace spillway {

struct SloTarget;

/// Measured requests that the strictest percentile of `slo` rests on: 20 beyond it. 0 where none
/// is bounded.
std::uint64_t requests_needed(const std::vector<SloTarget>& slo);

/// Scenarios for which this is equal have the same workload, and the same replicates of it.
std::string workload_identity(const Scenario& scenario);

class Replicates {
 public:
  /// Opens the workload of `scenario`, of which `count` replicates serve `users` runs each. Each
  /// has at least `least` requests behind workload.warmup_s, or workload.replication.requests
  /// where that is given; the workload itself stays as it is.
  Replicates(const Scenario& scenario, std::uint32_t count, std::uint32_t users,
             const ReadProgress& reading, std::uint64_t least = 0);
  /// As above, with the scenario's workload open already; it outlives the replicates.
  Replicates(const Scenario& scenario, const Workload& workload, std::uint32_t count,
             std::uint32_t users, const ReadProgress& reading, std::uint64_t least = 0);

  /// The seed of replicate `index`.
  std::uint64_t seed(std::uint32_t index) const {
    return scenario_.seed + (index == recording() ? 0 : index);
  }
  /// The number of the recording itself, which follows those of its resamples.
  std::uint32_t recording() const { return count_; }
  /// Whether any replicate is a resample.
  bool resampled() const { return count_ > whole_days() && !bootstraps_.empty(); }
  Replication replication() const {
    return resampled() ? Replication::kResampled : Replication::kIndependent;
  }
  /// Of a replicate, in recordings: a resample of k of them has 1/k of the variance of the
  /// recording, and of one of D days D times that of all. 1 where replicates are independent.
  double length() const;
  /// Made now where it is not there yet. Each of the users calls it once, then done(). May be
  /// called from several threads.
  const Workload& get(std::uint32_t index);
  void done(std::uint32_t index);

  /// Whether longer ones can be drawn: not where every replicate is a recorded day.
  bool may_be_longer() const;
  /// A draw that is `length` times as long, one of others that have nothing in common with those
  /// above, whatever its number. From any thread; nothing is kept. Preconditions: may_be_longer(),
  /// length > 1.
  Workload longer(std::uint32_t index, std::uint32_t length) const;
  std::uint64_t longer_seed(std::uint32_t index, std::uint32_t length) const;

  const Workload& original() const { return *original_; }
  /// Known once a replicate has been made.
  std::uint64_t hash(std::uint32_t index) const { return slots_[index]->hash; }
  /// How replicates come about, one sentence.
  std::string method() const;
  /// What intervals over resamples are for, where the spread of recordings is in them; else empty.
  std::string wider_claim() const;

 private:
  struct Slot {
    std::once_flag once;
    std::optional<Workload> workload;
    std::atomic<std::uint32_t> users{0};
    std::uint64_t hash = 0;
  };

  void open_days(const ReadProgress& reading);
  void prepare(std::uint32_t users, const ReadProgress& reading);
  /// Days that are replicates as they are.
  std::uint32_t whole_days() const { return whole_days_; }
  std::uint32_t draws_of(const Workload& day) const;
  /// Nothing where it is the original.
  std::optional<Workload> make(std::uint32_t index) const;
  Workload generated(std::uint64_t seed, std::uint64_t requests) const;
  std::uint32_t generated_requests() const;
  /// Whether generated replicates are longer than the workload itself.
  bool lengthened() const;

  Scenario scenario_;
  std::uint32_t count_;
  std::uint64_t least_;
  std::optional<Workload> opened_;
  const Workload* original_ = nullptr;  ///< grown
  std::deque<Workload> days_;           ///< recordings, not grown, the scenario's trace first
  std::uint32_t whole_days_ = 0;
  std::deque<SessionBootstrap> bootstraps_;  ///< one a day; none where nothing is drawn again
  std::vector<std::uint32_t> draws_;         ///< in a row, of each day
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace spillway

// A storage device at work: jobs become operations, operations wait for slots, bytes share limits.
//
// A job is cut into whole operations (files, objects, values), and these into tasks, each of which
// one slot does from beginning to end: first the latencies, then the bytes. A slot that becomes
// free takes the oldest waiting task of the kind it prefers, else of the other: `read_first` slots
// prefer reads, the rest writes. A job is done with its last task. With whole_jobs a job is one
// task, as in vLLM's fs tier (vllm/v1/kv_offload/tiering/fs/thread_pool.py).
//
// The bytes of a drive go one task after another at its rate, whatever the depth; those of other
// kinds flow side by side, and share what the client and the server allow.
// Model: a job has at most kMostTasks tasks, or a few per slot: of a larger job each task has
// several operations in turn, and what waits behind it waits for as many (the job itself is late by
// at most one task's operations). Reads and writes of a drive do not slow each other down.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/tier/storage_spec.hpp"
#include "models/tier/write_cache.hpp"
#include "sim/histogram.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

enum class StorageOp : std::uint8_t { kRead, kWrite };
constexpr std::size_t index_of(StorageOp op) {
  return static_cast<std::size_t>(op);
}

class StorageListener {
 public:
  /// A read job is being served, in part at least, or no part of it is any longer. Nothing may be
  /// submitted here.
  virtual void on_read_service(std::uint32_t /*job*/, bool /*begins*/) {}
  /// A job has ended, in the phase kTransferDone of that instant.
  virtual void on_storage_done(StorageOp op, std::uint32_t job) = 0;

 protected:
  ~StorageListener() = default;
};

struct StorageDeviceConfig {
  StorageSpec spec;
  /// Others that share the limits over all clients and do what this one does, at the same times:
  /// each gets its equal part.
  std::uint32_t clients = 0;
  std::uint64_t seed = 1;
  std::uint32_t read_link = kNoLink;  ///< numbers in observations and results
  std::uint32_t write_link = kNoLink;
};

class StorageDevice final : private RouteListener {
 public:
  StorageDevice(EventQueue& queue, Fabric& fabric, const StorageDeviceConfig& config,
                Observer& observer, StorageListener& listener);

  /// `job` is the listener's own number, used by no other job in progress. Precondition: bytes > 0.
  void submit(StorageOp op, std::uint32_t job, Bytes bytes);
  bool idle() const { return tasks_.size() == free_tasks_.size(); }

  const DeviceWear& wear() const { return wear_; }
  /// How long it has had any job of this kind.
  Duration busy(StorageOp op) const { return busy_[index_of(op)].total; }
  /// Of whole jobs, from submission to end.
  const LatencySamples& latency(StorageOp op) const { return latency_[index_of(op)]; }
  /// Spent writing at the sustained rate; 0 without a write cache.
  Duration slow_writes() const { return cache_ ? cache_->slow() : Duration(0); }

  static constexpr std::uint32_t kMostTasks = 256;
  static constexpr std::uint32_t kTasksPerSlot = 4;

 private:
  /// Whole operations and their bytes; the last operation may be short.
  struct Job {
    StorageOp op = StorageOp::kRead;
    Bytes bytes;
    std::uint32_t operations = 0;
    std::uint32_t tasks = 0;
    std::uint32_t begun = 0;  ///< tasks given to a slot
    std::uint32_t ended = 0;
    std::uint32_t served = 0;  ///< tasks, at this instant
    Time submitted{};
    Time started{};
  };
  struct Task {
    std::uint32_t job = 0;
    StorageOp prefers = StorageOp::kRead;  ///< the slot that does it
  };
  struct Busy {
    std::uint32_t jobs = 0;
    Time since{};
    Duration total{0};
  };

  RouteId make_route(StorageOp op, const StorageDeviceConfig& config);
  void give(StorageOp prefers);
  void begin_task(std::uint32_t job, StorageOp prefers);
  void end_job(std::uint32_t job);
  void on_route_service(RouteId route, std::uint32_t task, bool begins) override;
  void on_route_done(RouteId route, std::uint32_t task) override;

  EventQueue& queue_;
  Observer& observer_;
  StorageListener& listener_;
  StorageSpec spec_;
  Fabric& fabric_;
  std::optional<WriteCache> cache_;
  std::optional<MediumId> server_;  ///< of both directions, where one thread serves them
  std::array<RouteId, 2> routes_{};
  std::array<std::uint32_t, 2> links_{};
  std::array<std::uint32_t, 2> free_{};              ///< slots, by what they prefer
  std::array<RingQueue<std::uint32_t>, 2> waiting_;  ///< jobs with tasks to begin
  std::vector<Job> jobs_;                            ///< by the listener's number
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> free_tasks_;
  DeviceWear wear_;
  std::array<Busy, 2> busy_{};
  std::array<LatencySamples, 2> latency_;
};

/// What one client gets of `lane` when `clients` others do the same; 0: no limit.
std::int64_t client_share(const StorageLane& lane, std::uint32_t clients);

}  // namespace spillway

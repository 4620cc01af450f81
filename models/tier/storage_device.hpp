// A client of storage at work: jobs become operations, operations wait for slots, bytes share
// limits, of its own and of the drive or server (storage_server.hpp), which may have other clients.
//
// A job is cut into whole operations (files, objects, values), and these into tasks, each of which
// one slot does from beginning to end: first the latencies, then the bytes. A slot that becomes
// free takes the oldest waiting task of the kind it prefers, else of the other: `read_first` slots
// prefer reads, the rest writes. A job is done with its last task. With whole_jobs a job is one
// task, as in vLLM's fs tier (vllm/v1/kv_offload/tiering/fs/thread_pool.py).
//
// Model: a job has at most kMostTasks tasks, or a few per slot: of a larger job each task has
// several operations in turn, and what waits behind it waits for as many (the job itself is late by
// at most one task's operations).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/tier/storage_server.hpp"
#include "sim/histogram.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

namespace spillway {

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

struct StorageClientConfig {
  std::uint32_t server = 0;           ///< its place in Network
  std::uint64_t seed = 1;             ///< of its latencies
  std::uint32_t read_link = kNoLink;  ///< numbers in observations and results
  std::uint32_t write_link = kNoLink;
  std::vector<std::uint32_t> through{};  ///< places in LaidMedia: what its bytes cross
  /// Of a link that only this client's bytes cross, by index_of(StorageOp), in bytes/s; 0: none.
  std::array<std::int64_t, 2> own_rate{};
};

class StorageDevice final : private RouteListener {
 public:
  /// Kind, slots, latencies and limits are those of `server`, of which it becomes a client.
  StorageDevice(StorageServer& server, const StorageClientConfig& config, Observer& observer,
                StorageListener& listener);

  /// `job` is the listener's own number, used by no other job in progress. Precondition: bytes > 0.
  /// `operations`: where they are fewer than these bytes make, each then moves more; 0: as many.
  void submit(StorageOp op, std::uint32_t job, Bytes bytes, std::uint32_t operations = 0);
  bool idle() const { return tasks_.none_in_use(); }

  const StorageServer& server() const { return server_; }
  /// How long it has had any job of this kind.
  Duration busy(StorageOp op) const { return busy_[index_of(op)].total; }
  /// Of whole jobs, from submission to end.
  const LatencySamples& latency(StorageOp op) const { return latency_[index_of(op)]; }

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

  RouteId make_route(StorageOp op, const StorageClientConfig& config);
  void give(StorageOp prefers);
  void begin_task(std::uint32_t job, StorageOp prefers);
  void end_job(std::uint32_t job);
  void on_route_service(RouteId route, std::uint32_t task, bool begins) override;
  void on_route_done(RouteId route, std::uint32_t task) override;

  StorageServer& server_;
  EventQueue& queue_;
  Fabric& fabric_;
  Observer& observer_;
  StorageListener& listener_;
  const StorageSpec& spec_;
  std::array<RouteId, 2> routes_{};
  std::array<std::uint32_t, 2> links_{};
  std::array<std::uint32_t, 2> free_{};              ///< slots, by what they prefer
  std::array<RingQueue<std::uint32_t>, 2> waiting_;  ///< jobs with tasks to begin
  std::vector<Job> jobs_;                            ///< by the listener's number
  Slab<Task> tasks_;
  std::array<Busy, 2> busy_{};
  std::array<LatencySamples, 2> latency_;
};

}  // namespace spillway

// Where LMCache in process keeps chunks behind host memory: a local disk and a remote store
// (lmcache/v1/storage_backend/local_disk_backend.py, remote_backend.py). What is written lies in a
// buffer of host memory meanwhile, what is read comes into one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

namespace spillway {

/// A chunk that is copied: its name, its bytes in a tier, and its buffer in host memory.
struct ChunkCopy {
  ChunkId id = kNoChunk;
  Bytes bytes{0};  ///< of one rank, as host memory holds it
  ChunkSlot buffer = kNoChunkSlot;
};

/// The step that reads.
class ChunkReader {
 public:
  /// What it read last is there.
  virtual void on_read() = 0;

 protected:
  ~ChunkReader() = default;
};

/// What both stand on; it outlives them.
struct BackendSite {
  const ChunkTierConfig& config;
  ChunkTable& table;     ///< its chunks: its own, or what engines share
  ChunkTable& host;      ///< host memory
  std::uint32_t copies;  ///< ranks whose parts of a chunk go there
  Network& network;
  Settlement& settlement;
  EventQueue& queue;
  Observer& observer;
  ChunkReader& reader;
};

class LmcacheDisk;

/// The threads that write to a disk, of all engines that share it: first come, first served.
class DiskThreads final : public SharedThing {
 public:
  explicit DiskThreads(std::uint32_t threads) : free_(threads) {}
  void submit(LmcacheDisk& disk, std::uint32_t write) {
    waiting_.push_back({&disk, write});
    start();
  }
  void done() {
    ++free_;
    start();
  }

 private:
  struct Waiting {
    LmcacheDisk* disk = nullptr;
    std::uint32_t write = 0;
  };
  void start();

  std::uint32_t free_;
  RingQueue<Waiting> waiting_;
};

class LmcacheDisk final : private PortListener {
 public:
  LmcacheDisk(const BackendSite& site, DiskThreads& threads)
      : site_(site),
        threads_(threads),
        port_(site.network, site.config.port, site.settlement, site.queue, site.observer, *this) {}

  /// Those that it neither has nor is writing and has room for, each by a thread of its own.
  void put(std::span<const ChunkCopy> chunks);
  /// One chunk that it has; used now.
  void read(ChunkSlot slot);
  ChunkTable& table() { return site_.table; }
  const ChunkTable& table() const { return site_.table; }
  bool writes() const { return writing_ > 0; }
  /// A thread takes the write up.
  void begin(std::uint32_t write) {
    port_.submit(StorageOp::kWrite, write, site_.table.bytes_of(writes_[write].slot));
  }
  std::uint64_t refused() const { return refused_; }
  const StorageDevice* device() const { return port_.device(); }

 private:
  struct Write {
    ChunkSlot slot;
    ChunkSlot buffer;
  };
  void on_port_done(StorageOp op, std::uint32_t job) override;

  BackendSite site_;
  DiskThreads& threads_;
  TierPort port_;
  Slab<Write> writes_;
  std::uint32_t writing_ = 0;  ///< by a thread, or in line for one
  std::uint64_t refused_ = 0;
};

class LmcacheRemote final : private PortListener {
 public:
  explicit LmcacheRemote(const BackendSite& site)
      : site_(site),
        port_(site.network, site.config.port, site.settlement, site.queue, site.observer, *this) {}

  bool reachable() const { return site_.config.reachable(site_.queue.now()); }
  /// Without those that this engine is putting, in one job; dropped in an outage. The time that it
  /// takes to pack them.
  Duration put(std::span<const ChunkCopy> chunks);
  /// The time that it takes to unpack what was read.
  Duration unpacking(std::span<const ChunkCopy> chunks) const;
  /// All of these, in one job; the buffers stay the reader's.
  void get(std::span<const ChunkCopy> chunks);
  /// The reader does not wait for its job any longer: the buffers go with it.
  void abandon();
  ChunkTable& table() { return site_.table; }
  const ChunkTable& table() const { return site_.table; }
  bool writes() const { return port_.under_way(StorageOp::kWrite) > 0; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t unreachable() const { return unreachable_; }
  const StorageDevice* device() const { return port_.device(); }

 private:
  struct Job {
    std::vector<ChunkCopy> chunks;
    bool abandoned = false;
  };
  std::uint32_t make_job();
  Bytes packed(Bytes of_rank) const;
  void on_port_done(StorageOp op, std::uint32_t job) override;
  void end_put(const Job& job);
  void end_get(const Job& job);

  BackendSite site_;
  TierPort port_;
  GrowingColumn<std::uint8_t> putting_;  ///< by chunk, of this engine
  Slab<Job> jobs_;
  std::uint32_t read_ = 0;  ///< the reader's job
  std::uint64_t refused_ = 0;
  std::uint64_t unreachable_ = 0;
};

}  // namespace spillway

// LMCache in process, the worker's side of a step: look-ups, loads, compute, stores, one request
// and one transfer after another, and then its tokens (lmcache/integration/vllm/vllm_v1_adapter.py:
// start_load_kv and wait_for_save; lmcache/v1/cache_engine.py: retrieve and store). Everybody in
// the batch waits.
//
// Layer-wise, with host memory alone, loads, compute and stores of a step overlap layer by layer.
//
// A load may find no buffer: it tries again while writes are under way that will free some, else
// the engine hangs, as upstream.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/engine/connectors/lmcache/lmcache_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "models/requests/transfer_waiter.hpp"

namespace spillway {

class LmcacheStep final : public StepMoves,
                          public ChunkReader,
                          public TransferListener,
                          private EventHandler {
 public:
  struct Place {
    EventQueue& queue;
    TransferWaiter& waiter;
    std::uint32_t rank = 0;       ///< of the engine's turns (settlement.hpp)
    std::uint32_t down_link = 0;  ///< numbers of its links, for what is not sent over the path
    std::uint32_t up_link = 0;
    Observer& observer;
  };
  LmcacheStep(const ChunkedConfig& config, const Place& place) : config_(config), place_(place) {}
  /// Before the first step.
  void connect(LmcacheConnector& connector, std::unique_ptr<TransferPath> path) {
    connector_ = &connector;
    path_ = std::move(path);
  }

  void load(const StepPlan& plan, const StepTransfers& transfers, Time now) override;
  bool may_compute() override { return stage_ != Stage::kLookups && stage_ != Stage::kLoads; }
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  void end(const StepTransfers& transfers, Time now) override;
  std::span<const FailedLoad> failed_loads() const override { return failed_; }
  bool hangs() const override { return hangs_; }
  bool idle() const override { return path_->idle(); }
  void report(EngineStats& stats) const override;

  void on_read() override {
    read_ = true;
    continue_soon();
  }
  void on_transfer_done(Direction, std::uint32_t) override { continue_soon(); }

 private:
  enum class Stage : std::uint8_t { kLookups, kLoads, kCompute, kStores, kOver };
  enum class Doing : std::uint8_t {
    kLocate,
    kPart,
    kDiskChunk,
    kDiskRead,
    kBuffers,
    kGet,
    kUnpack,
    kCopyUp,
    kCopied,
  };
  enum class Kind : std::uint16_t { kGoOn, kLate };
  /// The chunks of one load that one tier supplies.
  struct Part {
    std::size_t tier = 0;
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };

  void continue_soon() { continue_at(place_.queue.now()); }
  void continue_at(Time at);
  void on_event(EventPayload payload) override;
  void go_on();

  bool loads_done();
  void begin_load(const LmcacheItem& item);
  bool retrieve();
  void locate();
  bool read_part();
  bool take_buffer(std::uint32_t chunk);
  void hold(const Part& part);
  void end_part(bool whole);
  void begin_copy_up();
  void end_load();
  bool begin_get(const Part& part);
  void lose(const Part& part, std::uint32_t from);
  void count_reads();

  bool stores_done();
  bool decide_store(const LmcacheItem& item);
  bool store();
  Duration hand_over();
  void layered(Time now, Duration compute);

  const ChunkedConfig& config_;
  Place place_;
  LmcacheConnector* connector_ = nullptr;
  std::unique_ptr<TransferPath> path_;

  Stage stage_ = Stage::kOver;
  std::uint32_t epoch_ = 0;  ///< of the event that continues
  bool hangs_ = false;
  std::size_t at_ = 0;  ///< in the connector's items
  Time began_{};

  // The load under way: chunks [first_, end_) of its request.
  Doing doing_ = Doing::kLocate;
  Handle request_{};
  std::vector<ChunkId> ids_;  ///< of the request, from its root
  std::uint32_t known_ = 0;   ///< its tokens when it was looked up
  std::uint32_t first_ = 0;
  std::uint32_t end_chunk_ = 0;
  std::uint32_t came_ = 0;  ///< chunks before this one have come
  std::vector<Part> parts_;
  std::size_t part_ = 0;
  std::uint32_t chunk_ = 0;
  bool part_whole_ = true;
  bool lost_ = false;               ///< a chunk of it: all behind are, too
  std::vector<ChunkCopy> buffers_;  ///< of the part under way
  std::vector<ChunkSlot> held_;     ///< chunks and buffers of the parts before
  std::uint32_t get_ = 0;           ///< tells one wait for a get from another
  bool read_ = false;               ///< what it reads has come

  // The store under way.
  bool copying_ = false;  ///< and what follows the copy
  bool packing_ = false;
  std::vector<ChunkCopy> stored_;
  Bytes stored_bytes_{0};

  std::vector<FailedLoad> failed_;
  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

}  // namespace spillway

// AIBrix's KV cache, the worker's side of a step: loads of one request after another, compute,
// stores of one request after another, and then its tokens. Everybody in the batch waits
// (integration/vllm/patches/vllm_v0.10.2-aibrix-kvcache.patch: _recv_kv_sync_impl and
// _send_kv_sync_impl; aibrix_kvcache/cache_manager.py: _acquire_impl).
//
// Load: where the piece of the prompt is long enough, chunk after chunk until one does not come
//   whole. L1 gives its leading blocks. L2 is asked for the rest where that is much; what arrives
//   enters L1. One copy brings both to the GPU. A read that is late brings nothing.
// Store: chunks behind what was brought. Blocks that L1 has, and that L2 has behind them, are
// passed
//   over; the others are copied to buffers, as many as there are, and enter L1.
// What has come is not computed, but for one token at least.
#pragma once

#include <memory>
#include <vector>

#include "models/engine/connectors/aibrix/aibrix_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "models/link/copy_path.hpp"
#include "models/requests/transfer_waiter.hpp"

namespace spillway {

class AibrixStep final : public StepMoves,
                         public L2Listener,
                         public TransferListener,
                         private EventHandler {
 public:
  struct Place {
    EventQueue& queue;
    TransferWaiter& waiter;
    std::uint32_t rank = 0;  ///< of the engine's turns (settlement.hpp)
  };
  explicit AibrixStep(const Place& place) : place_(place) {}
  /// Before the first step.
  void connect(AibrixConnector& connector, std::unique_ptr<TransferPath> path);

  void load(const StepPlan& plan, const StepTransfers& transfers, Time now) override;
  bool may_compute() override { return at_ >= At::kCompute; }
  const StepPlan& left_of(const StepPlan& plan) override;
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  bool idle() const override;
  void report(EngineStats& stats) const override;

  void on_l2_read() override;
  void on_l2_written() override { continue_at(place_.queue.now()); }
  void on_transfer_done(Direction, std::uint32_t) override { continue_at(place_.queue.now()); }

 private:
  enum class At : std::uint8_t {
    kLoadRequest,
    kLoadChunk,
    kBuffers,
    kAsk,
    kAsked,
    kReading,
    kLate,
    kArrived,
    kLoadCopy,
    kLoadCopied,
    kCompute,
    kStoreRequest,
    kStoreChunk,
    kStoreAsked,
    kStoreTake,
    kStoreCopy,
    kStoreCopied,
    kOver,
  };
  enum class Kind : std::uint16_t { kGoOn, kLate };

  void continue_at(Time at);
  bool wait_until(Time at, At next);
  void on_event(EventPayload payload) override;
  void go_on();
  bool move();
  bool move_load();
  bool move_store();

  bool next_load();
  bool find_in_l1();
  bool ask_l2();
  bool read_l2();
  bool keep_read();
  bool copy_up();
  bool end_chunk();
  void end_load();

  bool next_store();
  bool find_stored();
  bool take_buffers();
  bool copy_down();
  bool keep_stored();

  bool begins_chunk(std::uint32_t last);
  bool asks_twice(std::size_t missing) const;
  bool copy(Direction way, std::size_t blocks, At next);
  void let_go_all();
  std::uint32_t block() const { return connector_->config().block_tokens; }
  std::uint32_t first_of(const AibrixItem& item) const { return item.computed / block(); }
  std::uint32_t last_of(const AibrixItem& item) const {
    return (item.computed + item.prompt) / block();
  }
  bool is_long(const AibrixItem& item) const {
    return last_of(item) - first_of(item) >= connector_->config().aibrix.skip_blocks;
  }
  std::span<const ChunkId> ids_from(std::size_t first) const {
    return std::span<const ChunkId>(ids_).subspan(first);
  }

  Place place_;
  AibrixConnector* connector_ = nullptr;
  AibrixL2* l2_ = nullptr;  ///< null: none
  std::unique_ptr<TransferPath> path_;
  At at_ = At::kOver;
  std::uint32_t epoch_ = 0;  ///< of the event that continues
  Time began_{};
  StepPlan left_;
  std::size_t item_ = 0;  ///< of the connector's

  // The chunk under way.
  std::uint32_t chunk_ = 0;        ///< its first block
  std::vector<ChunkId> ids_;       ///< its blocks
  std::uint32_t h_ = 0;            ///< leading ones of L1; of a store, those that are there
  std::uint32_t g_ = 0;            ///< that L2 gives behind them
  std::uint32_t brought_ = 0;      ///< blocks of the chunks before
  std::vector<L1Buffer> held_;     ///< of L1's blocks
  std::vector<L1Buffer> buffers_;  ///< taken for the others
  Time deadline_{};
  std::uint32_t reads_ = 0;  ///< tells one wait for a read from another

  std::uint64_t stalls_ = 0;
  Duration stall_{};
};

}  // namespace spillway

// Mooncake's master on the clock: checks, heartbeats, writes of buckets, and the turns of its
// clients.
//
// At one instant: transfers that end are settled, then abandoned space becomes free, pins run out,
// a written bucket counts, a heartbeat forms buckets, a check evicts; then clients take turns, by
// request. Checks and heartbeats go on while a request of the simulation is unfinished.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "models/engine/connectors/chunks/tier_port.hpp"
#include "models/engine/stores/mooncake_store.hpp"
#include "models/requests/active_request.hpp"
#include "models/requests/engine_stats.hpp"
#include "sim/observer.hpp"
#include "sim/shared_things.hpp"

namespace spillway {

class MooncakeMaster;

/// Whoever asks the store something, in its turn.
class StoreClient {
 public:
  virtual void take_turn(Handle h) = 0;

 protected:
  ~StoreClient() = default;
};

/// One for all masters of a simulation.
class MooncakeClock final : public SharedThing, public EventHandler {
 public:
  MooncakeClock(EventQueue& queue, std::uint32_t requests, const InstantOrder& order)
      : queue_(queue), order_(order), unfinished_(requests) {}

  void join(MooncakeMaster& master) { masters_.push_back(&master); }
  /// Something happens at `at`, which is not over.
  void arm(Time at);
  /// The request's turn comes at this instant, behind all that happens by the clock.
  void queue_turn(RequestId request, StoreClient& client, Handle h);
  void on_request_end() { --unfinished_; }
  bool serving() const { return unfinished_ > 0; }
  void on_event(EventPayload payload) override;

 private:
  enum : std::uint16_t { kTick, kTurn };
  struct Turn {
    RequestId request{};
    StoreClient* client = nullptr;
    Handle handle{};
  };
  void tick();
  void next_turn();

  EventQueue& queue_;
  InstantOrder order_;
  std::uint32_t unfinished_;
  std::vector<MooncakeMaster*> masters_;
  bool armed_ = false;
  Time at_{};
  std::uint32_t epoch_ = 0;
  std::vector<Turn> turns_;  ///< of this instant: a heap, the first request in front
};

class MooncakeMaster final : public SharedThing, private PortListener {
 public:
  struct Place {
    EventQueue& queue;
    Network& network;
    Settlement& settlement;
    Observer& observer;  ///< told what the tiers hold
    MooncakeClock& clock;
    std::uint32_t tier = 1;  ///< the memory, as observers know it; the SSD follows
  };
  /// `ssd`: the way there; null: none.
  MooncakeMaster(const MooncakeConfig& config, const MooncakeStore::Size& size, const Place& place,
                 const PortConfig* ssd);

  MooncakeStore& store() { return store_; }
  const MooncakeStore& store() const { return store_; }
  /// Clients have done something: what follows from it is seen to, and observers are told.
  /// `before_clock`: ahead of the clock's turn at this instant, so a check of this instant sees it.
  void changed(bool before_clock = false);
  /// What is due at this instant; `serving`: some request is unfinished.
  void tick(bool serving);
  /// When something is due next, behind the last request what ends by itself; Time::max(): never.
  Time next();
  /// What the store itself did, into what its clients say of memory and SSD.
  void report(std::span<ChunkTierStats> tiers) const;

 private:
  void on_port_done(StorageOp op, std::uint32_t job) override;
  void look(bool before_clock);
  void beat();
  void end_write();
  void start_write();
  void tell(std::uint32_t place, std::uint32_t held);

  EventQueue& queue_;
  Observer& observer_;
  MooncakeClock& clock_;
  std::uint32_t tier_;
  MooncakeStore store_;
  std::unique_ptr<TierPort> port_;  ///< where there is an SSD
  std::vector<MooncakeStore::Bucket> writing_;
  std::size_t written_ = 0;
  bool write_ended_ = false;
  Time heartbeat_ = Time::max();  ///< the next
  Time check_ = Time::max();
  std::uint32_t told_[2] = {};
};

}  // namespace spillway

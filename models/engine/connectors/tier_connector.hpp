// What connectors that keep blocks in an BlockStore have in common: how much of a request may be
// stored, its admission's counts, and what becomes of transfers that have ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/active_request.hpp"
#include "models/engine/chain_map.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/engine_config.hpp"
#include "models/engine/stores/block_store.hpp"
#include "models/engine/stores/kv_pool.hpp"

namespace spillway {

class TierConnector : public KvConnector {
 public:
  struct Environment {
    const EngineConfig& config;
    const ChainMap& chains;
    RequestPool& requests;
    KvPool& pool;
    TransferWaiter& waiter;
  };

  std::uint64_t version() const override { return tier_->version(); }
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  bool poll(Time now) override;
  void on_withdrawn(const ActiveRequest& r, Time) override { forget(r.id); }
  bool wants_step() const override { return jobs_.any_deferred() || !unoffered_.empty(); }
  void tell_clocks(std::uint32_t job, LoadEvent event, Time now) override {
    env_.requests[jobs_[job].request].clock.on_load(event, now);
  }
  EvictionPolicy* policy() override { return &tier_->policy(); }
  const OffloadCounters& counters() const override { return counters_; }
  void check_drained() const override { tier_->check_drained(); }

 protected:
  TierConnector(const Environment& environment, std::unique_ptr<BlockStore> tier)
      : KvConnector(environment.config, environment.waiter),
        env_(environment),
        tier_(std::move(tier)) {}

  /// What of the request may go below, in tokens.
  std::uint32_t storable_tokens(const ActiveRequest& r) const {
    return std::min(env_.config.offload_prompt_only ? r.prompt : r.tokens(), r.store_limit);
  }
  /// The request is about to be let go.
  virtual void forget(RequestId /*request*/) {}
  virtual void complete_store(std::uint32_t job, Time now) = 0;
  /// A finished request is let go once its last blocks were offered and its transfers ended.
  void recycle_if_gone(Handle h);

  Environment env_;
  std::unique_ptr<BlockStore> tier_;
  OffloadCounters counters_;
  std::vector<Handle> unoffered_;  ///< finished, not offered yet, in order

 private:
  void complete_load(std::uint32_t job, Time now);
};

}  // namespace spillway

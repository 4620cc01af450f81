// AIBrix's KV cache on vLLM, the scheduler's side: which pieces of prompts a step computes, and
// what its tiers hold (vllm-project/aibrix, python/aibrix_kvcache/: integration/vllm/patches/
// vllm_v0.10.2-aibrix-kvcache.patch, connector type 1; aibrix_kvcache/cache_manager.py).
//
// The connector promises the scheduler nothing: every schedule is that of vLLM without one. The
// worker looks up, loads and stores within the step (aibrix_step.hpp).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/engine/connectors/aibrix/aibrix_l2.hpp"
#include "models/engine/connectors/chunks/by_handle.hpp"
#include "models/engine/connectors/chunks/chunk_levels.hpp"
#include "models/engine/connectors/kv_connector.hpp"

namespace spillway {

/// The piece of a prompt that a step computes.
struct AibrixItem {
  Handle request{};
  std::uint64_t order = 0;     ///< of first schedules
  std::uint32_t place = 0;     ///< in the plan
  std::uint32_t computed = 0;  ///< C
  std::uint32_t tokens = 0;    ///< n
  std::uint32_t prompt = 0;    ///< q, of these in the prompt
  std::uint32_t brought = 0;   ///< R: behind the first C, tokens that the load brought
};

class AibrixConnector final : public UnaskedConnector, private L1Watch {
 public:
  /// `config` outlives it.
  AibrixConnector(const Environment& environment, const ChunkedConfig& config,
                  const AibrixL2::Place& place);

  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time) override { orders_[r.handle] = 0; }
  bool repeats_after_end() const override { return false; }
  std::uint32_t tiers() const override { return static_cast<std::uint32_t>(config_.tiers.size()); }
  TierLevel level(std::uint32_t tier) const override;
  void report(EngineStats& stats) const override;
  void check_drained() const override { l1_.check_drained(); }

  // ---- for the worker's side

  /// Of the step, in the order in which the worker goes through them.
  std::vector<AibrixItem>& items() { return items_; }
  /// Names of the request's blocks [first, last).
  void name(Handle h, std::uint32_t first, std::uint32_t last, std::vector<ChunkId>& out) const;
  ActiveRequest& request(Handle h) { return env_.requests[h]; }
  const OffloadConfig& config() const { return env_.config; }
  L1Cache& l1() { return l1_; }
  AibrixL2* l2() { return l2_ ? &*l2_ : nullptr; }
  void count_lookup(std::size_t tier, bool resumed, std::uint64_t asked, std::uint64_t found) {
    stats_[tier].count_lookup(resumed, asked, found);
  }
  void count_late(std::uint64_t blocks) { stats_[1].lost += blocks; }
  void count_refused(std::uint64_t blocks) { stats_[0].refused += blocks; }

 private:
  void on_block(Ingestion what, ChunkId id, L1Buffer buffer) override;

  Environment env_;
  const ChunkedConfig& config_;
  L1Cache l1_;
  std::optional<AibrixL2> l2_;
  std::uint64_t next_order_ = 0;
  ByHandle<std::uint64_t> orders_;  ///< of first schedules, from 1 on
  std::vector<AibrixItem> items_;
  std::array<ChunkTierStats, 2> stats_{};
  mutable ChunkLevels levels_;
};

}  // namespace spillway

// The pages of requests where a model has several KV cache groups: vLLM's KVCacheManager over a
// HybridKVCacheCoordinator (vllm/v1/core/kv_cache_manager.py, kv_cache_coordinator.py,
// single_type_kv_cache_manager.py @ 00b08dc445).
//
// A page is known by its block and its group: block x groups + group. Under that number the block
// pool, its policy and the residency table see it, and need to know no more. A request's list has
// a place for each group of each of its blocks, the groups of one block side by side; the null
// block stands where a sliding group has no page.
//
// A prefix counts as cached when every full group has all its pages and every sliding group those
// of the last window. What a sliding group no longer reads is freed before each allocation, up to
// what steps that have ended computed (#47728).
#pragma once

#include <cstdint>
#include <vector>

#include "models/chains/local_chains.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "models/releases/block_config.hpp"
#include "models/requests/active_request.hpp"

namespace spillway {

/// Stands where a request has no page: slot 0 is never handed out.
inline constexpr SlotId kNullSlot{0};

/// The most pages that a request of `tokens` tokens in all holds at once, over all groups.
std::uint64_t most_pages(const BlockConfig& config, std::uint64_t tokens);
/// The same, as vLLM counts when it starts and asks whether one request of `tokens` tokens fits.
std::uint64_t startup_pages(const BlockConfig& config, std::uint64_t tokens);

class GroupedBlocks {
 public:
  struct Environment {
    const BlockConfig& config;
    const LocalChains& chains;
    RequestPool& requests;
    KvPool& pool;
  };
  /// What a step is to hold of a waiting request.
  struct Admission {
    std::uint32_t known;      ///< tokens it starts from: resumed, hit or loaded
    std::uint32_t tokens;     ///< to compute behind these
    std::uint32_t external;   ///< blocks to load
    std::uint32_t watermark;  ///< blocks to leave free
    std::uint32_t reserved;   ///< for requests under way
    bool parks;               ///< it waits for its load: what it loads is not cached yet
    bool whole = true;        ///< only where all its known tokens fit
  };
  explicit GroupedBlocks(const Environment& environment);

  /// The longest cached prefix, into `hits`: places as in a request's list. Returns its blocks.
  std::uint32_t find_local(const ActiveRequest& r, std::vector<SlotId>& hits) const;
  /// False when it does not fit: nothing is given then.
  bool admit(ActiveRequest& r, const Admission& a, const std::vector<SlotId>& hits,
             const Access& access);
  bool grow(ActiveRequest& r, std::uint32_t tokens, const Access& access);
  void register_full(ActiveRequest& r, std::uint32_t tokens);
  /// One user less of the pages of a list.
  void release(const std::vector<SlotId>& places, const Access& access);
  /// Tokens of a request were scheduled, or their step has ended.
  void tokens_begin(RequestId request, std::uint32_t tokens);
  void tokens_end(RequestId request, std::uint32_t tokens) { in_flight_[raw(request)] -= tokens; }
  /// Free pages that the last admission asked for, the watermark included.
  std::uint32_t asked() const { return asked_; }
  static std::uint32_t pages_in(const std::vector<SlotId>& places);
  /// What a request under way still needs until its whole sequence is held.
  std::uint32_t outstanding(const ActiveRequest& r) const;

 private:
  std::uint32_t blocks_for(std::uint64_t tokens) const;
  std::uint32_t held(const ActiveRequest& r) const {
    return static_cast<std::uint32_t>(r.slots.size()) / count_;
  }
  bool sliding(std::uint32_t group) const { return group < groups_.sliding; }
  std::uint32_t pages_needed(std::uint32_t blocks, std::uint32_t full_held,
                             std::uint32_t sliding_held, bool bounded) const;
  std::uint32_t idle_hits(const std::vector<SlotId>& hits, std::uint32_t skipped) const;
  void share_hits(ActiveRequest& r, const std::vector<SlotId>& hits, std::uint32_t skipped);
  void take(ActiveRequest& r, std::uint32_t group, std::uint32_t from, std::uint32_t to,
            const Access& access);
  void free_skipped(ActiveRequest& r, const Access& access);
  void collect(const std::vector<SlotId>& places, std::uint32_t group, std::uint32_t from,
               std::uint32_t to);

  Environment env_;
  KvGroups groups_;
  std::uint32_t count_;
  std::uint32_t most_sliding_;  ///< pages of one request in one sliding group
  std::uint32_t asked_ = 0;
  std::vector<std::uint32_t> in_flight_;  ///< by request: tokens of steps that have not ended
  std::vector<SlotId> pages_;             ///< scratch
};

}  // namespace spillway

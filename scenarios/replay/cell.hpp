// A cell of a replay, one cache or one stack of tiers, and how many of them go through the same
// requests on several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/tiered_replay.hpp"
#include "scenarios/machine/parallel.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

class ReplayCell {
 public:
  /// Both throw InputError (exit 2) when a policy's parameters do not fit its capacity.
  ReplayCell(const EvictionChoice& policy, const ReplaySetup& setup)
      : policy_(policy.text()),
        capacity_(setup.capacity_blocks),
        replay_(std::in_place, std::in_place_type<CacheReplay>, policy, setup) {}
  ReplayCell(std::string policy, std::span<const ReplayTierSetup> tiers,
             const TieredReplaySetup& setup);

  void run(const RequestBatch& batch) {
    std::visit([&](auto& replay) { replay.run(batch); }, *replay_);
  }
  /// All requests have come: only the counts stay, and what follows may be asked for.
  void conclude();

  const ReplayCounts& counts() const { return counts_; }
  /// Empty where there is one cache.
  const std::vector<ReplayTierCounts>& tiers() const { return tiers_; }

  const std::string& policy() const { return policy_; }
  /// Of all tiers together.
  std::uint64_t capacity() const { return capacity_; }
  bool tiered() const { return tiered_; }

 private:
  std::string policy_;
  std::uint64_t capacity_;
  bool tiered_ = false;
  std::optional<std::variant<CacheReplay, TieredReplay>> replay_;
  ReplayCounts counts_;
  std::vector<ReplayTierCounts> tiers_;
};

/// Runs each cell over the same requests; cells with more blocks, which take longer, first.
class CellRun {
 public:
  explicit CellRun(std::vector<ReplayCell*> cells);

  /// With progress, told by several threads, in references times cells. Each is concluded as soon
  /// as it is through, so that memory holds no more of them than there are threads.
  void all(const RequestBatch& batch, unsigned threads, const ReadProgress& progress);
  std::size_t size() const { return cells_.size(); }
  ReplayCell& operator[](std::size_t i) { return *cells_[i]; }

 private:
  std::vector<ReplayCell*> cells_;
};

}  // namespace spillway

// What connectors that keep chunks tell of their tiers.
#pragma once

#include <vector>

#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/requests/engine_stats.hpp"

namespace spillway {

class ChunkLevels {
 public:
  /// `block`: bytes of an engine block, in which use is told. Of tiers that engines share, each
  /// tells what has come and gone since any of them told.
  TierLevel level(const ChunkTierConfig& tier, std::size_t place, ChunkTable& table, Bytes block) {
    if (!tier.shared) {
      const auto used = static_cast<std::uint32_t>(table.used() / block);
      return {table.stored(), table.evicted(), table.entries(), used};
    }
    if (flows_.size() <= place) flows_.resize(place + 1);
    ChunkTable::Flow& flow = flows_[place];
    const ChunkTable::Flow more = table.take_flow();
    flow.stored += more.stored;
    flow.evicted += more.evicted;
    const auto held = static_cast<std::uint32_t>(flow.stored - flow.evicted);
    const std::uint32_t each =
        table.entries() == 0
            ? 0
            : static_cast<std::uint32_t>(table.used() / block) / table.entries();
    return {flow.stored, flow.evicted, held, held * each};
  }
  /// What is known of the table alone.
  static void tell(const ChunkTierConfig& tier, const ChunkTable& table, std::uint32_t ranks,
                   ChunkTierStats& out) {
    if (!tier.first) return;
    out.stored = table.stored();
    out.evicted = table.evicted();
    out.held = table.entries();
    out.peak_bytes = table.peak().count() * std::int64_t{ranks};
  }

 private:
  std::vector<ChunkTable::Flow> flows_;
};

}  // namespace spillway

// The members of a replay's results, one row a policy and capacity, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/replay/bounds.hpp"
#include "sim/fields.hpp"

namespace spillway {

struct ReplayTierRow {
  std::string name;
  std::string policy;
  bool unbounded = false;
  std::uint64_t capacity_blocks = 0;
  std::uint64_t hits = 0;
  std::uint64_t evictions = 0;
  std::uint64_t blocks_in = 0;
  std::uint64_t blocks_out = 0;
  std::optional<std::uint64_t> bytes_in;  ///< where the bytes of a block are known
  std::optional<std::uint64_t> bytes_out;
};

/// Hits lost, by cause. Signed: where requests repeat a block or are no prefix chains, the optimum
/// is none.
struct ReplayGap {
  std::int64_t capacity = 0;
  std::int64_t policy = 0;
};

struct ReplayRow {
  std::string policy;
  bool unbounded = false;
  std::uint64_t capacity_blocks = 0;
  bool prefix = false;  ///< semantics of `hits`
  std::uint64_t references = 0;
  std::uint64_t hits = 0;
  std::uint64_t evictions = 0;
  std::uint64_t unique_blocks = 0;
  std::string engine_lacks;
  std::vector<ReplayTierRow> tiers;
  std::optional<ReplayBounds> bounds;
  std::optional<ReplayGap> gap;

  double hit_ratio() const {
    return references == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(references);
  }
};

template <>
struct Fields<ReplayTierRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the tier."));
    f("policy", r.policy, says("Its eviction policy."));
    f("capacity_blocks", or_inf(r.unbounded, r.capacity_blocks), says("Its capacity.", 1));
    f("hits", r.hits, says("Blocks found here and in no nearer tier, under the row's semantics."));
    f("evictions", r.evictions, says("Victims: dropped, or moved to the next tier."));
    f("blocks_in", r.blocks_in, says("Blocks stored, copied or moved to this tier."));
    f("blocks_out", r.blocks_out,
      says("Evictions, and in exclusive tiers also blocks that moved to a nearer tier."));
    f("bytes_in", r.bytes_in, says("Bytes of blocks_in; only with --kv-bytes-per-block."));
    f("bytes_out", r.bytes_out, says("Bytes of blocks_out; only with --kv-bytes-per-block."));
  }
};

template <>
struct Fields<ReplayBounds> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("content", r.content, says("Hits of an unbounded cache, block semantics."));
    f("content_prefix", r.content_prefix, says("Hits of an unbounded cache, prefix semantics."));
    f("strict_prefix_optimum", r.strict_prefix_optimum,
      says("Most leading hits of any cache of this capacity, where requests are prefix chains."));
    f("belady", r.belady,
      says(
          "Most block hits of any cache of this capacity; with --atomic reference, Belady's MIN."));
    f("lru", r.lru, says("Hits of an LRU cache, under the row's semantics and touch order."));
  }
};

template <>
struct Fields<ReplayGap> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("capacity", r.capacity, signed_figure("Content bound less optimum: lost to size."));
    f("policy", r.policy,
      signed_figure(
          "Optimum less hits; below 0 only where requests repeat blocks or are no prefix chains."));
  }
};

template <>
struct Fields<ReplayRow> {
  static constexpr std::string_view kName = "replay";
  static constexpr std::string_view kHelp = "Hits of one policy at one capacity.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("policy", r.policy, says("Policy as given: its name and the parameters that were set."));
    f("capacity_blocks", or_inf(r.unbounded, r.capacity_blocks),
      says("Capacity of all tiers together."));
    f("semantics", either(r.prefix, "prefix", "block"),
      says("block: each resident block is a hit; prefix: only the leading run."));
    f("references", r.references, says("Blocks that all requests name together."));
    f("hits", r.hits, says("Hits of all tiers together, under the row's semantics."));
    f("hit_ratio", derived(r.hit_ratio()), says("Share of the references that hit.", 0, 1));
    f("evictions", r.evictions, says("Evictions of all tiers together."));
    f("unique_blocks", r.unique_blocks, says("Distinct blocks of the trace."));
    f("engine_lacks", r.engine_lacks, if_any("The policy, where no known engine has it."));
    f("tiers", r.tiers, if_any("With --tiers: each tier, nearest first."));
    f("bounds", r.bounds,
      if_any("Most hits at this capacity, by kind of cache; left out for long traces."));
    f("gap", r.gap, if_any("Hits lost by cause; with the hits they add up to the content bound."));
  }
};

}  // namespace spillway

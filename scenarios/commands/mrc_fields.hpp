// The results of `spillway mrc`, and their members by name.
#pragma once

#include <optional>
#include <vector>

#include "sim/fields.hpp"

namespace spillway {

struct MrcPoint {
  std::uint64_t capacity_blocks = 0;
  std::uint64_t hits = 0;
  double hit_ratio = 0;
  std::optional<double> error;  ///< of a sampled curve
};

/// What a sampled curve was made from.
struct MrcSample {
  double rate = 0;
  std::uint64_t blocks = 0;
  std::uint64_t references = 0;
  std::uint64_t held_blocks = 0;
  double error = 0;
};

struct MrcResults {
  bool prefix = false;
  std::uint64_t references = 0;
  std::uint64_t unique_blocks = 0;
  std::uint64_t infinite_hits = 0;
  double infinite_hit_ratio = 0;
  std::uint64_t changes = 0;
  std::vector<MrcPoint> curve;
  std::optional<MrcPoint> knee;
  std::optional<MrcSample> sampled;
};

template <>
struct Fields<MrcPoint> {
  static constexpr std::string_view kName = "mrc_point";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("capacity_blocks", r.capacity_blocks, says("Capacity of the cache.", 1));
    f("hits", r.hits, says("References that hit."));
    f("hit_ratio", r.hit_ratio, says("Share of the references that hit.", 0, 1));
    f("error", r.error,
      says("Two standard errors of a sampled hit ratio; 1 where the sample is too small.", 0, 1));
  }
};

template <>
struct Fields<MrcSample> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("rate", r.rate, says("Share of the blocks that was asked for.", 0.001, 1));
    f("blocks", r.blocks, says("Sampled blocks."));
    f("references", r.references, says("References to sampled and held blocks."));
    f("held_blocks", r.held_blocks,
      says("Blocks with many references; all of these count once the block is known."));
    f("error", r.error,
      says("Largest error at capacities from 1 / rate on; 1 where the sample is too small.", 0, 1));
  }
};

template <>
struct Fields<MrcResults> {
  static constexpr std::string_view kName = "mrc";
  static constexpr std::string_view kHelp = "Hits of an LRU cache by capacity.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("semantics", either(r.prefix, "prefix", "block"),
      says("block: each resident block is a hit; prefix: only the leading run."));
    f("references", r.references, says("Blocks that all requests name together."));
    f("unique_blocks", r.unique_blocks, says("Distinct blocks; an estimate of a sample."));
    f("infinite_hits", r.infinite_hits, says("Hits of an unbounded cache."));
    f("infinite_hit_ratio", r.infinite_hit_ratio, says("Hit ratio of an unbounded cache.", 0, 1));
    f("changes", r.changes, says("Capacities at which the hits change."));
    f("curve", r.curve,
      says("Hits by capacity: about --points changes, --at, and 1, 2, 5, 10, ... between."));
    f("knee", r.knee, if_any("The change farthest above the straight line to the last change."));
    f("sampled", r.sampled, if_any("With --sample: the sample, and how far it may be wrong."));
  }
};

}  // namespace spillway

// Hits of an LRU cache at every capacity, from a sample of the blocks.
//
// SHARDS (Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS", FAST
// 2015): a block is sampled or not by a hash of its name, so all of its references are in the
// sample or none is. A stack distance among the sampled blocks is about the rate times the real
// one, and each sampled reference stands for 1 / rate of them. Memory grows with the sample.
//
// Few blocks may make up much of a trace: a system prompt's first block, in every request. Whether
// the sample has such a block decides by how much its curve is wrong, at any rate that is worth
// using. Such blocks are found by their references ("sample and hold": Estan and Varghese, SIGCOMM
// 2002): one reference in 32 is drawn, and a block drawn twice is *held*. From then on all
// of its references count, each as one, at the distances that some of them have among the sampled
// blocks. What is drawn does not depend on what is sampled, so neither part is biased by the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/ids.hpp"
#include "sim/replay_order.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

/// From a capacity on.
struct CurveError {
  std::uint64_t capacity_blocks = 0;
  double error = 0;  ///< two standard errors of the hit ratio
};

struct SampledCurve {
  std::uint64_t references = 0;          ///< of the whole trace
  std::uint64_t sampled_references = 0;  ///< of sampled and of held blocks
  std::uint64_t sampled_blocks = 0;
  std::uint64_t held_blocks = 0;    ///< these count in full
  double unique_blocks = 0;         ///< estimated
  std::vector<CurvePoint> changes;  ///< estimated hits; none below the first
  /// By capacity, from 1 on, without gaps; empty where the sample is too small to tell. Measured:
  /// which blocks were sampled, as groups of them differ that are estimates of their own; and how
  /// far the distances are off by the same chance, at worst.
  std::vector<CurveError> errors;
  /// The largest of them from a capacity of 1 / rate on, smaller ones being told apart by chance
  /// only; 1 where the sample is too small to tell. Most capacities' errors are much smaller.
  double error = 1;
  /// Sampled blocks that stood behind another block than the first time: their chains share ids
  /// without sharing what is before them.
  std::uint64_t inconsistent_blocks = 0;
};

class SampledCounter {
 public:
  /// `rate` in (0, 1]. Equal seeds sample equal blocks.
  SampledCounter(double rate, std::uint64_t seed, TouchOrder order, Atomicity atomicity);
  ~SampledCounter();
  SampledCounter(SampledCounter&&) noexcept;
  SampledCounter& operator=(SampledCounter&&) noexcept;

  /// The next request, by what the trace calls its blocks.
  void add(std::span<const std::uint64_t> names);
  /// By ids, which stand for names; or for the names at their place in `names`, where it has any.
  void add(std::span<const TraceBlockId> chain, std::span<const std::uint64_t> names);
  SampledCurve curve() &&;

 private:
  class Counting;
  std::unique_ptr<Counting> counting_;
};

}  // namespace spillway

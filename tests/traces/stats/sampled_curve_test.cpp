// The sampled curve against the exact one: all blocks, some of them, and hot blocks.
#include "traces/stats/sampled_curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

SampledCurve sampled(const Workload& workload, double rate, std::uint64_t seed,
                     TouchOrder order = TouchOrder::kReverse,
                     Atomicity atomicity = Atomicity::kRequest) {
  SampledCounter counter(rate, seed, order, atomicity);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    counter.add(workload.chain(RequestId{i}), {});
  }
  return std::move(counter).curve();
}

std::uint64_t hits_at(const SampledCurve& curve, std::uint64_t capacity) {
  std::uint64_t hits = 0;
  for (const CurvePoint& point : curve.changes) {
    if (point.capacity_blocks <= capacity) hits = point.hits;
  }
  return hits;
}

/// Many chains of 1 to 8 blocks behind a root of each of `roots` tenants, used with some skew.
Workload chats(std::uint64_t seed, int requests, std::uint64_t roots) {
  Stream random(seed, "sampled-curve-chats");
  std::vector<Row> rows;
  for (int i = 0; i < requests; ++i) {
    // The lesser of two draws: the first chains are used more.
    const std::uint64_t chat = std::min(random.below(4000), random.below(4000));
    std::vector<std::uint64_t> chain = {chat % roots};
    for (std::uint64_t k = 0; k < 1 + chat % 8; ++k) chain.push_back(1000 + 10 * chat + k);
    rows.push_back({i, 10'000, 1, chain});
  }
  return workload_of(rows, 16);
}

TEST_CASE("a sample of all blocks is the exact curve", "[traces]") {
  const Workload workload = chats(1, 3000, 5);
  for (const auto& [order, atomicity] : {std::pair{TouchOrder::kReverse, Atomicity::kRequest},
                                         std::pair{TouchOrder::kForward, Atomicity::kRequest},
                                         std::pair{TouchOrder::kForward, Atomicity::kReference}}) {
    const ReuseCurve exact = reuse_curve(workload, order, atomicity);
    const SampledCurve all = sampled(workload, 1, 7, order, atomicity);
    CHECK(all.references == exact.references);
    CHECK(all.sampled_references == exact.references);
    CHECK(all.sampled_blocks == exact.unique_blocks);
    for (std::uint64_t c = 1; c <= exact.unique_blocks; c += 7) {
      REQUIRE(hits_at(all, c) == exact.block.hits(c));
    }
  }
}

TEST_CASE("a sample's error is about what it says", "[traces]") {
  // Roots in a tenth of the references, and few of them: whether the sample has them must not
  // matter much. An error is two standard errors, which one sample in twenty exceeds at a
  // given capacity.
  const Workload workload = chats(2, 30'000, 3);
  const ReuseCurve exact = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  const auto references = static_cast<double>(exact.references);
  int beyond = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SampledCurve sample = sampled(workload, 0.1, seed);
    CHECK(sample.held_blocks >= 3);
    bool within = true;
    for (std::size_t i = 0; i < sample.errors.size(); ++i) {
      const auto& [capacity, error] = sample.errors[i];
      if (capacity < 10) continue;
      CHECK(error <= sample.error);
      if (capacity >= 1000) CHECK(error < 0.06);
      const double difference = static_cast<double>(hits_at(sample, capacity)) -
                                static_cast<double>(exact.block.hits(capacity));
      within = within && std::fabs(difference) / references <= error + 0.005;
    }
    beyond += within ? 0 : 1;
  }
  CHECK(beyond <= 4);
}

TEST_CASE("a sample of few blocks does not say how wrong it is", "[traces]") {
  const Workload workload = workload_of({{0, 48, 1, {1, 2, 3}}, {1, 32, 1, {1, 2}}}, 16);
  CHECK(sampled(workload, 0.5, 1).error == 1);
  CHECK(sampled(workload, 1, 1).error == 1);
}

TEST_CASE("blocks behind differing blocks are counted", "[traces]") {
  const Workload workload =
      workload_of({{0, 48, 1, {1, 2, 3}}, {1, 48, 1, {4, 2, 3}}, {2, 48, 1, {3, 2, 3}}}, 16);
  // 2 stands behind 1, 4 and 3; 3 behind 2, and once in front.
  CHECK(sampled(workload, 1, 1).inconsistent_blocks == 2);
  CHECK(sampled(chats(3, 500, 2), 1, 1).inconsistent_blocks == 0);
}

TEST_CASE("a sample keeps blocks that were drawn often, and not all of a long trace", "[traces]") {
  const Workload workload = chats(4, 30'000, 1);
  const SampledCurve sample = sampled(workload, 0.01, 5);
  CHECK(sample.held_blocks >= 1);  // the root: 30,000 references, of which 900 are drawn
  CHECK(sample.sampled_blocks + sample.held_blocks < 3000);
}

}  // namespace
}  // namespace spillway::test

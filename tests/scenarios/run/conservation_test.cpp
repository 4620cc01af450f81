// The observer that fails a run: each planted fault is caught, and nothing else is.
#include "scenarios/run/conservation.hpp"

#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// Two requests, ten HBM blocks, four blocks below.
Conservation fresh() {
  return Conservation(2, {10, 4});
}

RequestRecord completed(std::uint32_t id) {
  RequestRecord r;
  r.request = RequestId{id};
  r.due = time_at(10);
  r.arrival = time_at(10);
  r.scheduled = time_at(20);
  r.first_token = time_at(30);
  r.finish = time_at(40);
  r.input_tokens = 100;
  r.output_tokens = 2;
  r.cached_tokens[0] = 60;
  r.cached_tokens[1] = 40;
  return r;
}

StepRecord step(std::int64_t start, std::int64_t end, std::uint32_t tokens = 5,
                std::uint32_t recomputed = 0) {
  return {time_at(start), time_at(end), Duration(0), tokens, recomputed, 1, 0};
}

/// stored, evicted, resident, used
TierChange change(std::uint32_t tier, std::uint32_t stored, std::uint32_t evicted,
                  std::uint32_t resident, std::uint32_t used) {
  return {time_at(1), tier, stored, evicted, resident, used};
}

template <class Action>
void caught(Action action, const std::string& says) {
  Conservation observer = fresh();
  try {
    action(observer);
  } catch (const InternalError& error) {
    CHECK_THAT(error.what(), ContainsSubstring(says));
    return;
  }
  FAIL("not caught: " << says);
}

TEST_CASE("a run in which everything adds up passes", "[scenarios]") {
  Conservation observer = fresh();
  observer.on_step(step(0, 10));
  observer.on_step(step(10, 20, 5, 5));
  observer.on_tier_change(change(0, 10, 0, 10, 10));
  observer.on_tier_change(change(0, 2, 4, 8, 0));
  observer.on_tier_change(change(1, 4, 0, 4, 4));
  observer.on_transfer({0, Bytes(1), 1, time_at(1), time_at(1), time_at(2)});
  observer.on_request(completed(1));
  observer.on_request(completed(0));
  CHECK_NOTHROW(observer.on_end(0));
  CHECK(observer.ended_requests() == 2);
}

TEST_CASE("a tier that holds other than what went in and out", "[scenarios]") {
  caught([](Conservation& o) { o.on_tier_change(change(0, 3, 0, 4, 0)); }, "3 blocks in, 0 out");
  caught([](Conservation& o) { o.on_tier_change(change(1, 3, 0, 2, 2)); }, "3 blocks in, 0 out");
  caught([](Conservation& o) { o.on_tier_change(change(0, 0, 1, 0, 0)); }, "0 blocks in, 1 out");
  caught(
      [](Conservation& o) {
        o.on_tier_change(change(1, 2, 0, 2, 2));
        o.on_tier_change(change(1, 1, 3, 1, 1));
      },
      "3 blocks in, 3 out, 1 held");
}

TEST_CASE("a tier beyond its capacity", "[scenarios]") {
  caught([](Conservation& o) { o.on_tier_change(change(0, 11, 0, 11, 0)); },
         "tier 0 holds 11 blocks, capacity 10");
  caught([](Conservation& o) { o.on_tier_change(change(1, 5, 0, 5, 5)); },
         "tier 1 holds 5 blocks, capacity 4");
  caught([](Conservation& o) { o.on_tier_change(change(0, 0, 0, 0, 11)); }, "capacity 10");
}

TEST_CASE("a block that running requests need and nobody has", "[scenarios]") {
  // Six of HBM's blocks are in use, and four lie below.
  const auto told = [](std::uint64_t blocks, std::uint64_t in_hbm, std::uint64_t below_only) {
    return [=](Conservation& o) {
      o.on_tier_change(change(0, 8, 0, 8, 6));
      o.on_tier_change(change(1, 4, 0, 4, 4));
      o.on_needed_blocks({time_at(1), blocks, in_hbm, below_only});
    };
  };
  Conservation observer = fresh();
  CHECK_NOTHROW(told(10, 6, 4)(observer));
  caught(told(10, 6, 3), "need 10 blocks; 6 are in HBM, 3 only below");
  caught(told(9, 6, 4), "need 9 blocks; 6 are in HBM, 4 only below");
  caught(told(9, 5, 4), "5 needed blocks in HBM, 6 of its blocks in use");
  caught(told(11, 6, 5), "5 needed blocks below, which holds 4");
}

TEST_CASE("a tier that does not exist", "[scenarios]") {
  caught([](Conservation& o) { o.on_tier_change(change(2, 0, 0, 0, 0)); }, "no tier 2");
}

TEST_CASE("a request that ends twice, or was never sent", "[scenarios]") {
  caught(
      [](Conservation& o) {
        o.on_request(completed(1));
        o.on_request(completed(1));
      },
      "request 1 ended twice");
  caught([](Conservation& o) { o.on_request(completed(2)); }, "request 2 was never sent");
}

TEST_CASE("a request that never ends", "[scenarios]") {
  caught(
      [](Conservation& o) {
        o.on_request(completed(0));
        o.on_end(0);
      },
      "2 requests went in, 1 came out");
}

TEST_CASE("blocks still in use after the last request", "[scenarios]") {
  const auto leaves_pins = [](Conservation& o, std::uint32_t stuck) {
    o.on_request(completed(0));
    o.on_request(completed(1));
    o.on_tier_change(change(0, 3, 0, 3, 2));
    o.on_end(stuck);
  };
  caught([&](Conservation& o) { leaves_pins(o, 0); }, "2 HBM blocks in use after the last request");
  Conservation deadlocked = fresh();
  CHECK_NOTHROW(leaves_pins(deadlocked, 1));  // stuck requests keep theirs
}

TEST_CASE("effects before their causes", "[scenarios]") {
  const auto with = [](Time RequestRecord::*member, std::int64_t ns) {
    return [=](Conservation& o) {
      RequestRecord r = completed(0);
      r.*member = time_at(ns);
      o.on_request(r);
    };
  };
  caught(with(&RequestRecord::arrival, 21), "request 0: effect before cause");
  caught(with(&RequestRecord::scheduled, 31), "request 0: effect before cause");
  caught(with(&RequestRecord::first_token, 41), "request 0: effect before cause");
  caught(with(&RequestRecord::finish, 29), "request 0: effect before cause");
}

TEST_CASE("a request that never started needs no order of times", "[scenarios]") {
  Conservation observer = fresh();
  RequestRecord r;
  r.arrival = time_at(5);
  r.status = RequestStatus::kRejected;
  CHECK_NOTHROW(observer.on_request(r));
}

TEST_CASE("more tokens cached than the prompt has", "[scenarios]") {
  caught(
      [](Conservation& o) {
        RequestRecord r = completed(0);
        r.cached_tokens[0] = 61;  // + 40 below = 101 of 100
        o.on_request(r);
      },
      "request 0: 101 of 100 prompt tokens cached");
}

TEST_CASE("steps that overlap, are empty or repeat more than they compute", "[scenarios]") {
  caught(
      [](Conservation& o) {
        o.on_step(step(0, 10));
        o.on_step(step(9, 20));
      },
      "steps overlap");
  caught([](Conservation& o) { o.on_step(step(10, 9)); }, "steps overlap");
  caught([](Conservation& o) { o.on_step(step(0, 1, 0)); }, "a step of 0 tokens");
  caught([](Conservation& o) { o.on_step(step(0, 1, 5, 6)); }, "a step of 5 tokens, 6 of them");
}

TEST_CASE("transfers that take no time or run backwards", "[scenarios]") {
  const auto transfer = [](std::int64_t submitted, std::int64_t started, std::int64_t ended) {
    return [=](Conservation& o) {
      o.on_transfer({0, Bytes(1), 1, time_at(submitted), time_at(started), time_at(ended)});
    };
  };
  caught(transfer(2, 1, 3), "a transfer ended before it started");
  caught(transfer(1, 2, 2), "a transfer ended before it started");
}

/// Tells the run's own observers' order: whatever it sees, the conservation check saw before.
struct Liar final : Observer {
  void on_step(const StepRecord&) override { KV_ASSERT(false, "planted"); }
};

TEST_CASE("a broken invariant inside a run tells time, event and seed", "[scenarios]") {
  Liar liar;
  SimulationOptions options;
  options.observers.push_back(&liar);
  const Workload workload = repeating(1, 1, 0, 1);
  try {
    simulate(reference_with({"seed=77"}), workload, options);
    FAIL("the planted fault passed");
  } catch (const InternalError& error) {
    // One step of 512 tokens: 2 ms + 20 us x 512 + 5 ns x 512 = 12,242,560 ns.
    CHECK_THAT(error.what(), ContainsSubstring("planted"));
    CHECK_THAT(error.what(), ContainsSubstring("at simulated time 0.012242560 s, event "));
    CHECK_THAT(error.what(), ContainsSubstring("seed 77"));
  }
}

/// Counts what a run tells, to compare with what its conservation check needs.
struct Witness final : Observer {
  std::uint64_t requests = 0;
  std::uint32_t hbm_in_use = 0;
  void on_request(const RequestRecord&) override { ++requests; }
  void on_tier_change(const TierChange& c) override {
    if (c.tier == 0) hbm_in_use = c.used;
  }
};

TEST_CASE("a run tells every request's end and the release of all HBM", "[scenarios]") {
  Witness witness;
  SimulationOptions options;
  options.observers.push_back(&witness);
  simulate(reference_with({"engine.num_gpu_blocks=101"}), repeating(50, 7, 5, 20), options);
  CHECK(witness.requests == 50);
  CHECK(witness.hbm_in_use == 0);
}

}  // namespace
}  // namespace spillway::test

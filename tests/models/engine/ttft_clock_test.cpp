// Where the time to a first token goes: by hand on the clock alone, then in engines whose steps and
// loads have known lengths.
#include "models/requests/ttft_clock.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

/// Nanoseconds, by TtftStage, of the engine's own stages: the clock knows no front end.
std::vector<std::int64_t> ns_of(const TtftParts& parts) {
  std::vector<std::int64_t> out;
  for (const Duration part : parts) out.push_back(part.count());
  CHECK(out.back() == 0);
  out.pop_back();
  return out;
}
using Parts = std::vector<std::int64_t>;

TEST_CASE("each stage lasts until the next one begins", "[models]") {
  TtftClock clock;
  std::vector<StageMark> marks;
  clock.start(time_at(100), &marks);
  clock.on_load(LoadEvent::kSubmitted, time_at(110));  // 10 in the queue
  clock.on_load(LoadEvent::kServed, time_at(115));     // 5 for the link
  clock.on_load(LoadEvent::kPaused, time_at(120));     // 5 on its first hop
  clock.on_load(LoadEvent::kServed, time_at(130));     // 10 between hops
  clock.on_load(LoadEvent::kPaused, time_at(140));     // 10 on its second
  clock.on_load(LoadEvent::kEnded, time_at(140));
  clock.begin_step(time_at(150), false);  // 10 until a step boundary
  clock.end_step(time_at(170));           // 20 computing
  clock.stop(time_at(170));
  clock.begin_step(time_at(180), false);  // decodes do not count
  clock.end_step(time_at(190));
  CHECK(ns_of(clock.parts()) == Parts{20, 15, 15, 0, 20});

  const std::vector<std::pair<TtftStage, std::int64_t>> expected = {
      {TtftStage::kQueue, 100},    {TtftStage::kLoadWait, 110}, {TtftStage::kLoad, 115},
      {TtftStage::kLoadWait, 120}, {TtftStage::kLoad, 130},     {TtftStage::kQueue, 140},
      {TtftStage::kStep, 150}};
  REQUIRE(marks.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(i);
    CHECK(marks[i].stage == expected[i].first);
    CHECK(nanoseconds_of(marks[i].since) == expected[i].second);
  }
}

TEST_CASE("after a preemption all is recompute until it is where it was", "[models]") {
  TtftClock clock;
  clock.start(time_at(0));
  clock.begin_step(time_at(0), false);
  clock.end_step(time_at(10));  // 10 computing
  clock.preempt(time_at(12));   // 2 in the queue
  clock.on_load(LoadEvent::kSubmitted, time_at(14));
  clock.on_load(LoadEvent::kServed, time_at(14));
  clock.on_load(LoadEvent::kPaused, time_at(18));
  clock.on_load(LoadEvent::kEnded, time_at(18));
  clock.begin_step(time_at(20), true);
  clock.end_step(time_at(30));  // 18 since the preemption, its load among them
  clock.catch_up();
  clock.begin_step(time_at(33), false);  // 3 that began behind
  clock.end_step(time_at(45));           // 12 computing
  clock.stop(time_at(45));
  CHECK(ns_of(clock.parts()) == Parts{2, 0, 0, 21, 22});
}

TEST_CASE("a step in flight when its request is preempted remains a step", "[models]") {
  TtftClock clock;
  clock.start(time_at(0));
  clock.begin_step(time_at(0), false);
  clock.preempt(time_at(4));
  clock.end_step(time_at(10));
  clock.stop(time_at(15));
  CHECK(ns_of(clock.parts()) == Parts{0, 0, 0, 5, 10});
}

TEST_CASE("a step that waits for its own load is a load until then", "[models]") {
  TtftClock clock;
  clock.start(time_at(0));
  clock.begin_step(time_at(1), false);
  clock.on_load(LoadEvent::kSubmitted, time_at(2));
  clock.on_load(LoadEvent::kServed, time_at(3));
  clock.on_load(LoadEvent::kPaused, time_at(7));
  clock.on_load(LoadEvent::kEnded, time_at(7));
  clock.end_step(time_at(20));
  clock.stop(time_at(20));
  CHECK(ns_of(clock.parts()) == Parts{1, 1, 4, 0, 14});
}

TEST_CASE("a promotion that nobody waits for any longer is not a load", "[models]") {
  TtftClock clock;
  clock.start(time_at(0));
  clock.on_promotion(LoadEvent::kSubmitted, time_at(0));
  clock.on_promotion(LoadEvent::kServed, time_at(5));  // 5 for the device
  clock.begin_step(time_at(8), false);                 // 3 reading, then it computes after all
  clock.on_promotion(LoadEvent::kPaused, time_at(9));
  clock.on_promotion(LoadEvent::kEnded, time_at(9));
  clock.end_step(time_at(12));
  clock.stop(time_at(12));
  CHECK(ns_of(clock.parts()) == Parts{0, 5, 3, 0, 4});
}

// ---- engines

// As in load_wait_test.cpp: prompts of 128 tokens are stored below and pushed out of HBM; at 400 ms
// they come again, and 16 MiB each are loaded at 10 us + bytes / 25 GB/s = 681,089 ns.
constexpr std::int64_t kLoad = 10'000 + (8 * 2'097'152 + 24) / 25;
constexpr std::int64_t kStep = step_ns(1, 128);

EngineRun repeat(LoadSemantics load, const std::vector<Row>& last) {
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.config.load = load;
  setup.config.layers = 4;
  setup.dram_blocks = 100;
  std::vector<Row> rows = {{0, 128, 1, {1, 2}},
                           {100, 128, 1, {3, 4}},
                           {200, 256, 1, {5, 6, 7, 8}},
                           {300, 256, 1, {9, 10, 11, 12}},
                           {350, 64, 1, {13}}};
  rows.insert(rows.end(), last.begin(), last.end());
  return run_engine(workload_of(rows, 64), setup);
}

TEST_CASE("alone, a request that loads spends its load and its step", "[models]") {
  for (const LoadSemantics load :
       {LoadSemantics::kAsync, LoadSemantics::kBlocking, LoadSemantics::kBarrier}) {
    INFO(name_of(load));
    const EngineRun run = repeat(load, {{400, 128, 1, {1, 2}}});
    CHECK(ns_of(run.journal.requests[5].ttft) == Parts{0, 0, kLoad, 0, kStep});
  }
}

TEST_CASE("loads in layers are part of the step that they lengthen", "[models]") {
  const EngineRun run = repeat(LoadSemantics::kLayerwise, {{400, 128, 1, {1, 2}}});
  const RequestRecord& r = run.journal.requests[5];
  CHECK(ns_of(r.ttft) == Parts{0, 0, 0, 0, (r.first_token - r.arrival).count()});
}

TEST_CASE("a load behind another waits for the link, then for a step boundary", "[models]") {
  const EngineRun run =
      repeat(LoadSemantics::kAsync, {{400, 128, 1, {1, 2}}, {400, 128, 1, {3, 4}}});
  CHECK(ns_of(run.journal.requests[5].ttft) == Parts{0, 0, kLoad, 0, kStep});
  // Its load runs from kLoad to 2 kLoad, beside the other's step, whose end it has to await.
  CHECK(ns_of(run.journal.requests[6].ttft) == Parts{kStep - kLoad, kLoad, kLoad, 0, kStep});
}

TEST_CASE("only who was preempted computes again", "[models]") {
  // 20 blocks, 8 tokens a step: request 0 holds 5 and grows, request 1 is to fill the other 15, and
  // lacks the last one before its prompt is computed.
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.config.max_num_batched_tokens = 8;
  const EngineRun run =
      run_engine(workload_of({{0, 64, 60, {1}}, {1, 240, 1, {2, 3, 4, 5}}}, 64), setup);
  const auto& records = run.journal.requests;
  REQUIRE(records[1].preemptions > 0);
  CHECK(records[0].preemptions == 0);
  CHECK(records[0].ttft[static_cast<std::size_t>(TtftStage::kRecompute)] == Duration(0));
  CHECK(records[1].ttft[static_cast<std::size_t>(TtftStage::kRecompute)] > Duration(0));
  CHECK(records[1].ttft[static_cast<std::size_t>(TtftStage::kStep)] > Duration(0));
}

}  // namespace
}  // namespace spillway::test

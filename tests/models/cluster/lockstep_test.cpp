// Engines that share experts: their steps begin and end together.
#include "models/cluster/lockstep.hpp"

#include <algorithm>

#include "models/cluster/cluster.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

struct GroupRun {
  Journal journal;
  std::uint32_t stuck = 0;

  std::vector<StepRecord> steps_of(std::uint32_t engine) const {
    std::vector<StepRecord> out;
    std::copy_if(journal.steps.begin(), journal.steps.end(), std::back_inserter(out),
                 [&](const StepRecord& step) { return step.engine == engine; });
    return out;
  }
};

GroupRun run_group(const Workload& workload, bool lockstep, bool async = false) {
  GroupRun run;
  EventQueue queue;
  Setup setup;
  setup.config.async_scheduling = async;
  Cluster cluster(
      queue, workload, {.engines = 2, .lockstep = lockstep},
      [&](std::uint32_t) { return parts_of(setup); }, run.journal);
  Arrivals arrivals(queue, workload, {}, cluster.sink());
  cluster.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  run.stuck = cluster.finish_run();
  return run;
}

TEST_CASE("a step of engines in lockstep takes as long as the slowest one's", "[models]") {
  // 64 and 320 tokens at the same instant, one to each engine.
  const Workload workload = workload_of({{0, 64, 4, {1}}, {0, 320, 4, {2, 3, 4, 5, 6}}}, 64);
  const GroupRun run = run_group(workload, true);
  CHECK(run.stuck == 0);
  const auto first = run.steps_of(0);
  const auto second = run.steps_of(1);
  REQUIRE(first.size() == 4);
  REQUIRE(second.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(first[i].start == second[i].start);
    CHECK(first[i].end == second[i].end);
  }
  CHECK((first[0].end - first[0].start).count() == step_ns(320, 320));
  CHECK((first[1].end - first[1].start).count() == step_ns(1, 321));
  // By themselves the first engine would not have waited.
  const GroupRun apart = run_group(workload, false);
  CHECK((apart.steps_of(0)[0].end - apart.steps_of(0)[0].start).count() == step_ns(64, 64));
}

TEST_CASE("an idle engine's first request waits for the end of the others' step", "[models]") {
  // The second request comes 1 ms after the first, whose prompt takes 8.4 ms.
  const Workload workload = workload_of({{0, 320, 4, {2, 3, 4, 5, 6}}, {1, 64, 2, {1}}}, 64);
  const GroupRun run = run_group(workload, true);
  const auto first = run.steps_of(0);
  const auto second = run.steps_of(1);
  REQUIRE(second.size() == 2);
  CHECK(second[0].start == first[0].end);
  CHECK(second[0].end == first[1].end);
  CHECK((second[0].end - second[0].start).count() == step_ns(64, 64));
  // Done, it holds up nobody: a dummy batch takes no longer than what the others compute.
  CHECK((first[3].end - first[3].start).count() == step_ns(1, 323));
}

TEST_CASE("steps of a group never overlap, whoever has requests", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 40; ++i) {
    rows.push_back({7 * i, 64 * (1 + i % 3), 1 + i % 17, {}});
    for (std::uint64_t b = 0; b <= i % 3; ++b) rows.back().blocks.push_back(100 * i + b + 1);
  }
  const Workload workload = workload_of(rows, 64);
  for (const bool async : {false, true}) {
    const GroupRun run = run_group(workload, true, async);
    CHECK(run.stuck == 0);
    for (const RequestRecord& r : run.journal.requests) {
      CHECK(r.status == RequestStatus::kCompleted);
    }
    for (const StepRecord& a : run.steps_of(0)) {
      for (const StepRecord& b : run.steps_of(1)) {
        const bool together = a.end == b.end;
        CHECK((together || a.end <= b.start || b.end <= a.start));
      }
    }
  }
}

}  // namespace
}  // namespace spillway::test

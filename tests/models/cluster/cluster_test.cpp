// Several engines behind one endpoint.
#include "models/cluster/cluster.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

struct ClusterRun {
  Journal journal;
  std::vector<EngineShare> shares;
  std::uint32_t stuck = 0;
};

ClusterRun run_cluster(const Workload& workload, std::uint32_t engines,
                       const ArrivalConfig& arrival = {}) {
  ClusterRun run;
  EventQueue queue;
  const Setup setup;
  Cluster cluster(
      queue, workload, {.engines = engines}, [&](std::uint32_t) { return parts_of(setup); },
      run.journal);
  Arrivals arrivals(queue, workload, arrival, cluster.sink());
  cluster.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  run.stuck = cluster.finish_run();
  run.shares = cluster.shares();
  return run;
}

TEST_CASE("equal requests that come together are dealt out evenly", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 12; ++i) rows.push_back({0, 64, 4, {i}});
  const ClusterRun run = run_cluster(workload_of(rows, 64), 3);
  CHECK(run.stuck == 0);
  REQUIRE(run.shares.size() == 3);
  for (const EngineShare& share : run.shares) {
    CHECK(share.requests == 4);
    CHECK(share.steps == 4);
    CHECK(share.busy_fraction == Approx(1));
  }
  // Four prompts of 64 tokens in one step, on each engine at the same time.
  for (const RequestRecord& r : run.journal.requests) {
    CHECK(nanoseconds_of(r.first_token) == step_ns(256, 256));
  }
}

TEST_CASE("counts are up to 100 ms old; what was dealt out since counts as waiting", "[models]") {
  // At 0 the first engine gets a request of many tokens. Within the same 100 ms it counts as
  // waiting (4), so the next one goes to the second, and the third, a tie, to the first. In the
  // next 100 ms the second engine is done and idle: it gets the fourth.
  const ClusterRun run = run_cluster(
      workload_of({{0, 64, 100, {1}}, {10, 64, 2, {2}}, {20, 64, 100, {3}}, {150, 64, 2, {4}}}, 64),
      2);
  CHECK(run.shares[0].requests == 2);
  CHECK(run.shares[1].requests == 2);
  std::vector<std::uint64_t> steps(2);
  for (const StepRecord& step : run.journal.steps) ++steps[step.engine];
  CHECK(steps[0] == run.shares[0].steps);
  CHECK(steps[1] == 4);  // two requests of two tokens, apart
}

TEST_CASE("clients of a closed loop find the engines through one endpoint", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 40; ++i) rows.push_back({0, 64, 4, {i}});
  ArrivalConfig arrival;
  arrival.kind = ArrivalConfig::Kind::kClosedLoop;
  arrival.concurrency = 4;
  const ClusterRun run = run_cluster(workload_of(rows, 64), 2, arrival);
  CHECK(run.shares[0].requests + run.shares[1].requests == 40);
  CHECK(run.journal.requests.size() == 40);
  for (const RequestRecord& r : run.journal.requests) {
    CHECK(r.status == RequestStatus::kCompleted);
  }
}

TEST_CASE("one engine is the engine itself", "[models]") {
  const Workload workload = workload_of({{0, 64, 4, {1}}, {5, 128, 8, {1, 2}}}, 64);
  const ClusterRun cluster = run_cluster(workload, 1);
  const EngineRun engine = run_engine(workload, Setup());
  CHECK(cluster.shares.empty());
  REQUIRE(cluster.journal.steps.size() == engine.journal.steps.size());
  for (std::size_t i = 0; i < engine.journal.steps.size(); ++i) {
    CHECK(cluster.journal.steps[i].end == engine.journal.steps[i].end);
  }
}

}  // namespace
}  // namespace spillway::test

// What a connector costs each step, beside the copies that it asks for.
#include "models/releases/connector_costs.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kPrefill = 4'560'640;  // of 128 tokens under the reference compute
constexpr std::int64_t kUs = 1'000;

Setup costly(const ConnectorCosts& costs) {
  Setup setup;
  setup.dram_blocks = 100;
  setup.config.costs = costs;
  return setup;
}

std::int64_t first_token_ns(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token);
}

TEST_CASE("a connector's host time delays each step by what the step does", "[models]") {
  // Request 0 is looked up once and computes; its store waits for the next step. Request 1 is
  // looked up once; its step submits the store of 8 blocks: 1 job of 8 copies.
  ConnectorCosts costs;
  costs.step_us = 100;
  costs.lookup_us = 7;
  costs.job_us = 10;
  costs.copy_us = 1;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {1, 128, 1, {3, 4}}}, 64);
  const EngineRun run = run_engine(workload, costly(costs));
  const std::int64_t first = kPrefill + (100 + 7) * kUs;
  CHECK(first_token_ns(run, 0) == first);
  CHECK(first_token_ns(run, 1) == first + kPrefill + (100 + 7 + 10 + 8) * kUs);
  CHECK(run.connector.count() == (107 + 125) * kUs);
  CHECK(run.journal.steps[1].stall == Duration(0));
  CHECK(run.journal.steps[1].connector.took == Duration(125 * kUs));
  CHECK(run.journal.steps[1].connector.copies == 8);
}

TEST_CASE("a connector's step factor lengthens the compute alone", "[models]") {
  ConnectorCosts costs;
  costs.step_factor = 1.25;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}}, 64);
  const EngineRun run = run_engine(workload, costly(costs));
  CHECK(first_token_ns(run, 0) == kPrefill + kPrefill / 4);
}

TEST_CASE("nothing below HBM: the connector costs nothing", "[models]") {
  ConnectorCosts costs;
  costs.step_us = 100;
  Setup setup = costly(costs);
  setup.dram_blocks = 0;
  const EngineRun run = run_engine(workload_of({{0, 128, 1, {1, 2}}}, 64), setup);
  CHECK(first_token_ns(run, 0) == kPrefill);
  CHECK(run.connector.count() == 0);
}

TEST_CASE("forwards hide host time: the one before, where the host goes ahead", "[models]") {
  // A step of 2 ms behind one of 3 ms: of 4 ms before it 1 ms shows, of 3 ms behind it 1 ms.
  ConnectorCosts costs;
  costs.step_us = 4'000;
  costs.copy_us = 3;
  ConnectorWork work;
  work.compute = Duration(2'000 * kUs);
  work.cover = Duration(3'000 * kUs);
  work.late_copies = 1'000;
  CHECK(connector_time(costs, work) == Duration(2'000 * kUs));
  work.cover = Duration(0);
  CHECK(connector_time(costs, work) == Duration(5'000 * kUs));
  work.late_copies = 100;  // 0.3 ms, within the forward
  CHECK(connector_time(costs, work) == Duration(4'000 * kUs));
}

}  // namespace
}  // namespace spillway::test

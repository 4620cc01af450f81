// Who serves a request: each router by hand, then all of them on the same workloads.
#include "models/cluster/router.hpp"

#include <algorithm>
#include <functional>

#include "models/cluster/cluster.hpp"
#include "models/cluster/session_groups.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

const Workload& one_request() {
  static const Workload workload = workload_of({{0, 64, 4, {1}}, {1, 64, 4, {2}}}, 64);
  return workload;
}

std::uint32_t routed(Router& router, const std::vector<InstanceView>& fleet,
                     std::uint32_t request = 0) {
  static const ChainMap chains(one_request(), 16);
  return raw(router.route({RequestId{request}, Time{}, 64, chains}, fleet));
}

TEST_CASE("round robin goes from one to the next, over those that take requests", "[models]") {
  const auto router = make_round_robin();
  std::vector<InstanceView> fleet(4);
  for (const std::uint32_t next : {0U, 1U, 2U, 3U, 0U}) CHECK(routed(*router, fleet) == next);
  fleet[1].accepting = false;
  fleet[2].role = InstanceRole::kDecode;
  fleet[3].role = InstanceRole::kPrefill;
  for (const std::uint32_t next : {3U, 0U, 3U}) CHECK(routed(*router, fleet) == next);
  fleet[1].accepting = true;
  for (const std::uint32_t next : {0U, 1U, 3U}) CHECK(routed(*router, fleet) == next);
}

TEST_CASE("least loaded weighs a waiting request as four running ones", "[models]") {
  const auto router = make_least_loaded();
  // 4 x 1 + 0 = 4, 4 x 0 + 3 = 3 twice, 4 x 0 + 5 = 5: the first of the two.
  std::vector<InstanceView> fleet(4);
  fleet[0].waiting = 1;
  fleet[1].running = 3;
  fleet[2].running = 3;
  fleet[3].running = 5;
  CHECK(routed(*router, fleet) == 1);
  fleet[1].accepting = false;
  CHECK(routed(*router, fleet) == 2);
  fleet[2].role = InstanceRole::kDecode;
  CHECK(routed(*router, fleet) == 0);
  fleet[0].accepting = false;
  CHECK(routed(*router, fleet) == 3);
}

TEST_CASE("a session whose instance takes none goes to the next that does", "[models]") {
  const auto router = make_session_hash({InstanceId{2}, InstanceId{0}});
  std::vector<InstanceView> fleet(3);
  fleet[0].waiting = 100;
  CHECK(routed(*router, fleet, 0) == 2);
  CHECK(routed(*router, fleet, 1) == 0);
  fleet[2].accepting = false;
  CHECK(routed(*router, fleet, 0) == 0);
  fleet[0].accepting = false;
  CHECK(routed(*router, fleet, 0) == 1);
}

// ---- all routers, over engines
// -------------------------------------------------------------------

/// Notes what another one chooses.
class Watched final : public Router {
 public:
  explicit Watched(std::unique_ptr<Router> router) : router_(std::move(router)) {}
  InstanceId route(const RequestView& request, std::span<const InstanceView> fleet) override {
    if (on_route) on_route();
    const InstanceId chosen = router_->route(request, fleet);
    CHECK(fleet[raw(chosen)].takes_requests());
    choices.push_back(chosen);
    return chosen;
  }
  std::vector<InstanceId> choices;
  std::function<void()> on_route;

 private:
  std::unique_ptr<Router> router_;
};

Workload chats() {
  std::vector<Turn> rows;
  Stream draw(3, "chats");
  for (std::uint32_t t = 0; t < 4; ++t) {
    for (std::uint64_t s = 0; s < 20; ++s) {
      Turn turn{static_cast<std::int64_t>(9 * rows.size()), 64 * (t + 2), 4, {}, 300, {s % 3}};
      turn.output_tokens = 1 + static_cast<std::uint32_t>(draw.below(40));
      for (std::uint64_t b = 0; b <= t; ++b) turn.blocks.push_back(1000 * (s + 1) + b);
      if (t > 0) turn.after = {rows.size() - 20};
      rows.push_back(turn);
    }
  }
  return workload_of_turns(rows, 64);
}

struct FleetRun {
  Journal journal;
  std::vector<InstanceId> choices;
  std::vector<EngineShare> shares;
  std::vector<std::uint64_t> served;
  std::uint32_t stuck = 0;
};

FleetRun run_fleet(const Workload& workload, std::unique_ptr<Router> made, std::uint32_t instances,
                   std::uint32_t cores = 1,
                   const std::function<void(Cluster&, std::size_t)>& before_choice = {}) {
  FleetRun run;
  Watched router(std::move(made));
  EventQueue queue;
  Setup setup;
  setup.config.num_gpu_blocks = 60;
  setup.dram_blocks = 100;
  Cluster cluster(
      queue, workload, {.engines = cores, .instances = instances, .router = &router},
      [&](std::uint32_t) { return parts_of(setup); }, run.journal);
  if (before_choice) router.on_route = [&] { before_choice(cluster, router.choices.size()); };
  ArrivalConfig arrival;
  arrival.wait = true;
  Arrivals arrivals(queue, workload, arrival, cluster.sink());
  cluster.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  run.stuck = cluster.finish_run();
  run.choices = router.choices;
  run.shares = cluster.shares();
  run.served = cluster.requests_of_instances();
  return run;
}

using Maker = std::unique_ptr<Router> (*)(const Workload& workload, std::uint32_t instances);
constexpr Maker kRouters[] = {[](const Workload&, std::uint32_t) { return make_round_robin(); },
                              [](const Workload&, std::uint32_t) { return make_least_loaded(); },
                              [](const Workload& workload, std::uint32_t instances) {
                                return make_session_hash(instances_by_session(
                                    workload, workload.columns().session, instances, 1));
                              }};

TEST_CASE("every router sends each request to one instance, the same every time", "[models]") {
  const Workload workload = chats();
  for (const Maker make : kRouters) {
    for (const std::uint32_t cores : {1U, 2U}) {
      const FleetRun run = run_fleet(workload, make(workload, 3), 3, cores);
      CHECK(run.stuck == 0);
      CHECK(run.choices.size() == workload.size());
      CHECK(run.choices == run_fleet(workload, make(workload, 3), 3, cores).choices);
      std::vector<std::uint64_t> chosen(3);
      for (const InstanceId id : run.choices) ++chosen[raw(id)];
      CHECK(run.served == chosen);
      std::uint64_t shared = 0;
      for (const EngineShare& share : run.shares) shared += share.requests;
      CHECK(shared == workload.size());
      REQUIRE(run.journal.requests.size() == workload.size());
      for (std::uint32_t r = 0; r < workload.size(); ++r) {
        CHECK(run.journal.requests[r].request == RequestId{r});
        CHECK(run.journal.requests[r].status == RequestStatus::kCompleted);
        CHECK(run.journal.requests[r].output_tokens == workload.output_tokens(RequestId{r}));
      }
      // What tiers still hold at the end is what entered less what left.
      std::vector<std::int64_t> held(2);
      std::vector<std::int64_t> told(2);
      for (const TierChange& c : run.journal.tier_changes) {
        held[c.tier] += static_cast<std::int64_t>(c.stored) - static_cast<std::int64_t>(c.evicted);
        told[c.tier] = c.resident;
      }
      CHECK(held == told);
    }
  }
}

TEST_CASE("one instance behind any router is the engine itself", "[models]") {
  const Workload workload = chats();
  const FleetRun alone = run_fleet(workload, nullptr, 1);
  CHECK(alone.choices.empty());
  CHECK(alone.shares.empty());
  // With others beside it that take nothing, too: its own names of blocks change nothing.
  for (const Maker make : kRouters) {
    const FleetRun run =
        run_fleet(workload, make(workload, 3), 3, 1, [](Cluster& cluster, std::size_t) {
          cluster.set_accepting(InstanceId{1}, false);
          cluster.set_role(InstanceId{2}, InstanceRole::kDecode);
        });
    CHECK(run.served == std::vector<std::uint64_t>{workload.size(), 0, 0});
    REQUIRE(run.journal.requests.size() == alone.journal.requests.size());
    for (std::size_t i = 0; i < alone.journal.requests.size(); ++i) {
      CHECK(run.journal.requests[i].first_token == alone.journal.requests[i].first_token);
      CHECK(run.journal.requests[i].finish == alone.journal.requests[i].finish);
      CHECK(run.journal.requests[i].cached_tokens == alone.journal.requests[i].cached_tokens);
    }
  }
}

TEST_CASE("an instance that stops gets nothing more, and gets requests again when it starts",
          "[models]") {
  const Workload workload = chats();
  for (const Maker make : kRouters) {
    const FleetRun run =
        run_fleet(workload, make(workload, 2), 2, 1, [](Cluster& cluster, std::size_t routed) {
          cluster.set_accepting(InstanceId{0}, routed < 20 || routed >= 50);
        });
    CHECK(run.stuck == 0);
    for (std::size_t i = 20; i < 50; ++i) CHECK(run.choices[i] == InstanceId{1});
    const auto first = [&](std::size_t from, std::size_t to) {
      return std::count(run.choices.begin() + static_cast<std::ptrdiff_t>(from),
                        run.choices.begin() + static_cast<std::ptrdiff_t>(to), InstanceId{0});
    };
    CHECK(first(0, 20) > 0);
    CHECK(first(50, 80) > 0);
  }
}

TEST_CASE("instances by load are dealt to as the engines of one instance are", "[models]") {
  const Workload workload = chats();
  const FleetRun cores = run_fleet(workload, nullptr, 1, 3);
  const FleetRun fleet = run_fleet(workload, make_least_loaded(), 3);
  REQUIRE(cores.journal.steps.size() == fleet.journal.steps.size());
  for (std::size_t i = 0; i < cores.journal.steps.size(); ++i) {
    CHECK(cores.journal.steps[i].engine == fleet.journal.steps[i].engine);
    CHECK(cores.journal.steps[i].end == fleet.journal.steps[i].end);
  }
}

}  // namespace
}  // namespace spillway::test

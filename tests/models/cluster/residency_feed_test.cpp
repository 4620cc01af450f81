// What a router learns of the stores of instances, and when.
#include "models/cluster/residency_feed.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/cluster/cluster.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr Duration kLag = std::chrono::milliseconds(3);

/// In turn, and all ears.
class Listening final : public Router {
 public:
  Listening(EventQueue& queue, bool wants) : queue_(queue), wants_(wants) {}
  InstanceId route(const RequestView&, std::span<const InstanceView> fleet) override {
    return InstanceId{next_++ % static_cast<std::uint32_t>(fleet.size())};
  }
  bool wants_residency() const override { return wants_; }
  void on_residency(const ResidencyEvent& e) override {
    CHECK(queue_.now() == e.at + kLag);
    events.push_back(e);
    auto& blocks = held[{raw(e.instance), e.store}];
    for (std::uint32_t i = 0; i < e.count; ++i) {
      const std::uint32_t block = raw(e.first) + i;
      if (e.stored) CHECK(blocks.insert(block).second);
      if (!e.stored) CHECK(blocks.erase(block) == 1);
    }
  }
  std::vector<ResidencyEvent> events;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> held;

 private:
  EventQueue& queue_;
  bool wants_;
  std::uint32_t next_ = 0;
};

struct Heard {
  Journal journal;
  std::vector<ResidencyEvent> events;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> held;
  std::uint64_t executed = 0;
};

Heard run(const Workload& workload, std::uint32_t pool, bool wants = true) {
  Heard out;
  EventQueue queue;
  Listening router(queue, wants);
  Setup setup;
  setup.config.num_gpu_blocks = pool;
  setup.dram_blocks = 12;
  Cluster cluster(
      queue, workload, {.instances = 2, .router = &router, .residency_lag = kLag},
      [&](std::uint32_t) { return parts_of(setup); }, out.journal);
  Arrivals arrivals(queue, workload, {}, cluster.sink());
  cluster.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  CHECK(cluster.finish_run() == 0);
  out.events = router.events;
  out.held = router.held;
  out.executed = queue.executed();
  return out;
}

TEST_CASE("a router hears of blocks by the ids of the simulation, late by the lag", "[models]") {
  // Two prompts of four blocks, one to each instance: blocks 0-3 and 4-7 of the simulation; each
  // instance calls its own 0-3. Both reach HBM, then the tier below.
  const Heard heard = run(workload_of({{0, 64, 2, {1}}, {1, 64, 2, {2}}}, 64), 100);
  REQUIRE(heard.events.size() == 4);
  for (const ResidencyEvent& e : heard.events) {
    CHECK(e.stored);
    CHECK(e.count == 4);
    CHECK(raw(e.first) == (raw(e.instance) == 0 ? 0U : 4U));
  }
  for (const std::uint32_t instance : {0U, 1U}) {
    for (const std::uint32_t store : {0U, 1U}) {
      CHECK(heard.held.at({instance, store}).size() == 4);
    }
  }
}

TEST_CASE("what a router hears adds up to what instances hold", "[models]") {
  // Pools of 20 blocks and tiers of 12 under 60 prompts of 4 to 12 blocks: much leaves again.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 60; ++i) {
    Row row{20 * i, 64 * (1 + i % 3), 3, {}};
    for (std::uint32_t b = 0; b <= i % 3; ++b) row.blocks.push_back(10 * (i % 20) + b);
    rows.push_back(row);
  }
  const Workload workload = workload_of(rows, 64);
  const Heard heard = run(workload, 21);
  std::map<std::uint32_t, std::uint64_t> below;
  for (const TierChange& c : heard.journal.tier_changes) below[c.tier] = c.resident;
  CHECK(heard.held.at({0, 1}).size() + heard.held.at({1, 1}).size() == below[1]);
  CHECK(std::any_of(heard.events.begin(), heard.events.end(),
                    [](const ResidencyEvent& e) { return !e.stored && e.store == 0; }));
  CHECK(std::any_of(heard.events.begin(), heard.events.end(),
                    [](const ResidencyEvent& e) { return !e.stored && e.store == 1; }));
}

TEST_CASE("a router that does not want residency gets none, and no event is made", "[models]") {
  const Workload workload = workload_of({{0, 64, 2, {1}}, {1, 64, 2, {2}}}, 64);
  const Heard deaf = run(workload, 100, false);
  const Heard heard = run(workload, 100);
  CHECK(deaf.events.empty());
  CHECK(deaf.executed < heard.executed);
  REQUIRE(deaf.journal.steps.size() == heard.journal.steps.size());
  for (std::size_t i = 0; i < deaf.journal.steps.size(); ++i) {
    CHECK(deaf.journal.steps[i].end == heard.journal.steps[i].end);
  }
}

}  // namespace
}  // namespace spillway::test

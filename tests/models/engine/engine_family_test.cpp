// A family of engines is what puts parts together: the smallest one, run behind an endpoint. It
// serves one request at a time, first come first served, and keeps nothing of it.
#include "models/cluster/cluster.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/queue_scheduler.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

class OneAtATime final : public QueueScheduler {
 public:
  OneAtATime(RequestPool& requests, Observer& observer)
      : QueueScheduler(requests, observer, {}, {}) {}

  std::uint64_t blocks_of(const ActiveRequest&) const override { return 0; }
  Reason refuses(const ActiveRequest&) const override { return Reason::kNone; }
  void schedule(Time now, StepPlan& plan) override {
    begin(plan);
    if (running_.empty() && !waiting_.empty()) {
      running_.push_back(waiting_.front());
      waiting_.pop_front();
      requests_[running_[0]].scheduled = now;
    }
    for (const Handle h : running_) {
      const ActiveRequest& r = requests_[h];
      plan.items.push_back({h, r.tokens() - r.computed, r.computed});
    }
  }
  bool finish(Handle h, Time) override {
    stop_running(h);
    return true;
  }
  TierLevel level(std::uint32_t) const override { return {}; }
  void report(EngineStats&) const override {}
  void check_drained() const override {}
};

Assembly assemble_one_at_a_time(const Site& site, EngineParts&) {
  Assembly out;
  out.connector = std::make_unique<NoConnector>(site.config, site.requests, site.waiter);
  out.moves = std::make_unique<StepMoves>();
  out.scheduler = std::make_unique<OneAtATime>(site.requests, site.observer);
  return out;
}

TEST_CASE("a family of engines is a scheduler and a function that assembles it", "[models]") {
  const Workload workload = workload_of({{0, 64, 2, {1}}, {0, 32, 1, {1}}}, 64);
  Journal journal;
  EventQueue queue;
  Cluster cluster(
      queue, workload, {},
      [](std::uint32_t) {
        EngineParts parts;
        parts.assemble = assemble_one_at_a_time;
        parts.config = Setup().config;
        parts.cost = make_linear_cost({decimal_of(2000), decimal_of(20000), decimal_of(5)});
        parts.admission = parse_admission("always", {});
        return parts;
      },
      journal);
  Arrivals arrivals(queue, workload, {}, cluster.sink());
  cluster.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  CHECK(cluster.finish_run() == 0);
  // The first: a prompt of 64 tokens, then one token behind them. The second waits for its end.
  const std::int64_t first = step_ns(64, 64) + step_ns(1, 65);
  REQUIRE(journal.requests.size() == 2);
  CHECK(nanoseconds_of(journal.requests[0].first_token) == step_ns(64, 64));
  CHECK(nanoseconds_of(journal.requests[0].finish) == first);
  CHECK(nanoseconds_of(journal.requests[1].scheduled) == first);
  CHECK(nanoseconds_of(journal.requests[1].finish) == first + step_ns(32, 32));
  CHECK(journal.steps.size() == 3);
}

TEST_CASE("rules of families differ where their releases do", "[models]") {
  SchedulerConfig config;
  config.priority_scheduling = true;
  config.defer_block_free = true;
  const SchedulerRules v1 = v1_rules(config, true);
  CHECK(v1.admit == AdmitRule::kKnownTokens);
  CHECK(v1.victim == VictimRule::kLeastImportant);
  CHECK(v1.fate == KvFate::kDroppedAfterStep);
  CHECK(v1_rules(config, false).fate == KvFate::kDropped);  // nothing moves that could write them
  config.reserve_full_isl = false;
  CHECK(v1_rules(config, true).admit == AdmitRule::kFirstStep);
  config.swap = {100, true};
  const SchedulerRules v0 = v0_rules(config);
  CHECK(v0.victim == VictimRule::kLast);
  CHECK(v0.fate == KvFate::kSwappedOut);
  CHECK(v0.requeue == Requeue::kBehindVictims);
}

}  // namespace
}  // namespace spillway::test

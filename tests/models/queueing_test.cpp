// Closed forms: links alone, queued and duplex, and the engine as a one-server queue.
#include <chrono>

#include "models/link/copy_path.hpp"
#include "models/link/defaults.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::microseconds;

/// Notes when each job ends.
struct Listener final : TransferListener {
  EventQueue& queue;
  std::vector<std::pair<std::uint32_t, std::int64_t>> ended;
  explicit Listener(EventQueue& q) : queue(q) {}
  void on_transfer_done(Direction, std::uint32_t job) override {
    ended.emplace_back(job, nanoseconds_of(queue.now()));
  }
};

/// Submits jobs at given times.
struct Submitter final : EventHandler {
  struct Job {
    Direction direction;
    std::int64_t bytes;
  };
  CopyPath* path = nullptr;
  std::vector<Job> jobs;
  void on_event(EventPayload payload) override {
    const Job& job = jobs[payload.subject];
    path->submit(job.direction, payload.subject, Bytes(job.bytes), 1);
  }
};

TEST_CASE("an affine link takes latency + bytes / bandwidth, rounded up", "[models]") {
  const auto link = make_affine_link(microseconds(10), 25'000'000'000);
  // 2 MiB: 2,097,152 / 25 = 83,886.08 ns, rounded up, behind 10,000 ns.
  CHECK(link->service_time(2_MiB, 1).count() == 10'000 + 83'887);
  CHECK(link->service_time(Bytes(25), 1).count() == 10'001);
  CHECK(link->service_time(Bytes(1), 1).count() == 10'001);
  CHECK(link->capacity().gigabytes() == Approx(25));
}

TEST_CASE("a rate table is exact at its own points and between its neighbours elsewhere",
          "[models]") {
  RateTable table;
  table.copy_bytes = {4096, 65536};
  table.copies = {100, 10000};
  table.gbs = {2, 20, 4, 40};
  const auto link = make_table_link(table);
  const auto gbs = [&](std::int64_t bytes, std::uint32_t copies) {
    const Bytes total(bytes * copies);
    return static_cast<double>(total.count()) /
           static_cast<double>(link->service_time(total, copies).count());
  };
  CHECK(gbs(4096, 100) == Approx(2).epsilon(1e-4));
  CHECK(gbs(65536, 100) == Approx(20).epsilon(1e-4));
  CHECK(gbs(4096, 10000) == Approx(4).epsilon(1e-4));
  CHECK(gbs(65536, 10000) == Approx(40).epsilon(1e-4));
  // Half way in both logarithms: the geometric mean of the four corners.
  CHECK(gbs(16384, 1000) == Approx(std::sqrt(std::sqrt(2.0 * 20 * 4 * 40))).epsilon(1e-3));
  // Outside the grid the edge holds.
  CHECK(gbs(1024, 100) == Approx(2).epsilon(1e-3));
  CHECK(gbs(1 << 20, 1000000) == Approx(40).epsilon(1e-3));
}

TEST_CASE("default links reproduce their sources", "[models]") {
  const HostLinkDefault h100 = default_host_link(find_gpu("H100", {}));
  const auto up = make_table_link(h100.up);
  // vLLM PR 42212: 10,000 copies of 24 KiB at 25.8 GB/s; 2 MiB blocks at about 50 GB/s.
  const Bytes small(std::int64_t{24} * 1024 * 10000);
  CHECK(static_cast<double>(small.count()) /
            static_cast<double>(up->service_time(small, 10000).count()) ==
        Approx(25.8).epsilon(0.01));
  const Bytes blocks = 2_MiB * 2048;
  const double seconds = seconds_of(up->service_time(blocks, 2048));
  CHECK(static_cast<double>(blocks.count()) / seconds / 1e9 == Approx(50).epsilon(0.01));
  // Both directions at once: 2 x 50 x 0.834 = 83.4 GB/s.
  CHECK(50 * (h100.up_duplex + h100.down_duplex) == Approx(83.4));
}

TEST_CASE("a direction serves its jobs first come, first served", "[models]") {
  EventQueue queue;
  Observer none;
  Listener listener(queue);
  Fabric fabric(queue);
  CopyPath path(queue, fabric, {0, make_affine_link(microseconds(10), 1'000'000'000), 1},
                {1, make_affine_link(microseconds(10), 1'000'000'000), 1}, none, listener);
  // Three jobs of 1,000,000 bytes at 1 byte/ns: 1,010,000 ns each, back to back; the other
  // direction is not disturbed (factor 1).
  for (std::uint32_t job = 0; job < 3; ++job)
    path.submit(Direction::kDown, job, Bytes(1'000'000), 1);
  path.submit(Direction::kUp, 3, Bytes(2'000'000), 1);
  while (queue.step()) {
  }
  const std::vector<std::pair<std::uint32_t, std::int64_t>> expected = {
      {0, 1'010'000}, {3, 2'010'000}, {1, 2'020'000}, {2, 3'030'000}};
  CHECK(listener.ended == expected);
}

TEST_CASE("while both directions are busy each keeps its duplex share", "[models]") {
  EventQueue queue;
  Observer none;
  Listener listener(queue);
  Fabric fabric(queue);
  CopyPath path(queue, fabric, {0, make_affine_link(Duration(0), 1'000'000'000), 0.5},
                {1, make_affine_link(Duration(0), 1'000'000'000), 0.5}, none, listener);
  Submitter submitter;
  submitter.path = &path;
  submitter.jobs = {{Direction::kDown, 1000}, {Direction::kUp, 1000}};
  queue.schedule(time_at(0), Phase::kArrival, submitter, {0, 0, 0});
  queue.schedule(time_at(400), Phase::kArrival, submitter, {0, 0, 1});
  while (queue.step()) {
  }
  // Down: 400 bytes alone, the other 600 at half speed: ends at 400 + 1,200 = 1,600. Up: 600 bytes
  // by then, the other 400 alone: ends at 2,000.
  const std::vector<std::pair<std::uint32_t, std::int64_t>> expected = {{0, 1600}, {1, 2000}};
  CHECK(listener.ended == expected);
}

TEST_CASE("with one sequence at a time the engine is a one-server queue", "[models]") {
  // Every request takes exactly one step of S = 2 ms + 100 x 20 us + 100 x 5 ns. Waiting times
  // follow Lindley's recursion W' = max(0, W + S - gap) to the nanosecond, whatever the arrivals.
  const std::int64_t service = step_ns(100, 100);
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 3000; ++i) rows.push_back({0, 100, 1, {2 * i, 2 * i + 1}});
  const Workload workload = workload_of(rows, 64);
  Setup setup;
  setup.config.max_num_seqs = 1;
  ArrivalConfig arrival;
  arrival.kind = ArrivalConfig::Kind::kPoisson;
  arrival.rate_per_s = 0.8 / (static_cast<double>(service) / 1e9);  // utilisation 0.8
  const EngineRun run = run_engine(workload, setup, arrival);
  std::int64_t free_at = 0;
  double waited = 0;
  for (const RequestRecord& r : run.journal.requests) {
    const std::int64_t arrived = nanoseconds_of(r.arrival);
    const std::int64_t start = std::max(arrived, free_at);
    CHECK(nanoseconds_of(r.scheduled) == start);
    CHECK(nanoseconds_of(r.finish) == start + service);
    free_at = start + service;
    waited += static_cast<double>(start - arrived);
  }
  // M/D/1: W = rho S / (2 (1 - rho)) = 2 S at 0.8; 3,000 requests scatter by some 10%.
  CHECK(waited / 3000 / static_cast<double>(service) == Approx(2).epsilon(0.25));
}

TEST_CASE("a closed loop keeps its clients busy and no more", "[models]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 40; ++i) rows.push_back({0, 64, 3, {i}});
  const Workload workload = workload_of(rows, 64);
  ArrivalConfig arrival;
  arrival.kind = ArrivalConfig::Kind::kClosedLoop;
  arrival.concurrency = 4;
  const EngineRun run = run_engine(workload, Setup{}, arrival);
  // A successor arrives at the instant a request finishes: at no time are more than four in the
  // system.
  std::vector<std::pair<Time, int>> changes;
  for (const RequestRecord& r : run.journal.requests) {
    changes.emplace_back(r.arrival, 1);
    changes.emplace_back(r.finish, -1);
  }
  std::sort(changes.begin(), changes.end());  // at one instant, ends (-1) come first
  int inside = 0;
  int most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, inside += change);
  CHECK(most == 4);
  CHECK(run.journal.requests[4].arrival == run.journal.requests[0].finish);
}

}  // namespace
}  // namespace spillway::test

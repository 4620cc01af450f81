// Ranks with lanes of their own: the slowest decides when a job has ended.
//
// A rank moves 16 MiB at 25 GB/s behind 10 us: 10,000 + 671,089 ns.
#include "models/link/rank_path.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kBytes = 16 << 20;
constexpr std::int64_t kAlone = 10'000 + (kBytes + 24) / 25;

struct Ends final : TransferListener {
  explicit Ends(EventQueue& q) : queue(q) {}
  void on_transfer_done(Direction direction, std::uint32_t job) override {
    ends.push_back({direction, job, nanoseconds_of(queue.now())});
  }
  struct End {
    Direction direction;
    std::uint32_t job;
    std::int64_t at;
  };
  EventQueue& queue;
  std::vector<End> ends;
};

LaneSpec lane(std::uint32_t link, std::int64_t rate = 25'000'000'000) {
  return {link, make_affine_link(std::chrono::microseconds(10), rate), 1};
}

std::vector<RankLanes> lanes(std::uint32_t ranks) {
  std::vector<RankLanes> out;
  for (std::uint32_t r = 0; r < ranks; ++r) out.push_back({lane(2 * r), lane(2 * r + 1)});
  return out;
}

struct Scene {
  EventQueue queue;
  Journal journal;
  Ends ends{queue};
  void run() {
    while (queue.step()) {
    }
  }
};

TEST_CASE("a job ends when the slowest rank has moved its part", "[models]") {
  Scene s;
  std::vector<RankLanes> ranks = lanes(4);
  // Rank 2 sits on the other socket: 0.8 of the rate, 20 GB/s.
  ranks[2].up = lane(5, 20'000'000'000);
  Fabric fabric(s.queue);
  RankPath path(fabric, std::move(ranks), false, s.journal, s.ends, {});
  path.submit(Direction::kUp, 7, Bytes(kBytes), 8);
  path.submit(Direction::kDown, 9, Bytes(kBytes), 8);
  s.run();
  REQUIRE(s.ends.ends.size() == 2);
  CHECK(s.ends.ends[0].job == 9);
  CHECK(s.ends.ends[0].at == kAlone);
  CHECK(s.ends.ends[1].job == 7);
  CHECK(s.ends.ends[1].at == 10'000 + (kBytes + 19) / 20);
  CHECK(s.journal.transfers.size() == 8);
  CHECK(path.idle());
}

TEST_CASE("ranks behind one root port share it", "[models]") {
  // Two ranks of 25 GB/s through 25 GB/s: each gets half, and takes twice as long.
  Scene s;
  std::vector<RankLanes> ranks = lanes(2);
  for (RankLanes& rank : ranks) rank.up.through = {0};
  const MediumSpec port[] = {{25'000'000'000, 4}};
  Fabric fabric(s.queue);
  const LaidMedia media(fabric, port, s.journal);
  RankPath path(fabric, std::move(ranks), false, s.journal, s.ends, media);
  path.submit(Direction::kUp, 0, Bytes(kBytes), 8);
  s.run();
  REQUIRE(s.ends.ends.size() == 1);
  const std::int64_t both = 2 * kBytes / 25;
  CHECK(s.ends.ends[0].at >= both);
  CHECK(s.ends.ends[0].at <= both + 20'000);
  std::int64_t through = 0;
  for (const TransferRecord& t : s.journal.transfers) {
    if (t.link == 4) through += t.payload.count();
  }
  CHECK(through == 2 * kBytes);
}

TEST_CASE("one copy below: the first rank stores it, all load it", "[models]") {
  Scene s;
  Fabric fabric(s.queue);
  RankPath path(fabric, lanes(3), true, s.journal, s.ends, {});
  path.submit(Direction::kDown, 0, Bytes(kBytes), 1);
  path.submit(Direction::kUp, 1, Bytes(kBytes), 1);
  s.run();
  std::vector<std::int64_t> bytes(6);
  for (const TransferRecord& t : s.journal.transfers) bytes[t.link] += t.payload.count();
  CHECK(bytes == std::vector<std::int64_t>{kBytes, kBytes, 0, kBytes, 0, kBytes});
  CHECK(s.ends.ends.size() == 2);
}

// ---- stages
// --------------------------------------------------------------------------------------

TEST_CASE("a batch goes through every stage, each with its share of the layers", "[models]") {
  // 64 tokens: step_ns(64, 64) over two stages; then three tokens more, each a step of its own.
  Setup setup;
  setup.config.pipeline_parallel = 2;
  const EngineRun run = run_engine(workload_of({{0, 64, 4, {1}}}, 64), setup);
  const auto stages = [](std::int64_t step) { return 2 * ((step + 1) / 2); };
  CHECK(nanoseconds_of(run.journal.requests[0].first_token) == stages(step_ns(64, 64)));
  std::int64_t finish = stages(step_ns(64, 64));
  for (const std::int64_t context : {65, 66, 67}) finish += stages(step_ns(1, context));
  CHECK(nanoseconds_of(run.journal.requests[0].finish) == finish);
}

TEST_CASE("a pipeline computes one batch in each stage", "[models]") {
  // Two requests of one full batch each, arriving together: the second batch enters the first
  // stage as the first batch leaves it, and ends half a step behind it.
  Setup setup;
  setup.config.max_num_batched_tokens = 64;
  setup.config.pipeline_parallel = 2;
  const EngineRun run = run_engine(workload_of({{0, 64, 1, {1}}, {0, 64, 1, {2}}}, 64), setup);
  const std::int64_t step = step_ns(64, 64);  // even
  CHECK(nanoseconds_of(run.journal.requests[0].finish) == step);
  CHECK(nanoseconds_of(run.journal.requests[1].finish) == step + step / 2);
  // One stage computes them one after the other.
  setup.config.pipeline_parallel = 1;
  const EngineRun one = run_engine(workload_of({{0, 64, 1, {1}}, {0, 64, 1, {2}}}, 64), setup);
  CHECK(nanoseconds_of(one.journal.requests[1].finish) == 2 * step);
}

}  // namespace
}  // namespace spillway::test

// Requests that an admission policy turns away, and what an engine's clients see of it. Step times
// are those of the reference scenario: 2 ms + 20 us a token + 5 ns a token of context.
#include "models/engine/admission_gate.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16

std::int64_t ns(Time t) {
  return nanoseconds_of(t);
}

Setup with_admission(const char* admission) {
  Setup setup;
  setup.admission = admission;
  return setup;
}

/// How each request ended: "" where it completed.
std::vector<std::string> ends(const EngineRun& run) {
  std::vector<std::string> out;
  for (const RequestRecord& r : run.journal.requests) {
    const bool completed = r.status == RequestStatus::kCompleted;
    CHECK((completed || r.status == RequestStatus::kRejected));
    CHECK(completed == (r.finish != kNever));
    out.emplace_back(name_of(r.reason));
  }
  return out;
}

TEST_CASE("gpu-only turns away what HBM could not hold to the end", "[models]") {
  // 20 blocks. 128 tokens of prompt and 1 of output need 8: two fit, the third does not, and once
  // they have ended the fourth does.
  Setup setup = with_admission("gpu-only");
  setup.config.num_gpu_blocks = 21;
  const Workload workload = workload_of(
      {{0, 128, 1, {1, 2}}, {0, 128, 1, {3, 4}}, {0, 128, 1, {5, 6}}, {100, 128, 1, {7, 8}}},
      kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(ends(run) == std::vector<std::string>{"", "", "gpu_full", ""});
  CHECK(ns(run.journal.requests[2].arrival) == 0);
  CHECK(run.journal.requests[2].scheduled == kNever);
}

TEST_CASE("all-tiers counts the tier below as well", "[models]") {
  // 20 blocks in HBM and 3 below are one too few for three requests of 8; 4 below are enough.
  const auto ends_with = [](std::uint64_t dram_blocks) {
    Setup setup = with_admission("all-tiers");
    setup.config.num_gpu_blocks = 21;
    setup.dram_blocks = dram_blocks;
    return ends(run_engine(
        workload_of({{0, 128, 1, {1, 2}}, {0, 128, 1, {3, 4}}, {0, 128, 1, {5, 6}}}, kTraceBlock),
        setup));
  };
  CHECK(ends_with(3) == std::vector<std::string>{"", "", "tiers_full"});
  CHECK(ends_with(4) == std::vector<std::string>{"", "", ""});
  CHECK(ends_with(0) == std::vector<std::string>{"", "", "tiers_full"});
}

TEST_CASE("a request too large for the server is rejected for that", "[models]") {
  Setup setup = with_admission("gpu-only:share=0.5");
  setup.config.num_gpu_blocks = 21;
  setup.config.max_model_len = 400;
  const Workload workload = workload_of(
      {{0, 384, 1, {1, 2, 3, 4, 5, 6}}, {1, 512, 1, {1}}, {2, 192, 1, {1, 2, 3}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[0].reason == Reason::kExceedsPool);  // 24 blocks of 20
  CHECK(run.journal.requests[1].reason == Reason::kTooLong);
  CHECK(run.journal.requests[2].reason == Reason::kGpuFull);  // 12 blocks of 10
}

TEST_CASE("queue-limit turns away what finds the queue full", "[models]") {
  // One request runs at a time, two may wait; all four others arrive while the first runs.
  Setup setup = with_admission("queue-limit:max_queue=2");
  setup.config.max_num_seqs = 1;
  const Workload workload = workload_of({{0, 64, 50, {1}},
                                         {1, 64, 1, {2}},
                                         {2, 64, 1, {3}},
                                         {3, 64, 1, {4}},
                                         {4, 64, 1, {5}},
                                         {500, 64, 1, {6}}},
                                        kTraceBlock);
  CHECK(ends(run_engine(workload, setup)) ==
        std::vector<std::string>{"", "", "", "queue_full", "queue_full", ""});
}

TEST_CASE("who has waited too long is rejected at that very nanosecond", "[models]") {
  // One request runs at a time, and the first does for 200 ms. Two clients: the second one's
  // requests wait 50 ms each and are rejected, and it sends the next at once.
  Setup setup = with_admission("queue-limit:max_queue=9:timeout_s=0.05");
  setup.config.max_num_seqs = 1;
  std::vector<Row> rows = {{0, 64, 100, {1}}};
  for (std::uint64_t i = 0; i < 5; ++i) rows.push_back({1, 64, 1, {2 + i}});
  ArrivalConfig clients;
  clients.concurrency = 2;
  const EngineRun run = run_engine(workload_of(rows, kTraceBlock), setup, clients);
  const auto& requests = run.journal.requests;
  const Time first_ends = requests[0].finish;
  REQUIRE(ns(first_ends) > 201'000'000);
  REQUIRE(ns(first_ends) < 251'000'000);
  CHECK(ends(run) == std::vector<std::string>{"", "queue_timeout", "queue_timeout", "queue_timeout",
                                              "queue_timeout", ""});
  for (std::size_t i = 1; i < 6; ++i) {
    CHECK(ns(requests[i].arrival) == 1'000'000 + (static_cast<int>(i) - 1) * 50'000'000);
  }
  CHECK(requests[5].scheduled == first_ends);
}

TEST_CASE("a time-out precedes the schedule of its instant", "[models]") {
  // The second request could run when the first ends. Its patience ends then, or 1 ns later.
  const std::int64_t first_ends = step_ns(128, 128);
  const bool async = GENERATE(false, true);
  const auto second = [&](std::int64_t patience_ns) {
    Setup setup;
    setup.admission = fmt::format("queue-limit:max_queue=9:timeout_s=0.{:09}", patience_ns);
    setup.config.max_num_seqs = 1;
    setup.config.async_scheduling = async;
    const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {0, 128, 1, {3, 4}}}, kTraceBlock);
    return run_engine(workload, setup).journal.requests[1];
  };
  const RequestRecord late = second(first_ends);
  CHECK(late.reason == Reason::kQueueTimeout);
  const RequestRecord in_time = second(first_ends + 1);
  CHECK(in_time.status == RequestStatus::kCompleted);
  CHECK(ns(in_time.scheduled) == first_ends);
}

TEST_CASE("who is being loaded, or was preempted, waits no more", "[models]") {
  // As in "after a load from below", over a link of 1 GB/s: request 4's load takes 17 ms, and its
  // patience is 10 ms.
  Setup setup = with_admission("queue-limit:max_queue=9:timeout_s=0.01");
  setup.config.num_gpu_blocks = 21;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 1'000'000'000;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {100, 256, 1, {3, 4, 5, 6}},
                                         {200, 256, 1, {7, 8, 9, 10}},
                                         {300, 64, 1, {11}},
                                         {400, 128, 1, {1, 2}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(ends(run) == std::vector<std::string>(5, ""));
  CHECK(run.journal.requests[4].cached_tokens[1] == 128);
  CHECK(ns(run.journal.requests[4].scheduled) > 416'000'000);

  // Two that outgrow 20 blocks: the second is preempted, and waits longer than 10 ms.
  setup.dram_blocks = 0;
  const EngineRun tight =
      run_engine(workload_of({{0, 128, 100, {1, 2}}, {0, 128, 100, {3, 4}}}, kTraceBlock), setup);
  CHECK(ends(tight) == std::vector<std::string>(2, ""));
  CHECK(tight.journal.requests[1].preemptions > 0);
}

TEST_CASE("a head of the queue that gives up lets the next one in", "[models]") {
  // 20 blocks, 12 of them request 0's for 200 ms. Request 1 needs 16 and blocks request 2, which
  // needs 4, until it gives up.
  Setup setup = with_admission("queue-limit:max_queue=9:timeout_s=0.02");
  setup.config.num_gpu_blocks = 21;
  const Workload workload =
      workload_of({{0, 128, 64, {1, 2}}, {5, 256, 1, {3, 4, 5, 6}}, {10, 64, 1, {7}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(ends(run) == std::vector<std::string>{"", "queue_timeout", ""});
  const RequestRecord& third = run.journal.requests[2];
  // At the end of the step that was under way at 25 ms: steps of a decode take 2 ms.
  CHECK(ns(third.scheduled) > 25'000'000);
  CHECK(ns(third.scheduled) < 28'000'000);
}

TEST_CASE("token-bucket rejects above its rate", "[models]") {
  // 1,000 tokens a second, 128 at once: requests of 128 every 64 ms pass every other time.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 6; ++i) {
    rows.push_back({64 * static_cast<std::int64_t>(i), 128, 1, {2 * i, 2 * i + 1}});
  }
  const EngineRun run = run_engine(workload_of(rows, kTraceBlock),
                                   with_admission("token-bucket:tokens_per_s=1000:burst=128"));
  CHECK(ends(run) ==
        std::vector<std::string>{"", "rate_limited", "", "rate_limited", "", "rate_limited"});
}

TEST_CASE("slo turns away what would come too late, going by what was seen", "[models]") {
  // Request 0: 1,000 tokens in 22.005 ms. Of 20 that come together at 1 s, the k-th is predicted to
  // take k x 22.005 ms: four meet 100 ms.
  std::vector<Row> rows = {{0, 1000, 1, {}}};
  for (int i = 0; i < 20; ++i) rows.push_back({1000, 1000, 1, {}});
  const EngineRun run =
      run_engine(workload_of(rows, kTraceBlock), with_admission("slo:ttft_ms=100"));
  std::vector<std::string> expected(5, "");
  expected.resize(21, "slo_unreachable");
  CHECK(ends(run) == expected);
  for (std::size_t i = 1; i < 5; ++i) {
    const RequestRecord& r = run.journal.requests[i];
    CHECK(r.first_token - r.arrival <= std::chrono::milliseconds(100));
  }
}

TEST_CASE("slo forgets, so that bad times do not shut the server for ever", "[models]") {
  // No request of 1,000 tokens meets 10 ms. The first enters, as nothing was seen, and so does one
  // that comes 10 s after the last prompt.
  const Workload workload = workload_of(
      {{0, 1000, 1, {}}, {1000, 1000, 1, {}}, {10'000, 1000, 1, {}}, {10'100, 1000, 1, {}}},
      kTraceBlock);
  const EngineRun run = run_engine(workload, with_admission("slo:ttft_ms=10"));
  CHECK(ends(run) == std::vector<std::string>{"", "slo_unreachable", "slo_unreachable", ""});
}

TEST_CASE("the rate of prompts is over the time in which there were any", "[models]") {
  PrefillMeter meter;
  meter.advance(Time(seconds(5)), 0);  // idle
  meter.advance(Time(seconds(6)), 700);
  meter.add(500);
  CHECK(meter.rate().tokens == 500);
  CHECK(meter.rate().busy == seconds(1));
  meter.advance(Time(seconds(10)), 200);  // blocked: 5 s in all, halved
  CHECK(meter.rate().tokens == 250);
  CHECK(meter.rate().busy == std::chrono::milliseconds(2500));
  meter.advance(Time(seconds(1000)), 200);  // slow is not the same as unknown
  CHECK(meter.rate().tokens == 1);
  CHECK(meter.rate().busy <= PrefillMeter::kMemory);
  meter.advance(Time(seconds(1010)), 0);
  CHECK(meter.rate().tokens == 1);
  meter.advance(Time(seconds(1011)), 0);
  CHECK(meter.rate().tokens == 0);
}

TEST_CASE("clients of rejected requests go on, and each request ends once", "[models]") {
  struct Ends final : Observer {
    std::vector<int> ended = std::vector<int>(400);
    std::uint32_t rejected = 0;
    void on_request(const RequestRecord& r) override {
      ++ended[raw(r.request)];
      rejected += r.status == RequestStatus::kRejected ? 1 : 0;
    }
  };
  const char* admission =
      GENERATE("gpu-only", "all-tiers:share=0.5", "queue-limit:max_queue=4:timeout_s=0.03",
               "token-bucket:tokens_per_s=5000:of=all", "slo:ttft_ms=40");
  const bool async = GENERATE(false, true);
  const auto kind = GENERATE(ArrivalConfig::Kind::kTrace, ArrivalConfig::Kind::kClosedLoop);
  INFO(admission << (async ? ", async" : ""));
  std::vector<Turn> rows;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint64_t chain = 10 * (i * 7 % 40);
    rows.push_back(
        {static_cast<std::int64_t>(3 * i), 256, 60, {}, 0, {chain, chain + 1, 1000 + i}});
    if (i >= 40) rows.back().after = {i - 40};
  }
  Setup setup = with_admission(admission);
  setup.config.num_gpu_blocks = 101;
  setup.config.async_scheduling = async;
  setup.dram_blocks = 200;
  ArrivalConfig arrival;
  arrival.kind = kind;
  arrival.concurrency = 30;
  arrival.wait = true;
  Ends observer;
  const EngineRun run = run_engine(workload_of_turns(rows, 64), setup, arrival, &observer);
  CHECK(run.stuck == 0);
  CHECK(observer.ended == std::vector<int>(400, 1));
  CHECK(observer.rejected > 0);
  CHECK(observer.rejected < 400);
}

TEST_CASE("a policy that never refuses changes nothing", "[models]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 60; ++i) {
    rows.push_back({static_cast<std::int64_t>(2 * i), 192, 30, {i % 7, 100 + i % 7, 200 + i}});
  }
  const bool async = GENERATE(false, true);
  const auto finishes = [&](const char* admission) {
    Setup setup = with_admission(admission);
    setup.config.num_gpu_blocks = 101;
    setup.dram_blocks = 200;
    setup.config.async_scheduling = async;
    std::vector<Time> out;
    for (const RequestRecord& r : run_engine(workload_of(rows, 64), setup).journal.requests) {
      out.push_back(r.finish);
    }
    return out;
  };
  const auto always = finishes("always");
  CHECK(finishes("gpu-only:share=1000") == always);
  CHECK(finishes("all-tiers:cap_blocks=1000000") == always);
  CHECK(finishes("queue-limit:max_queue=1000:timeout_s=1000") == always);
  CHECK(finishes("token-bucket:tokens_per_s=1000000000") == always);
  CHECK(finishes("slo:ttft_ms=1000000000") == always);
}

}  // namespace
}  // namespace spillway::test

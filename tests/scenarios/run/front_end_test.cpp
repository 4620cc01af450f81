// A front end in a whole run: none is none, and what it adds is told as its own.
#include "scenarios/scenario/sections/front_end.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a front end that takes no time changes nothing", "[scenarios]") {
  const Workload workload = repeating(40, 8, 30, 6);
  const std::string without = digest_of_run(reference_with(), workload);
  CHECK(digest_of_run(reference_with({"front_end.kind=none"}), workload) == without);
  CHECK(digest_of_run(reference_with({"front_end.request_ms=0", "front_end.prompt_token_us=0",
                                      "front_end.delay_ms=0", "front_end.chunk_us=0"}),
                      workload) == without);
  CHECK(digest_of_run(reference_with({"front_end.kind=vllm"}), workload) != without);
}

TEST_CASE("a delay before the engine adds to the TTFT of each request, and to nothing else",
          "[scenarios]") {
  // Requests come 1 s apart, each alone: 7 ms later in the engine, 7 ms later out of it.
  const Workload workload = repeating(10, 10, 1000, 4);
  const RunResult plain = simulate(reference_with(), workload).result;
  const RunResult delayed =
      simulate(reference_with({"front_end.request_ms=0", "front_end.prompt_token_us=0",
                               "front_end.delay_ms=7", "front_end.chunk_us=0"}),
               workload)
          .result;
  CHECK(delayed.ttft.mean_ms == Approx(plain.ttft.mean_ms + 7));
  CHECK(delayed.e2el.mean_ms == Approx(plain.e2el.mean_ms + 7));
  CHECK(delayed.tpot.mean_ms == Approx(plain.tpot.mean_ms));
  CHECK(delayed.queue_time.mean_ms == Approx(plain.queue_time.mean_ms));
  CHECK(delayed.ttft_bands[0].stage_ms[static_cast<std::size_t>(TtftStage::kFrontEnd)] ==
        Approx(7));
  REQUIRE(delayed.front_end.has_value());
  CHECK(delayed.front_end->busy_fraction == 0);
}

TEST_CASE("a front end has a process for each engine, unless the scenario says how many",
          "[scenarios]") {
  const auto processes = [](const std::vector<std::string>& set) {
    return reference_with(set).front_end->all(2, 3).processes;
  };
  CHECK(processes({"front_end.kind=vllm"}) == 6);
  CHECK(processes({"front_end.processes=1"}) == 3);
}

TEST_CASE("a client's turnaround holds its next request back", "[scenarios]") {
  // One client: request after request, 50 ms after the answer before, network included.
  const Workload workload = repeating(3, 3, 0, 2);
  const std::vector<std::string> closed = {"workload.arrival=closed-loop",
                                           "workload.concurrency=1"};
  std::vector<std::string> later = closed;
  later.insert(later.end(), {"workload.turnaround_ms=40", "workload.network_ms=5"});
  const double at_once_s = simulate(reference_with(closed), workload).result.duration_s;
  CHECK(simulate(reference_with(later), workload).result.duration_s == Approx(at_once_s + 0.1));
  CHECK_THROWS_WITH(reference_with({"workload.turnaround_ms=1"}),
                    ContainsSubstring("turnaround_ms: expected only with concurrency"));
}

}  // namespace
}  // namespace spillway::test

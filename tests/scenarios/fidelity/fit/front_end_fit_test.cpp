// A simulated front end, seen by clients and by the engine, is found again.
#include "scenarios/fidelity/fit/front_end_fit.hpp"

#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Tells of each request what client and engine log.
struct BothLogs final : Observer {
  MeasuredRun run;
  void on_request(const RequestRecord& r) override {
    MeasuredRequest m;
    const Duration front_end = r.ttft[static_cast<std::size_t>(TtftStage::kFrontEnd)];
    m.client_sent_s = seconds_of(r.arrival) + 1000;  // another clock
    m.client_ttft_s = seconds_of(r.first_token - r.arrival);
    m.arrival_s = m.queued_s = seconds_of(r.arrival + r.way_in);
    m.first_token_s = seconds_of(r.first_token - (front_end - r.way_in));
    m.last_token_s = seconds_of(r.finish);
    m.input_tokens = r.input_tokens;
    m.output_tokens = r.output_tokens;
    run.requests.push_back(m);
  }
};

/// Bursts of one to four requests, a second apart, with prompts of 100 to 500 tokens.
Workload bursts() {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t size = i % 4 + 1;
    for (std::uint32_t k = 0; k < size; ++k) {
      rows.push_back({1000 * i, 100 + 57 * ((i * 7 + k * 3) % 8), 20, {rows.size()}});
    }
  }
  return workload_of(rows, 512);
}

MeasuredRun logs_of(const std::vector<std::string>& front_end) {
  BothLogs logs;
  SimulationOptions options;
  options.observers = {&logs};
  simulate(reference_with(front_end), bursts(), options);
  logs.run.files = {"engine.csv"};
  return logs.run;
}

TEST_CASE("a front end's times are found in the logs of client and engine", "[scenarios]") {
  const FrontEndFit fit =
      fit_front_end(logs_of({"front_end.request_ms=4", "front_end.prompt_token_us=10",
                             "front_end.delay_ms=12", "front_end.chunk_us=0"}));
  CHECK(fit.requests == 500);
  CHECK(fit.request_ms == Approx(4).epsilon(0.1));
  CHECK(fit.prompt_token_us == Approx(10).epsilon(0.1));
  CHECK(fit.request_ms + fit.delay_ms == Approx(16).epsilon(0.05));
  CHECK(fit.median_error_ms < 1);
}

TEST_CASE("what two logs cannot tell of a front end is refused", "[scenarios]") {
  MeasuredRun run = logs_of({"front_end.kind=vllm"});
  for (MeasuredRequest& r : run.requests) r.client_ttft_s -= 1;
  CHECK_THROWS_WITH(fit_front_end(run),
                    ContainsSubstring("the client has its first token before the engine"));
  run.requests.resize(10);
  CHECK_THROWS_WITH(fit_front_end(run), ContainsSubstring("needs 20 requests in both logs"));
}

}  // namespace
}  // namespace spillway::test

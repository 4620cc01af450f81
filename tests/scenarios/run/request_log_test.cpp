// `--output kind=requests`: columns of the contract, one row per request, exact times.
#include "scenarios/run/request_log.hpp"

#include <sstream>

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

std::vector<std::string> lines_of(const RequestLog& log, const std::vector<TierResult>& tiers) {
  const Scratch scratch;
  log.write(scratch.path("requests.csv"), tiers);
  std::istringstream text(read_file(scratch.path("requests.csv")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::vector<TierResult> tiers_named(const std::vector<std::string>& names) {
  std::vector<TierResult> tiers(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) tiers[i].name = names[i];
  return tiers;
}

constexpr const char* kHead =
    "request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,";
constexpr const char* kStages = ",queue_s,load_wait_s,load_s,recompute_s,step_s,front_end_s";

TEST_CASE("the header has the columns of the contract and one per tier", "[scenarios]") {
  CHECK(lines_of(RequestLog(0), tiers_named({"hbm"})) ==
        std::vector<std::string>{std::string(kHead) +
                                 "cached_tokens_hbm,preemptions,status,reason,due_s" + kStages});
  CHECK(lines_of(RequestLog(0), tiers_named({"hbm", "dram"}))[0] ==
        std::string(kHead) +
            "cached_tokens_hbm,cached_tokens_dram,preemptions,status,reason,due_s" + kStages);
}

TEST_CASE("a tier's name with a comma is quoted", "[scenarios]") {
  CHECK_THAT(lines_of(RequestLog(0), tiers_named({"hbm", "a,b"}))[0],
             ContainsSubstring(",\"cached_tokens_a,b\",preemptions"));
}

TEST_CASE("seconds have nine decimals and what never happened is empty", "[scenarios]") {
  RequestRecord r;
  r.request = RequestId{0};
  r.due = time_at(0);
  r.arrival = time_at(0);
  r.scheduled = time_at(1);
  r.first_token = time_at(1'000'000'000);
  r.finish = time_at(12'345'678'901'234);  // 12,345.678901234 s
  r.input_tokens = 100;
  r.output_tokens = 7;
  r.cached_tokens[0] = 16;
  r.cached_tokens[1] = 32;
  r.preemptions = 2;
  r.ttft = {Duration(1), Duration(0), Duration(299'999'999), Duration(200'000'000),
            Duration(500'000'000)};
  RequestLog log(2);
  log.on_request(r);
  RequestRecord refused;
  refused.request = RequestId{1};
  refused.due = time_at(4);
  refused.arrival = time_at(5);
  refused.input_tokens = 9;
  refused.output_tokens = 1;
  refused.status = RequestStatus::kFailed;
  refused.reason = Reason::kTooLong;
  log.on_request(refused);
  const auto lines = lines_of(log, tiers_named({"hbm", "dram"}));
  CHECK(lines[1] ==
        "0,0.000000000,0.000000001,1.000000000,12345.678901234,100,7,16,32,2,"
        "completed,,0.000000000,0.000000001,0.000000000,0.299999999,0.200000000,0.500000000,"
        "0.000000000");
  CHECK(lines[2] == "1,0.000000005,,,,9,1,0,0,0,failed,too_long,0.000000004,,,,,,");
}

TEST_CASE("rows stand in the order of the trace, not of the ends", "[scenarios]") {
  RequestLog log(3);
  for (const std::uint32_t id : {2u, 0u, 1u}) {
    RequestRecord r;
    r.request = RequestId{id};
    r.input_tokens = 10 + id;
    log.on_request(r);
  }
  const auto lines = lines_of(log, tiers_named({"hbm"}));
  CHECK(lines[1].starts_with("0,,,,,10,"));
  CHECK(lines[2].starts_with("1,,,,,11,"));
  CHECK(lines[3].starts_with("2,,,,,12,"));
}

/// The log of a run of the reference scenario.
std::vector<std::string> logged(const Scenario& scenario, const Workload& workload) {
  RequestLog log(workload.size());
  SimulationOptions options;
  options.observers.push_back(&log);
  const RunResult result = simulate(scenario, workload, options).result;
  return lines_of(log, result.tiers);
}

TEST_CASE("every request of a run has its row and its status", "[scenarios]") {
  // Four requests at once: one completes, one exceeds max_model_len 100, one the pool of 5 blocks
  // of 16 tokens (84 + 10 - 1 = 93 > 80), and one completes.
  const Workload workload =
      workload_of({{0, 32, 2, {1}}, {0, 100, 1, {2}}, {0, 84, 10, {3}}, {1, 16, 1, {4}}}, 512);
  const Scenario scenario =
      reference_with({"engine.num_gpu_blocks=6", "engine.max_model_len=null"});
  Scenario limited = scenario;
  limited.engine.max_model_len = 100;
  const auto lines = logged(limited, workload);
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[1], ContainsSubstring(",completed,"));
  CHECK(lines[2] == "1,0.000000000,,,,100,1,0,0,0,failed,too_long,0.000000000,,,,,,");
  CHECK(lines[3] == "2,0.000000000,,,,84,10,0,0,0,rejected,exceeds_pool,0.000000000,,,,,,");
  CHECK_THAT(lines[4], ContainsSubstring(",completed,"));
}

TEST_CASE("times of a single request are exact", "[scenarios]") {
  // Prefill of 512: 2,000,000 + 20,000 x 512 + 5 x 512 = 12,242,560 ns. One decode at context 513:
  // 2,000,000 + 20,000 + 5 x 513 = 2,022,565 ns. Arrival at 3 ms.
  const Workload workload = workload_of({{3, 512, 2, {1}}}, 512);
  CHECK(logged(reference_with(), workload)[1] ==
        "0,0.003000000,0.003000000,0.015242560,0.017265125,512,2,0,0,0,completed,,0.003000000"
        ",0.000000000,0.000000000,0.000000000,0.000000000,0.012242560,0.000000000");
}

TEST_CASE("a log that cannot be written is an I/O fault", "[scenarios]") {
  const Scratch scratch;
  const auto write = [&] { RequestLog(0).write(scratch.path("no/such/dir.csv"), {}); };
  CHECK(error_of(write).fault() == Fault::kIo);
}

}  // namespace
}  // namespace spillway::test

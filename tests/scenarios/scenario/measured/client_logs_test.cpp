// What benchmark clients write: three requests each, in the shape of the tool's own files.
#include <nlohmann/json.hpp>

#include "scenarios/scenario/measured/measured_document.hpp"
#include "scenarios/scenario/measured/measured_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

constexpr const char* kBlis =
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,"
    "streaming,input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,"
    "reason_ratio,model,deadline_us,server_input_tokens,arrival_time_us,send_time_us,"
    "first_chunk_time_us,last_chunk_time_us,num_chunks,status,error_message,finish_reason\n"
    "0,c,t,standard,s,0,,0,true,512,11,512,0,0,0,0.0,m,0,530,0,1000,101000,601000,11,ok,,length\n"
    "1,c,t,standard,s,0,,0,true,512,11,512,0,0,0,0.0,m,0,0,0,2000,152000,652000,11,ok,,length\n"
    "2,c,t,standard,s,0,,0,true,512,0,512,0,0,0,0.0,m,0,0,5000,5000,0,0,0,timeout,late,\n";

TEST_CASE("a trace of BLIS is sent when its client sent it", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured({scratch.file("trace.csv", kBlis)});
  REQUIRE(run.requests.size() == 3);
  CHECK(run.facts.of_client());
  CHECK(run.requests[0].input_tokens == 530);  // as the server counted
  CHECK(run.requests[1].input_tokens == 512);  // which here it did not
  CHECK_FALSE(run.requests[2].completed);
  // 101 - 1 ms and 152 - 2 ms; (601 - 101) / 10 ms a token.
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("mean_ttft_ms") == Approx(125));
  CHECK(metrics.at("mean_tpot_ms") == Approx(50));
}

std::string guidellm(const std::string& strategy) {
  return R"({"benchmarks": [{"config": {"strategy": )" + strategy + R"(},
 "requests": {"successful": [
  {"request_id": "a", "input_metrics": {"text_tokens": 256}, "output_metrics": {"text_tokens": 11},
   "request_start_time": 100.0, "request_end_time": 101.2,
   "info": {"timings": {"request_start": 100.0, "first_token_iteration": 100.2,
                        "last_token_iteration": 101.2}}},
  {"request_id": "b", "prompt_tokens": 256, "output_tokens": 11, "request_start_time": 100.5,
   "request_end_time": 101.7, "time_to_first_token_ms": 100.0}],
  "incomplete": [], "errored": [
  {"request_id": "c", "prompt_tokens": 256, "request_start_time": 100.6}]}}]})";
}

TEST_CASE("GuideLLM's benchmarks have requests, and the clients of a concurrent one",
          "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run =
      load_measured({scratch.file("g.json", guidellm(R"({"type_": "concurrent", "streams": 2})"))});
  REQUIRE(run.requests.size() == 3);
  CHECK(run.facts.of_client());
  CHECK(run.facts.concurrency == 2U);
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("mean_ttft_ms") == Approx(150));  // 200 and 100
  CHECK(metrics.at("mean_tpot_ms") == Approx(105));  // 1 s / 10 and 1.1 s / 10
  CHECK_FALSE(load_measured({scratch.file("r.json", guidellm(R"({"type_": "poisson"})"))})
                  .facts.concurrency.has_value());
  CHECK_THROWS_WITH(
      load_measured({scratch.file("two.json", R"({"benchmarks": [{}, {}]})")}),
      ContainsSubstring("benchmarks: expected one benchmark, found 2: each is a run of its own"));
  CHECK_THROWS_WITH(
      load_measured({scratch.file("no.json", R"({"benchmarks": [{"requests": {"successful": [
 {"request_start_time": 1.0, "output_tokens": 3}]}}]})")}),
      ContainsSubstring("no.json:2") && ContainsSubstring("prompt_tokens: missing"));
}

std::string aiperf(const std::string& ttft) {
  return R"({"metadata": {"x_request_id": "a", "request_start_ns": 1759813207000000000, )"
         R"("benchmark_phase": "profiling", "was_cancelled": false}, "metrics": )"
         R"({"input_sequence_length": {"value": 550, "unit": "tokens"}, "time_to_first_token": )" +
         ttft +
         R"(, "request_latency": {"value": 1300.0, "unit": "ms"}, )"
         R"("output_sequence_length": {"value": 11, "unit": "tokens"}}, "error": null})"
         "\n"
         R"({"metadata": {"x_request_id": "w", "request_start_ns": 1759813206000000000, )"
         R"("benchmark_phase": "warmup"}, "metrics": {}, "error": null})"
         "\n"
         R"({"metadata": {"x_request_id": "b", "request_start_ns": 1759813207100000000, )"
         R"("was_cancelled": true}, "metrics": {"error_isl": {"value": 550, "unit": "tokens"}}, )"
         R"("error": {"code": 499}})"
         "\n";
}

TEST_CASE("AIPerf's records have times in units of their own", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured(
      {scratch.file("profile_export.jsonl", aiperf(R"({"value": 300.0, "unit": "ms"})"))});
  REQUIRE(run.requests.size() == 2);  // the warm-up is left out
  CHECK(run.facts.of_client());
  CHECK_FALSE(run.requests[1].completed);
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("mean_ttft_ms") == Approx(300).margin(1e-3));
  CHECK(metrics.at("mean_tpot_ms") == Approx(100).margin(1e-3));  // 1 s / 10
  CHECK_THROWS_WITH(
      load_measured({scratch.file("u.jsonl", aiperf(R"({"value": 300.0, "unit": "min"})"))}),
      ContainsSubstring("u.jsonl:1: metrics.time_to_first_token.unit: expected s, sec, ms, us or "
                        "ns, found \"min\""));
}

TEST_CASE("a benchmark without a rate is a closed loop of its clients", "[scenarios]") {
  const test::Scratch scratch;
  const auto clients = [&](const std::string& load) {
    return load_measured({scratch.file("bench.json", "{" + load + R"(, "completed": 1,
 "mean_ttft_ms": 80.0, "mean_tpot_ms": 12.0, "input_lens": [100], "output_lens": [3],
 "ttfts": [0.08], "itls": [[0.012, 0.012]], "start_times": [5.0], "errors": [""]})")})
        .facts;
  };
  CHECK(clients(R"("request_rate": "inf", "max_concurrency": 64)").concurrency == 64U);
  CHECK_FALSE(clients(R"("request_rate": 4.0, "max_concurrency": 64)").concurrency.has_value());
  CHECK(clients(R"("request_rate": "inf", "max_concurrency": null)").of_client());
}

TEST_CASE("whose clock a run has, and its clients, outlive a document", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run =
      load_measured({scratch.file("g.json", guidellm(R"({"type_": "concurrent", "streams": 2})"))});
  const std::string text =
      nlohmann::json{{"kind", "measured-run"}, {"results", to_json(run)}}.dump(1);
  const MeasuredRun again = load_measured({scratch.file("run.json", text)});
  CHECK(again.facts.of_client());
  CHECK(again.facts.concurrency == 2U);
}

TEST_CASE("an engine's log goes before its client's", "[scenarios]") {
  const test::Scratch scratch;
  const std::string engine =
      scratch.file("engine.csv",
                   "input_tokens,output_tokens,arrival_s,scheduled_s,first_token_s,last_token_s\n"
                   "530,11,0.010,0.011,0.095,0.590\n512,11,0.012,0.096,0.145,0.640\n");
  const MeasuredRun run = load_measured({scratch.file("trace.csv", kBlis), engine});
  CHECK_FALSE(run.facts.of_client());
  CHECK(run.requests.size() == 2);
}

}  // namespace
}  // namespace spillway

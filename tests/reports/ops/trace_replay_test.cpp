// The commands that play the planned traffic on a deployed engine: nothing of the plan's workload
// is lost without a word.
#include "reports/ops/trace_replay.hpp"

#include <algorithm>

#include "reports/provenance.hpp"
#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TraceReplay replay_of(const json& workload, const PlanResult& plan = ops_plan()) {
  Provenance provenance = provenance_with("vllm@0.25");
  provenance.inputs["configuration"]["workload"] = workload;
  provenance.inputs["trace"] = {{"name", "a b.jsonl.gz"}, {"block_tokens", 512}};
  provenance.inputs["seed"] = 7;
  return trace_replay(figures_of(plan, provenance), provenance, "time_to_first_token:2000");
}

bool tells(const TraceReplay& replay, const std::string& what) {
  return std::any_of(replay.differs.begin(), replay.differs.end(),
                     [&](const std::string& text) { return text.starts_with(what + ": "); });
}

TEST_CASE("a replay has the speed, the limit and the reading of the plan", "[reports]") {
  const TraceReplay replay = replay_of({{"arrival", "trace"},
                                        {"speed", 0.7},
                                        {"limit", 100},
                                        {"reuse", "session-prefix"},
                                        {"session_interval_s", 5},
                                        {"lenient", true},
                                        {"block_tokens", 16}});
  CHECK(replay.code.text ==
        "spillway trace convert 'a b.jsonl.gz' replay.jsonl --to aiperf \\\n"
        "  --speed 0.7 \\\n"
        "  --limit 100 \\\n"
        "  --block-tokens 16 \\\n"
        "  --reuse session-prefix \\\n"
        "  --session-interval 5 \\\n"
        "  --lenient\n"
        "aiperf profile -m \"$MODEL\" --url http://127.0.0.1:8000 --endpoint-type chat "
        "--streaming \\\n"
        "  --input-file replay.jsonl --custom-dataset-type mooncake_trace \\\n"
        "  --fixed-schedule --extra-inputs ignore_eos:true \\\n"
        "  --goodput \"time_to_first_token:2000\"\n");
}

TEST_CASE("a replay plays the searched speed of the recommended cell", "[reports]") {
  PlanResult plan = ops_plan();
  plan.points[static_cast<std::size_t>(plan.recommended)].values = {{"workload.speed", "1.5"}};
  CHECK_THAT(replay_of({{"speed", 0.7}}, plan).code.text, ContainsSubstring("--speed 1.5\n"));
  plan.points[static_cast<std::size_t>(plan.recommended)].values = {{"workload.speed", "1"}};
  CHECK(replay_of({{"speed", 0.7}}, plan).code.text.find("--speed") == std::string::npos);
}

TEST_CASE("a replay arrives as the plan's requests do", "[reports]") {
  const std::string poisson =
      replay_of({{"arrival", "poisson"}, {"rate_per_s", 4}, {"speed", 0.5}}).code.text;
  CHECK_THAT(poisson, ContainsSubstring("--no-fixed-schedule --request-count "));
  CHECK_THAT(poisson, ContainsSubstring("--request-rate 2 --arrival-pattern poisson"));
  CHECK(poisson.find("--speed") == std::string::npos);
  const std::string closed = replay_of({{"arrival", "closed-loop"}, {"concurrency", 32}}).code.text;
  CHECK_THAT(closed, ContainsSubstring("--no-fixed-schedule --request-count "));
  CHECK_THAT(closed, ContainsSubstring("--concurrency 32"));
  const std::string cut =
      replay_of({{"arrival", "trace"}, {"concurrency", 8}, {"horizon_s", 90.5}}).code.text;
  CHECK_THAT(
      cut, ContainsSubstring("--fixed-schedule --fixed-schedule-end-offset 90500 --concurrency 8"));
}

TEST_CASE("a synthetic workload is made before it is replayed", "[reports]") {
  const std::string text =
      replay_of({{"speed", 1}, {"synthetic", {{"requests", 50}, {"user_quantiles", {1.5, 2}}}}})
          .code.text;
  CHECK_THAT(text, StartsWith("spillway trace generate --out trace.jsonl.gz --seed 7 --requests 50 "
                              "--user-quantiles 1.5,2"));
  CHECK_THAT(text, ContainsSubstring("spillway trace convert trace.jsonl.gz replay.jsonl"));
}

TEST_CASE("a replay says what of the workload it does not carry over", "[reports]") {
  const TraceReplay plain = replay_of({{"speed", 0.7}, {"sessions", "ignore"}});
  CHECK_FALSE(tells(plain, "Turns"));
  CHECK(tells(plain, "Text"));
  const TraceReplay much = replay_of({{"arrival", "poisson"},
                                      {"sessions", "wait"},
                                      {"growth", {{"rate", 1.5}}},
                                      {"classes", {{{"tenant", "a"}}}},
                                      {"warmup_s", 60}});
  for (const char* what : {"Turns", "Arrivals", "Growth", "Classes", "Warm-up"}) {
    CAPTURE(what);
    CHECK(tells(much, what));
  }
}

TEST_CASE("names and values of a replay stay words of the shell", "[reports]") {
  Provenance provenance = provenance_with("vllm@0.25");
  provenance.inputs["trace"] = {{"name", "x\nrm -rf ~"}};
  provenance.inputs["configuration"]["workload"] = {{"limit", "1; reboot"},
                                                    {"synthetic", {{"$(reboot)", "`reboot`"}}}};
  const PlanResult plan = ops_plan();
  const std::string text = trace_replay(figures_of(plan, provenance), provenance, "").code.text;
  CHECK_THAT(text, ContainsSubstring("--limit '1; reboot'"));
  CHECK_THAT(text, ContainsSubstring("'--$(reboot)' '`reboot`'"));
  provenance.inputs["configuration"]["workload"] = json::object();
  CHECK_THAT(trace_replay(figures_of(plan, provenance), provenance, "").code.text,
             StartsWith("spillway trace convert \"$TRACE\" replay.jsonl"));
}

}  // namespace
}  // namespace spillway::test

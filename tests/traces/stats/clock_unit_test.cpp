// Timestamps in seconds where a format reads milliseconds.
#include "traces/stats/clock_unit.hpp"

#include <filesystem>

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/stats/trace_check.hpp"

namespace spillway::test {
namespace {

/// 2,000 prompts of 7,000 tokens, `gap` apart as the file says.
std::string prompts(double gap, const std::string& session = "") {
  std::string out;
  for (int i = 0; i < 2000; ++i) {
    out += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 7000, \"output_length\": 100{}, \"hash_ids\": [0, "
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, {}]}}\n",
        gap * i, session.empty() ? "" : fmt::format(", \"session_id\": {}", i % 10), 100 + i);
  }
  return out;
}

TEST_CASE("seconds in a trace of milliseconds are a rate that nobody serves", "[traces]") {
  // Half a second apart, read as half a millisecond: 14 million tokens in 1 s.
  const auto fast = seconds_read_as_ms(open_bytes_as_trace(prompts(0.5)));
  REQUIRE(fast);
  CHECK(fast->requests == 2000);
  CHECK(fast->span_s == Approx(0.9995));
  CHECK(fast->prompt_tokens_per_s == Approx(14e6 / 0.9995));
  CHECK(describe(*fast) ==
        "timestamps look like seconds, but the format reads milliseconds: 2000 requests in 1 s "
        "bring 14 million prompt tokens/s");
  CHECK_FALSE(seconds_read_as_ms(open_bytes_as_trace(prompts(500))));
}

TEST_CASE("turns that follow each other at once give the clock away, others clear it", "[traces]") {
  // Ten sessions: a turn comes 5 ms after the one before it, whose 100 tokens take 20 ms at least.
  CHECK(seconds_read_as_ms(open_bytes_as_trace(prompts(0.5, "s"))));
  // The same rate from many sessions whose turns wait: a burst that somebody meant.
  std::string burst;
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 1000; ++i) {
      burst += fmt::format(
          "{{\"timestamp\": {}, \"input_length\": 20000, \"output_length\": 5, \"session_id\": {}, "
          "\"hash_ids\": [{}]}}\n",
          2000 * turn + i, i, i);
    }
  }
  CHECK_FALSE(seconds_read_as_ms(open_bytes_as_trace(burst, blocks_of(20'000))));
}

TEST_CASE("what is no trace of milliseconds is not doubted", "[traces]") {
  SyntheticConfig config;
  config.requests = 5000;
  config.sessions_per_s = 10'000;
  CHECK_FALSE(seconds_read_as_ms(generate_workload(config, 1)));
  std::string few;
  for (int i = 0; i < 50; ++i) few += row("0", "600", "5", fmt::format("[0, {}]", i + 1));
  CHECK_FALSE(seconds_read_as_ms(open_bytes_as_trace(few)));
}

TEST_CASE("no sample and no published trace is doubted", "[traces]") {
  namespace fs = std::filesystem;
  for (const auto& folder : {source_path("traces/samples"), material("traces").path}) {
    for (const auto& file : fs::directory_iterator(folder)) {
      const std::string name = file.path().filename();
      if (name.ends_with(".md") || name.find("rates") != std::string::npos) continue;
      INFO(name);
      CHECK_FALSE(seconds_read_as_ms(open_trace(file.path(), {})));
    }
  }
}

TEST_CASE("trace check warns of such a clock, and says what to do", "[traces]") {
  const Scratch scratch;
  const TraceCheck check = check_trace(scratch.file("t.jsonl", prompts(0.5)), {});
  std::string said;
  for (const TraceFinding& finding : check.findings) {
    if (finding.warning) said += finding.text + "\n";
  }
  CHECK_THAT(said, ContainsSubstring("timestamps look like seconds") &&
                       ContainsSubstring("multiply them by 1000") &&
                       ContainsSubstring("workload.speed=0.001"));
}

}  // namespace
}  // namespace spillway::test

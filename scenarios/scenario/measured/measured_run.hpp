// A run of a real engine: what its request log, its counters and its benchmark client say.
//
// Times are seconds since the run's own origin (the first arrival where the file has none of its
// own). What a source does not say is kUnknown, never 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/scenario/measured/measured_facts.hpp"
#include "sim/workload.hpp"

namespace spillway {

inline constexpr double kUnknownTime = -1;

struct MeasuredRequest {
  std::int64_t line = 0;  ///< of the file it comes from
  double arrival_s = 0;
  double queued_s = kUnknownTime;
  double scheduled_s = kUnknownTime;
  double first_token_s = kUnknownTime;
  double last_token_s = kUnknownTime;
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  bool completed = true;
  double client_sent_s = kUnknownTime;  ///< where a client's log has it too, by that one's clock
  double client_ttft_s = kUnknownTime;
};

/// One sample of an engine's counters.
struct MeasuredCounters {
  double at_s = 0;
  double running = 0;
  double waiting = 0;
  double kv_usage = kUnknownTime;  ///< share of the blocks, 0 to 1
  double prompt_tokens_per_s = 0;
  double output_tokens_per_s = 0;
};

struct MeasuredRun {
  std::string name;
  std::vector<std::string> files;
  std::vector<MeasuredRequest> requests;   ///< in order of arrival
  std::vector<MeasuredCounters> counters;  ///< in order of time
  std::map<std::string, double> metrics;   ///< under the keys of a run's results, where reported
  MeasuredFacts facts;
  std::vector<std::string> notes;  ///< what deserves a word: warm-up left out, columns not read
};

struct MeasuredOptions {
  bool skip_warmup = false;    ///< leave out the requests that a note would call warm-up
  std::string keeps_warmup;    ///< then: the option that keeps them, for that note
  bool allow_missing = false;  ///< note what the log lacks instead of refusing it
};

/// Reads any of: a request log (CSV or JSONL), 1 s counters (CSV), a result of `vllm bench serve`,
/// GuideLLM or AIPerf, engine arguments (JSON), a measured-run document; each recognised by its
/// content. Throws InputError: 7 where a file cannot be read, 3 for content with file, line, field
/// and what was expected; clocks that run backwards, times off by a factor of 1000 and missing
/// requests are named as such.
MeasuredRun load_measured(const std::vector<std::string>& files,
                          const MeasuredOptions& options = {});

/// Its requests as a workload: nothing is shared between them.
Workload workload_of(const MeasuredRun& run, std::uint32_t block_tokens);

/// The metrics of `requests` under the keys of a run's results (mean_ttft_ms, p99_tpot_ms, ...), by
/// the definitions of results; reported ones of the run count where the log does not tell.
std::map<std::string, double> metrics_of(const MeasuredRun& run);

}  // namespace spillway

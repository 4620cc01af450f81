// The members of a document of kind "measured-run", by name: for writing, and for reading with
// file, line and field.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/fields.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// The results of such a document.
struct MeasuredResults {
  std::string name;
  std::vector<std::string> files;
  std::optional<MeasuredFacts> facts;
  std::vector<LoggedRequest> requests;  ///< in order of arrival
  std::map<std::string, double> metrics;
  std::vector<MeasuredCounters> counters;
};

/// More seconds, requests or tokens per second than any run has.
inline constexpr double kMostMeasured = 1e12;

inline constexpr std::string_view kMeasuredClocks[] = {"engine", "client"};

template <>
struct Fields<MeasuredFacts> {
  static constexpr bool kClosed = true;  // a misspelt fact would be an estimate in its place
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("engine", r.engine, says("Engine, for example vllm."));
    f("version", r.version, says("Version of the engine."));
    f("model", r.model, says("Model that it served."));
    f("gpu", r.gpu, says("GPU, as its driver calls it."));
    f("num_gpu_blocks", r.num_gpu_blocks, says("KV blocks in HBM."));
    f("block_tokens", r.block_tokens, says("Tokens of a KV block."));
    f("kv_tokens", r.kv_tokens,
      says("Tokens that the KV blocks hold together.", 0,
           std::numeric_limits<std::uint32_t>::max()));
    f("max_num_seqs", r.max_num_seqs, says("Most requests in a batch."));
    f("max_num_batched_tokens", r.max_num_batched_tokens, says("Most tokens in a step."));
    f("max_model_len", r.max_model_len, says("Most tokens of a request."));
    f("tensor_parallel_size", r.tensor_parallel_size, says("Ranks of tensor parallelism."));
    f("data_parallel_size", r.data_parallel_size, says("Engines of data parallelism."));
    f("enable_expert_parallel", r.enable_expert_parallel,
      says("Whether ranks hold some whole experts."));
    f("enforce_eager", r.enforce_eager, says("Whether steps run without captured graphs."));
    f("host_overhead_us", r.host_overhead_us, says("Host time of a step."));
    f("clock", r.clock,
      FieldRule{.choices = kMeasuredClocks, .help = "Whose clock the requests' times are of."});
    f("concurrency", r.concurrency,
      says("Clients of a closed loop: each keeps a request in flight.", 1));
    f("d2h_gbs", r.d2h_gbs, says("Rate of copies from the GPU, in GB/s."));
    f("h2d_gbs", r.h2d_gbs, says("Rate of copies to the GPU, in GB/s."));
  }
};

template <>
struct Fields<LoggedRequest> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    using Field = RequestField;
    const auto time = [&](Field field, FieldRule rule) {
      rule.least = -kMostMeasured;
      rule.most = kMostMeasured;
      const auto at = static_cast<std::size_t>(field) - static_cast<std::size_t>(Field::kArrival);
      f(name_of(field), unless(r.at_s[at], kNoTime), rule);
    };
    f("input_tokens", r.input_tokens, newer(says("Tokens of the prompt.", 1, kMaxTokens)));
    f("output_tokens", r.output_tokens, newer(says("Tokens of the answer.", 0, kMaxTokens)));
    time(Field::kArrival, newer("Arrival."));
    time(Field::kQueued, says("When the engine queued the request."));
    time(Field::kScheduled, says("When the engine first scheduled it."));
    time(Field::kFirstToken, says("When its first output token came."));
    time(Field::kLastToken, says("When its last output token came."));
    f("status", either(r.completed, "completed", "failed"),
      if_any("Left out where the request completed."));
  }
  /// Later errors name the line.
  static void check(const ObjectReader& in, LoggedRequest& r) { r.line = in.where().line; }
};

template <>
struct Fields<MeasuredCounters> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("t", r.at_s, says("Time of the sample.", -kMostMeasured, kMostMeasured));
    f("running", r.running, says("Running requests.", 0, kMostMeasured));
    f("waiting", r.waiting, says("Waiting requests.", 0, kMostMeasured));
    f("kv_cache_usage", unless(r.kv_usage, kUnknownTime),
      says("Share of the KV blocks in use.", 0, 1.001));
    f("prompt_throughput", r.prompt_tokens_per_s,
      FieldRule{.most = kMostMeasured, .help = "Prompt tokens per second."});
    f("gen_throughput", r.output_tokens_per_s,
      FieldRule{.most = kMostMeasured, .help = "Output tokens per second."});
  }
};

template <>
struct Fields<MeasuredResults> {
  static constexpr std::string_view kName = "measured_run";
  static constexpr std::string_view kHelp =
      "A run of a real engine, from its logs and counters. Times count from the run's origin.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, newer("Name of the run."));
    f("files", r.files, newer("Files that it was read from."));
    f("facts", r.facts,
      newer("What the engine says about itself. It replaces estimates of scenarios that name "
            "the run."));
    f("requests", r.requests, newer("Each request, in order of arrival."));
    f("metrics", r.metrics,
      newer(signed_figure("Metrics by the keys of a run's results, computed or reported.")));
    f("counters", r.counters, newer("Samples of the engine's counters."));
  }
};

}  // namespace spillway

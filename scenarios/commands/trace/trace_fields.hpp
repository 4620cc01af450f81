// The results of the verbs below `spillway trace`, and their members by name. Those of `trace
// stats` stand in scenarios/scenario/trace_stats_fields.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/fields.hpp"
#include "traces/formats/rate_table.hpp"
#include "traces/generate/likeness.hpp"
#include "traces/reshape/trace_sample.hpp"
#include "traces/stats/trace_check.hpp"

namespace spillway {

/// A trace that a verb wrote.
struct WrittenTrace {
  std::string path;
  std::uint64_t requests = 0;
  std::uint64_t references = 0;
  // Rows that are streamed are not kept to be looked at.
  std::optional<std::uint64_t> unique_blocks;
  std::string content_hash;
  std::vector<LikenessRow> likeness;
};

/// One figure of a trace and of its sample.
struct KeptFigure {
  std::string key;
  std::string name;  ///< for people
  double original = 0;
  double sample = 0;
  double share() const { return original > 0 ? sample / original : 0; }
};

struct SampledTrace {
  bool written = false;
  std::string path;  ///< empty where nothing is written
  SampleOptions options;
  double largest_difference = 0;
  std::uint32_t units = 0;
  std::uint32_t chosen_units = 0;
  std::uint32_t choices = 0;
  std::vector<double> kept_by_time;
  std::string content_hash;
  std::vector<KeptFigure> kept;
  std::vector<SampledRatio> curve;
};

template <>
struct Fields<RateStats> {
  static constexpr std::string_view kName = "rate_table_stats";
  static constexpr std::string_view kHelp = "Clients, windows and rates of an arrival rate table.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("clients", r.clients, says("Clients.", 1));
    f("rows", r.rows, says("Rows; each is a window of a client.", 1));
    f("windows", r.windows, says("Distinct windows.", 1));
    f("window_s", r.window_s, says("Length of a window.", 1));
    f("first_s", r.first_s, says("Start of the first window."));
    f("span_s", r.span_s, says("Start of the first window to the end of the last.", 1));
    f("requests_per_s", group([&](auto&& g) {
        g("mean", r.mean_rps, says("Mean."));
        g("median", r.median_rps, says("Median."));
        g("min", r.min_rps, says("Smallest."));
        g("max", r.max_rps, says("Largest."));
      }),
      says("Rate of all clients together, over windows."));
    f("requests", r.requests, says("Requests to which the rates add up."));
    f("gamma_rows", r.gamma_rows, says("Rows with Gamma inter-arrival times."));
    f("weibull_rows", derived(r.rows - r.gamma_rows),
      says("Rows with Weibull inter-arrival times."));
    f("cv", group([&](auto&& g) {
        g("median", r.median_cv, says("Median."));
        g("max", r.max_cv, says("Largest."));
      }),
      says("Coefficient of variation of inter-arrival times, over rows."));
  }
};

template <>
struct Fields<RowProblem> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("line", r.line, says("Line of the file; 0 is the file as a whole."));
    f("field", r.field, says("Field of that line; empty for the whole line."));
    f("message", r.message, says("What is wrong."));
  }
};

template <>
struct Fields<TraceFinding> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("level", either(r.warning, "warning", "note"), says("How much the finding matters."));
    f("text", r.text, says("What the trace can or cannot say."));
  }
};

template <>
struct Fields<TraceFacts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("requests", r.stats.requests, says("Requests without a fault."));
    f("span_s", r.stats.span_s, says("First to last arrival."));
    f("time_step_s", r.time_step_s,
      says("All arrivals are multiples of it after the first; 0 for one arrival time."));
    f("distinct_arrival_times", r.stats.distinct_arrival_times, says("Distinct arrival times."));
    f("sessions", r.stats.sessions, says("Sessions; 0 where the trace names none."));
    f("think_times", r.think_times, says("Whether the trace records pauses of clients."));
    f("tenants", r.tenants, says("Tenants; 0 where the trace names none."));
    f("prefix_identity", r.prefix_identity, says("Whether the trace names blocks."));
    f("references", r.stats.references, says("Blocks that all requests name together."));
    f("unique_blocks", r.stats.unique_blocks, says("Distinct blocks."));
    f("infinite_cache_hits", r.stats.infinite_hits,
      says("References to blocks that an earlier request named."));
    f("moved_references", r.moved_references,
      says("References after another block than at the first use of their id."));
    f("repeating_rows", r.repeating_rows, says("Rows that name a block twice."));
    f("empty_outputs", r.empty_outputs,
      says("Rows with an answer of 0 tokens; it counts as one token."));
    f("first_moved", r.first_moved, if_any("Row of the first moved reference."));
    f("first_repeat", r.first_repeat, if_any("First row that names a block twice."));
  }
};

template <>
struct Fields<TraceCheck> {
  static constexpr std::string_view kName = "trace_check";
  static constexpr std::string_view kHelp = "What is wrong with a trace, and what it can say.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("problems", r.problems.count, says("All problems of rows and of the file."));
    f("listed", r.problems.listed, says("The first 10,000 problems."));
    f("tolerable", derived(r.tolerable()),
      says("At most 1% of the rows are faulty: --lenient leaves them out."));
    f("findings", r.findings, says("What the rows show only together."));
    f("facts", only_if(r.workload.has_value(), r.facts),
      says("Figures of the rows without a fault; only where there are such rows."));
  }
};

template <>
struct Fields<LikenessRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("statistic", r.statistic, says("What is compared."));
    f("original", r.original, says("Its value in the original trace."));
    f("generated", r.generated, says("Its value in the generated trace."));
    f("error", r.error,
      signed_figure("Generated divided by original, less 1; 1 where only the original is 0."));
  }
};

template <>
struct Fields<WrittenTrace> {
  static constexpr std::string_view kName = "written_trace";
  static constexpr std::string_view kHelp = "The trace that was written.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("path", r.path, says("Its file; - is standard output."));
    f("requests", r.requests, says("Requests."));
    f("references", r.references, says("Blocks that all requests name together."));
    f("unique_blocks", r.unique_blocks, says("Distinct blocks; left out for streamed rows."));
    f("content_hash", r.content_hash, hash());
    f("likeness", r.likeness, if_any("With --like: figures of the original and of this trace."));
  }

 private:
  static constexpr FieldRule hash() {
    FieldRule out = if_any("Hash of the requests and their blocks; left out for streamed rows.");
    out.pattern = kDigestForm;
    return out;
  }
};

template <>
struct Fields<KeptFigure> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("original", r.original, says("Its value in the original trace."));
    f("sample", r.sample, says("Its value in the sample."));
    f("share", derived(r.share()), says("Sample divided by original."));
  }
};

template <>
struct Fields<SampledRatio> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("capacity_blocks", r.capacity_blocks, says("Capacity of the cache for the original."));
    f("sample_blocks", r.sample_blocks, says("Capacity for the sample: scaled by the share."));
    f("original", r.original, says("LRU hit ratio of the original.", 0, 1));
    f("sample", r.sample, says("LRU hit ratio of the sample.", 0, 1));
    f("difference", derived(r.difference()), signed_figure("Sample less original."));
  }
};

template <>
struct Fields<SampledTrace> {
  static constexpr std::string_view kName = "trace_sample";
  static constexpr std::string_view kHelp = "A share of a trace, and how like the trace it is.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("written", r.written, says("Whether the sample is like enough and was written."));
    f("path", r.path, if_any("File of the sample; only where it was written."));
    f("share", r.options.share, says("Share of the trace that was asked for.", 0, 1));
    f("max_difference", r.options.max_difference,
      says("Largest difference of hit ratios that is allowed.", 0, 1));
    f("largest_difference", r.largest_difference,
      says("Largest difference of hit ratios over all capacities.", 0, 1));
    f("units", r.units, says("Parts of the trace that are kept or left out as a whole."));
    f("chosen_units", r.chosen_units, says("Parts in the sample."));
    f("choices", r.choices, says("Choices of parts that were measured."));
    f("kept_by_time", r.kept_by_time,
      says("Share of the references that is kept in each eighth of the span.", 0, 1));
    f("content_hash", r.content_hash,
      text_like(kDigestForm, "Hash of the sample's requests and their blocks."));
    f("kept", keyed(r.kept, &KeptFigure::key), says("Figures of the trace and of its sample."));
    f("curve", r.curve, says("LRU hit ratios of both, at capacities scaled by the share."));
  }
};

}  // namespace spillway

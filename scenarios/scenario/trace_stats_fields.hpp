// The members of a trace's statistics, by name: the results of a `trace-stats` document, and what a
// plan keeps of its workload. Figures that a trace has nothing for are left out.
#pragma once

#include "sim/fields.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

template <>
struct Fields<LengthStats> {
  static constexpr std::string_view kName = "trace_lengths";
  static constexpr std::string_view kHelp = "Lengths in tokens.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("total", r.total, says("Sum over all requests."));
    f("mean", r.mean, says("Mean."));
    f("std", r.std, says("Standard deviation of the population."));
    f("p50", r.p50, says("Median; percentiles are interpolated linearly."));
    f("p90", r.p90, says("90th percentile."));
    f("p95", r.p95, says("95th percentile."));
    f("p99", r.p99, says("99th percentile."));
    f("min", r.min, says("Smallest."));
    f("max", r.max, says("Largest."));
    f("percentiles", r.percentiles, says("The percentiles 0, 1, 2, ... 100."));
  }
};

template <>
struct Fields<Distribution> {
  static constexpr std::string_view kName = "trace_distribution";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("count", r.count, says("Number of values.", 1));
    f("mean", r.mean, says("Mean."));
    f("p50", r.p50, says("Median."));
    f("p90", r.p90, says("90th percentile."));
    f("p99", r.p99, says("99th percentile."));
    f("max", r.max, says("Largest."));
  }
  static bool absent(const Distribution& r) { return r.count == 0; }
};

template <>
struct Fields<Dispersion> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("window_s", r.window_s, says("Length of a window: 1, 10, 60 or 600."));
    f("windows", r.windows, says("Whole windows in the span.", 5));
    f("mean_requests", r.mean_count, says("Mean requests of a window."));
    f("index", r.index, says("Variance divided by mean of these counts; Poisson arrivals have 1."));
    f("poisson_band", r.band,
      says("Poisson arrivals stay within 1 plus or minus this: three standard errors."));
  }
};

template <>
struct Fields<ArrivalStats> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("verdict", r.verdict, says("How evenly requests arrive, compared with Poisson arrivals."));
    f("reason", r.reason, says("The figures that decide the verdict."));
    f("binned", r.binned,
      says("More than half of the requests share their arrival time with another."));
    f("median_distance_of_times_s", r.tick_s,
      says("Median distance between distinct arrival times."));
    f("gap_cv", unless(r.gap_cv, -1),
      says("Standard deviation divided by mean of the gaps; Poisson arrivals have 1."));
    f("interval_s", r.series_interval_s, says("Length of an interval of requests.", 60));
    f("requests_per_interval", r.series, says("Requests of each interval from the first arrival."));
    f("dispersion", r.dispersion, says("Counts in windows of each length that fits five times."));
  }
};

template <>
struct Fields<ReusePoint> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("capacity_blocks", r.capacity_blocks, says("Capacity of the cache.", 1));
    f("share_of_unique_blocks", r.share_of_unique_blocks,
      says("That capacity as a share of the unique blocks.", 0, 1));
    f("hits", r.hits, says("References that hit."));
    f("hit_ratio", r.hit_ratio, says("Share of the references that hit.", 0, 1));
  }
};

template <>
struct Fields<ReuseStats> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("lru_curve", r.curve, says("Hits of an LRU cache by capacity, up to the unique blocks."));
    f("median_distance_blocks", unless(r.median_distance_blocks, -1),
      says("Median number of other blocks touched between two uses of a block."));
    f("p90_distance_blocks", unless(r.p90_distance_blocks, -1),
      says("90th percentile of that number."));
    f("median_gap_s", unless(r.median_gap_s, -1),
      says("Median time since the last request that named the block."));
    f("p90_gap_s", unless(r.p90_gap_s, -1), says("90th percentile of that time."));
  }
  static bool absent(const ReuseStats& r) { return r.curve.empty(); }
};

template <>
struct Fields<WorkingSet> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("interval_s", r.interval_s, says("Length of an interval; 0 where all arrive at once."));
    f("unique_blocks_per_interval", r.unique,
      says("Distinct blocks that the requests of each interval name."));
    f("cumulative_unique_blocks", r.cumulative,
      says("Distinct blocks from the start to the end of each interval."));
    f("peak_unique_blocks", r.peak_unique, says("Most distinct blocks of an interval."));
    f("peak_live_blocks", r.peak_live,
      says("Most blocks at a time that were used and will be used again."));
    f("peak_live_tokens", r.peak_live_tokens, says("Tokens of those blocks."));
  }
  static bool absent(const WorkingSet& r) { return r.peak_unique == 0; }
};

template <>
struct Fields<DriftTest> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("quantity", r.quantity, says("What is compared over time."));
    f("verdict", r.verdict, says("Whether the quantity drifts."));
    f("overall", r.overall, says("Value over the whole trace."));
    f("tolerance", r.tolerance, says("Difference from there that still counts as stationary."));
    f("windows", r.windows, says("Value of each window."));
    f("largest_deviation", r.largest_deviation,
      signed_figure("Largest difference of a window from the whole trace."));
    f("noise", r.noise, says("Median over the windows of two standard errors."));
    f("trend_z", r.trend_z, signed_figure("Mann-Kendall statistic; beyond 1.96 it is a trend."));
    f("trend_change", r.trend_change,
      signed_figure("Change from the first to the last window along the Theil-Sen line."));
  }
};

template <>
struct Fields<Stationarity> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("verdict", r.verdict, says("Whether the trace stays the same while it lasts."));
    f("reason", r.reason, says("The figures that decide the verdict."));
    f("window_s", r.window_s, says("Length of a window, an eighth of the span."));
    f("tests", r.tests, says("One test a quantity; hit ratio only where the trace names blocks."));
  }
};

template <>
struct Fields<TenantStats> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the tenant."));
    f("requests", r.requests, says("Its requests.", 1));
    f("input_tokens", r.input_tokens, says("Tokens of their prompts."));
  }
};

template <>
struct Fields<TraceStats> {
  static constexpr std::string_view kName = "trace_stats";
  static constexpr std::string_view kHelp = "Lengths, arrivals, reuse and drift of a trace.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("requests", r.requests, says("Requests.", 1));
    f("span_s", r.span_s, says("First to last arrival."));
    f("requests_per_s", r.requests_per_s, says("Mean rate over the span; 0 for a span of 0."));
    f("peak_requests_per_s", r.peak_requests_per_s, says("Rate of the busiest minute."));
    f("distinct_arrival_times", r.distinct_arrival_times, says("Distinct arrival times.", 1));
    f("input_tokens", r.input_tokens, says("Lengths of prompts."));
    f("output_tokens", r.output_tokens, says("Lengths of answers."));
    f("arrivals", r.arrivals, says("Requests over time, and whether they come in bursts."));
    f("block_tokens", r.block_tokens, says("Tokens of a block of the trace."));
    f("references", r.references, says("Blocks that all requests name together."));
    f("unique_blocks", r.unique_blocks, says("Distinct blocks."));
    f("single_use_blocks", r.reuse.single_use_blocks, says("Blocks that are named once."));
    f("single_use_share", derived(share(r.reuse.single_use_blocks, r.unique_blocks)),
      says("Their share of the unique blocks.", 0, 1));
    f("infinite_cache_hits", r.infinite_hits,
      says("References to blocks that an earlier request named."));
    f("infinite_cache_hit_ratio", r.infinite_hit_ratio,
      says("Their share of all references: no cache hits more.", 0, 1));
    f("reuse", r.reuse, if_any("How soon blocks are used again; only where the trace has blocks."));
    f("working_set", r.reuse.working_set,
      if_any("Blocks in use over time; only where the trace has blocks."));
    f("with_predecessor", r.session.with_predecessor,
      says("Requests that wait for the answer to another request."));
    f("with_predecessor_share", derived(share(r.session.with_predecessor, r.requests)),
      says("Their share of all requests.", 0, 1));
    f("sessions", r.sessions, if_any("Sessions, where the trace names them.", 1));
    f("turns_per_session", r.session.turns, if_any("Requests of a session."));
    f("turn_gap_s", r.session.gap_s, if_any("Time between the arrivals of a session's requests."));
    f("think_s", r.session.think_s, if_any("Pauses of clients, where the trace records them."));
    f("tenants", r.tenants, if_any("Each tenant, where the trace names them; the largest first."));
    f("stationarity", r.stationarity, says("Whether the trace stays the same while it lasts."));
    f("content_hash", r.content_hash,
      text_like(kDigestForm, "Hash of the requests and their blocks."));
  }

 private:
  static double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

}  // namespace spillway

// The members of a run's results, by name: a new metric is a member of RunResult, whoever counts
// it, and a line here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/fields.hpp"
#include "sim/result.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 4> kStorageTierKinds = {"nvme", "fs", "object", "kv"};
inline constexpr std::array<std::string_view, 5> kTtftBands = {"all", "p0-p50", "p50-p90",
                                                               "p90-p99", "p99-p100"};

template <>
struct Fields<DeviceResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("bytes_read", r.bytes_read, says("Bytes read from the device."));
    f("bytes_written", r.bytes_written, says("Bytes written to the device."));
    f("drive_writes", r.drive_writes, says("Times that the whole drive was written."));
    f("endurance_share", r.endurance_share, says("Share of the rated bytes that the run wrote."));
    f("slow_write_seconds", r.slow_write_seconds,
      says("Time spent writing while the write cache was full."));
    f("latency_ms", group([&](auto&& g) {
        g("p50", r.latency_p50_ms, says("Median."));
        g("p99", r.latency_p99_ms, says("99th percentile."));
      }),
      says("Latency of loads, from the request for them to their end."));
  }
};

template <>
struct Fields<TieringResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("promotions", r.promotions, says("Jobs towards the first tier."));
    f("cascades", r.cascades, says("Jobs from the first tier."));
    f("promotion_failures", r.promotion_failures,
      says("Blocks found here for which the first tier had no room."));
    f("peak_pinned_share", r.peak_pinned_share,
      says("Largest share of the first tier that writes to this tier pinned."));
  }
};

template <>
struct Fields<ChunkTierResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tokens", r.tokens, says("Tokens of a chunk or file. Counts of the tier are of these."));
    f("lost", r.lost, if_any("Chunks that a look-up found and that did not come."));
    f("ticks", r.ticks, if_any("Ticks of the evictor that found the tier too full."));
    f("idle_ticks", r.idle_ticks, if_any("Ticks of these that found nothing to drop."));
    f("missing_reads", r.missing_reads,
      if_any("Files gone before their read, of which the engine was not told."));
  }
};

template <>
struct Fields<LoadBreakEven> {
  static constexpr std::string_view kName = "break-even";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tier", r.tier, says("Where the prefix lies."));
    f("tokens", or_word(r.tokens, "never"),
      says("Shortest prefix that an idle way delivers before the GPU can compute it.", 1));
  }
};

template <>
struct Fields<LoadTime> {
  static constexpr std::string_view kName = "load time";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tier", r.tier, says("Where the prefix lies."));
    f("tokens", r.tokens, says("Its length."));
    f("load_ms", r.load_ms, says("Time to load it, nothing else on its way."));
    f("compute_ms", r.compute_ms, says("Time to compute it, nothing else in the batch."));
  }
};

template <>
struct Fields<TierResult> {
  static constexpr std::string_view kName = "tier";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the tier; hbm is the first."));
    f("kind", r.kind,
      FieldRule{.choices = kStorageTierKinds, .help = "Kind of a storage tier.", .sparse = true});
    f("capacity_bytes", or_inf(r.unbounded, r.capacity_bytes), says("Capacity in bytes."));
    f("capacity_blocks", or_inf(r.unbounded, r.capacity_blocks),
      says("Capacity in blocks of the engine."));
    f("peak_bytes", r.peak_bytes,
      says("Most bytes at once: held by requests in HBM, stored in a tier below."));
    f("mean_bytes", r.mean_bytes, says("Mean of those bytes, from first arrival to last event."));
    f("queries", r.queries, says("Full blocks looked up at first admissions."));
    f("hits", r.hits, says("Blocks that those look-ups found here."));
    f("hits_resumed", r.hits_resumed, says("Blocks found by requests after a preemption."));
    f("stores", r.stores, says("Blocks stored."));
    f("stores_skipped", r.stores_skipped, if_any("Blocks that engine.store_threshold kept out."));
    f("evictions", r.evictions, says("Blocks evicted."));
    f("store_failures", r.store_failures, says("Blocks that found no room."));
    f("write_refusals", by_name(r.write_refusals, &ReasonCount::reason, &ReasonCount::count),
      if_any("Blocks that were not written, by reason.", 1));
    f("device", r.device, says("Traffic and wear of a storage tier's device."));
    f("tiering", r.tiering, says("Jobs of a secondary tier."));
    f("chunks", r.chunks, says("Of a connector that keeps chunks or files."));
  }
};

template <>
struct Fields<LinkResult> {
  static constexpr std::string_view kName = "link";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the link or medium."));
    f("from", r.from, says("Where its bytes come from."));
    f("to", r.to, says("Where its bytes go."));
    f("kind", mark(r.medium, "medium"),
      if_any("A medium that links share; they carry the same bytes."));
    f("ranks", r.ranks, if_any("Ranks that are alike; this row is their sum.", 2));
    f("bytes", r.bytes, says("Bytes transferred."));
    f("transfers", r.transfers, says("Transfers."));
    f("busy_fraction", r.busy_fraction,
      says("Share of the time from first arrival to last event in which it was busy."));
    f("peak_bytes_per_s", r.peak_bytes_per_s, says("Highest mean rate of one bin of series."));
    f("capacity_bytes_per_s", r.capacity_bytes_per_s, says("Rate of an endless transfer."));
    f("model", r.model, says("Where its times come from."));
    f("extrapolated_transfers", r.extrapolated.transfers,
      if_any("Transfers that exceed the calibration range, in bytes or copies."));
    f("across_step_transfers", r.across_step.transfers,
      if_any("Transfers between two measured rates that differ by more than 2x."));
  }
};

template <>
struct Fields<LoadChoiceResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("break_even_tokens", or_word(r.break_even_tokens, "never"),
      says("Shortest prefix that an idle link delivers before the GPU can compute it.", 1));
    f("loaded", given(r.decided, r.loaded),
      says("Admissions that loaded; only with load_or_recompute break_even."));
    f("recomputed", given(r.decided, r.recomputed),
      says("Admissions that computed what they could have loaded."));
  }
};

template <>
struct Fields<LoadWaitResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("steps", r.steps, says("Steps that waited for loads."));
    f("stall_s", r.stall_s, says("Time that they waited."));
  }
};

template <>
struct Fields<SwapResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("swapped_out", r.swapped_out, says("Requests swapped out."));
    f("swapped_in", r.swapped_in, says("Requests swapped in."));
    f("blocks_out", r.blocks_out, says("Blocks swapped out."));
    f("blocks_in", r.blocks_in, says("Blocks swapped in."));
    f("stall_s", r.stall_s, says("Time that steps waited for these copies."));
    f("peak_requests_swapped", r.peak_swapped, says("Most requests swapped out at once."));
    f("peak_cpu_cache_usage", r.peak_cpu_usage,
      says("Largest share of the CPU blocks in use.", 0, 1));
    f("fatal", r.fatal, if_any("The error on which the engine would have died."));
  }
};

template <>
struct Fields<EngineShare> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("requests", r.requests, says("Requests that it served."));
    f("preemptions", r.preemptions, says("Its preemptions."));
    f("steps", r.steps, says("Its steps."));
    f("busy_fraction", r.busy_fraction,
      says("Share of the time from first arrival to last event in which it ran steps."));
  }
};

template <>
struct Fields<BindingResource> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("resource", r.resource, says("hbm, compute, a tier, a link, or none."));
    f("why", derived(r.why.text), says("The figure that says so, in a sentence."));
    f("note", r.why, newer("The same, with a code and figures."));
  }
};

template <>
struct Fields<FrontEndResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("processes", r.processes, says("API server processes.", 1));
    f("busy_fraction", r.busy_fraction, says("Share of the time that their event loops work."));
    f("tokens_per_chunk", r.tokens_per_chunk,
      says("Tokens of a streamed chunk. More than 1: tokens wait for the event loop."));
  }
};

template <>
struct Fields<SloResult> {
  static constexpr std::string_view kName = "slo";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Key of a run's results, e.g. p99_ttft_ms."));
    f("tenant", r.tenant, if_any("Tenant whose requests the target is about."));
    f("bound", either(r.at_least, "min", "max"), says("Whether the target is a minimum."));
    f("target", r.target, says("The limit."));
    f("value", r.value, says("The figure of this run."));
    f("passed", r.passed, says("Whether the limit is kept."));
  }
};

template <>
struct Fields<Series> {
  static constexpr std::string_view kName = "series";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("What is counted."));
    f("unit", r.unit, says("Unit of the values."));
    f("bin_s", r.bin_s, says("Length of a bin; the first begins at time 0."));
    f("values", r.values, signed_figure("A value for each bin."));
  }
};

template <>
struct Fields<std::array<double, kTtftStages>> {
  static constexpr std::string_view kName = "ttft_stages";
  static constexpr std::string_view kHelp = "Where the time to first token went; the sum is exact.";
  static constexpr std::array<std::string_view, kTtftStages> kStages = {
      "Waited to be scheduled: for its turn, for blocks, for a place in the batch.",
      "Its loads waited for links that others used.",
      "Its loads ran.",
      "Computed or queued again after a preemption.",
      "Steps that computed its prompt, with what else they computed.",
      "API server: its way to the engine, and its first token's way out."};
  template <class R, class F>
  static void visit(R& r, F&& f) {
    for (std::size_t i = 0; i < kTtftStages; ++i) {
      const auto stage = static_cast<TtftStage>(i);
      f(name_of(stage), r[i],
        stage == TtftStage::kFrontEnd ? if_any(kStages[i]) : says(kStages[i]));
    }
  }
};

template <>
struct Fields<TtftBand> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, one_of(kTtftBands, "Quantiles of the time to first token."));
    f("requests", r.requests, says("Requests in this band.", 1));
    f("ttft_ms", r.ttft_ms, says("Mean time to first token."));
    f("stages_ms", r.stage_ms, says("Mean of each stage."));
  }
};

template <>
struct Fields<SlowRequest> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("request", r.request, says("Its row in the workload, from 0."));
    f("arrival_s", r.arrival_s, says("When it arrived."));
    f("ttft_ms", r.ttft_ms, says("Its time to first token."));
    f("stages_ms", r.stage_ms, says("What that time went into."));
    f("input_tokens", r.input_tokens, says("Tokens of its prompt."));
    f("output_tokens", r.output_tokens, says("Tokens of its answer."));
    f("cached_tokens", r.cached_tokens, says("Prompt tokens from each tier, HBM first."));
    f("preemptions", r.preemptions, says("How often it was preempted."));
  }
};

template <>
struct Fields<SimulationCost> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("events", r.events, says("Simulated events."));
    f("wall_s", r.wall_s, says("Time that the simulation took."));
    f("requests_per_wall_s", r.requests_per_wall_s, says("Requests per second of that time."));
    f("steps_per_wall_s", r.steps_per_wall_s, says("Engine steps per second of that time."));
    f("peak_rss_bytes", r.peak_rss_bytes, says("Most memory that the process had."));
    f("memory_estimate_bytes", r.memory_estimate_bytes,
      newer("Most memory that the process asked for."));
  }
};

template <>
struct Fields<RunResult> {
  static constexpr std::string_view kName = "run";

  struct Latency {
    std::string_view name;
    std::string_view of;
    LatencyStats RunResult::*stats;
  };
  static constexpr std::array<Latency, 4> kLatencies = {
      {{"ttft", "time to first token", &RunResult::ttft},
       {"tpot", "time per output token after the first", &RunResult::tpot},
       {"itl", "time between two output tokens", &RunResult::itl},
       {"e2el", "end-to-end latency", &RunResult::e2el}}};

  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("requests", r.requests, says("Measured requests: without warm-up and not_sent."));
    f("completed", r.completed, says("Requests that completed."));
    f("rejected", r.rejected, says("Requests that were turned away."));
    f("failed", r.failed, says("Requests that failed."));
    f("stuck", r.stuck, says("Requests that can never complete."));
    f("warmup_requests", r.warmup_requests,
      says("Requests before warmup_s, or that end after a benchmark's seconds: only counters of "
           "steps, tiers and links have them."));
    f("not_sent", r.not_sent,
      says("Requests due after horizon_s, with the later turns of their sessions."));
    f("duration_s", r.duration_s, says("First arrival to last finish of measured requests."));
    f("total_input_tokens", r.input_tokens, says("Prompt tokens of completed requests."));
    f("total_output_tokens", r.output_tokens, says("Output tokens of completed requests."));
    f("request_throughput", r.request_throughput, says("Completed requests per second."));
    f("output_throughput", r.output_throughput, says("Output tokens per second."));
    f("total_token_throughput", r.total_token_throughput,
      says("Prompt and output tokens per second."));
    f("goodput", r.goodput, says("Requests per second that meet every latency target."));
    for (const Latency& kind : kLatencies) latency(kind, r, f);
    f("quantile_error", group([&](auto&& g) {
        for (const Latency& kind : kLatencies) {
          g(kind.name, (r.*kind.stats).quantile_error,
            FieldRule{.most = 0.001, .help = kind.of, .sparse = true});
        }
      }),
      says("Largest relative error of percentiles that come from a histogram."));
    f("queue_time_ms", group([&](auto&& g) {
        g("mean", r.queue_time.mean_ms, says("Mean."));
        g("p50", r.queue_time.median_ms, says("Median."));
        g("p99", r.queue_time.p99_ms, says("99th percentile."));
      }),
      says("Arrival to the first scheduled tokens."));
    f("client_queue_time_ms", group([&](auto&& g) {
        g("mean", r.client_queue_time.mean_ms, says("Mean."));
        g("p50", r.client_queue_time.median_ms, says("Median."));
        g("p99", r.client_queue_time.p99_ms, says("99th percentile."));
        g("max", r.client_queue_time.max_ms, says("Largest."));
      }),
      says("Due time to arrival: a client waits while all allowed requests are in flight."));
    f("peak_waiting", r.peak_waiting,
      newer("Most requests that waited for one engine during a step."));
    f("preemptions", r.preemptions, says("Preemptions."));
    f("recomputed_tokens", r.recomputed_tokens, says("Tokens computed again after preemptions."));
    f("engine_steps", r.engine_steps, says("Steps of all engines."));
    f("deferrals", r.deferrals, says("Look-ups that had to be repeated at a later step."));
    f("flushes", r.flushes, says("Steps that waited for stores."));
    f("flush_stall_s", r.flush_stall_s, says("Time that those steps waited."));
    using Source = std::pair<std::string, std::uint64_t>;
    f("prompt_tokens_by_source",
      by_name(r.prompt_tokens_by_source, &Source::first, &Source::second),
      says("Prompt tokens that were computed (local_compute) or came from each tier."));
    f("tiers", r.tiers, says("Each tier, HBM first."));
    f("links", r.links, says("Each link and medium."));
    f("decode_cold_blocks_per_token", group([&](auto&& g) {
        g("mean", r.cold_blocks_per_token_mean, says("Mean."));
        g("p99", r.cold_blocks_per_token_p99, says("99th percentile."));
      }),
      says("Blocks that a decode reads from below HBM, for each token."));
    f("break_even", r.break_even, says("From which length on loading beats computing, by tier."));
    f("load_times", r.load_times, says("Loading against computing, by tier and length."));
    f("load_failures", r.load_failures, if_any("Loads that did not come whole."));
    f("load_choice", r.load_choice, says("Loading against computing again, with a tier below."));
    f("load_wait", r.load_wait, says("Steps that waited for loads, where they may."));
    f("copy_harm_s", r.copy_harm_s, says("Time by which copies lengthened steps."));
    f("connector_s", r.connector_s, says("Time by which connector_costs lengthened steps."));
    f("front_end", r.front_end, if_any("API server between clients and engines."));
    f("swap", r.swap, says("Swapping of vLLM v0."));
    f("engines", r.engines, if_any("Each of several engines."));
    f("collective_s", r.collective_s,
      says("Time in collectives of ranks, and of engines that share experts."));
    f("collective_share", r.collective_share,
      says("Share of the time of steps that collectives take."));
    f("binding", r.binding, says("The limiting resource."));
    f("slo", r.slo, says("Each target."));
    f("reasons", group([&](auto&& g) {
        const auto counts = [](auto& rows) {
          return by_name(rows, &ReasonCount::reason, &ReasonCount::count);
        };
        g("rejected", counts(r.rejected_reasons), says("Requests turned away, by reason."));
        g("failed", counts(r.failed_reasons), says("Failed requests, by reason."));
        g("stuck", counts(r.stuck_reasons), says("Stuck requests, by reason."));
      }),
      says("Why requests did not complete."));
    f("series", r.series, says("Quantities over time, in equal bins."));
    f("ttft_bands", r.ttft_bands,
      newer("Where the time to first token went: of all, then by quantile."));
    f("slowest", r.slowest, newer("The ten requests with the longest time to first token."));
    f("sim", r.sim, newer("The simulation itself; the digest leaves it out."));
  }

  /// Sources in the order of tiers, computed tokens first.
  static void finish(RunResult& r) {
    auto& sources = r.prompt_tokens_by_source;
    const auto rank = [&](const std::string& name) {
      std::size_t at = 0;
      while (at < r.tiers.size() && r.tiers[at].name != name) ++at;
      return name == "local_compute" ? 0 : at + 1;
    };
    std::stable_sort(sources.begin(), sources.end(),
                     [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  }

 private:
  struct Statistic {
    std::string_view name;
    std::string_view help;
    double LatencyStats::*member;
  };
  static constexpr std::array<Statistic, 7> kStatistics = {
      {{"mean", "Mean", &LatencyStats::mean_ms},
       {"median", "Median", &LatencyStats::median_ms},
       {"std", "Standard deviation", &LatencyStats::std_ms},
       {"p90", "90th percentile", &LatencyStats::p90_ms},
       {"p95", "95th percentile", &LatencyStats::p95_ms},
       {"p99", "99th percentile", &LatencyStats::p99_ms},
       {"max", "Maximum", &LatencyStats::max_ms}}};

  template <class R, class F>
  static void latency(const Latency& kind, R& r, F& f) {
    for (const Statistic& s : kStatistics) {
      const std::string help = fmt::format("{} of the {}.", s.help, kind.of);
      f(fmt::format("{}_{}_ms", s.name, kind.name), (r.*kind.stats).*s.member, says(help));
    }
  }
};

}  // namespace spillway

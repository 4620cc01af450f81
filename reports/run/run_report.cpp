// What a run's report shows: the answer first, then where the time went, how it went over time,
// tiers and links, and what it rests on.
#include "reports/run/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/provenance.hpp"
#include "reports/run/stages.hpp"
#include "reports/run/tool_names.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

std::string from_tokens(std::uint64_t tokens) {
  return tokens == 0 ? "never" : fmt::format("{} tokens", format_count(tokens));
}

/// Loading from an idle tier beside computing the same, by length.
Table load_time_table(const RunResult& run) {
  Table table;
  table.title = "Loading a prefix against computing it (nothing else on the way)";
  table.header = {"tier", "tokens", "load", "compute"};
  for (const LoadTime& t : run.load_times) {
    table.rows.push_back(
        {t.tier, format_count(t.tokens), format_ms(t.load_ms), format_ms(t.compute_ms)});
  }
  return table;
}

void add_break_even(const RunResult& run, Table& table) {
  for (const LoadBreakEven& b : run.break_even) {
    table.rows.push_back({fmt::format("loading from {} beats computing from (idle)", b.tier),
                          from_tokens(b.tokens)});
  }
  if (run.load_failures > 0) {
    table.rows.push_back({"loads that did not come whole", format_count(run.load_failures)});
  }
}

/// `by_tier`: what the link alone says is told of each tier.
void add_load_choice(const LoadChoiceResult& c, bool by_tier, Table& table) {
  if (!by_tier) {
    table.rows.push_back(
        {"loading beats computing from (idle link)", from_tokens(c.break_even_tokens)});
  }
  if (!c.decided) return;
  table.rows.push_back({"admissions that loaded", format_count(c.loaded)});
  table.rows.push_back({"admissions that computed instead", format_count(c.recomputed)});
}

/// Less than this of a time is not worth a line.
constexpr double kWorthLine = 0.02;

/// Of the mean TTFT; 0 where it is hardly any of it.
double front_end_ms(const RunResult& run) {
  if (!run.front_end || run.ttft_bands.empty()) return 0;
  const TtftBand& all = run.ttft_bands.front();
  const double ms = all.stage_ms.back();
  return ms >= kWorthLine * all.ttft_ms ? ms : 0;
}

bool collectives_matter(const RunResult& run) {
  return run.collective_share.value_or(0) >= kWorthLine;
}

Table totals_table(const RunResult& run) {
  Table table;
  table.title = "Requests and tokens";
  table.header = {"figure", "value"};
  const auto add = [&](const char* name, std::string value) {
    table.rows.push_back({name, std::move(value)});
  };
  add("requests", format_count(run.requests));
  add("completed", format_count(run.completed));
  if (run.rejected > 0) add("rejected", format_count(run.rejected));
  if (run.failed > 0) add("failed", format_count(run.failed));
  if (run.stuck > 0) add("stuck", format_count(run.stuck));
  if (run.warmup_requests > 0) add("warm-up, not measured", format_count(run.warmup_requests));
  if (run.not_sent > 0) add("not sent (beyond the horizon)", format_count(run.not_sent));
  add("duration (s)", format_real(run.duration_s));
  add("requests/s", format_real(run.request_throughput));
  add("output tokens/s", format_real(run.output_throughput));
  add("goodput (requests/s)", format_real(run.goodput));
  add("queue time p50", format_ms(run.queue_time.median_ms));
  add("queue time p99", format_ms(run.queue_time.p99_ms));
  if (run.client_queue_time.max_ms > 0) {
    add("held back by clients p50", format_ms(run.client_queue_time.median_ms));
    add("held back by clients p99", format_ms(run.client_queue_time.p99_ms));
  }
  add("preemptions", format_count(run.preemptions));
  add("recomputed tokens", format_count(run.recomputed_tokens));
  add("engine steps", format_count(run.engine_steps));
  if (run.cold_blocks_per_token_p99 > 0) {
    add("cold blocks read per decoded token", format_real(run.cold_blocks_per_token_mean));
    add("... p99", format_real(run.cold_blocks_per_token_p99));
  }
  if (run.flushes > 0) {
    add("steps stalled by stores", format_count(run.flushes));
    add("stalled by stores (s)", format_real(run.flush_stall_s));
  }
  if (run.load_wait) {
    add("steps that waited for loads", format_count(run.load_wait->steps));
    add("waited for loads (s)", format_real(run.load_wait->stall_s));
  }
  if (run.copy_harm_s) add("steps lengthened by copies (s)", format_real(*run.copy_harm_s));
  if (run.connector_s) {
    add("steps lengthened by the connector (s)", format_real(*run.connector_s));
  }
  if (const double ms = front_end_ms(run); ms > 0) add("mean TTFT in the front end", format_ms(ms));
  if (collectives_matter(run)) {
    add("time of steps in collectives", format_percent(*run.collective_share));
  }
  if (run.load_choice) add_load_choice(*run.load_choice, !run.break_even.empty(), table);
  add_break_even(run, table);
  return table;
}

/// Latencies and totals, with a benchmark tool's names where the workload is of one.
void add_figures(const RunResult& run, const std::string& tool, Section& section) {
  for (Table table : {latency_table(run), totals_table(run)}) {
    add_tool_names(tool, table);
    section.tables.push_back(std::move(table));
  }
}

Table source_table(const RunResult& run) {
  Table table;
  table.title = "Where prompt tokens came from";
  table.header = {"source", "tokens", "share"};
  for (const auto& [name, tokens] : run.prompt_tokens_by_source) {
    const double share = run.input_tokens == 0
                             ? 0
                             : static_cast<double>(tokens) / static_cast<double>(run.input_tokens);
    table.rows.push_back(
        {name == "local_compute" ? "computed" : name, format_count(tokens), format_percent(share)});
  }
  return table;
}

Table tier_table(const RunResult& run) {
  Table table;
  const bool chunks = std::any_of(run.tiers.begin(), run.tiers.end(),
                                  [](const TierResult& t) { return t.chunks.has_value(); });
  table.title = chunks ? "Tiers (counts in engine blocks; below HBM, in chunks or files)"
                       : "Tiers (counts in engine blocks)";
  table.header = {"tier",  "capacity", "peak",    "mean",   "asked",
                  "found", "stored",   "evicted", "refused"};
  for (const TierResult& t : run.tiers) {
    table.rows.push_back(
        {t.name, t.unbounded ? "inf" : format_bytes(static_cast<double>(t.capacity_bytes)),
         format_bytes(static_cast<double>(t.peak_bytes)), format_bytes(t.mean_bytes),
         format_count(t.queries), format_count(t.hits), format_count(t.stores),
         format_count(t.evictions), format_count(t.store_failures)});
  }
  return table;
}

/// Empty where no tier is storage.
Table device_table(const RunResult& run) {
  Table table;
  table.title = "Storage";
  table.header = {"tier", "kind", "figure", "value"};
  for (const TierResult& t : run.tiers) {
    if (!t.device) continue;
    const DeviceResult& d = *t.device;
    const auto add = [&](const char* figure, std::string value) {
      table.rows.push_back({t.name, t.kind, figure, std::move(value)});
    };
    add("read", format_bytes(static_cast<double>(d.bytes_read)));
    add("written", format_bytes(static_cast<double>(d.bytes_written)));
    if (d.bytes_read > 0) {
      add("load p50", format_ms(d.latency_p50_ms));
      add("load p99", format_ms(d.latency_p99_ms));
    }
    if (d.drive_writes) add("drive writes", format_real(*d.drive_writes));
    if (d.endurance_share) {
      add("rated endurance used up", fmt::format("{} ppm", format_real(*d.endurance_share * 1e6)));
    }
    if (d.slow_write_seconds)
      add("writes beyond the cache (s)", format_real(*d.slow_write_seconds));
  }
  return table;
}

/// Empty where every block was written.
Table refusal_table(const RunResult& run) {
  Table table;
  table.title = "Blocks that were not written";
  table.header = {"tier", "reason", "blocks"};
  for (const TierResult& t : run.tiers) {
    if (t.stores_skipped > 0) {
      table.rows.push_back({t.name, "store_threshold", format_count(t.stores_skipped)});
    }
    for (const ReasonCount& refusal : t.write_refusals) {
      table.rows.push_back({t.name, refusal.reason, format_count(refusal.count)});
    }
  }
  return table;
}

Table link_table(const RunResult& run) {
  Table table;
  table.title = "Links";
  table.header = {"link", "from", "to", "bytes", "transfers", "busy", "peak", "capacity"};
  for (const LinkResult& l : run.links) {
    table.rows.push_back({l.name, l.from, l.to, format_bytes(static_cast<double>(l.bytes)),
                          format_count(l.transfers), format_percent(l.busy_fraction),
                          fmt::format("{} GB/s", format_real(l.peak_bytes_per_s / 1e9)),
                          fmt::format("{} GB/s", format_real(l.capacity_bytes_per_s / 1e9))});
  }
  return table;
}

Chart over_time(const RunResult& run, const char* title, const char* y_label, double scale,
                const std::vector<std::string>& names) {
  Chart chart;
  chart.title = title;
  chart.x_label = "time (s)";
  chart.y_label = y_label;
  for (const std::string& name : names) {
    for (const Series& series : run.series) {
      if (series.name != name) continue;
      ChartSeries line;
      line.name = name;
      for (std::size_t i = 0; i < series.values.size(); ++i) {
        line.x.push_back((static_cast<double>(i) + 0.5) * series.bin_s);
        line.y.push_back(series.values[i] * scale);
      }
      chart.series.push_back(std::move(line));
    }
  }
  return chart;
}

/// "12 failed (too_long), 3 stuck (deadlock)".
std::string incomplete(const RunResult& run) {
  std::string out;
  const auto add = [&](const char* status, const std::vector<ReasonCount>& reasons) {
    for (const ReasonCount& reason : reasons) {
      out += fmt::format("{}{} {} ({})", out.empty() ? "" : ", ", format_count(reason.count),
                         status, reason.reason);
    }
  };
  add("rejected", run.rejected_reasons);
  add("failed", run.failed_reasons);
  add("stuck", run.stuck_reasons);
  return out;
}

/// "12 of 1,000 requests did not complete: ..."; empty where all did.
std::string incomplete_text(const RunResult& run) {
  if (run.completed >= run.requests) return "";
  return fmt::format("{} of {} requests did not complete: {}",
                     format_count(run.requests - run.completed), format_count(run.requests),
                     incomplete(run));
}

/// Met, or which targets are not.
Fact slo_fact(const RunResult& run) {
  std::string missed;
  std::size_t count = 0;
  for (const SloResult& slo : run.slo) {
    if (slo.passed) continue;
    ++count;
    missed += (missed.empty() ? "" : ", ") +
              against_limit({slo.name, slo.tenant, slo.value, slo.target, slo.at_least});
  }
  if (count == 0) {
    return {"SLO", "Met",
            fmt::format("All {} targets, in this one run", format_count(run.slo.size())),
            Status::kMet};
  }
  return {"SLO", "Missed",
          fmt::format("{} of {} targets, in this one run: {}", count, run.slo.size(), missed),
          Status::kMissed};
}

Section answer_page(const RunResult& run, const std::string& tool) {
  Section page;
  page.id = "answer";
  page.heading = "Answer";
  if (!run.slo.empty()) page.facts.push_back(slo_fact(run));
  page.facts.push_back({"Requests", format_count(run.requests),
                        run.completed == run.requests
                            ? fmt::format("all completed, in {} s", format_real(run.duration_s))
                            : fmt::format("{} completed", format_count(run.completed))});
  page.facts.push_back({"Time to first token, p99", format_ms(run.ttft.p99_ms),
                        fmt::format("half of them within {}", format_ms(run.ttft.median_ms))});
  page.facts.push_back({"Time per output token, p99", format_ms(run.tpot.p99_ms),
                        fmt::format("half of them within {}", format_ms(run.tpot.median_ms))});
  page.facts.push_back(
      {"Goodput", fmt::format("{} requests/s", format_real(run.goodput)),
       fmt::format("within SLO, of {} requests/s completed", format_real(run.request_throughput))});
  if (run.binding)
    page.facts.push_back({"Limiting resource", run.binding->resource, run.binding->why.text});
  const std::string missing = incomplete_text(run);
  if (!missing.empty()) page.paragraphs.push_back(missing);
  if (!run.slo.empty()) page.tables.push_back(slo_table(run.slo));
  add_figures(run, tool, page);
  page.tables.push_back(source_table(run));
  return page;
}

Section time_page(const RunResult& run) {
  Section page;
  page.id = "time";
  page.heading = "Where the time goes";
  if (run.ttft_bands.empty()) {
    page.paragraphs.emplace_back(run.completed == 0
                                     ? "No request completed: there is nothing to show."
                                     : "This result was written by a build that did not record "
                                       "stages; run the scenario again to see them.");
    return page;
  }
  page.charts.push_back(ttft_chart(run));
  page.paragraphs.emplace_back(
      run.front_end
          ? "Six stages add up to the time to a first token: queue, busy link, load, work "
            "again after a preemption, prefill steps, front end."
          : "Five stages add up to the time to a first token: queue, busy link, load, "
            "work again after a preemption, prefill steps.");
  if (!run.slowest.empty()) {
    Section& slowest = page.parts.emplace_back();
    slowest.heading = "The slowest requests";
    slowest.folded = true;
    slowest.paragraphs = slowest_sentences(run, 3);
    slowest.tables.push_back(slowest_table(run));
  }
  return page;
}

/// Charts without a value are left out.
void add_chart(Chart chart, Section& section) {
  const bool any = std::any_of(chart.series.begin(), chart.series.end(),
                               [](const ChartSeries& s) { return !s.x.empty(); });
  if (any || !chart.cells.empty()) section.charts.push_back(std::move(chart));
}

Section timeline_page(const RunResult& run) {
  Section page;
  page.id = "timeline";
  page.heading = "Over time";
  add_chart(over_time(run, "Requests in the engine", "requests", 1, {"running", "waiting"}), page);
  std::vector<std::string> tiers;
  for (const TierResult& tier : run.tiers) tiers.push_back(tier.name);
  add_chart(over_time(run, "Bytes held per tier (HBM: in use)", "GiB", 1.0 / (1 << 30), tiers),
            page);
  add_chart(link_heatmap(run), page);
  std::vector<std::string> links;
  for (const LinkResult& link : run.links) links.push_back(link.name);
  add_chart(over_time(run, "Link use", "GB/s", 1e-9, links), page);
  add_chart(over_time(run, "Scheduled tokens", "tokens/s", 1, {"scheduled_tokens"}), page);
  add_chart(over_time(run, "Preemptions", "per second", 1, {"preemptions"}), page);
  if (page.charts.empty()) {
    page.paragraphs.emplace_back("Nothing happened in this run: there is nothing to show.");
  }
  return page;
}

Section memory_page(const RunResult& run) {
  Section memory;
  memory.id = "memory";
  memory.heading = "Memory and links";
  memory.tables.push_back(tier_table(run));
  if (!run.load_times.empty()) memory.tables.push_back(load_time_table(run));
  Table refusals = refusal_table(run);
  if (!refusals.rows.empty()) memory.tables.push_back(std::move(refusals));
  Table devices = device_table(run);
  if (!devices.rows.empty()) memory.tables.push_back(std::move(devices));
  if (!run.links.empty()) memory.tables.push_back(link_table(run));
  return memory;
}

}  // namespace

Report run_summary(const RunResult& run, const std::string& scenario, const std::string& tool) {
  Report report;
  report.title = "Run: " + scenario;
  report.subtitle = fmt::format("{} requests, {} simulated seconds, TTFT p99 {}, TPOT p99 {}",
                                format_count(run.requests), format_real(run.duration_s),
                                format_ms(run.ttft.p99_ms), format_ms(run.tpot.p99_ms));
  Section summary;
  const std::string missing = incomplete_text(run);
  if (!missing.empty()) summary.paragraphs.push_back(missing);
  if (run.binding) {
    summary.paragraphs.push_back(
        fmt::format("Limiting resource: {}. {}", run.binding->resource, run.binding->why.text));
  }
  if (!run.slo.empty()) summary.tables.push_back(slo_table(run.slo));
  add_figures(run, tool, summary);
  summary.tables.push_back(source_table(run));
  report.sections.push_back(std::move(summary));
  report.sections.push_back(memory_page(run));
  return report;
}

Report run_glance(const RunResult& run, const std::string& scenario) {
  Report report = run_summary(run, scenario);
  report.sections.resize(1);
  Section& section = report.sections.front();
  section.paragraphs.clear();
  if (std::string missing = incomplete_text(run); !missing.empty()) {
    section.paragraphs.push_back(std::move(missing));
  }
  if (run.binding) {
    section.paragraphs.push_back(
        fmt::format("Limiting resource: {}. {}", run.binding->resource, run.binding->why.text));
  }
  std::string sources;
  for (const std::vector<std::string>& row : source_table(run).rows) {
    sources += fmt::format("{}{} {}", sources.empty() ? "" : ", ", row[2],
                           row[0] == "computed" ? row[0] : "from " + row[0]);
  }
  if (!sources.empty()) section.paragraphs.push_back("Prompt tokens: " + sources + ".");
  section.paragraphs.push_back(
      fmt::format("Queue: p50 {}, p99 {}, at most {} waiting. Preemptions: {}.",
                  format_ms(run.queue_time.median_ms), format_ms(run.queue_time.p99_ms),
                  format_count(run.peak_waiting), format_count(run.preemptions)));
  if (const double ms = front_end_ms(run); ms > 0) {
    section.paragraphs.push_back(fmt::format("Front end: {} of TTFT on average.", format_ms(ms)));
  }
  if (collectives_matter(run)) {
    section.paragraphs.push_back(fmt::format("Collectives: {} of the time of steps.",
                                             format_percent(*run.collective_share)));
  }
  section.tables.clear();
  if (!run.slo.empty()) section.tables.push_back(slo_table(run.slo));
  section.tables.push_back(latency_table(run));
  for (Table& table : section.tables) table.title.clear();
  return report;
}

Report run_report(const RunResult& run, const Provenance& p) {
  const Report summary = run_summary(run, p.scenario);
  Report report;
  report.title = summary.title;
  report.subtitle = summary.subtitle;
  report.sections = {answer_page(run, benchmark_tool_of(p.inputs)),
                     time_page(run),
                     timeline_page(run),
                     memory_page(run),
                     setup_section(p),
                     provenance_section(p)};
  if (!run.slo.empty()) report.status = report.sections[0].facts[0].status;
  report.sections[4].id = "setup";
  report.sections[5].id = "provenance";
  return report;
}

}  // namespace spillway

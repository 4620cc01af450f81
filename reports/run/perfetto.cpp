#include "reports/run/perfetto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/run/trace_events.hpp"

namespace spillway {

namespace {

constexpr std::array<std::string_view, kTtftStages> kStageSums = {
    "queue, in all",     "load wait, in all", "load, in all",
    "recompute, in all", "step, in all",      "front end, in all"};

Time at_seconds(double seconds) {
  return time_at(std::llround(seconds * 1e9));
}

void add_series(const RunResult& run, TraceEvents& events) {
  const auto process = events.add_process();
  if (!process) return;
  events.name(*process, "Series");
  for (const Series& series : run.series) {
    const auto counter =
        events.add_counter(*process, fmt::format("{} ({})", series.name, series.unit));
    if (!counter) return;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      events.count(*counter, at_seconds(static_cast<double>(i) * series.bin_s),
                   std::llround(series.values[i]));
    }
  }
}

void add_slowest(const RunResult& run, TraceEvents& events) {
  const auto process = events.add_process();
  if (!process) return;
  events.name(*process, "Slowest first tokens");
  for (const SlowRequest& r : run.slowest) {
    const Time from = at_seconds(r.arrival_s);
    const Time to = from + Duration(std::llround(r.ttft_ms * 1e6));
    std::vector<TraceSpan> parts;
    Time at = from;
    for (std::size_t i = 0; i < kTtftStages; ++i) {
      const Time end = std::min(to, at + Duration(std::llround(r.stage_ms[i] * 1e6)));
      parts.push_back({kStageSums[i], at, end});
      at = end;
    }
    const std::string name = fmt::format("request {}", r.request);
    events.async(*process, "request", r.request, {name, from, to}, parts,
                 fmt::format(R"("input_tokens":{},"output_tokens":{},"preemptions":{})",
                             r.input_tokens, r.output_tokens, r.preemptions));
  }
}

}  // namespace

void write_perfetto(const RunResult& run, std::ostream& out) {
  TraceEvents events{TraceLimits()};
  add_slowest(run, events);
  add_series(run, events);
  events.write([&](std::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  });
}

}  // namespace spillway

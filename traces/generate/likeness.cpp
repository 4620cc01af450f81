#include "traces/generate/likeness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/stats/reuse_curve.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

namespace {

constexpr unsigned kPercents[] = {1, 10, 50};

struct Measured {
  TraceStats stats;
  ReuseCurve curve;
  double hit_ratio(std::uint64_t hits) const {
    return curve.references == 0
               ? 0
               : static_cast<double>(hits) / static_cast<double>(curve.references);
  }
};

Measured measure(const Workload& workload) {
  return {trace_stats(workload), reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest)};
}

/// The first requests of a workload, which must outlive the result.
Workload first_requests(const Workload& workload, std::uint32_t count) {
  WorkloadColumns c = workload.columns();
  const auto cut = [](auto& column, std::size_t size) {
    if (!column.empty()) column = column.first(size);
  };
  cut(c.arrival_ns, count);
  cut(c.input_tokens, count);
  cut(c.output_tokens, count);
  cut(c.session, count);
  cut(c.tenant, count);
  cut(c.after_begin, count + std::size_t{1});
  cut(c.think_ns, count);
  cut(c.chain_begin, count + std::size_t{1});
  c.chain = c.chain.first(c.chain_begin.back());
  c.unique_blocks = 0;
  for (const TraceBlockId id : c.chain) c.unique_blocks = std::max(c.unique_blocks, raw(id) + 1);
  return {nullptr, c, workload.source()};
}

double relative_error(double original, double generated) {
  if (original == generated) return 0;
  return original == 0 ? 1 : generated / original - 1;
}

}  // namespace

Likeness compare_traces(const Workload& original, const Workload& generated) {
  Likeness out;
  out.requests = std::min(original.size(), generated.size());
  const Measured o = measure(first_requests(original, out.requests));
  const Measured g = measure(generated);
  const auto row = [&](std::string name, double of_original, double of_generated) {
    out.rows.push_back(
        {std::move(name), of_original, of_generated, relative_error(of_original, of_generated)});
  };
  const auto lengths = [&](const char* name, const LengthStats& a, const LengthStats& b) {
    row(fmt::format("{} p50", name), a.p50, b.p50);
    row(fmt::format("{} p90", name), a.p90, b.p90);
    row(fmt::format("{} p99", name), a.p99, b.p99);
  };
  row("requests/s", o.stats.requests_per_s, g.stats.requests_per_s);
  lengths("input tokens", o.stats.input_tokens, g.stats.input_tokens);
  lengths("output tokens", o.stats.output_tokens, g.stats.output_tokens);
  row("hit ratio, infinite cache", o.stats.infinite_hit_ratio, g.stats.infinite_hit_ratio);
  for (const unsigned percent : kPercents) {
    const std::uint64_t blocks = std::max<std::uint64_t>(1, o.stats.unique_blocks * percent / 100);
    row(fmt::format("hit ratio, LRU of {} blocks ({}%)", blocks, percent),
        o.hit_ratio(o.curve.block.hits(blocks)), g.hit_ratio(g.curve.block.hits(blocks)));
  }
  return out;
}

}  // namespace spillway

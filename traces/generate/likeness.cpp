#include "traces/generate/likeness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/stats/reuse_curve.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

namespace {

constexpr unsigned kPercents[] = {1, 10, 50};

struct Measured {
  double requests_per_s;
  LengthStats input;
  LengthStats output;
  ReuseCurve curve;
  double hit_ratio(std::uint64_t hits) const {
    return curve.references == 0
               ? 0
               : static_cast<double>(hits) / static_cast<double>(curve.references);
  }
};

Measured measure(const Workload& workload) {
  return {mean_rate(workload), length_stats(workload.columns().input_tokens),
          length_stats(workload.columns().output_tokens),
          reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest)};
}

double relative_error(double original, double generated) {
  if (original == generated) return 0;
  return original == 0 ? 1 : generated / original - 1;
}

}  // namespace

Likeness compare_traces(const Workload& original, const Workload& generated) {
  Likeness out;
  out.requests = std::min(original.size(), generated.size());
  const Measured o =
      measure({nullptr, first_requests(original.columns(), out.requests), original.source()});
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
  row("requests/s", o.requests_per_s, g.requests_per_s);
  lengths("input tokens", o.input, g.input);
  lengths("output tokens", o.output, g.output);
  row("hit ratio, infinite cache", o.hit_ratio(o.curve.block.infinite_hits()),
      g.hit_ratio(g.curve.block.infinite_hits()));
  for (const unsigned percent : kPercents) {
    const std::uint64_t blocks = std::max<std::uint64_t>(1, o.curve.unique_blocks * percent / 100);
    row(fmt::format("hit ratio, LRU of {} blocks ({}%)", blocks, percent),
        o.hit_ratio(o.curve.block.hits(blocks)), g.hit_ratio(g.curve.block.hits(blocks)));
  }
  return out;
}

}  // namespace spillway

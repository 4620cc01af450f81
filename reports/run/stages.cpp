#include "reports/run/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostColumns = 120;  ///< of the heatmap
constexpr double kSecondsFromMs = 10'000;  ///< a chart's unit becomes s where its bars are so long
constexpr double kWorthNaming = 0.005;  ///< a stage with less of the wait is left out of sentences

using StageMs = std::array<double, kTtftStages>;

/// In the legend and in the table's header, by TtftStage.
constexpr std::array<const char*, kTtftStages> kStageNames = {
    "queue", "load wait", "load", "recompute", "step", "front end"};

/// Those that a run can have: the front end's, the last, only where it takes time.
std::span<const char* const> names_of(const RunResult& run) {
  const std::span<const char* const> all = kStageNames;
  return run.front_end ? all : all.first(all.size() - 1);
}

std::string band_text(const std::string& name) {
  if (name == "all") return "all requests";
  if (name == "p0-p50") return "fastest half";
  if (name == "p50-p90") return "next 40%";
  if (name == "p90-p99") return "next 9%";
  if (name == "p99-p100") return "slowest 1%";
  return name;
}

/// "2.90 s in the queue": a stage as part of a sentence.
std::string stage_text(std::size_t stage, double ms) {
  static constexpr std::array<const char*, kTtftStages> kWords = {
      "in the queue",
      "for a busy link",
      "loading from below HBM",
      "making up for a preemption",
      "in the steps that computed its prompt",
      "in the front end"};
  return fmt::format("{} {}", format_ms(ms), kWords[stage]);
}

/// What a wait was made of, the longest stage first.
std::string stages_text(const StageMs& stages) {
  const double sum = std::accumulate(stages.begin(), stages.end(), 0.0);
  std::array<std::size_t, kTtftStages> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stages[a] > stages[b]; });
  std::vector<std::string> parts;
  for (const std::size_t stage : order) {
    if (stages[stage] > kWorthNaming * sum) parts.push_back(stage_text(stage, stages[stage]));
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out.empty() ? "no time at all" : out;
}

std::uint64_t cached(const SlowRequest& r) {
  return std::accumulate(r.cached_tokens.begin(), r.cached_tokens.end(), std::uint64_t{0});
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", format_count(count));
}

const Series* series_of(const RunResult& run, const LinkResult& link) {
  const auto it = std::find_if(run.series.begin(), run.series.end(), [&](const Series& s) {
    return s.name == link.name && s.unit == "bytes/s";
  });
  return it == run.series.end() || it->values.empty() || it->bin_s <= 0 ? nullptr : &*it;
}

double end_of(const Series& series) {
  return static_cast<double>(series.values.size()) * series.bin_s;
}

/// The mean of the series over [from, to); past its end nothing moved.
double mean_over(const Series& series, double from, double to) {
  double sum = 0;
  const auto first = static_cast<std::size_t>(std::max(0.0, from / series.bin_s));
  for (std::size_t i = first; i < series.values.size(); ++i) {
    const double begin = static_cast<double>(i) * series.bin_s;
    if (begin >= to) break;
    const double overlap = std::min(to, begin + series.bin_s) - std::max(from, begin);
    if (overlap > 0) sum += series.values[i] * overlap;
  }
  return sum / (to - from);
}

}  // namespace

Chart ttft_chart(const RunResult& run) {
  Chart chart;
  chart.kind = ChartKind::kStacks;
  chart.title = "What first tokens waited for";
  const auto names = names_of(run);
  chart.part_names.assign(names.begin(), names.end());
  double longest = 0;
  for (const TtftBand& band : run.ttft_bands) longest = std::max(longest, band.ttft_ms);
  const bool seconds = longest >= kSecondsFromMs;
  chart.unit = seconds ? "s" : "ms";
  chart.x_label = fmt::format("mean time to first token ({})", chart.unit);
  for (const TtftBand& band : run.ttft_bands) {
    ChartStack stack;
    stack.name = band_text(band.name);
    for (std::size_t i = 0; i < names.size(); ++i) {
      stack.parts.push_back(seconds ? band.stage_ms[i] / 1000 : band.stage_ms[i]);
    }
    chart.stacks.push_back(std::move(stack));
  }
  if (run.ttft_bands.empty()) return chart;
  const TtftBand& last = run.ttft_bands.back();
  chart.note =
      fmt::format("The {} ({}) wait {} on average: {}.", band_text(last.name),
                  last.requests == 1 ? "1 request" : format_count(last.requests) + " requests",
                  format_ms(last.ttft_ms), stages_text(last.stage_ms));
  return chart;
}

void to_seconds(Chart& chart) {
  chart.unit = "s";
  chart.x_label = "mean time to first token (s)";
  for (ChartStack& stack : chart.stacks) {
    for (double& part : stack.parts) part /= 1000;
  }
}

Table slowest_table(const RunResult& run) {
  Table table;
  table.title = "The slowest first tokens";
  table.header = {"request", "arrived at", "first token after"};
  const auto names = names_of(run);
  table.header.insert(table.header.end(), names.begin(), names.end());
  table.header.insert(table.header.end(), {"prompt tokens", "of these cached", "preempted"});
  for (const SlowRequest& r : run.slowest) {
    std::vector<std::string> row = {fmt::format("{}", r.request),
                                    fmt::format("{} s", format_real(r.arrival_s)),
                                    format_ms(r.ttft_ms)};
    for (std::size_t i = 0; i < names.size(); ++i) row.push_back(format_ms(r.stage_ms[i]));
    row.push_back(format_count(r.input_tokens));
    row.push_back(format_count(cached(r)));
    row.push_back(format_count(r.preemptions));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> slowest_sentences(const RunResult& run, std::size_t most) {
  std::vector<std::string> out;
  for (const SlowRequest& r : run.slowest) {
    if (out.size() >= most) break;
    std::string text = fmt::format("Request {} waited {}: {}.", r.request, format_ms(r.ttft_ms),
                                   stages_text(r.stage_ms));
    text += fmt::format(" It arrived at {} s with a prompt of {} tokens, {} of them cached",
                        format_real(r.arrival_s), format_count(r.input_tokens),
                        format_count(cached(r)));
    if (r.preemptions > 0) text += fmt::format(", and was preempted {}", times(r.preemptions));
    out.push_back(text + ".");
  }
  return out;
}

Chart link_heatmap(const RunResult& run) {
  Chart chart;
  chart.kind = ChartKind::kHeatmap;
  chart.title = "How busy each link was";
  chart.x_label = "time (s)";
  chart.y_label = "link";
  chart.unit = "% of capacity";
  double end = 0;
  std::size_t columns = 0;
  for (const LinkResult& link : run.links) {
    const Series* series = series_of(run, link);
    if (series == nullptr || link.capacity_bytes_per_s <= 0) continue;
    end = std::max(end, end_of(*series));
    columns = std::max(columns, std::min(series->values.size(), kMostColumns));
  }
  if (columns == 0) return chart;
  const double width = end / static_cast<double>(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    chart.x_names.push_back(format_real(static_cast<double>(i) * width));
  }
  double highest = -1;
  std::string where;
  for (const LinkResult& link : run.links) {
    const Series* series = series_of(run, link);
    if (series == nullptr || link.capacity_bytes_per_s <= 0) continue;
    chart.y_names.push_back(link.name);
    std::vector<double> row;
    for (std::size_t i = 0; i < columns; ++i) {
      const double from = static_cast<double>(i) * width;
      row.push_back(100 * mean_over(*series, from, from + width) / link.capacity_bytes_per_s);
      if (row.back() <= highest) continue;
      highest = row.back();
      where = fmt::format("{} at {} s", link.name, chart.x_names[i]);
    }
    chart.cells.push_back(std::move(row));
  }
  chart.note =
      fmt::format("Busiest is {}, with {:.0f}% of what the link can carry.", where, highest);
  return chart;
}

}  // namespace spillway

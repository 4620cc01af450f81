#include "scenarios/fidelity/fit/log_spans.hpp"

#include <algorithm>
#include <numeric>

#include "sim/quantile.hpp"

namespace spillway {

std::vector<MeasuredRequest> logged_requests(const MeasuredRun& run) {
  std::vector<MeasuredRequest> out;
  std::copy_if(run.requests.begin(), run.requests.end(), std::back_inserter(out),
               [](const MeasuredRequest& r) { return r.completed; });
  return out;
}

double begin_s(const MeasuredRequest& r) {
  return r.scheduled_s >= 0 ? r.scheduled_s : r.first_token_s;
}

double evidence_end(const std::vector<MeasuredRequest>& used) {
  double end = 0;
  for (const MeasuredRequest& r : used) end = std::max(end, begin_s(r));
  return end;
}

std::vector<LogSpan> log_spans(const std::vector<MeasuredRequest>& used,
                               const LogFitOptions& options) {
  double begin = 0;
  double end = evidence_end(used);
  if (options.within) begin = options.within->first;
  if (options.within) end = std::min(end, options.within->second);
  std::vector<LogSpan> out;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (options.first > 0 && i == options.first) break;
    const MeasuredRequest& r = used[i];
    const auto add = [&](bool first, double from, double to) {
      if (from >= begin && to > from && to <= end) out.push_back({i, first, from, to - from});
    };
    add(true, r.scheduled_s, r.first_token_s);
    if (r.output_tokens > 1) add(false, r.first_token_s, r.last_token_s);
  }
  return out;
}

MeasuredRun come_when_scheduled(const MeasuredRun& run, std::vector<std::uint32_t>& places) {
  MeasuredRun out = run;
  out.requests = logged_requests(run);
  std::vector<double> tokens{0};
  for (const MeasuredRequest& r : out.requests) {
    if (r.output_tokens < 2 || r.first_token_s < 0 || r.last_token_s < 0) continue;
    tokens.push_back((r.last_token_s - r.first_token_s) / (r.output_tokens - 1));
  }
  const double half_step = median(tokens) / 2;
  std::vector<double> due;
  for (const MeasuredRequest& r : out.requests) {
    due.push_back(std::max(r.arrival_s, r.scheduled_s - half_step));
  }
  std::vector<std::uint32_t> order(due.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return due[a] < due[b]; });
  const std::vector<MeasuredRequest> all = std::move(out.requests);
  out.requests.clear();
  places.resize(order.size());
  for (const std::uint32_t i : order) {
    places[i] = static_cast<std::uint32_t>(out.requests.size());
    out.requests.push_back(all[i]);
    out.requests.back().arrival_s = due[i];
  }
  return out;
}

double overlap_of(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end());
  double sum = 0;
  double covered = 0;
  double end = -1;
  for (const auto& [from, to] : spans) {
    sum += to - from;
    covered += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return covered > 0 ? std::max(1.0, sum / covered) : 1;
}

}  // namespace spillway

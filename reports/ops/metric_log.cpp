#include "reports/ops/metric_log.hpp"

#include <algorithm>
#include <utility>

#include "sim/error.hpp"
#include "sim/request_targets.hpp"

namespace spillway {

namespace {

/// Of all engines that export it, so that each engine's buckets can be summed from these exactly.
std::vector<double> all_bounds(Signal signal) {
  std::vector<double> out;
  for (const EngineMetric& metric : engine_metrics()) {
    if (metric.signal != signal) continue;
    out.insert(out.end(), metric.buckets.begin(), metric.buckets.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

BinnedHistogram::BinnedHistogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void BinnedHistogram::add(Time at, Duration value, std::uint32_t count) {
  const double seconds = seconds_of(value);
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].add_amount(at, at, count);
  seconds_.add_amount(at, at, seconds * count);
}

MetricLog::MetricLog() {
  for (const Signal signal : kLatencySignals) {
    latencies_.emplace_back(all_bounds(signal));
  }
}

std::size_t MetricLog::index_of(Signal signal) {
  const auto at = std::find(kLatencySignals.begin(), kLatencySignals.end(), signal);
  KV_ASSERT(at != kLatencySignals.end(), "a signal that is no latency");
  return static_cast<std::size_t>(at - kLatencySignals.begin());
}

const MetricLog::Transfers& MetricLog::of_link(std::size_t link) const {
  static const Transfers kNone{};
  return link < transfers_.size() ? transfers_[link] : kNone;
}

void MetricLog::on_step(const StepRecord& record) {
  now_ = std::max(now_, record.end);
}

void MetricLog::on_token_gap(Duration gap, std::uint32_t count) {
  observe(Signal::kItl, now_, gap, count);
}

void MetricLog::on_request(const RequestRecord& r) {
  if (r.status != RequestStatus::kCompleted || r.scheduled < r.arrival) return;
  prompt_tokens_.add_amount(r.scheduled, r.scheduled, r.input_tokens);
  for (std::size_t i = 0; i < kMaxTiers; ++i) {
    if (r.cached_tokens[i] == 0) continue;
    cached_tokens_[i].add_amount(r.scheduled, r.scheduled, r.cached_tokens[i]);
  }
  observe(Signal::kQueueTime, r.scheduled, r.scheduled - r.arrival - r.way_in);
  observe(Signal::kTtft, r.first_token, r.first_token - r.arrival);
  observe(Signal::kE2e, r.finish, r.finish - r.arrival);
  output_tokens_.add_amount(r.first_token, r.finish, r.output_tokens);
  finished_.add_amount(r.finish, r.finish, 1);
  if (r.output_tokens > 1) observe(Signal::kTpot, r.finish, tpot_of(r));
}

void MetricLog::on_transfer(const TransferRecord& t) {
  if (t.link >= transfers_.size()) transfers_.resize(t.link + 1);
  transfers_[t.link].seconds.add_level(t.started, t.ended, 1);
  const auto bytes = static_cast<double>(t.payload.count());
  transfers_[t.link].bytes.add_amount(t.started, t.ended, bytes);
}

void MetricLog::on_tier_change(const TierChange& c) {
  if (c.stored > 0) stored_[c.tier].add_amount(c.now, c.now, c.stored);
  if (c.evicted > 0) evicted_[c.tier].add_amount(c.now, c.now, c.evicted);
}

void MetricLog::on_preemption(Time now, RequestId) {
  preemptions_.add_amount(now, now, 1);
}

}  // namespace spillway

#include "sim/recorder.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

/// Means over each bin; the last one ends with the run.
std::vector<double> scaled(const BinnedSeries& series, double factor, Time end) {
  std::vector<double> out = series.bins();
  const Duration width = series.bin_width();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Duration left = end - Time(width * static_cast<std::int64_t>(i));
    const bool part = left > Duration(0) && left < width;
    out[i] = out[i] / seconds_of(part ? left : width) * factor;
  }
  return out;
}

}  // namespace

Recorder::Recorder(std::uint32_t tiers, std::uint32_t links, RequestTargets targets)
    : targets_(std::move(targets)), tiers_(tiers), links_(links) {}

void Recorder::on_step(const StepRecord& r) {
  ++counts_.engine_steps;
  counts_.recomputed_tokens += r.recomputed_tokens;
  counts_.peak_waiting = std::max<std::uint64_t>(counts_.peak_waiting, r.waiting);
  running_.add_level(r.start, r.end, r.running);
  // Steps of one engine may overlap; what waits for it waits once.
  if (r.engine >= step_ends_.size()) step_ends_.resize(r.engine + 1);
  waiting_.add_level(std::max(r.start, step_ends_[r.engine]), r.end, r.waiting);
  step_ends_[r.engine] = r.end;
  tokens_.add_amount(r.start, r.end, r.scheduled_tokens);
  last_event_ = std::max(last_event_, r.end);
}

void Recorder::on_token_gap(Duration gap, std::uint32_t count) {
  itl_.add(gap, count);
}

void Recorder::on_request(const RequestRecord& r) {
  // A request that was never sent has no arrival.
  if (r.arrival != kNever) first_arrival_ = std::min(first_arrival_, r.arrival);
  if (r.finish > end_ || r.reason == Reason::kHorizon) cut_ = true;
  if (r.warmup) {
    ++counts_.warmup_requests;
    return;
  }
  const auto status = static_cast<std::size_t>(r.status);
  ++by_status_[status];
  if (r.arrival != kNever) first_measured_ = std::min(first_measured_, r.arrival);
  if (r.status != RequestStatus::kCompleted) {
    ++reasons_[status][std::string(name_of(r.reason))];
    return;
  }
  last_finish_ = std::max(last_finish_, r.finish);
  counts_.input_tokens += r.input_tokens;
  counts_.output_tokens += r.output_tokens;
  for (std::size_t i = 0; i < kMaxTiers; ++i) cached_tokens_[i] += r.cached_tokens[i];
  ttft_.add(r.first_token - r.arrival);
  ttft_stages_.add(r);
  e2el_.add(r.finish - r.arrival);
  queue_time_.add(r.scheduled - r.arrival - r.way_in);
  client_queue_time_.add(r.arrival - r.due);
  if (r.output_tokens > 1) tpot_.add(tpot_of(r));
  if (targets_.of(r.request).met_by(r)) ++good_;
}

void Recorder::count(ReachCount& reach, const TransferRecord& r) {
  const std::int64_t piece = r.payload.count() / r.copies;
  const bool first = reach.transfers++ == 0;
  reach.least_piece = first ? piece : std::min(reach.least_piece, piece);
  reach.most_piece = std::max(reach.most_piece, piece);
  reach.least_copies = first ? r.copies : std::min(reach.least_copies, r.copies);
  reach.most_copies = std::max(reach.most_copies, r.copies);
}

void Recorder::on_transfer(const TransferRecord& r) {
  Lane& lane = links_[r.link];
  lane.bytes += r.payload.count();
  ++lane.transfers;
  lane.busy += r.ended - r.started;
  if (r.reach == Reach::kExtrapolated) count(lane.extrapolated, r);
  if (r.reach == Reach::kAcrossStep) count(lane.across_step, r);
  lane.series.add_amount(r.started, r.ended, static_cast<double>(r.payload.count()));
  last_event_ = std::max(last_event_, r.ended);
}

void Recorder::advance(Level& level, Time now) {
  level.block_seconds += level.used * seconds_of(now - level.since);
  level.series.add_level(level.since, now, level.used);
  level.since = now;
}

void Recorder::on_tier_change(const TierChange& change) {
  Level& level = tiers_[change.tier];
  advance(level, change.now);
  level.used = change.used;
  level.peak = std::max(level.peak, change.used);
  level.stored += change.stored;
  level.evicted += change.evicted;
  last_event_ = std::max(last_event_, change.now);
}

void Recorder::on_preemption(Time now, RequestId) {
  ++counts_.preemptions;
  preempted_.add_amount(now, now, 1);
}

void Recorder::on_cold_decode(std::uint64_t millionths) {
  static_assert(std::chrono::milliseconds(1) == Duration(1'000'000));
  cold_.add(Duration(static_cast<Duration::rep>(millionths)));
}

RunResult Recorder::result(std::int64_t block_bytes) const {
  RunResult out = counts_;
  out.completed = by_status_[static_cast<std::size_t>(RequestStatus::kCompleted)];
  out.rejected = by_status_[static_cast<std::size_t>(RequestStatus::kRejected)];
  out.failed = by_status_[static_cast<std::size_t>(RequestStatus::kFailed)];
  out.stuck = by_status_[static_cast<std::size_t>(RequestStatus::kStuck)];
  out.not_sent = by_status_[static_cast<std::size_t>(RequestStatus::kNotSent)];
  out.requests = out.completed + out.rejected + out.failed + out.stuck;
  const auto reasons = [&](RequestStatus status) {
    std::vector<ReasonCount> list;
    for (const auto& [reason, count] : reasons_[static_cast<std::size_t>(status)]) {
      list.push_back({reason, count});
    }
    return list;
  };
  out.rejected_reasons = reasons(RequestStatus::kRejected);
  out.failed_reasons = reasons(RequestStatus::kFailed);
  out.stuck_reasons = reasons(RequestStatus::kStuck);

  const Time until = cut_ && end_ != Time::max() ? end_ : last_finish_;
  out.duration_s = out.completed == 0 ? 0 : seconds_of(until - first_measured_);
  if (out.duration_s > 0) {
    out.request_throughput = static_cast<double>(out.completed) / out.duration_s;
    out.output_throughput = static_cast<double>(out.output_tokens) / out.duration_s;
    out.total_token_throughput =
        static_cast<double>(out.input_tokens + out.output_tokens) / out.duration_s;
    out.goodput = static_cast<double>(good_) / out.duration_s;
  }
  out.ttft = ttft_.stats();
  out.ttft_bands = ttft_stages_.bands();
  out.slowest = ttft_stages_.slowest(tiers_.size());
  out.tpot = tpot_.stats();
  out.itl = itl_.stats();
  out.e2el = e2el_.stats();
  out.queue_time = queue_time_.stats();
  out.client_queue_time = client_queue_time_.stats();
  const LatencyStats cold = cold_.stats();
  out.cold_blocks_per_token_mean = cold.mean_ms;
  out.cold_blocks_per_token_p99 = cold.p99_ms;

  std::uint64_t cached = 0;
  for (std::size_t i = 0; i < tiers_.size(); ++i) cached += cached_tokens_[i];
  out.prompt_tokens_by_source.emplace_back("local_compute", out.input_tokens - cached);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    out.prompt_tokens_by_source.emplace_back("", cached_tokens_[i]);
  }

  // Stores may end after the last answer: levels and link use are means until the last event.
  const double span_s = last_event_ > first_arrival_ ? seconds_of(last_event_ - first_arrival_) : 0;
  const auto series = [&](std::string name, std::string unit, const BinnedSeries& from,
                          double factor) {
    out.series.push_back({std::move(name), std::move(unit), seconds_of(from.bin_width()),
                          scaled(from, factor, last_event_)});
  };
  series("running", "requests", running_, 1);
  series("waiting", "requests", waiting_, 1);
  series("scheduled_tokens", "tokens/s", tokens_, 1);
  series("preemptions", "1/s", preempted_, 1);
  for (const Level& level : tiers_) {
    Level closed = level;
    if (last_event_ > closed.since) advance(closed, last_event_);
    TierResult tier;
    tier.peak_bytes = std::int64_t{level.peak} * block_bytes;
    if (span_s > 0)
      tier.mean_bytes = closed.block_seconds * static_cast<double>(block_bytes) / span_s;
    tier.stores = level.stored;
    tier.evictions = level.evicted;
    out.tiers.push_back(tier);
    series("", "bytes", closed.series, static_cast<double>(block_bytes));
  }
  for (const Lane& lane : links_) {
    LinkResult link;
    link.bytes = lane.bytes;
    link.transfers = lane.transfers;
    link.extrapolated = lane.extrapolated;
    link.across_step = lane.across_step;
    if (span_s > 0) {
      link.busy_fraction = lane.capacity > 0
                               ? static_cast<double>(lane.bytes) / (lane.capacity * span_s)
                               : seconds_of(lane.busy) / span_s;
    }
    const std::vector<double> rates = scaled(lane.series, 1, last_event_);
    if (!rates.empty()) link.peak_bytes_per_s = *std::max_element(rates.begin(), rates.end());
    out.links.push_back(link);
    series("", "bytes/s", lane.series, 1);
  }
  return out;
}

}  // namespace spillway

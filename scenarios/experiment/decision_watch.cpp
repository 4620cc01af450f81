#include "scenarios/experiment/decision_watch.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/warm_up.hpp"
#include "scenarios/run/tenant_figures.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "sim/histogram.hpp"

namespace spillway {

namespace {

using Figure = TargetMeaning::Figure;

constexpr double kRounding = 1e-9;  // of sums in floating point, relative

}  // namespace

DecisionWatch::DecisionWatch(const Scenario& scenario, const Workload& workload, Time from,
                             const WarmUpWatch* warm)
    : workload_(workload),
      targets_(meanings_of(scenario, workload)),
      latency_(request_targets(scenario, workload)),
      warm_(warm),
      from_(warm == nullptr ? from : Time::max()),
      running_(targets_.size()),
      most_(workload.size()) {
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    Running& running = running_[t];
    for (std::uint32_t i = 0; i < workload.size(); ++i) {
      running.most += weight(targets_[t], RequestId{i});
    }
    // Requests that are not completed miss with all their tokens, beside those that were told.
    if (warm != nullptr && targets_[t].figure() == Figure::kItl) running.most *= 2;
    running.miss_above = targets_[t].target().target;
    if (running.most > static_cast<double>(LatencySamples::kExactLimit)) {
      running.miss_above *= 1 + 2 * LogHistogram::kQuantileError;
    }
  }
}

double DecisionWatch::weight(const TargetMeaning& target, RequestId request) const {
  if (!target.is_about(request)) return 0;
  const double output = workload_.output_tokens(request);
  if (target.figure() == Figure::kItl) return output - 1;
  if (target.figure() == Figure::kCold) return output;
  if (target.target().name == "output_throughput") return output;
  if (target.target().name == "total_token_throughput") {
    return output + workload_.input_tokens(request);
  }
  return 1;
}

void DecisionWatch::leave_out(const RequestRecord& r) {
  --most_;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    // Tokens are told whenever they come, but for those of the scenario's own warm-up.
    if (!r.warmup && targets_[t].of_tokens()) continue;
    running_[t].most -= weight(targets_[t], r.request);
  }
}

void DecisionWatch::on_request(const RequestRecord& r) {
  if (r.warmup || r.status == RequestStatus::kNotSent ||
      (warm_ == nullptr && r.arrival != kNever && r.arrival < from_)) {
    leave_out(r);
    return;
  }
  ++ended_;
  if (r.arrival != kNever) latest_ = std::max(latest_, r.arrival);
  if (r.arrival == kNever || r.arrival >= from_) judge(r);
  if (warm_ != nullptr && from_ == Time::max() && 2 * ended_ >= workload_.size()) {
    from_ = latest_ + Duration(1);
  }
}

void DecisionWatch::judge(const RequestRecord& r) {
  const bool completed = r.status == RequestStatus::kCompleted;
  const bool excused =
      r.status == RequestStatus::kRejected && rejection_allowed(targets_, r.request);
  if (excused) {
    --most_;
  } else {
    ++judged_;
  }
  if (completed) {
    good_ += latency_.of(r.request).met_by(r) ? 1 : 0;
    first_judged_ = std::min(first_judged_, r.arrival);
    last_finish_ = std::max(last_finish_, r.finish);
  }
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const TargetMeaning& target = targets_[t];
    Running& running = running_[t];
    if (!target.is_about(r.request)) continue;
    if (excused && target.of_requests()) {
      running.most -= 1;
      continue;
    }
    ++running.judged;
    if (target.figure() == Figure::kRejected) {
      running.misses += r.status == RequestStatus::kRejected ? 1 : 0;
    } else if (target.figure() == Figure::kItl && !completed && !excused) {
      if (warm_ == nullptr) running.most += r.output_tokens - 1;
      running.misses += r.output_tokens - 1;
    } else if (target.of_requests()) {
      if (!completed || target.value_of(r) > running.miss_above) ++running.misses;
      if (completed) running.sum += target.value_of(r);
    } else {
      continue;
    }
    decided_ = decided_ || is_decided(t);
  }
}

void DecisionWatch::add_tokens(Figure figure, double value, std::uint64_t count) {
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (targets_[t].figure() != figure) continue;
    running_[t].sum += value * static_cast<double>(count);
    if (value > running_[t].miss_above) running_[t].misses += count;
    decided_ = decided_ || is_decided(t);
  }
}

void DecisionWatch::on_token_gap(Duration gap, std::uint32_t count) {
  add_tokens(Figure::kItl, milliseconds_of(gap), count);
}

void DecisionWatch::on_cold_decode(std::uint64_t millionths) {
  add_tokens(Figure::kCold, static_cast<double>(millionths) / 1e6, 1);
}

bool DecisionWatch::is_decided(std::size_t t) const {
  const TargetMeaning& target = targets_[t];
  const Running& running = running_[t];
  if (target.figure() == Figure::kRate) return false;
  const auto misses = static_cast<double>(running.misses);
  if (target.figure() == Figure::kRejected) {
    return misses > target.limit() * running.most * (1 + kRounding);
  }
  if (!target.percentile()) return running.sum > target.limit() * running.most * (1 + kRounding);
  // Beyond the share, and beyond what interpolation leaves above a percentile.
  return misses > target.limit() * running.most * (1 + kRounding) &&
         misses > std::ceil(target.limit() * (running.most - 1) * (1 + kRounding));
}

bool DecisionWatch::decided() const {
  return decided_ && (warm_ == nullptr || warm_->surely_warm());
}

double DecisionWatch::bound_of(std::size_t t) const {
  const TargetMeaning& target = targets_[t];
  const Running& running = running_[t];
  if (running.most <= 0) return 0;
  if (target.percentile() || target.figure() == Figure::kRejected) {
    return static_cast<double>(running.misses) / running.most;
  }
  if (target.figure() != Figure::kRate) return running.sum / running.most;
  // What may still come, over no less time than has passed.
  const Duration passed =
      std::max(Duration(1), last_finish_ - std::min(first_judged_, last_finish_));
  double amount = running.most;
  if (target.target().name == "goodput" && target.target().tenant.empty()) {
    amount -= static_cast<double>(judged_ - good_);
  }
  return amount / seconds_of(passed);
}

std::vector<TargetSample> DecisionWatch::bounds() const {
  std::vector<TargetSample> out;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    TargetSample sample;
    sample.x = bound_of(t);
    sample.limit = targets_[t].limit();
    sample.judged = running_[t].judged;
    out.push_back(sample);
  }
  return out;
}

double DecisionWatch::attainment() const {
  if (most_ == 0) return 0;
  return 1 - static_cast<double>(judged_ - good_) / static_cast<double>(most_);
}

}  // namespace spillway

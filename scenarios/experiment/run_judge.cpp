#include "scenarios/experiment/run_judge.hpp"

#include <algorithm>
#include <limits>

#include "scenarios/experiment/worst_hour.hpp"
#include "scenarios/run/tenant_figures.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "sim/recorder.hpp"

namespace spillway {

namespace {

using Figure = TargetMeaning::Figure;

constexpr double kNeverServed = std::numeric_limits<double>::infinity();

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// When it arrived, or was found never to.
Time place_of(Time arrival) {
  return arrival == kNever ? Time::max() : arrival;
}

}  // namespace

RunJudge::RunJudge(const Scenario& scenario, const Workload& workload)
    : s_(scenario),
      workload_(workload),
      targets_(meanings_of(scenario, workload)),
      latency_(request_targets(scenario, workload)),
      tokens_(targets_.size()) {
  seen_.reserve(workload.size());
}

void RunJudge::on_request(const RequestRecord& r) {
  if (r.warmup || r.status == RequestStatus::kNotSent) return;
  seen_.push_back(
      {place_of(r.arrival), r.scheduled, r.first_token, r.finish, raw(r.request), r.status});
}

void RunJudge::add_token(Figure figure, double value, std::uint64_t count) {
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (targets_[t].figure() != figure) continue;
    tokens_[t].judged += count;
    if (value > targets_[t].target().target) tokens_[t].missed += count;
  }
}

void RunJudge::on_token_gap(Duration gap, std::uint32_t count) {
  add_token(Figure::kItl, milliseconds_of(gap), count);
}

void RunJudge::on_cold_decode(std::uint64_t millionths) {
  add_token(Figure::kCold, static_cast<double>(millionths) / 1e6, 1);
}

Time RunJudge::arrival_at(double share) const {
  if (seen_.empty()) return Time::max();
  std::vector<Time> arrivals;
  for (const Seen& seen : seen_) arrivals.push_back(seen.arrival);
  const auto at =
      arrivals.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(arrivals.size()));
  std::nth_element(arrivals.begin(), at, arrivals.end());
  return *at;
}

RequestRecord RunJudge::record_of(const Seen& seen) const {
  RequestRecord out;
  out.request = RequestId{seen.request};
  out.arrival = out.due = seen.arrival == Time::max() ? kNever : seen.arrival;
  out.scheduled = seen.scheduled;
  out.first_token = seen.first_token;
  out.finish = seen.finish;
  out.input_tokens = workload_.input_tokens(out.request);
  out.output_tokens = workload_.output_tokens(out.request);
  out.status = seen.status;
  return out;
}

void RunJudge::judge_shares(Time from, RunVerdict& out) const {
  struct Count {
    std::uint64_t judged = 0;
    std::uint64_t missed = 0;
    HourlyMisses hours;
    std::vector<LadderStep> steps;
  };
  std::vector<Count> counts(targets_.size());
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    counts[t].judged = tokens_[t].judged;
    counts[t].missed = tokens_[t].missed;
  }
  Time first = Time::max();
  for (const Seen& seen : seen_) {
    if (seen.arrival >= from) first = std::min(first, seen.arrival);
  }
  std::uint64_t judged = 0;
  std::uint64_t good = 0;
  for (const Seen& seen : seen_) {
    if (seen.arrival < from) continue;
    const RequestRecord r = record_of(seen);
    const bool completed = r.status == RequestStatus::kCompleted;
    const bool excused =
        r.status == RequestStatus::kRejected && rejection_allowed(targets_, r.request);
    if (!excused) ++judged;
    if (completed && latency_.of(r.request).met_by(r)) ++good;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      const TargetMeaning& target = targets_[t];
      if (!target.is_about(r.request)) continue;
      if (target.figure() == Figure::kItl && !completed && !excused) {
        counts[t].judged += r.output_tokens - 1;
        counts[t].missed += r.output_tokens - 1;
      }
      if (target.of_tokens() || (excused && target.of_requests())) continue;
      ++counts[t].judged;
      if (!target.of_requests() || !target.percentile()) continue;
      const bool missed = target.missed_by(r);
      counts[t].missed += missed ? 1 : 0;
      if (seen.arrival != Time::max()) counts[t].hours.add(first, seen.arrival, missed);
      counts[t].steps.push_back(
          {seen.arrival, seen.request, completed ? target.value_of(r) : kNeverServed});
    }
  }
  out.attainment = share_of(good, judged);
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const TargetMeaning& target = targets_[t];
    TargetSample sample;
    sample.limit = target.limit();
    sample.judged = target.of_tokens() ? judged : counts[t].judged;
    if (target.percentile()) {
      // Where nobody is served everybody misses; where nobody has a second token nobody does.
      const bool served = target.of_tokens() || target.figure() == Figure::kTpot;
      sample.x =
          counts[t].judged == 0 && !served ? 1 : share_of(counts[t].missed, counts[t].judged);
    }
    out.targets.push_back(sample);
    if (!target.percentile() || !target.of_requests()) continue;
    out.targets.back().ladder = miss_ladder(counts[t].steps, target.target().target);
    if (auto note = worst_hour_note(target.target().name, target.limit(), counts[t].hours)) {
      out.notes.push_back(*std::move(note));
    }
  }
}

/// With the very code that gives a run its figures.
void RunJudge::judge_figures(const RunResult& run, Time from, RunVerdict& out) const {
  Recorder everyone(0, 0, latency_);
  TenantFigures tenants(s_, workload_);
  std::uint64_t undone = 0;
  for (const Seen& seen : seen_) {
    if (seen.arrival < from) continue;
    const RequestRecord r = record_of(seen);
    everyone.on_request(r);
    if (tenants.any()) tenants.on_request(r);
    const bool excused =
        r.status == RequestStatus::kRejected && rejection_allowed(targets_, r.request);
    if (r.status != RequestStatus::kCompleted && !excused) ++undone;
  }
  RunResult judged = everyone.result(0);
  judged.itl = run.itl;
  judged.cold_blocks_per_token_mean = run.cold_blocks_per_token_mean;
  judged.cold_blocks_per_token_p99 = run.cold_blocks_per_token_p99;
  judged.swap = run.swap;
  tenants.judge(judged);
  out.met = undone == 0;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    TargetSample& sample = out.targets[t];
    sample.value = judged.slo[t].value;
    if (!targets_[t].percentile()) sample.x = sample.value;
    out.met = out.met && judged.slo[t].passed;
  }
}

RunVerdict RunJudge::judge(const RunResult& run, Time from) const {
  RunVerdict out;
  judge_shares(from, out);
  judge_figures(run, from, out);
  return out;
}

}  // namespace spillway

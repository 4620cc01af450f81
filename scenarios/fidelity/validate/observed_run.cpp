#include "scenarios/fidelity/validate/observed_run.hpp"

#include <algorithm>

namespace spillway {

namespace {

double seconds_or_unknown(Time t) {
  return t == kNever ? kUnknownTime : seconds_of(t);
}

}  // namespace

void ObservedRun::on_step(const StepRecord& r) {
  if (r.engine >= steps_.size()) steps_.resize(r.engine + 1);
  steps_[r.engine].push_back({seconds_of(r.start), seconds_of(r.end), r.running, r.waiting});
  emitted_.push_back({seconds_of(r.end), tokens_});
}

void ObservedRun::on_request(const RequestRecord& r) {
  if (raw(r.request) >= records_.size()) records_.resize(raw(r.request) + 1);
  records_[raw(r.request)] = r;
}

void ObservedRun::on_tier_change(const TierChange& change) {
  if (change.tier == 0) pool_.push_back({seconds_of(change.now), change.used});
}

std::vector<MeasuredRequest> ObservedRun::requests() const {
  std::vector<MeasuredRequest> out;
  for (const RequestRecord& r : records_) {
    MeasuredRequest m;
    m.arrival_s = r.arrival == kNever ? 0 : seconds_of(r.arrival);
    m.queued_s = r.arrival == kNever ? kUnknownTime : seconds_of(r.arrival + r.way_in);
    m.scheduled_s = seconds_or_unknown(r.scheduled);
    m.first_token_s = seconds_or_unknown(r.first_token);
    m.last_token_s = seconds_or_unknown(r.finish);
    m.input_tokens = r.input_tokens;
    m.output_tokens = r.output_tokens;
    m.completed = r.status == RequestStatus::kCompleted && r.finish != kNever;
    out.push_back(m);
  }
  return out;
}

std::vector<MeasuredCounters> ObservedRun::counters_at(const std::vector<double>& at_s,
                                                       double pool) const {
  std::vector<MeasuredCounters> out;
  for (const double at : at_s) {
    MeasuredCounters c;
    c.at_s = at;
    for (const std::vector<Step>& steps : steps_) {
      // The last step that started until then.
      const auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                          [](double t, const Step& s) { return t < s.start_s; });
      if (after == steps.begin() || std::prev(after)->end_s < at) continue;
      c.running += std::prev(after)->running;
      c.waiting += std::prev(after)->waiting;
    }
    const auto after = std::upper_bound(pool_.begin(), pool_.end(), at,
                                        [](double t, const Pool& p) { return t < p.at_s; });
    c.kv_usage = 0;
    if (after != pool_.begin() && pool > 0) c.kv_usage = std::prev(after)->used / pool;
    out.push_back(c);
  }
  for (std::size_t i = 1; i < out.size(); ++i) {
    const double seconds = at_s[i] - at_s[i - 1];
    if (seconds > 0)
      out[i].output_tokens_per_s = (tokens_at(at_s[i]) - tokens_at(at_s[i - 1])) / seconds;
  }
  return out;
}

/// Emitted until then: those after the first of each request, and first ones.
double ObservedRun::tokens_at(double at_s) const {
  const auto after = std::upper_bound(emitted_.begin(), emitted_.end(), at_s,
                                      [](double t, const Emitted& e) { return t < e.at_s; });
  double out = after == emitted_.begin() ? 0 : static_cast<double>(std::prev(after)->tokens);
  for (const RequestRecord& r : records_) {
    out += r.first_token != kNever && seconds_of(r.first_token) <= at_s ? 1 : 0;
  }
  return out;
}

}  // namespace spillway

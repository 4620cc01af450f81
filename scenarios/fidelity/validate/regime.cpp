#include "scenarios/fidelity/validate/regime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace spillway {

namespace {

constexpr double kQueueShare = 0.25;        // of samples: a queue persists
constexpr double kFullPool = 0.95;          // of the blocks
constexpr double kIdleSlots = 1.0 / 32;     // of max_num_seqs: 8 of vLLM's 256
constexpr double kIdlePool = 0.5;           // of the blocks
constexpr double kThrashing = 0.1;          // preemptions per request
constexpr double kMostlyFull = 0.5;         // of samples
constexpr double kFallingShare = 0.1;       // of samples
constexpr std::uint32_t kLogSamples = 200;  // where there are no counters

bool has_pool(const MeasuredRun& run) {
  return std::any_of(run.counters.begin(), run.counters.end(),
                     [](const MeasuredCounters& c) { return c.kv_usage > 0; });
}

/// Samples at which a request runs or waits.
std::vector<MeasuredCounters> occupied(const std::vector<MeasuredCounters>& all) {
  std::vector<MeasuredCounters> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [](const MeasuredCounters& c) { return c.running > 0 || c.waiting > 0; });
  return out;
}

template <class Predicate>
double share(const std::vector<MeasuredCounters>& samples, Predicate predicate) {
  if (samples.empty()) return 0;
  const auto count = std::count_if(samples.begin(), samples.end(), predicate);
  return static_cast<double>(count) / static_cast<double>(samples.size());
}

RegimeFigures figures_of(const std::vector<MeasuredCounters>& samples, bool pool,
                         std::uint32_t slots) {
  RegimeFigures out;
  out.samples = static_cast<std::uint32_t>(samples.size());
  if (samples.empty()) return out;
  for (const MeasuredCounters& c : samples) {
    out.mean_running += c.running;
    out.mean_waiting += c.waiting;
    out.peak_running = std::max(out.peak_running, c.running);
    out.peak_waiting = std::max(out.peak_waiting, c.waiting);
    if (pool) out.peak_kv_usage = std::max(out.peak_kv_usage.value_or(0), c.kv_usage);
  }
  out.mean_running /= static_cast<double>(samples.size());
  out.mean_waiting /= static_cast<double>(samples.size());
  const auto full = [](const MeasuredCounters& c) { return c.kv_usage >= kFullPool; };
  out.waiting_share = share(samples, [](const MeasuredCounters& c) { return c.waiting > 0; });
  out.full_slots_share =
      share(samples, [slots](const MeasuredCounters& c) { return c.running >= slots; });
  if (!pool) return out;
  out.full_pool_share = share(samples, full);
  std::uint32_t falling = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (full(samples[i]) && samples[i].running < samples[i - 1].running &&
        samples[i].waiting > samples[i - 1].waiting) {
      ++falling;
    }
  }
  out.falling_share = falling / static_cast<double>(samples.size());
  return out;
}

bool saturated(const RegimeFigures& f) {
  return f.waiting_share >= kQueueShare || f.full_slots_share >= kQueueShare ||
         f.full_pool_share.value_or(0) >= kQueueShare;
}

bool thrashing(const RegimeFigures& f) {
  if (f.preemptions_per_request) return *f.preemptions_per_request >= kThrashing;
  return f.full_pool_share.value_or(0) >= kMostlyFull && f.falling_share >= kFallingShare;
}

bool idle(const RegimeFigures& f, std::uint32_t slots) {
  return f.mean_running <= std::max(1.0, kIdleSlots * slots) &&
         f.peak_kv_usage.value_or(0) <= kIdlePool;
}

std::string why(const RegimeFigures& f, std::uint32_t slots) {
  std::string out = fmt::format(
      "{} samples {}: requests wait in {:.0f}% of them (mean {:.1f}, peak {:.0f}); {:.1f} run on "
      "average, {:.0f} at most, of {} slots",
      f.samples, f.from_counters ? "of the engine's counters" : "of the request log",
      100 * f.waiting_share, f.mean_waiting, f.peak_waiting, f.mean_running, f.peak_running, slots);
  if (f.full_pool_share) {
    out += fmt::format("; the KV pool is at least 95% full in {:.0f}% of them (peak {:.1f}%)",
                       100 * *f.full_pool_share, 100 * f.peak_kv_usage.value_or(0));
  } else {
    out += "; KV usage was not counted";
  }
  if (f.preemptions_per_request) {
    out += fmt::format(
        "; {:.2f} preemptions per request{}", *f.preemptions_per_request,
        f.preemptions_simulated ? " (simulated: the engine's own were not logged)" : "");
  }
  return out + ".";
}

}  // namespace

std::vector<MeasuredCounters> counters_from_log(const std::vector<MeasuredRequest>& requests,
                                                std::uint32_t count) {
  double first = 0;
  double last = 0;
  bool any = false;
  for (const MeasuredRequest& r : requests) {
    if (r.last_token_s == kUnknownTime) continue;
    first = any ? std::min(first, r.arrival_s) : r.arrival_s;
    last = any ? std::max(last, r.last_token_s) : r.last_token_s;
    any = true;
  }
  std::vector<MeasuredCounters> out;
  for (std::uint32_t i = 0; any && i < count; ++i) {
    MeasuredCounters c;
    c.at_s = first + (last - first) * (i + 0.5) / count;
    for (const MeasuredRequest& r : requests) {
      if (r.last_token_s == kUnknownTime) continue;
      // Without a time of scheduling the first token's is the nearest thing that is known.
      const double scheduled = r.scheduled_s != kUnknownTime ? r.scheduled_s : r.first_token_s;
      const double starts = scheduled == kUnknownTime ? r.arrival_s : scheduled;
      if (c.at_s >= starts && c.at_s < r.last_token_s) ++c.running;
      if (c.at_s >= r.arrival_s && c.at_s < starts) ++c.waiting;
    }
    out.push_back(c);
  }
  return out;
}

RegimeDecision decide_regime(const MeasuredRun& run, const RegimeFacts& facts) {
  RegimeDecision out;
  const bool counted = !run.counters.empty();
  const std::vector<MeasuredCounters> samples =
      occupied(counted ? run.counters : counters_from_log(run.requests, kLogSamples));
  out.figures = figures_of(samples, counted && has_pool(run), facts.max_num_seqs);
  out.figures.from_counters = counted;
  const auto logged = run.metrics.find("preemptions");
  if (logged != run.metrics.end() && !run.requests.empty()) {
    out.figures.preemptions_per_request = logged->second / static_cast<double>(run.requests.size());
  } else if (facts.preemptions_per_request) {
    out.figures.preemptions_per_request = facts.preemptions_per_request;
    out.figures.preemptions_simulated = true;
  }
  if (saturated(out.figures)) {
    out.regime = thrashing(out.figures) ? Regime::kThrashing : Regime::kSaturated;
  } else {
    out.regime = idle(out.figures, facts.max_num_seqs) ? Regime::kIdle : Regime::kBusy;
  }
  out.why = why(out.figures, facts.max_num_seqs);
  return out;
}

}  // namespace spillway

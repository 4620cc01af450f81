// Counters against the request log that they were sampled beside: one clock, and the same tokens.
#include <algorithm>
#include <cmath>

#include "scenarios/scenario/measured/measured_parts.hpp"

namespace spillway {

namespace {

double end_of(const std::vector<MeasuredRequest>& requests) {
  double end = 0;
  for (const MeasuredRequest& r : requests) end = std::max(end, r.last_token_s);
  return end;
}

/// When the log's requests ran, for "how many at this time".
class Running {
 public:
  explicit Running(const std::vector<MeasuredRequest>& requests) {
    for (const MeasuredRequest& r : requests) {
      begins_.push_back(r.scheduled_s == kUnknownTime ? r.arrival_s : r.scheduled_s);
      ends_.push_back(std::max(begins_.back(), r.last_token_s));
    }
    std::sort(begins_.begin(), begins_.end());
    std::sort(ends_.begin(), ends_.end());
  }

  /// How far the counts are from it, if the counters are moved by `shift`.
  double error(const CounterFile& counters, double shift) const {
    double out = 0;
    for (const MeasuredCounters& c : counters.rows) {
      const double at = c.at_s + shift;
      out += std::abs(until(begins_, at) - until(ends_, at) - c.running);
    }
    return out;
  }

 private:
  static double until(const std::vector<double>& times, double at) {
    return static_cast<double>(std::upper_bound(times.begin(), times.end(), at) - times.begin());
  }

  std::vector<double> begins_;
  std::vector<double> ends_;
};

/// The shift at which both agree best, in steps of half a sample around `guess`.
double best_shift(const CounterFile& counters, const Running& running, double guess) {
  constexpr int kSteps = 60;
  const double tick = (counters.rows.back().at_s - counters.rows.front().at_s) /
                      static_cast<double>(counters.rows.size() - 1);
  double best = guess;
  double least = running.error(counters, guess);
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double shift = guess + step * tick / 2;
    const double error = running.error(counters, shift);
    if (error < least) {
      least = error;
      best = shift;
    }
  }
  return best;
}

/// Where the counters' clock begins, as far as its readings tell: that of the arrivals, that of the
/// engine, or one of their own.
double origin_of(const CounterFile& counters, const LogClock& clock, double first_running) {
  constexpr double kNear = 86400;
  const double begin = counters.rows.front().at_s;
  if (!counters.wall_clock) {
    if (begin <= kLateStart) return 0;
    if (std::abs(begin - clock.origin_s) < kNear) return clock.origin_s;
    const double engine = clock.origin_s + clock.offset_s;
    if (std::abs(begin - engine) < kNear) return engine;
  }
  return first_running;
}

void move_clock(CounterFile& counters, const std::vector<MeasuredRequest>& requests,
                const LogClock& clock, std::vector<std::string>& notes) {
  constexpr std::size_t kLeast = 5;
  double first_running = counters.rows.front().at_s;
  for (const MeasuredCounters& c : counters.rows) {
    if (c.running == 0) continue;
    first_running = c.at_s;
    break;
  }
  const double origin = origin_of(counters, clock, first_running);
  double shift = -origin;
  if (counters.rows.size() >= kLeast && !requests.empty()) {
    const double own = shift;
    const Running running(requests);
    const double best = best_shift(counters, running, own);
    // Half the error gone: not a better fit by chance.
    if (running.error(counters, best) * 2 < running.error(counters, own)) {
      shift = best;
    }
    if (shift != 0 && (shift != own || origin == first_running)) {
      notes.push_back(fmt::format(
          "{}: moved by {:+.1f} s, where the requests it counts as running are most like the log's",
          counters.path, shift));
    }
  }
  for (MeasuredCounters& c : counters.rows) c.at_s += shift;
}

/// Output tokens that the counters saw while the log's requests ran, against theirs.
void check_tokens(const CounterFile& counters, const std::vector<MeasuredRequest>& requests,
                  const MeasuredOptions& options, std::vector<std::string>& notes) {
  constexpr double kMissing = 0.05;
  constexpr double kNoted = 0.02;
  const double end = end_of(requests);
  double counted = 0;
  for (std::size_t i = 0; i < counters.rows.size(); ++i) {
    const MeasuredCounters& c = counters.rows[i];
    const double before = i > 0 ? counters.rows[i - 1].at_s
                                : c.at_s - (counters.rows[1].at_s - counters.rows[0].at_s);
    if (c.at_s <= 0 || before >= end) continue;
    counted += c.output_tokens_per_s * (c.at_s - before);
  }
  double logged = 0;
  for (const MeasuredRequest& r : requests) logged += r.output_tokens;
  if (counted <= 0 || counted * (1 - kNoted) <= logged) return;
  const std::string message = fmt::format(
      "counted {:.0f} output tokens while the log's requests ran, of which these have {:.0f} "
      "({:.1f}%): requests are missing from the log, whose load the engine had",
      counted, logged, 100 * logged / counted);
  if (counted * (1 - kMissing) > logged && !options.allow_missing) {
    throw InputError(Fault::kTrace, {counters.path, 0, "gen_throughput"},
                     fmt::format("expected the output tokens of the request log, {}", message));
  }
  notes.push_back(fmt::format("{}: {}", counters.path, message));
}

}  // namespace

void check_counters(CounterFile& counters, const std::vector<MeasuredRequest>& requests,
                    const LogClock& clock, const MeasuredOptions& options,
                    std::vector<std::string>& notes) {
  if (counters.rows.size() < 2) {
    throw InputError(Fault::kTrace, {counters.path, 0, ""},
                     fmt::format("expected at least 2 samples, found {}", counters.rows.size()));
  }
  double most_usage = kUnknownTime;
  double most_running = 0;
  for (const MeasuredCounters& c : counters.rows) {
    most_usage = std::max(most_usage, c.kv_usage);
    most_running = std::max(most_running, c.running);
  }
  if (most_usage == 0 && most_running > 0) {
    for (MeasuredCounters& c : counters.rows) c.kv_usage = kUnknownTime;
    notes.push_back(fmt::format(
        "{}: KV usage is 0 throughout though {:.0f} requests ran: not recorded, taken as unknown",
        counters.path, most_running));
  }
  move_clock(counters, requests, clock, notes);
  if (!requests.empty()) check_tokens(counters, requests, options, notes);
}

}  // namespace spillway

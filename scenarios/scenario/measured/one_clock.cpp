// Arrivals and the engine's times on one clock.
//
// vLLM stamps arrivals with the wall clock and everything else with a monotonic one, so that the
// two differ by a constant that can be years. It shows in how long after its arrival each request
// reached the engine: never before it, and at times at once.
#include <algorithm>
#include <cmath>

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

using F = RequestField;
constexpr F kEngine[] = {F::kQueued, F::kScheduled, F::kFirstToken, F::kLastToken};

/// Two readings on one machine, one right after the other, may come in either order.
constexpr double kRounding = 2e-6;
/// So far before its arrival a request may be queued: an offset estimated from one request, and
/// clocks that are set while they run.
constexpr double kJitter = 5e-3;
/// Beyond, a first arrival is a reading of a clock that does not begin with the run.

struct Lag {
  double s = 0;
  const LoggedRequest* row = nullptr;
};

/// What every request must have waited before the engine saw it, by the clocks; ascending.
std::vector<Lag> lags_of(const RequestLogFile& log, F field) {
  std::vector<Lag> lags;
  for (const LoggedRequest& row : log.rows) {
    if (row.usable() && row.knows(field))
      lags.push_back({row.at(field) - row.at(F::kArrival), &row});
  }
  std::sort(lags.begin(), lags.end(), [](const Lag& a, const Lag& b) {
    return a.s != b.s ? a.s < b.s : a.row->index < b.row->index;
  });
  return lags;
}

/// The least lag, but for a few that lie far before all others and are faults of their own.
double least_lag(const std::vector<Lag>& lags) {
  constexpr double kApart = 1;
  std::size_t most = 0;  // such faults
  if (lags.size() >= 4) most = std::max<std::size_t>(1, lags.size() / 50);
  double least = lags[0].s;
  for (std::size_t i = 1; i <= most; ++i) {
    if (lags[i].s - lags[i - 1].s > kApart) least = lags[i].s;
  }
  return least;
}

/// A constant by which the engine's clock is ahead, and that no load explains.
double offset_of(const std::vector<Lag>& lags, F field) {
  constexpr double kNoQueue = 1;    // s from a client to the engine, of the fastest request
  constexpr double kNoLoad = 3600;  // s that even the fastest one waited for the GPU
  const double least = least_lag(lags);
  const bool behind = lags[lags.size() / 2].s < -kJitter;
  const bool ahead = least > (field == F::kQueued ? kNoQueue : kNoLoad);
  return behind || ahead ? least : 0;
}

/// By how much longer the way from arrival to queue takes in the last third of the run than in the
/// first, in the faster requests of each; 0 where the log does not tell.
double drift_of(const RequestLogFile& log) {
  constexpr std::size_t kLeast = 20;
  std::vector<const LoggedRequest*> rows;
  for (const LoggedRequest& row : log.rows) {
    if (row.usable() && row.knows(F::kQueued)) rows.push_back(&row);
  }
  if (rows.size() < kLeast) return 0;
  std::stable_sort(rows.begin(), rows.end(), [](const LoggedRequest* a, const LoggedRequest* b) {
    return a->at(F::kArrival) < b->at(F::kArrival);
  });
  const auto fast = [&](std::size_t from, std::size_t to) {
    std::vector<double> lags;
    for (std::size_t i = from; i < to; ++i) {
      lags.push_back(rows[i]->at(F::kQueued) - rows[i]->at(F::kArrival));
    }
    std::sort(lags.begin(), lags.end());
    return quantile(lags, 0.1);
  };
  const std::size_t third = rows.size() / 3;
  return fast(rows.size() - third, rows.size()) - fast(0, third);
}

/// An offset that changes during the run is a drift, which no constant puts right. On one clock it
/// may also be a front end that cannot keep up.
void check_drift(const RequestLogFile& log, double offset, std::vector<std::string>& notes) {
  constexpr double kSteady = 0.5;
  const double drift = drift_of(log);
  if (std::abs(drift) <= kSteady) return;
  const std::string found = fmt::format(
      "{} moves by {:+.3f} s against {} between the first and the last third of the run",
      log.field(F::kQueued), drift, log.field(F::kArrival));
  if (offset != 0) {
    throw InputError(
        Fault::kTrace, log.where(log.rows.front(), F::kQueued),
        fmt::format("expected clocks with a constant offset, found that {}: they drift "
                    "apart",
                    found));
  }
  notes.push_back(fmt::format("{}: {}: clocks that drift, or a front end that did not keep up",
                              log.path, found));
}

/// Rows in which `later` comes before `earlier` by more than `slack`, in one error about the first.
void check_order(const RequestLogFile& log, F earlier, F later, double slack) {
  const LoggedRequest* first = nullptr;
  std::uint64_t count = 0;
  double worst = 0;
  for (const LoggedRequest& row : log.rows) {
    if (!row.knows(earlier) || !row.knows(later)) continue;
    const double early = row.at(earlier) - row.at(later);
    if (early <= slack) continue;
    if (first == nullptr) first = &row;
    ++count;
    worst = std::max(worst, early);
  }
  if (first == nullptr) return;
  throw InputError(
      Fault::kTrace, log.where(*first, later),
      fmt::format("expected a time at or after {}, found one {:.6f} s before it: clocks differ. "
                  "So it is in {} of {}, by up to {:.6f} s",
                  log.field(earlier), first->at(earlier) - first->at(later), requests_text(count),
                  log.rows.size(), worst));
}

void note_jitter(const RequestLogFile& log, F field, std::vector<std::string>& notes) {
  std::uint64_t count = 0;
  double worst = 0;
  for (const LoggedRequest& row : log.rows) {
    if (!row.usable() || !row.knows(field)) continue;
    const double early = row.at(F::kArrival) - row.at(field);
    if (early > kRounding) ++count;
    worst = std::max(worst, early);
  }
  if (count == 0) return;
  notes.push_back(fmt::format(
      "{}: {} of {} {} {} up to {:.2f} ms before {}; within {:.0f} ms that is taken for jitter of "
      "the clocks",
      log.path, requests_text(count), log.rows.size(), count == 1 ? "has" : "have",
      log.field(field), 1e3 * worst, log.field(F::kArrival), 1e3 * kJitter));
}

}  // namespace

LogClock one_clock(RequestLogFile& log, std::vector<std::string>& notes) {
  LogClock clock;
  std::optional<F> first;  // the earliest of the engine's times
  for (const F field : kEngine) {
    if (!first && !lags_of(log, field).empty()) first = field;
  }
  if (first) {
    const std::vector<Lag> lags = lags_of(log, *first);
    clock.offset_s = offset_of(lags, *first);
    check_drift(log, clock.offset_s, notes);
    constexpr double kSlow = 0.1;
    if (*first == F::kQueued && clock.offset_s == 0 && least_lag(lags) > kSlow) {
      notes.push_back(fmt::format(
          "{}: even the fastest request took {:.3f} s from {} to {}: a slow front end, or clocks "
          "that differ by a constant",
          log.path, least_lag(lags), log.field(F::kArrival), log.field(*first)));
    }
    if (clock.offset_s != 0) {
      notes.push_back(fmt::format(
          "{}: {} and later times are {:.6f} s {} {}: another clock. They are moved by this "
          "constant, so that the fastest way from arrival to engine counts as 0",
          log.path, log.field(*first), std::abs(clock.offset_s),
          clock.offset_s > 0 ? "ahead of" : "behind", log.field(F::kArrival)));
    }
  }
  double begin = std::numeric_limits<double>::infinity();
  for (const LoggedRequest& row : log.rows) {
    if (row.usable()) begin = std::min(begin, row.at(F::kArrival));
  }
  if (begin > kLateStart) clock.origin_s = begin;
  for (LoggedRequest& row : log.rows) {
    row.at(F::kArrival) -= clock.origin_s;
    // At once: one rounding, the same for all rows.
    for (const F field : kEngine) row.at(field) -= clock.origin_s + clock.offset_s;
  }
  if (first) {
    check_order(log, F::kArrival, *first, kJitter);
    note_jitter(log, *first, notes);
  }
  check_order(log, F::kQueued, F::kScheduled, kRounding);
  check_order(log, F::kScheduled, F::kFirstToken, kRounding);
  check_order(log, F::kQueued, F::kFirstToken, kRounding);
  check_order(log, F::kFirstToken, F::kLastToken, kRounding);
  return clock;
}

}  // namespace spillway

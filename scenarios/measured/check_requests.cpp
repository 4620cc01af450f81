// What no single row of a request log shows: times out of order, and the origin of its clock.
#include <algorithm>

#include "scenarios/measured/measured_parts.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

using F = RequestField;

/// Clocks that are read one after another on one machine may differ by so much.
constexpr double kRounding = 2e-6;

double or_unknown(const LoggedRequest& row, F field, double origin) {
  return row.knows(field) ? row.at(field) - origin : kUnknownTime;
}

/// Rows in which `later` comes before `earlier`, in one error about the first of them.
void check_order(const RequestLogFile& log, F earlier, F later) {
  const LoggedRequest* first = nullptr;
  std::uint64_t count = 0;
  double worst = 0;
  for (const LoggedRequest& row : log.rows) {
    if (!row.knows(earlier) || !row.knows(later)) continue;
    const double early = row.at(earlier) - row.at(later);
    if (early <= kRounding) continue;
    if (first == nullptr) first = &row;
    ++count;
    worst = std::max(worst, early);
  }
  if (first == nullptr) return;
  throw InputError(Fault::kTrace, log.where(*first, later),
                   fmt::format("expected a time at or after {}, found one {:.6f} s before it; "
                               "clocks differ: so it is in {} of {} requests, by up to {:.6f} s",
                               log.field(earlier), first->at(earlier) - first->at(later), count,
                               log.rows.size(), worst));
}

void check_complete(const RequestLogFile& log) {
  for (const LoggedRequest& row : log.rows) {
    if (!row.completed) continue;
    if (*row.output_tokens == 0) {
      throw InputError(Fault::kTrace, log.where(row, F::kOutput),
                       "expected at least 1 token of a completed request, found 0");
    }
    if (!row.knows(F::kLastToken)) {
      throw InputError(Fault::kTrace, log.where(row, F::kLastToken),
                       fmt::format("expected the time of the last of {} tokens, found none",
                                   *row.output_tokens));
    }
  }
}

}  // namespace

std::vector<MeasuredRequest> requests_of(const RequestLogFile& log, const MeasuredOptions&,
                                         std::vector<std::string>& notes) {
  if (log.rows.empty()) {
    throw InputError(Fault::kTrace, {log.path, 0, ""}, "expected at least one request, found none");
  }
  check_complete(log);
  check_order(log, F::kQueued, F::kScheduled);
  check_order(log, F::kScheduled, F::kFirstToken);
  check_order(log, F::kFirstToken, F::kLastToken);
  std::vector<MeasuredRequest> requests;
  for (const LoggedRequest& row : log.rows) {
    MeasuredRequest r;
    r.line = row.line;
    r.arrival_s = row.at(F::kArrival);
    r.queued_s = or_unknown(row, F::kQueued, 0);
    r.scheduled_s = or_unknown(row, F::kScheduled, 0);
    r.first_token_s = or_unknown(row, F::kFirstToken, 0);
    r.last_token_s = or_unknown(row, F::kLastToken, 0);
    r.input_tokens = *row.input_tokens;
    r.output_tokens = row.output_tokens.value_or(0);
    r.completed = row.completed;
    requests.push_back(r);
  }
  std::stable_sort(
      requests.begin(), requests.end(),
      [](const MeasuredRequest& a, const MeasuredRequest& b) { return a.arrival_s < b.arrival_s; });
  (void)notes;
  return requests;
}

}  // namespace spillway

// Times that are off by a factor of 1000, or a power of it: a column of milliseconds that says
// seconds, or the other way round.
//
// Three tests, for no single one sees every such mistake. A column against the next one: times of
// the same requests cannot rise 1000 times as fast, and what comes later cannot span less. All
// columns together: what a token took.
#include <algorithm>
#include <cmath>

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

using F = RequestField;
constexpr F kLogTimes[] = {F::kArrival, F::kQueued, F::kScheduled, F::kFirstToken, F::kLastToken};

// Between these, seconds per output token of a request in the middle of the others are possible: a
// GPU answers none at 3,300 tokens/s, and nobody serves at less than one in two seconds.
constexpr double kLeastPerToken = 0.3e-3;
constexpr double kMostPerToken = 2;
// The same for seconds per prompt token up to the first answer, where no request has two tokens.
constexpr double kLeastPerPromptToken = 1e-7;
constexpr double kMostPerPromptToken = 1;

/// How `y` rises with `x` in a straight line through both, and how well such a line fits.
struct Line {
  double slope = 0;
  double r2 = 0;
  double span_x = 0;
  double span_y = 0;
};

std::optional<Line> line_of(const RequestLogFile& log, F x, F y) {
  constexpr std::size_t kLeast = 3;
  std::vector<std::pair<double, double>> points;
  for (const LoggedRequest& row : log.rows) {
    if (row.knows(x) && row.knows(y)) points.emplace_back(row.at(x), row.at(y));
  }
  if (points.size() < kLeast) return std::nullopt;
  const auto [x0, y0] = points[0];  // differences from it: clocks may count from 1970
  double sx = 0, sy = 0;
  for (auto& [px, py] : points) {
    px -= x0;
    py -= y0;
    sx += px;
    sy += py;
  }
  const auto n = static_cast<double>(points.size());
  double xx = 0, xy = 0, yy = 0;
  Line line;
  double low_x = 0, high_x = 0, low_y = 0, high_y = 0;
  for (const auto& [px, py] : points) {
    const double dx = px - sx / n;
    const double dy = py - sy / n;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
    low_x = std::min(low_x, px);
    high_x = std::max(high_x, px);
    low_y = std::min(low_y, py);
    high_y = std::max(high_y, py);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  line.slope = xy / xx;
  line.r2 = xy * xy / (xx * yy);
  line.span_x = high_x - low_x;
  line.span_y = high_y - low_y;
  return line;
}

/// The power of 1000 by which `ratio` is off, within a tolerance; 1 where it is not.
double factor_of(double ratio, double tolerance) {
  for (const double factor : {1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9}) {
    if (ratio > factor * (1 - tolerance) && ratio < factor * (1 + tolerance)) return factor;
  }
  return 1;
}

std::string times_text(double factor) {
  return factor >= 1 ? fmt::format("{:.0f} times too long", factor)
                     : fmt::format("{:.0f} times too short", 1 / factor);
}

[[noreturn]] void fail(const RequestLogFile& log, F field, const std::string& message) {
  throw InputError(Fault::kTrace, log.where(log.rows.front(), field), message);
}

/// `later` against `earlier`, of the same requests.
void check_pair(const RequestLogFile& log, F earlier, F later) {
  constexpr double kTolerance = 0.1;
  constexpr double kStraight = 0.99;
  constexpr double kShrunk = 50;
  const auto line = line_of(log, earlier, later);
  if (!line) return;
  const double factor = line->r2 > kStraight ? factor_of(line->slope, kTolerance) : 1;
  if (factor != 1) {
    fail(log, later,
         fmt::format("expected times in the unit of {}, found them rise {:.4g} times as fast: one "
                     "of the two columns is off by {:.0f}",
                     log.field(earlier), line->slope, std::max(factor, 1 / factor)));
  }
  if (line->span_x > kShrunk * line->span_y) {
    fail(log, later,
         fmt::format("expected times in the unit of {}, found {:.4g} s from first to last where "
                     "{} has {:.4g} s: one of the two columns is off by a factor of 1000 or more",
                     log.field(earlier), line->span_y, log.field(earlier), line->span_x));
  }
}

/// What times are off by, where `value` is out of [least, most] and such a factor would explain it.
double implied_factor(double value, double least, double most) {
  if (value >= least && value <= most) return 1;
  for (const double factor : {1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9}) {
    if (value / factor >= least && value / factor <= most) return factor;
  }
  return 1;
}

void check_rates(const RequestLogFile& log) {
  std::vector<double> per_token, per_prompt_token;
  for (const LoggedRequest& row : log.rows) {
    if (!row.completed || !row.knows(F::kFirstToken)) continue;
    const double decode = row.at(F::kLastToken) - row.at(F::kFirstToken);
    const F from = row.knows(F::kScheduled) ? F::kScheduled : F::kArrival;
    const double prefill = row.at(F::kFirstToken) - row.at(from);
    if (*row.output_tokens > 1 && decode > 0)
      per_token.push_back(decode / (*row.output_tokens - 1));
    if (prefill > 0) per_prompt_token.push_back(prefill / *row.input_tokens);
  }
  if (!per_token.empty()) {
    const double typical = median(per_token);
    const double factor = implied_factor(typical, kLeastPerToken, kMostPerToken);
    if (factor == 1) return;
    fail(log, F::kLastToken,
         fmt::format("expected {:.4g} to {:.4g} s per output token in the middle of {}, found "
                     "{:.4g} s: times are {}, or their unit is another",
                     kLeastPerToken, kMostPerToken, requests_text(per_token.size()), typical,
                     times_text(factor)));
  }
  if (per_prompt_token.empty()) return;
  const double typical = median(per_prompt_token);
  const double factor = implied_factor(typical, kLeastPerPromptToken, kMostPerPromptToken);
  if (factor == 1) return;
  fail(log, F::kFirstToken,
       fmt::format("expected {:.4g} to {:.4g} s per prompt token in the middle of {}, found "
                   "{:.4g} s: times are {}, or their unit is another",
                   kLeastPerPromptToken, kMostPerPromptToken,
                   requests_text(per_prompt_token.size()), typical, times_text(factor)));
}

/// Seconds of any clock that machines read end in 2096; what is later would be believed for years.
void check_times(const RequestLogFile& log) {
  constexpr double kLatestS = 4e9;
  for (const LoggedRequest& row : log.rows) {
    for (const F field : kLogTimes) {
      if (!row.knows(field) || std::abs(row.at(field)) <= kLatestS) continue;
      throw InputError(Fault::kTrace, log.where(row, field),
                       fmt::format("expected seconds up to {}, found {}", kLatestS, row.at(field)));
    }
  }
}

}  // namespace

void check_units(const RequestLogFile& log) {
  const auto known = [&](F field) {
    return std::any_of(log.rows.begin(), log.rows.end(),
                       [&](const LoggedRequest& row) { return row.knows(field); });
  };
  std::optional<F> before;
  for (const F field : kLogTimes) {
    if (!known(field)) continue;
    if (before) check_pair(log, *before, field);
    before = field;
  }
  check_rates(log);
  check_times(log);
}

}  // namespace spillway

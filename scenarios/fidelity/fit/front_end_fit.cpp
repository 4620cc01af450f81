#include "scenarios/fidelity/fit/front_end_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "models/calibration/linear_fit.hpp"
#include "scenarios/scenario/sections/front_end.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr std::size_t kTerms = 3;  // fixed, prompt, streaming
constexpr std::array<const char*, kTerms> kTermKeys = {"delay_ms", "prompt_token_us", "chunk_us"};
constexpr std::size_t kLeastRequests = 20;
constexpr double kJitterS = 1e-3;        // by which clocks of one machine may seem to run backwards
constexpr double kMostBackwards = 0.05;  // share of the requests
constexpr double kFrontEndOutlier = 3 * 1.4826;  // median deviations: three standard deviations
constexpr double kSure = 2;                      // standard errors of a coefficient from 0
constexpr double kMostRequestS = 0.1;            // of the loop for a request: far beyond any
constexpr int kSearchSteps = 40;                 // each leaves 0.62 of the range

struct Seen {
  double sent_s;
  double excess_s;  ///< of the client's TTFT
  std::array<double, kTerms> x;
};

struct Solution {
  std::array<double, kTerms> value{};
  std::array<double, kTerms> error{};
  double squares = 0;  ///< of the misses
};

double engine_start(const MeasuredRequest& r) {
  return r.queued_s == kUnknownTime ? r.arrival_s : r.queued_s;
}

bool seen_by_both(const MeasuredRequest& r) {
  return r.completed && r.client_ttft_s != kUnknownTime && r.first_token_s != kUnknownTime;
}

/// In the order in which clients sent them.
std::vector<Seen> seen_of(const std::vector<MeasuredRequest>& requests) {
  std::vector<Seen> out;
  for (const MeasuredRequest& r : requests) {
    if (!seen_by_both(r)) continue;
    const double excess_s = r.client_ttft_s - (r.first_token_s - engine_start(r));
    Seen seen{r.client_sent_s, excess_s, {1, static_cast<double>(r.input_tokens), 1}};
    for (const MeasuredRequest& other : requests) {
      if (&other == &r || !seen_by_both(other)) continue;
      const bool streams =
          other.first_token_s <= r.first_token_s && other.last_token_s >= r.first_token_s;
      if (streams) seen.x[2] += 0.5;
    }
    out.push_back(seen);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Seen& a, const Seen& b) { return a.sent_s < b.sent_s; });
  return out;
}

/// What is left of each where requests wait for one loop that takes `request_s` for each (Lindley).
std::vector<Seen> without_waits(std::vector<Seen> seen, double request_s) {
  double wait_s = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (i > 0) {
      wait_s = std::max(0.0, wait_s + request_s - (seen[i].sent_s - seen[i - 1].sent_s));
    }
    seen[i].excess_s -= wait_s;
  }
  return seen;
}

double predicted_excess(const Seen& seen, const std::array<double, kTerms>& value) {
  return std::inner_product(value.begin(), value.end(), seen.x.begin(), 0.0);
}

/// Of the terms in `free`; the others are at `fixed`.
Solution solve(const std::vector<Seen>& seen, const std::array<bool, kTerms>& free,
               const std::array<double, kTerms>& fixed) {
  std::vector<std::size_t> terms;
  for (std::size_t k = 0; k < kTerms; ++k) {
    if (free[k]) terms.push_back(k);
  }
  std::vector<double> x;
  std::vector<double> y;
  for (const Seen& s : seen) {
    y.push_back(s.excess_s);
    for (std::size_t k = 0; k < kTerms; ++k) {
      if (!free[k]) y.back() -= fixed[k] * s.x[k];
    }
    for (const std::size_t k : terms) x.push_back(s.x[k]);
  }
  const LinearFit fit = fit_linear(x, terms.size(), y);
  Solution out;
  out.value = fixed;
  for (std::size_t j = 0; j < terms.size(); ++j) {
    out.value[terms[j]] = fit.value[j];
    out.error[terms[j]] = fit.error[j];
  }
  for (const Seen& s : seen) {
    const double miss = s.excess_s - predicted_excess(s, out.value);
    out.squares += miss * miss;
  }
  return out;
}

std::vector<double> misses(const std::vector<Seen>& seen, const std::array<double, kTerms>& value) {
  std::vector<double> out;
  for (const Seen& s : seen) out.push_back(std::fabs(s.excess_s - predicted_excess(s, value)));
  std::sort(out.begin(), out.end());
  return out;
}

bool varies(const std::vector<Seen>& seen, std::size_t term) {
  const auto [least, most] =
      std::minmax_element(seen.begin(), seen.end(),
                          [&](const Seen& a, const Seen& b) { return a.x[term] < b.x[term]; });
  return most->x[term] > least->x[term];
}

/// Once more without outliers.
Solution solve_robust(const std::vector<Seen>& seen, const std::array<bool, kTerms>& free,
                      const std::array<double, kTerms>& fixed) {
  const Solution first = solve(seen, free, fixed);
  const double limit = kFrontEndOutlier * quantile(misses(seen, first.value), 0.5);
  std::vector<Seen> inner;
  for (const Seen& s : seen) {
    if (std::fabs(s.excess_s - predicted_excess(s, first.value)) <= limit) inner.push_back(s);
  }
  return inner.size() < kLeastRequests ? first : solve(inner, free, fixed);
}

/// The loop's time for a request that leaves the least to explain (golden section); nothing where
/// waits explain too little.
std::optional<double> find_request_s(const std::vector<Seen>& seen,
                                     const std::array<bool, kTerms>& free,
                                     const std::array<double, kTerms>& fixed) {
  const auto left = [&](double request_s) {
    return solve(without_waits(seen, request_s), free, fixed).squares;
  };
  constexpr double kGolden = 0.6180339887498949;
  double low = 0;
  double high = kMostRequestS;
  for (int i = 0; i < kSearchSteps; ++i) {
    const double a = high - kGolden * (high - low);
    const double b = low + kGolden * (high - low);
    if (left(a) <= left(b)) {
      high = b;
    } else {
      low = a;
    }
  }
  const double best = (low + high) / 2;
  const double gain = left(0) - left(best);
  const double noise = left(best) / static_cast<double>(seen.size());
  if (gain <= kSure * kSure * noise) return std::nullopt;
  return best;
}

void check_clocks(const std::vector<Seen>& seen, const MeasuredRun& run) {
  const SourceRef where{run.files.front(), 0, ""};
  if (seen.size() < kLeastRequests) {
    throw InputError(Fault::kTrace, where,
                     fmt::format("a front end's fit needs {} requests in both logs, client's and "
                                 "engine's; found {}",
                                 kLeastRequests, seen.size()));
  }
  const auto backwards = static_cast<double>(std::count_if(
      seen.begin(), seen.end(), [](const Seen& s) { return s.excess_s < -kJitterS; }));
  if (backwards <= kMostBackwards * static_cast<double>(seen.size())) return;
  throw InputError(Fault::kTrace, where,
                   fmt::format("in {:.0f} of {} requests the client has its first token before the "
                               "engine; expected logs of the same run, with clocks that run alike",
                               backwards, seen.size()));
}

}  // namespace

bool has_client_view(const MeasuredRun& run) {
  return std::any_of(run.requests.begin(), run.requests.end(), seen_by_both);
}

FrontEndFit fit_front_end(const MeasuredRun& run) {
  std::vector<Seen> seen = seen_of(run.requests);
  check_clocks(seen, run);
  FrontEndFit out;
  out.requests = static_cast<std::uint32_t>(seen.size());
  for (const Seen& s : seen) out.mean_ms += 1e3 * s.excess_s / static_cast<double>(seen.size());
  const std::array<double, kTerms> published = {
      kFrontEndDelayMs / 1e3, kFrontEndPromptTokenUs / 1e6, kFrontEndChunkUs / 1e6};
  std::array<bool, kTerms> free{};
  for (std::size_t k = 0; k < kTerms; ++k) free[k] = k == 0 || varies(seen, k);
  const std::optional<double> request_s = find_request_s(seen, free, published);
  if (!request_s) out.kept.emplace_back("request_ms");
  seen = without_waits(std::move(seen), request_s.value_or(kFrontEndRequestMs / 1e3));
  Solution best = solve_robust(seen, free, published);
  // What is not sure keeps its published value, the least sure first.
  while (true) {
    std::size_t doubtful = 0;
    double least = kSure;
    for (std::size_t k = 1; k < kTerms; ++k) {
      if (!free[k] || best.error[k] <= 0 || best.value[k] / best.error[k] >= least) continue;
      least = best.value[k] / best.error[k];
      doubtful = k;
    }
    if (doubtful == 0) break;
    free[doubtful] = false;
    best = solve_robust(seen, free, published);
  }
  // The fixed part holds the request's own turn of the loop.
  const double fixed_ms = std::max(0.0, 1e3 * best.value[0]);
  out.request_ms = std::min(fixed_ms, request_s ? 1e3 * *request_s : kFrontEndRequestMs);
  out.delay_ms = fixed_ms - out.request_ms;
  out.prompt_token_us = 1e6 * best.value[1];
  out.chunk_us = 1e6 * best.value[2];
  for (std::size_t k = 1; k < kTerms; ++k) {
    if (!free[k]) out.kept.emplace_back(kTermKeys[k]);
  }
  out.median_error_ms = 1e3 * quantile(misses(seen, best.value), 0.5);
  return out;
}

std::string FrontEndFit::text() const {
  std::string out = fmt::format(
      "Front end of {} requests in both logs: set front_end.request_ms={:.3g}, "
      "prompt_token_us={:.3g}, "
      "delay_ms={:.3g}, chunk_us={:.3g}. It takes {:.1f} ms of the mean TTFT (median error {:.1f} "
      "ms).",
      requests, request_ms, prompt_token_us, delay_ms, chunk_us, mean_ms, median_error_ms);
  if (!kept.empty()) {
    out += fmt::format(" The logs do not tell {}: published.", fmt::join(kept, ", "));
  }
  return out;
}

}  // namespace spillway

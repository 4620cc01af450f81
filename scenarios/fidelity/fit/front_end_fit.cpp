#include "scenarios/fidelity/fit/front_end_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "scenarios/scenario/sections/front_end.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr std::size_t kTerms = 4;  // fixed, prompt, ahead, streaming
constexpr std::array<const char*, kTerms> kTermKeys = {"delay_ms", "prompt_token_us", "request_ms",
                                                       "chunk_us"};
constexpr std::size_t kLeastRequests = 20;
constexpr double kJitterS = 1e-3;        // by which clocks of one machine may seem to run backwards
constexpr double kMostBackwards = 0.05;  // share of the requests
constexpr double kOutlier = 3 * 1.4826;  // median absolute deviations: three standard deviations
constexpr double kSure = 2;              // standard errors that a coefficient must be away from 0

struct Seen {
  double excess_s;  ///< of the client's TTFT
  std::array<double, kTerms> x;
};

struct Solution {
  std::array<double, kTerms> value{};
  std::array<double, kTerms> error{};
};

double engine_start(const MeasuredRequest& r) {
  return r.queued_s == kUnknownTime ? r.arrival_s : r.queued_s;
}

bool seen_by_both(const MeasuredRequest& r) {
  return r.completed && r.client_ttft_s != kUnknownTime && r.first_token_s != kUnknownTime;
}

std::vector<Seen> seen_of(const std::vector<MeasuredRequest>& requests) {
  std::vector<Seen> out;
  for (const MeasuredRequest& r : requests) {
    if (!seen_by_both(r)) continue;
    Seen seen{r.client_ttft_s - (r.first_token_s - engine_start(r)), {1, 0, 0, 0}};
    seen.x[1] = r.input_tokens;
    for (const MeasuredRequest& other : requests) {
      if (&other == &r || !seen_by_both(other)) continue;
      const double way_s = other.client_ttft_s - (other.first_token_s - engine_start(other));
      if (other.client_sent_s <= r.client_sent_s && other.client_sent_s + way_s > r.client_sent_s) {
        seen.x[2] += 1;
      }
      if (other.first_token_s <= r.first_token_s && other.last_token_s >= r.first_token_s) {
        seen.x[3] += 0.5;
      }
    }
    seen.x[3] += 1;
    out.push_back(seen);
  }
  return out;
}

/// Of the terms in `free`; the others are at `fixed`.
Solution solve(const std::vector<Seen>& seen, const std::array<bool, kTerms>& free,
               const std::array<double, kTerms>& fixed) {
  std::vector<std::size_t> terms;
  for (std::size_t k = 0; k < kTerms; ++k) {
    if (free[k]) terms.push_back(k);
  }
  const auto rows = static_cast<Eigen::Index>(seen.size());
  const auto columns = static_cast<Eigen::Index>(terms.size());
  Eigen::MatrixXd x(rows, columns);
  Eigen::VectorXd y(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Seen& s = seen[static_cast<std::size_t>(i)];
    y(i) = s.excess_s;
    for (std::size_t k = 0; k < kTerms; ++k) {
      if (!free[k]) y(i) -= fixed[k] * s.x[k];
    }
    for (Eigen::Index j = 0; j < columns; ++j) x(i, j) = s.x[terms[static_cast<std::size_t>(j)]];
  }
  const Eigen::VectorXd best = x.completeOrthogonalDecomposition().solve(y);
  const double variance = (y - x * best).squaredNorm() / static_cast<double>(rows);
  const Eigen::MatrixXd inverse =
      (x.transpose() * x).completeOrthogonalDecomposition().pseudoInverse();
  Solution out;
  out.value = fixed;
  for (Eigen::Index j = 0; j < columns; ++j) {
    const std::size_t k = terms[static_cast<std::size_t>(j)];
    out.value[k] = best(j);
    out.error[k] = std::sqrt(variance * inverse(j, j));
  }
  return out;
}

double predicted(const Seen& seen, const std::array<double, kTerms>& value) {
  return std::inner_product(value.begin(), value.end(), seen.x.begin(), 0.0);
}

std::vector<double> misses(const std::vector<Seen>& seen, const std::array<double, kTerms>& value) {
  std::vector<double> out;
  for (const Seen& s : seen) out.push_back(std::fabs(s.excess_s - predicted(s, value)));
  std::sort(out.begin(), out.end());
  return out;
}

bool varies(const std::vector<Seen>& seen, std::size_t term) {
  const auto [least, most] =
      std::minmax_element(seen.begin(), seen.end(),
                          [&](const Seen& a, const Seen& b) { return a.x[term] < b.x[term]; });
  return most->x[term] > least->x[term];
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
  const std::array<double, kTerms> published = {kFrontEndDelayMs / 1e3,
                                                kFrontEndPromptTokenUs / 1e6,
                                                kFrontEndRequestMs / 1e3, kFrontEndChunkUs / 1e6};
  std::array<bool, kTerms> free{};
  for (std::size_t k = 0; k < kTerms; ++k) free[k] = k == 0 || varies(seen, k);
  Solution best;
  // What is not sure keeps its published value, the least sure first.
  while (true) {
    best = solve(seen, free, published);
    const std::vector<double> off = misses(seen, best.value);
    const double limit = kOutlier * quantile(off, 0.5);
    std::vector<Seen> inner;
    for (const Seen& s : seen) {
      if (std::fabs(s.excess_s - predicted(s, best.value)) <= limit) inner.push_back(s);
    }
    if (inner.size() >= kLeastRequests) best = solve(inner, free, published);
    std::size_t doubtful = 0;
    double least = kSure;
    for (std::size_t k = 1; k < kTerms; ++k) {
      if (!free[k] || best.error[k] <= 0) continue;
      const double sureness = best.value[k] / best.error[k];
      if (sureness < least) {
        least = sureness;
        doubtful = k;
      }
    }
    if (doubtful == 0) break;
    free[doubtful] = false;
  }
  FrontEndFit out;
  out.requests = static_cast<std::uint32_t>(seen.size());
  // The fixed part holds the request's own turn of the loop.
  const double fixed_ms = std::max(0.0, 1e3 * best.value[0]);
  out.request_ms = std::min(fixed_ms, 1e3 * best.value[2]);
  out.delay_ms = fixed_ms - out.request_ms;
  out.prompt_token_us = 1e6 * best.value[1];
  out.chunk_us = 1e6 * best.value[3];
  for (std::size_t k = 1; k < kTerms; ++k) {
    if (!free[k]) out.kept.emplace_back(kTermKeys[k]);
  }
  for (const Seen& s : seen) out.mean_ms += 1e3 * s.excess_s / static_cast<double>(seen.size());
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

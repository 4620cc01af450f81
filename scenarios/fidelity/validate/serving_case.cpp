#include "scenarios/fidelity/validate/serving_case.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <thread>

#include "scenarios/fidelity/fit/serving_points.hpp"

namespace spillway {

namespace {

constexpr double kUsPerMs = 1e3;

/// "51: 1024 + 1024 tokens, 8 clients": what fit_serving calls a point, without the file's place.
std::string place_of(const std::string& what, const std::string& path) {
  return what.starts_with(path + ":") ? what.substr(path.size() + 1) : what;
}

int line_of(const std::string& place) {
  int line = 0;
  std::from_chars(place.data(), place.data() + place.size(), line);
  return line;
}

ServingScore score_of(std::string name, const std::vector<ServingError>& points, bool held_out,
                      double ServingError::*measured, double ServingError::*simulated) {
  ServingScore out;
  out.name = std::move(name);
  for (const ServingError& p : points) {
    if (held_out && p.fitted) continue;
    const double error = 100 * (p.*simulated / p.*measured - 1);
    ++out.points;
    out.mape += std::fabs(error);
    out.bias += error;
    out.worst = std::max(out.worst, std::fabs(error));
  }
  const double count = std::max(1U, out.points);
  out.mape /= count;
  out.bias /= count;
  return out;
}

}  // namespace

ServingResult validate_serving(const std::string& path, const JsonSource& scenario,
                               const std::string& backend, const std::string& precision) {
  ServingOptions options;
  options.backend = backend;
  options.precision = precision;
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  const ServingPoints points = read_serving_points(path);
  FitResult fit = fit_serving(points, scenario, options);
  ServingResult out;
  for (const ServingPoint& p : points.points) {
    const bool taken = p.backend == backend && p.precision == precision;
    if (taken) out.most_ranks = std::max(out.most_ranks, p.tensor_parallel);
  }

  std::map<std::string, ServingError> by_place;
  for (const FitPoint& point : fit.worst) {
    const std::string place = place_of(point.what, path);
    ServingError& error = by_place[place];
    error.what = "line " + place;
    error.fitted = !point.held_out;
    const bool tpot = point.part.ends_with("tpot");
    (tpot ? error.measured_tpot_ms : error.measured_ttft_ms) = point.measured / kUsPerMs;
    (tpot ? error.simulated_tpot_ms : error.simulated_ttft_ms) = point.predicted / kUsPerMs;
  }
  for (auto& [place, error] : by_place) out.points.push_back(std::move(error));
  std::stable_sort(out.points.begin(), out.points.end(), [](const auto& a, const auto& b) {
    return line_of(a.what.substr(5)) < line_of(b.what.substr(5));
  });
  for (const bool held_out : {false, true}) {
    const std::string suffix = held_out ? "_held_out" : "";
    out.scores.push_back(score_of("tpot_mape" + suffix, out.points, held_out,
                                  &ServingError::measured_tpot_ms,
                                  &ServingError::simulated_tpot_ms));
    out.scores.push_back(score_of("ttft_mape" + suffix, out.points, held_out,
                                  &ServingError::measured_ttft_ms,
                                  &ServingError::simulated_ttft_ms));
  }
  out.profile = std::move(fit.profile);
  return out;
}

}  // namespace spillway

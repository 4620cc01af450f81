// Arrival processes: the rate and the variation of the gaps that were asked for.
#include "traces/generate/session_starts.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/digest.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::error_of;

SyntheticConfig steady(const std::string& arrivals, double cv = 1) {
  SyntheticConfig config;
  config.arrivals = arrivals;
  config.arrival_cv = cv;
  config.sessions_per_s = 2;
  config.burst_factor = 1;
  return config;
}

std::vector<SessionStart> starts_of(const SyntheticConfig& config, std::size_t count,
                                    std::uint64_t seed = 1) {
  const auto process = make_session_starts(config, seed);
  std::vector<SessionStart> out;
  while (out.size() < count) out.push_back(process->next());
  return out;
}

TEST_CASE("every arrival process has its rate and its variation", "[traces]") {
  struct Case {
    std::string arrivals;
    double cv;
  };
  const auto c = GENERATE(Case{"poisson", 1}, Case{"gamma", 0.3}, Case{"gamma", 3},
                          Case{"weibull", 0.3}, Case{"weibull", 2.5});
  constexpr std::size_t kCount = 100'000;
  const auto starts = starts_of(steady(c.arrivals, c.cv), kCount);
  double squares = 0;
  double before = 0;
  bool ordered = true;
  for (const SessionStart& start : starts) {
    ordered = ordered && start.at_s >= before;
    squares += (start.at_s - before) * (start.at_s - before);
    before = start.at_s;
  }
  const double mean = before / kCount;
  CHECK(ordered);
  CHECK(mean == Approx(0.5).epsilon(0.03));
  CHECK(std::sqrt(squares / kCount - mean * mean) / mean == Approx(c.cv).epsilon(0.04));
}

TEST_CASE("bursts multiply the rate of every process", "[traces]") {
  SyntheticConfig config = steady(GENERATE(as<std::string>{}, "poisson", "gamma", "weibull"));
  config.burst_factor = 5;
  config.burst_every_s = 100;
  config.burst_length_s = 20;
  const auto starts = starts_of(config, 50'000);
  double inside = 0;
  for (const SessionStart& start : starts) inside += std::fmod(start.at_s, 100) < 20 ? 1 : 0;
  CHECK(inside / 50'000 == Approx(5 * 20.0 / (5 * 20 + 80)).epsilon(0.02));
  CHECK(50'000 / starts.back().at_s == Approx(2 * 1.8).epsilon(0.02));
}

TEST_CASE("the time of day multiplies the rate of every process", "[traces]") {
  SyntheticConfig config = steady(GENERATE(as<std::string>{}, "poisson", "gamma", "weibull"));
  std::vector<double> expected(24, 0);
  SECTION("a cosine") {
    config.day_amplitude = 0.8;
    config.day_peak_hour = 15;
    constexpr double kPi = 3.14159265358979;
    for (int h = 0; h < 24; ++h) {
      expected[static_cast<std::size_t>(h)] = 1 + 0.8 * std::cos(kPi * (h - 15) / 12);
    }
  }
  SECTION("factors") {
    for (std::size_t h = 0; h < 24; ++h) expected[h] = h < 6 ? 0 : static_cast<double>(h % 3);
    config.day_factors = expected;
  }
  double sum = 0;
  for (const double factor : expected) sum += factor;
  constexpr std::size_t kCount = 400'000;  // more than two days
  std::vector<double> hours(24, 0);
  double inside = 0;
  for (const SessionStart& start : starts_of(config, kCount)) {
    if (start.at_s >= 2 * 86'400) break;
    ++hours[static_cast<std::size_t>(start.at_s / 3600) % 24];
    ++inside;
  }
  for (std::size_t h = 0; h < 24; ++h) {
    CHECK(hours[h] / inside == Approx(expected[h] / sum).epsilon(0.05).margin(0.0005));
  }
}

TEST_CASE("a rate table is played client by client, window by window, and again", "[traces]") {
  const test::Scratch scratch;
  SyntheticConfig config = steady("rates");
  config.rates = scratch.file("rates.csv",
                              "client,start_s,rate_rps,cv,dist,param1,param2\n"
                              "4,600,10,1,Gamma,1,0.1\n"
                              "4,1800,30,1,Gamma,0.25,0.1\n"
                              "9,1200,20,1,Weibull,0.7,0.1\n");
  config.rate_scale = 2;
  // Client 4 has 2 * 600 * (10 + 30) requests a round of 1800 s, client 9 2 * 600 * 20.
  std::map<std::uint32_t, std::vector<double>> windows;
  for (const SessionStart& start : starts_of(config, 720'000)) {
    auto& counts = windows[start.client];
    counts.resize(30);
    const auto window = static_cast<std::size_t>(start.at_s / 600);
    if (window < 30) ++counts[window];
  }
  REQUIRE(windows.size() == 2);
  for (std::size_t round = 0; round < 9; ++round) {
    CHECK(windows[4][3 * round] == Approx(12'000).epsilon(0.05));
    CHECK(windows[4][3 * round + 1] == 0);
    CHECK(windows[4][3 * round + 2] == Approx(36'000).epsilon(0.05));
    CHECK(windows[9][3 * round] == 0);
    CHECK(windows[9][3 * round + 1] == Approx(24'000).epsilon(0.05));
  }
}

TEST_CASE("a rate table without requests is refused", "[traces]") {
  const test::Scratch scratch;
  SyntheticConfig config = steady("rates");
  config.rates = scratch.file("rates.csv",
                              "client,start_s,rate_rps,cv,dist,param1,param2\n"
                              "4,600,0,1,Gamma,1,0.1\n");
  CHECK(error_of([&] { starts_of(config, 1); }).fault() == Fault::kUsage);
  config.rates = scratch.path("missing.csv");
  CHECK(error_of([&] { starts_of(config, 1); }).fault() == Fault::kIo);
}

TEST_CASE("the shared rate table has its published total", "[traces]") {
  const auto rates = test::material("traces/servegen_m-small_client_rates.csv.gz");
  const test::Figures figure(rates, "rates");
  SyntheticConfig config = steady("rates");
  config.rates = rates.path;
  config.rate_scale = rates.published ? 0.001 : 0.1;  // the stand-in has fewer clients
  // 14 days at a mean of 1.196 requests/s. Of the stand-in 146,000 requests, whose gaps
  // have a coefficient of variation of 2.3 at most: a deviation of 0.6%.
  const int seconds = 86'400 * figure(14, "days");
  const auto process = make_session_starts(config, 1);
  double count = 0;
  while (process->next().at_s < seconds) ++count;
  const double mean_rps = config.rate_scale * figure(1'196.0, "mean_rps");
  CHECK(count == Approx(mean_rps * seconds).epsilon(0.02));
}

TEST_CASE("starts are the same numbers whatever the compiler", "[traces]") {
  std::vector<double> at;
  for (const char* arrivals : {"poisson", "gamma", "weibull"}) {
    SyntheticConfig config = steady(arrivals, arrivals[0] == 'p' ? 1 : 2);
    config.burst_factor = 3;
    config.day_amplitude = 0.5;
    config.day_peak_hour = 13.25;
    for (const SessionStart& start : starts_of(config, 2'000)) at.push_back(start.at_s);
  }
  Digest digest;
  digest.column(std::span<const double>(at));
  CHECK(hex16(digest.value()) == "e69e5297d851e672");
}

}  // namespace
}  // namespace spillway

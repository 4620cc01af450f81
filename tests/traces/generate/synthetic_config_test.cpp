// What the parameters of a synthetic trace may be, and what is said of others.
#include "traces/generate/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/digest.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::error_of;
using test::values;
using test::without_think;

SyntheticConfig with_requests(std::uint32_t requests) {
  SyntheticConfig config;
  config.requests = requests;
  return config;
}

struct Bad {
  std::string field;
  std::function<void(SyntheticConfig&)> set;
};

TEST_CASE("parameters out of range are usage errors that name the parameter", "[traces]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Bad> cases = {
      {"requests", [](SyntheticConfig& c) { c.requests = 0; }},
      {"system_prompts", [](SyntheticConfig& c) { c.system_prompts = 0; }},
      {"turns", [](SyntheticConfig& c) { c.turns = 0.99; }},
      {"burst_factor", [](SyntheticConfig& c) { c.burst_factor = 0.5; }},
      {"burst_length_s", [](SyntheticConfig& c) { c.burst_length_s = 301; }},
      {"max_context", [](SyntheticConfig& c) { c.max_context = 63; }},
      {"max_context", [](SyntheticConfig& c) { c.max_context = 16'777'217; }},
      {"block_tokens", [](SyntheticConfig& c) { c.block_tokens = 0; }},
      {"block_tokens", [](SyntheticConfig& c) { c.block_tokens = 65'537; }},
      {"requests", [](SyntheticConfig& c) { c.requests = 1'000'000'001; }},
      {"arrivals", [](SyntheticConfig& c) { c.arrivals = "sometimes"; }},
      {"arrival_cv", [](SyntheticConfig& c) { c.arrival_cv = 0.01; }},
      {"arrival_cv", [](SyntheticConfig& c) { c.arrival_cv = 2; }},  // of a Poisson process
      {"day_amplitude", [](SyntheticConfig& c) { c.day_amplitude = 1.5; }},
      {"day_peak_hour", [](SyntheticConfig& c) { c.day_peak_hour = 25; }},
      {"day_factors",
       [](SyntheticConfig& c) {
         c.day_factors = {1, 2};
       }},
      {"day_factors", [](SyntheticConfig& c) { c.day_factors.assign(24, 0); }},
      {"rates", [](SyntheticConfig& c) { c.arrivals = "rates"; }},
      {"rates", [](SyntheticConfig& c) { c.rates = "t.csv"; }},
      {"rate_scale", [](SyntheticConfig& c) { c.rate_scale = 0; }},
      {"tenants", [](SyntheticConfig& c) { c.tenants = 0; }},
      {"turn_counts", [](SyntheticConfig& c) { c.turn_counts = ""; }},
      {"turn_tail", [](SyntheticConfig& c) { c.turn_tail = 1; }},
      {"think_times", [](SyntheticConfig& c) { c.think_times = "long"; }},
      {"user_sigma", [](SyntheticConfig& c) { c.user_sigma = -1; }},
      {"user_quantiles", [](SyntheticConfig& c) { c.user_quantiles = {5}; }},
      {"answer_quantiles",
       [](SyntheticConfig& c) {
         c.answer_quantiles = {5, 4};
       }},
      {"context", [](SyntheticConfig& c) { c.context = "forget"; }},
      {"summary_tokens", [](SyntheticConfig& c) { c.summary_tokens = 0; }},
      {"summary_tokens",
       [](SyntheticConfig& c) {
         c.context = "compact";
         c.summary_tokens = 8193;
       }},
  };
  const auto real = [&](const std::string& field, double SyntheticConfig::*member, bool zero_good) {
    std::vector<double> values = {-1, nan, infinity, -infinity};
    if (!zero_good) values.push_back(0);
    for (const double value : values) {
      cases.push_back({field, [=](SyntheticConfig& c) { c.*member = value; }});
    }
  };
  real("sessions_per_s", &SyntheticConfig::sessions_per_s, false);
  real("turns", &SyntheticConfig::turns, false);
  real("think_s", &SyntheticConfig::think_s, true);
  real("system_zipf", &SyntheticConfig::system_zipf, true);
  real("system_tokens", &SyntheticConfig::system_tokens, false);
  real("user_tokens", &SyntheticConfig::user_tokens, false);
  real("answer_tokens", &SyntheticConfig::answer_tokens, false);
  real("answer_tokens_per_s", &SyntheticConfig::answer_tokens_per_s, false);
  real("burst_factor", &SyntheticConfig::burst_factor, false);
  real("burst_every_s", &SyntheticConfig::burst_every_s, false);
  real("burst_length_s", &SyntheticConfig::burst_length_s, true);
  for (const Bad& bad : cases) {
    SyntheticConfig config;
    bad.set(config);
    const InputError error = error_of([&] { generate_workload(config, 1); });
    CHECK(error.fault() == Fault::kUsage);
    CHECK(std::string(error.what()).rfind(bad.field + ": expected ", 0) == 0);
  }
}

TEST_CASE("the ends of the parameter ranges work", "[traces]") {
  const std::vector<std::function<void(SyntheticConfig&)>> ends = {
      [](SyntheticConfig& c) { c.requests = 1; },
      [](SyntheticConfig& c) { c.turns = 1; },
      [](SyntheticConfig& c) { c.turns = 1e6; },
      [](SyntheticConfig& c) { c.think_s = 0; },
      [](SyntheticConfig& c) { c.system_prompts = 1; },
      [](SyntheticConfig& c) { c.system_zipf = 0; },
      [](SyntheticConfig& c) { c.system_tokens = 1e7; },
      [](SyntheticConfig& c) { c.user_tokens = 1e7; },
      [](SyntheticConfig& c) { c.user_tokens = 1; },
      [](SyntheticConfig& c) { c.answer_tokens = 1e7; },
      [](SyntheticConfig& c) { c.burst_factor = 1; },
      [](SyntheticConfig& c) { c.burst_length_s = 0; },
      [](SyntheticConfig& c) { c.burst_length_s = c.burst_every_s; },
      [](SyntheticConfig& c) { c.max_context = 64; },
      [](SyntheticConfig& c) { c.block_tokens = 1; },
      [](SyntheticConfig& c) { c.block_tokens = 65'536; },
      [](SyntheticConfig& c) { c.user_sigma = 10; },
      [](SyntheticConfig& c) { c.tenants = 1 << 20; },
      [](SyntheticConfig& c) {
        c.context = "compact";
        c.max_context = 64;
        c.summary_tokens = 16;
      },
      [](SyntheticConfig& c) {
        c.context = "window";
        c.max_context = 64;
        c.turns = 1e6;
      },
      [](SyntheticConfig& c) {
        c.turn_counts = "heavy-tail";
        c.turns = 1;
      },
      [](SyntheticConfig& c) {
        c.turn_counts = "heavy-tail";
        c.turns = 1e6;
        c.turn_tail = 1.05;
      },
      [](SyntheticConfig& c) {
        c.arrivals = "gamma";
        c.arrival_cv = 0.05;
      },
      [](SyntheticConfig& c) {
        c.arrivals = "weibull";
        c.arrival_cv = 0.05;
      },
  };
  for (const auto& set : ends) {
    SyntheticConfig config = with_requests(50);
    set(config);
    const Workload w = generate_workload(config, 1);
    CHECK(w.size() == config.requests);
    for (std::uint32_t r = 0; r < w.size(); ++r) {
      CHECK(w.input_tokens(RequestId{r}) <= config.max_context);
    }
  }
}

TEST_CASE("generated arrivals stay within what a trace may say", "[traces]") {
  // A session in eleven days comes close to the readers' limit of 1157 days with 40 requests; ten
  // thousand years of thinking leave int64.
  SyntheticConfig config = with_requests(40);
  SECTION("rare sessions") {
    config.turns = 1;
    config.sessions_per_s = GENERATE(1e-6, 1e-12);
  }
  SECTION("slow thinkers") {
    config.think_s = 1e12;
  }
  std::string verdict = "good";
  try {
    const Workload w = generate_workload(config, 1);
    const auto bad = [](std::int64_t ns) { return ns < 0 || ns > kMaxArrivalNs; };
    const auto& arrivals = w.columns().arrival_ns;
    if (std::any_of(arrivals.begin(), arrivals.end(), bad)) verdict = "unreadable arrivals";
  } catch (const InputError& error) {
    if (error.fault() != Fault::kUsage) verdict = error.what();  // refusing the parameter is fine
  }
  CHECK(verdict == "good");
}

TEST_CASE("a huge mean of turns is refused or gives long sessions", "[traces]") {
  // 1 - 1e-18 is 1 in a double and its logarithm 0: no number of turns comes out of that.
  SyntheticConfig config = with_requests(50);
  config.turns = 1e18;
  bool fine = true;
  try {
    fine = generate_workload(config, 1).size() == 50;
  } catch (const InputError& error) {
    fine = error.fault() == Fault::kUsage;
  }
  CHECK(fine);
}

}  // namespace
}  // namespace spillway

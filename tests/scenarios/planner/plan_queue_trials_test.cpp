// Whole plans on one server with a queue, at loads to 0.95: how often a p99 is judged wrongly, how
// often it is judged, and what that takes.
//
// A prompt that nobody repeats takes 20 us a token, one at a time, and its answer is one token, so
// that the engine is M/G/1 with its service given by the lengths of prompts: all alike (M/D/1, by
// Erlang's formula), or exponential by a table of 1,000 quantiles (M/M/1, P(TTFT > t) =
// e^-(mu - lambda)t). Bursts: the rate is three times as high for a quarter of each four seconds;
// their p99 is read off one long run.
#include <cmath>

#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/planner/known_trials.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

constexpr double kAllowed = 0.01;  // the share of a p99
constexpr int kQuantiles = 1000;
constexpr double kTokenS = 20e-6;

enum class System : std::uint8_t { kMM1, kMD1, kBursts };

const char* name_of(System system) {
  return system == System::kMM1 ? "M/M/1" : system == System::kMD1 ? "M/D/1" : "bursts";
}

/// Of an exponential of mean 500, the last one such that the mean of what is beyond the one before
/// is right. Lengths are rounded down, and one token is everybody's.
std::vector<double> exponential_quantiles() {
  std::vector<double> out = {1};
  for (int i = 1; i < kQuantiles; ++i) {
    out.push_back(std::max(1.0, -500 * std::log(1 - static_cast<double>(i) / kQuantiles)));
  }
  out.push_back(2 * 500 * (std::log(kQuantiles) + 1) - out.back());
  return out;
}

constexpr double kMeanTokens = 500.5;  // of either: see above
constexpr double kAlikeTokens = 500;
constexpr double kBurstMean = 0.25 * 3 + 0.75;  // of the rate outside of bursts

double service_s(System system) {
  return kTokenS * (system == System::kMM1 ? kMeanTokens : kAlikeTokens);
}

std::string traffic(System system, double load) {
  const double rate = load / service_s(system);
  const std::string bursts =
      system == System::kBursts
          ? fmt::format(R"("sessions_per_s": {}, "burst_factor": 3, "burst_every_s": 4,)"
                        R"( "burst_length_s": 1,)",
                        rate / kBurstMean)
          : fmt::format(R"("sessions_per_s": {}, "burst_factor": 1,)", rate);
  const std::string prompts =
      system == System::kMM1
          ? fmt::format(R"("user_quantiles": [{}],)", fmt::join(exponential_quantiles(), ", "))
          : fmt::format(R"("user_tokens": {}, "user_sigma": 0,)", kAlikeTokens - 1);
  return fmt::format(R"(workload={{"synthetic": {{"requests": 2000, {} {} "turns": 1,)"
                     R"( "system_prompts": 1, "system_zipf": 0, "system_tokens": 1,)"
                     R"( "system_sigma": 0, "answer_tokens": 1, "answer_sigma": 0}}}})",
                     bursts, prompts);
}

JsonSource server(System system, double load, const std::vector<std::string>& more) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  // Nothing is repeated: large blocks only spare work.
  for (const std::string& one :
       {std::string("engine.max_num_seqs=1"), std::string("engine.block_tokens=1024"),
        std::string("engine.max_num_batched_tokens=16384"),
        std::string(R"(compute={"kind": "linear", "step_us": 0, "token_ns": 20000,)"
                    R"( "kv_token_ns": 0})"),
        traffic(system, load)}) {
    source.set(one);
  }
  for (const std::string& one : more) source.set(one);
  return source;
}

/// P(W > w) of M/D/1 (Erlang 1909): 1 - (1 - rho) sum over k of (-y)^k e^y / k!, with
/// y = lambda (w - k D). Terms alternate, so that few digits are left beyond twenty services.
double md1_beyond(double load, double w) {
  long double within = 0;
  for (int k = 0; k <= w; ++k) {
    const long double y = load * (w - k);
    long double term = std::exp(y);
    for (int i = 1; i <= k; ++i) term *= -y / i;
    within += term;
  }
  return 1 - static_cast<double>((1 - load) * within);
}

/// In ms, the TTFT that a share of `beyond` exceeds.
double ttft_exceeded_by(System system, double load, double beyond) {
  const double service_ms = 1000 * service_s(system);
  if (system == System::kMM1) return -std::log(beyond) * service_ms / (1 - load);
  if (system == System::kMD1) {
    double low = 0;
    double high = 40;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (md1_beyond(load, middle) > beyond ? low : high) = middle;
    }
    return (high + 1) * service_ms;
  }
  const JsonSource source =
      server(system, load, {"workload.synthetic.requests=4000000", "seed=77", "slo=[]"});
  struct Times final : Observer {
    void on_request(const RequestRecord& r) override {
      all.push_back(static_cast<float>(milliseconds_of(r.first_token - r.arrival)));
    }
    std::vector<float> all;
  } times;
  const Scenario scenario = load_scenario(source);
  SimulationOptions options;
  options.observers.push_back(&times);
  simulate(scenario, open_workload(scenario, {}), options);
  const auto at = times.all.begin() +
                  static_cast<std::ptrdiff_t>((1 - beyond) * static_cast<double>(times.all.size()));
  std::nth_element(times.all.begin(), at, times.all.end());
  return *at;
}

TrialAnswer plan_once(System system, double load, double limit_ms, int trial,
                      const std::string& plan) {
  PlanOptions options;
  options.threads = 2;
  const PlanOutcome outcome =
      make_plan(server(system, load,
                       {fmt::format(R"(slo=[{{"metric": "p99_ttft_ms", "max": {}}}])", limit_ms),
                        plan, fmt::format("seed={}", 1000 * trial)}),
                options);
  const PlanResult& found = outcome.result;
  TrialAnswer out;
  out.said = found.undecided         ? Said::kUndecided
             : found.recommended < 0 ? Said::kMissed
                                     : Said::kMet;
  out.runs = found.confidence->runs;
  out.requests = static_cast<double>(outcome.work);
  return out;
}

/// `most_runs`: 0 where all work may be done.
void check_plans(System system, double load, double ratio, int trials, int most_runs) {
  const double limit_ms = ttft_exceeded_by(system, load, kAllowed * ratio);
  const std::string plan =
      fmt::format(R"(plan={{"sizes": ["0GiB"], "sensitivity": false{}}})",
                  most_runs > 0 ? fmt::format(R"(, "max_runs": {})", most_runs) : "");
  const TrialTally tally = run_trials(
      ratio, trials, [&](int trial) { return plan_once(system, load, limit_ms, trial, plan); });
  const std::string line = line_of(name_of(system), load, tally);
  if (trials >= 40) fmt::print("plans: {}\n", line);
  INFO(line);
  CHECK(fault_of(tally).empty());
}

TEST_CASE("plans judge the p99 of a queue, and seldom wrongly", "[scenarios][planner]") {
  check_plans(System::kMM1, 0.5, 0.5, 5, 0);
  check_plans(System::kMM1, 0.5, 1.3, 5, 0);
  check_plans(System::kMM1, 0.9, 1.05, 5, 60);  // those of the usual length
  check_plans(System::kMD1, 0.8, 0.7, 3, 0);
}

// One of them alone: -c "M/M/1 at 0.9, 1.01 times the limit"; a part of it: TRIALS=41-80.
TEST_CASE("200 plans for each queue of one server", "[.long][coverage]") {
  struct Queue {
    System system;
    double load;
    int trials;
  };
  const Queue queue = GENERATE(Queue{System::kMM1, 0.5, 200}, Queue{System::kMM1, 0.8, 200},
                               Queue{System::kMM1, 0.9, 200}, Queue{System::kMD1, 0.8, 200},
                               Queue{System::kBursts, 0.6, 200},
                               // A plan simulates some 30 million requests.
                               Queue{System::kMM1, 0.95, 40});
  for (const double ratio : {0.5, 0.7, 0.9, 1.01, 1.1, 1.3}) {
    DYNAMIC_SECTION(name_of(queue.system)
                    << " at " << queue.load << ", " << ratio << " times the limit") {
      // Close to the limit all work would be done, and most of it for nothing: one longer stage.
      const bool close = ratio > 0.75 && ratio < 1.25;
      check_plans(queue.system, queue.load, ratio, queue.trials, close ? 100 : 0);
    }
  }
}

}  // namespace
}  // namespace spillway::test

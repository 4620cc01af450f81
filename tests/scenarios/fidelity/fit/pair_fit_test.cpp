// What a connector costs, given back by two runs that were simulated with known costs.
//
// Steps last up to 2 to 5% more or less at random, and clocks are rounded to 0.1 ms, as in
// log_intervals_test.cpp.
#include "scenarios/fidelity/fit/pair_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "models/compute/step_cost.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "tests/scenarios/planner/known_trials.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Sessions of four turns: prompts of 1,800 to 6,000 tokens on 3,000 blocks, so that the tier is
/// written all the time and read often. Copies of 32 KiB, launched one by one.
Scenario pair_scenario(double sessions_per_s, int requests = 120) {
  return scenario_of(fmt::format(R"({{"name": "pair", "model": "Llama-3.1-8B", "gpu": "H100",
    "engine": {{"preset": "vllm@0.12", "num_gpu_blocks": 3000, "max_num_seqs": 64,
                "async_scheduling": false, "kv_layout": "per_layer"}},
    "compute": {{"kind": "components"}},
    "tiers": [{{"name": "dram", "kind": "dram", "capacity": "20GB"}}],
    "workload": {{"arrival": "trace", "sessions": "ignore",
      "synthetic": {{"requests": {}, "sessions_per_s": {}, "turns": 4, "think_s": 5,
                    "system_prompts": 4, "system_tokens": 1000, "user_tokens": 800,
                    "answer_tokens": 150, "max_context": 12000, "block_tokens": 16}}}}}})",
                                 requests, sessions_per_s));
}

class JitteredCost final : public StepCost {
 public:
  JitteredCost(std::unique_ptr<StepCost> cost, double scale, double jitter, Stream noise)
      : cost_(std::move(cost)), scale_(scale), jitter_(jitter), noise_(noise) {}
  Duration step_time(const StepShape& shape) override {
    const double ns = static_cast<double>(cost_->step_time(shape).count());
    // Of mean 1, so that the scale is what it says.
    const double off = jitter_ * noise_.normal() - jitter_ * jitter_ / 2;
    return Duration(std::llround(ns * scale_ * det::exp(off)));
  }

 private:
  std::unique_ptr<StepCost> cost_;
  double scale_;
  double jitter_;
  Stream noise_;
};

struct Server {
  double scale = 1;  ///< of the scenario's step times
  double jitter = 0;
  std::uint64_t trial = 0;
};

class Log final : public Observer {
 public:
  explicit Log(std::size_t requests) : run_{} {
    run_.files = {"log.csv"};
    run_.requests.resize(requests);
  }
  void on_request(const RequestRecord& r) override {
    const auto clock = [](Time at) { return std::round(1e4 * seconds_of(at)) / 1e4; };
    MeasuredRequest& out = run_.requests[raw(r.request)];
    out.line = static_cast<std::int64_t>(raw(r.request)) + 2;
    out.arrival_s = seconds_of(r.arrival);
    out.scheduled_s = clock(r.scheduled);
    out.first_token_s = clock(r.first_token);
    out.last_token_s = clock(r.finish);
    out.input_tokens = r.input_tokens;
    out.output_tokens = r.output_tokens;
  }
  MeasuredRun run_;
};

MeasuredRun served(const Scenario& scenario, const Server& server, const char* run) {
  const Workload workload = open_workload(scenario, {});
  Log log(workload.size());
  SimulationOptions options;
  options.observers.push_back(&log);
  options.cost = [&] {
    return std::make_unique<JitteredCost>(scenario.make_cost(), server.scale, server.jitter,
                                          Stream(server.trial, run));
  };
  simulate(scenario, workload, options);
  return log.run_;
}

struct Pair {
  MeasuredRun without;
  MeasuredRun with;
};

/// Two runs of a server whose connector costs so much.
Pair pair_of(const Scenario& scenario, const ConnectorCosts& costs, const Server& server) {
  Scenario bare = scenario;
  bare.tier->capacity = Capacity{};
  Scenario tiered = scenario;
  tiered.engine.costs = costs;
  return {served(bare, server, "without"), served(tiered, server, "with")};
}

TEST_CASE("a pair of runs gives a connector's costs back", "[scenarios]") {
  const Scenario scenario = pair_scenario(0.6);
  ConnectorCosts costs;
  costs.step_us = 1500;
  costs.step_factor = 1.1;
  costs.copy_us = 3;
  const Pair pair = pair_of(scenario, costs, {});
  const PairFit fit = fit_pair(pair.without, pair.with, scenario);
  CHECK(fit.time_scale == Approx(1).margin(0.01));
  CHECK(fit.costs.step_us == Approx(1500).epsilon(0.1));
  CHECK(fit.costs.step_factor == Approx(1.1).margin(0.01));
  CHECK(fit.costs.copy_us == Approx(3).epsilon(0.1));
  CHECK(fit.parameters.at("copy_us").identified);
  // 9 ms more per token, of which nothing is told by a connector that costs nothing.
  CHECK(fit.measured_tpot_ms[1] > 1.1 * fit.measured_tpot_ms[0]);
  for (const PairScore& score : fit.scores) CHECK(score.mape < 5);
}

TEST_CASE("a pair of runs of a connector that costs nothing says so", "[scenarios]") {
  const Scenario scenario = pair_scenario(0.6);
  const Pair pair = pair_of(scenario, {}, {});
  const PairFit fit = fit_pair(pair.without, pair.with, scenario);
  CHECK(fit.costs.step_us < 50);
  CHECK(fit.costs.copy_us < 0.1);
  CHECK(fit.costs.step_factor < 1.005);
}

TEST_CASE("a pair of runs: what a forward hides is not told", "[scenarios]") {
  Scenario scenario = pair_scenario(0.6);
  scenario.engine.async_scheduling = true;  // the host is a step ahead: 8 ms and more of cover
  ConnectorCosts costs;
  costs.step_us = 300;
  const Pair pair = pair_of(scenario, costs, {});
  const PairFit fit = fit_pair(pair.without, pair.with, scenario);
  // Up to some 8 ms would look the same.
  REQUIRE(fit.parameters.contains("step_us"));
  CHECK(fit.parameters.at("step_us").high >= 300);
  CHECK_FALSE(fit.parameters.at("step_us").identified);
}

TEST_CASE("a pair of runs is refused where it is none", "[scenarios]") {
  const Scenario scenario = pair_scenario(0.6);
  const Pair pair = pair_of(scenario, {}, {});
  const auto refused = [&](const MeasuredRun& without, const MeasuredRun& with,
                           const Scenario& of) {
    return std::string(error_of([&] { fit_pair(without, with, of); }).what());
  };
  MeasuredRun other = pair.with;
  other.requests[7].input_tokens += 1;
  CHECK_THAT(refused(pair.without, other, scenario),
             ContainsSubstring("log.csv:9") && ContainsSubstring("scenario's workload"));
  other = pair.with;
  other.facts.version = "0.19.1";
  MeasuredRun older = pair.without;
  older.facts.version = "0.15.1";
  CHECK_THAT(refused(older, other, scenario), ContainsSubstring("release 0.19.1"));
  Scenario bare = scenario;
  bare.tier.reset();
  CHECK_THAT(refused(pair.without, pair.with, bare), ContainsSubstring("no tier below HBM"));
  other = pair.with;
  other.requests.resize(10);
  CHECK_THAT(refused(pair.without, other, scenario), ContainsSubstring("spans of time"));
}

struct CostsHeld {
  int fits = 0;
  int within = 0;
  int identified = 0;
  int identified_within = 0;
};

TEST_CASE("intervals of 100 connectors", "[.long][coverage]") {
  std::map<std::string, CostsHeld> held;
  int all = 0;
  int trials = 0;
  const auto [first, last] = trials_asked(100);
  for (int trial = first; trial <= last; ++trial) {
    Stream stream(static_cast<std::uint64_t>(trial), "connector");
    const auto some = [&](double most) { return most * stream.uniform(); };
    Server server{0.9 + some(0.2), 0.02 + some(0.03), static_cast<std::uint64_t>(trial)};
    ConnectorCosts costs;
    costs.step_us = some(5000);
    costs.lookup_us = some(1000);
    costs.job_us = some(1000);
    costs.copy_us = some(6);
    costs.step_factor = 1 + some(0.3);
    const Scenario scenario = pair_scenario(0.2 + some(0.6));
    const Pair pair = pair_of(scenario, costs, server);
    const PairFit fit = fit_pair(pair.without, pair.with, scenario);
    const std::map<std::string, double> truth = {
        {"time_scale", server.scale},   {"step_us", costs.step_us},
        {"lookup_us", costs.lookup_us}, {"job_us", costs.job_us},
        {"copy_us", costs.copy_us},     {"step_factor", costs.step_factor}};
    bool every = true;
    for (const auto& [name, p] : fit.parameters) {
      const bool within = truth.at(name) >= p.low && truth.at(name) <= p.high;
      CostsHeld& h = held[name];
      ++h.fits;
      h.within += within ? 1 : 0;
      h.identified += p.identified ? 1 : 0;
      h.identified_within += p.identified && within ? 1 : 0;
      every = every && within;
    }
    all += every ? 1 : 0;
    ++trials;
  }
  fmt::print("{} trials, all within in {}\n", trials, all);
  for (const auto& [name, h] : held) {
    fmt::print("  {:12} held in {:3} of {:3}; identified in {:3}, of these held in {:3}\n", name,
               h.within, h.fits, h.identified, h.identified_within);
  }
  for (const auto& [name, h] : held) {
    INFO(name);
    CHECK(h.within >= 0.9 * h.fits);
  }
}

}  // namespace
}  // namespace spillway::test

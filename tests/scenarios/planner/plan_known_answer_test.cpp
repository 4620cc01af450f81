// Whole plans on simulated systems whose answer is known: a server of one request at a time.
//
// Rates: prompts of 513 tokens that nobody repeats take 2 ms + 513 x 20 us = 12.26 ms each, so the
// engine is an M/D/1 queue and the mean TTFT is D + rho D / 2(1 - rho) (Pollaczek and Khinchine).
//
// Sizes: 16 prompts, each equally likely, of which the tier holds the K used last: K/16 of the
// requests are loaded and the others computed, whatever came before. What a size does in the long
// run is read off one long run.
#include <fmt/format.h>

#include <cmath>

#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/rng.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

JsonSource one_at_a_time(const std::vector<std::string>& assignments) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  for (const std::string& one :
       {std::string("engine.max_num_seqs=1"), std::string("engine.num_gpu_blocks=80"),
        std::string(R"(compute={"kind": "linear", "step_us": 2000, "token_ns": 20000,)"
                    R"( "kv_token_ns": 0})")}) {
    source.set(one);
  }
  for (const std::string& one : assignments) source.set(one);
  return source;
}

std::string arrivals(int requests, double rate, int prompts, int shared, int own) {
  return fmt::format(
      R"(workload={{"warmup_s": 5, "synthetic": {{"requests": {}, "sessions_per_s": {},)"
      R"( "burst_factor": 1, "turns": 1, "system_prompts": {}, "system_zipf": 0,)"
      R"( "system_tokens": {}, "system_sigma": 0, "user_tokens": {}, "user_sigma": 0,)"
      R"( "answer_tokens": 1, "answer_sigma": 0}}}})",
      requests, rate, prompts, shared, own);
}

struct Ends {
  int wrong = 0;
  int best = 0;
  int other = 0;
  int undecided = 0;
  int none = 0;
};

/// Plans with limits drawn between `least` and `most`; `truth`: by cell, in the plan's order, what
/// the target bounds; `best_first`: cells as the objective ranks them.
Ends plans_of(const std::vector<std::string>& assignments, const std::string& metric, double least,
              double most, const std::vector<double>& truth, const std::vector<int>& best_first,
              int trials) {
  Ends ends;
  for (int trial = 1; trial <= trials; ++trial) {
    Stream draw(static_cast<std::uint64_t>(trial), "plan-limits");
    const double limit = least * std::pow(most / least, draw.uniform());
    std::vector<std::string> all = assignments;
    all.push_back(fmt::format(R"(slo=[{{"metric": "{}", "max": {}}}])", metric, limit));
    all.push_back(fmt::format("seed={}", 1000 * trial));
    PlanOptions options;
    options.threads = 2;
    const PlanResult plan = make_plan(one_at_a_time(all), options).result;
    int best = -1;
    for (const int cell : best_first) {
      if (best < 0 && truth[static_cast<std::size_t>(cell)] <= limit) best = cell;
    }
    if (plan.undecided) {
      ++ends.undecided;
    } else if (plan.recommended < 0) {
      ++(best < 0 ? ends.best : ends.none);
    } else if (truth[static_cast<std::size_t>(plan.recommended)] > limit) {
      ++ends.wrong;
    } else {
      ++(plan.recommended == best ? ends.best : ends.other);
    }
  }
  fmt::print(
      "plans by {}: of {}: {} wrong, {} best, {} worse than the best, {} undecided, {} none\n",
      metric, trials, ends.wrong, ends.best, ends.other, ends.undecided, ends.none);
  return ends;
}

TEST_CASE("200 plans find the rate that an M/D/1 server bears", "[.long][coverage]") {
  const std::vector<int> rates = {20, 30, 40, 45, 50, 55, 60, 65};
  std::vector<double> truth;
  std::vector<int> order;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double service = 12.26;
    const double rho = rates[i] * service / 1000;
    truth.push_back(service + rho * service / (2 * (1 - rho)));
    order.insert(order.begin(), static_cast<int>(i));  // the highest rate is the best
  }
  const Ends ends =
      plans_of({arrivals(3000, 20, 1, 1, 512), "workload.arrival=poisson", "workload.rate_per_s=20",
                R"(plan={"sizes": ["0blocks"], "objective": "most-load",)"
                R"( "sensitivity": false, "search":)"
                R"( {"workload.rate_per_s":)"
                R"( [20, 30, 40, 45, 50, 55, 60, 65]}})"},
               "mean_ttft_ms", 15, 35, truth, order, 200);
  CHECK(ends.wrong <= 15);
}

TEST_CASE("200 plans find the size that holds enough of sixteen prompts", "[.long][coverage]") {
  const std::string plan =
      R"(plan={"sizes": ["0blocks", "64blocks", "128blocks", "192blocks", "256blocks",)"
      R"( "320blocks", "384blocks", "448blocks", "512blocks"], "sensitivity": false})";
  std::vector<double> truth;
  std::vector<int> order;
  for (int i = 0; i <= 8; ++i) {
    const Scenario scenario =
        load_scenario(one_at_a_time({arrivals(200000, 80, 16, 512, 8),
                                     fmt::format("tiers.0.capacity={}blocks", 64 * i), plan}));
    truth.push_back(simulate(scenario, open_workload(scenario, {})).result.ttft.p90_ms);
    order.push_back(i);
  }
  const Ends ends =
      plans_of({arrivals(3000, 80, 16, 512, 8), plan}, "p90_ttft_ms", 10, 60, truth, order, 200);
  CHECK(ends.wrong <= 15);
}

}  // namespace
}  // namespace spillway::test

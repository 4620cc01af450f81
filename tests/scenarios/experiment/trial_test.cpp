// What one run says of an SLO, and when it is cut short.
#include "scenarios/experiment/trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "sim/request_targets.hpp"
#include "sim/rng.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// The first token of a request that nobody delays: 3.28032 ms for 64 tokens, 12.24256 for 512.
Workload apart(std::uint32_t count, std::uint32_t large) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    rows.push_back({static_cast<std::int64_t>(i) * 1000, i < large ? 512U : 64U, 3, {i}});
  }
  return workload_of(rows, 512);
}

Scenario with_slo(const std::string& slo, std::vector<std::string> more = {}) {
  more.push_back("slo=" + slo);
  return reference_with(more);
}

/// All that the scenario measures.
Trial whole(const Scenario& scenario, const Workload& workload, bool stop = false) {
  TrialOptions options;
  options.stop_when_decided = stop;
  options.find_warm_up = false;
  return run_trial(scenario, workload, options);
}

TEST_CASE("a percentile target is the share of requests that miss it", "[scenarios]") {
  const auto trial = [](std::uint32_t large, const std::string& metric, double most) {
    return whole(with_slo(fmt::format(R"([{{"metric": "{}", "max": {}}}])", metric, most)),
                 apart(100, large));
  };
  CHECK(trial(1, "p99_ttft_ms", 5).targets[0].x == Approx(0.01));
  CHECK(trial(1, "p99_ttft_ms", 5).targets[0].limit == 0.01);
  CHECK(trial(1, "p99_ttft_ms", 5).met);
  CHECK(trial(2, "p99_ttft_ms", 5).targets[0].x == Approx(0.02));
  CHECK_FALSE(trial(2, "p99_ttft_ms", 5).met);
  CHECK(trial(5, "p95_ttft_ms", 5).met);
  CHECK_FALSE(trial(6, "p95_ttft_ms", 5).met);
  CHECK(trial(50, "median_ttft_ms", 12.5).targets[0].x == 0);
  CHECK(trial(30, "median_ttft_ms", 5).targets[0].x == Approx(0.3));
  CHECK(trial(30, "median_ttft_ms", 5).targets[0].limit == 0.5);
  // A mean is the figure itself: (30 x 12.24256 + 70 x 3.28032) / 100.
  const Trial mean = trial(30, "mean_ttft_ms", 5);
  CHECK(mean.targets[0].x == Approx(5.968992));
  CHECK(mean.targets[0].limit == 5);
  CHECK(mean.targets[0].judged == 100);
}

TEST_CASE("share and interpolated percentile differ by one request at most", "[scenarios]") {
  // Of 150 requests p99 stands at 0.99 x 149 = 147.51: with two above 8 ms it is 3.28 + 0.51 x 8.96
  // = 7.85 ms, which is met, while 2 / 150 is more than 1%.
  const Trial edge = whole(with_slo(R"([{"metric": "p99_ttft_ms", "max": 8}])"), apart(150, 2));
  CHECK(edge.met);
  CHECK(edge.run.slo[0].passed);
  CHECK(edge.targets[0].value == edge.run.slo[0].value);
  CHECK(edge.targets[0].x == Approx(2.0 / 150));
}

TEST_CASE("requests and share agree with every request's own record", "[scenarios]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Stream draw(seed, "trial-test");
    std::vector<Row> rows;
    std::int64_t at = 0;
    const std::uint64_t count = 60 + draw.below(60);
    for (std::uint64_t i = 0; i < count; ++i) {
      at += static_cast<std::int64_t>(draw.below(25));
      rows.push_back({at,
                      static_cast<std::uint32_t>(64 * (1 + draw.below(8))),
                      static_cast<std::uint32_t>(1 + draw.below(6)),
                      {draw.below(30)}});
    }
    const Workload workload = workload_of(rows, 512);
    const double most = 10 + static_cast<double>(draw.below(60));
    const Scenario s = with_slo(fmt::format(R"([{{"metric": "p95_ttft_ms", "max": {}}},
                                 {{"metric": "p90_tpot_ms", "max": {}}},
                                 {{"metric": "p99_itl_ms", "max": {}}}])",
                                            most, most, most));
    Journal journal;
    TrialOptions options;
    options.find_warm_up = false;
    options.simulation.observers.push_back(&journal);
    const Trial trial = run_trial(s, workload, options);
    double missed = 0;
    double good = 0;
    double tpots = 0;
    double slow = 0;
    for (const RequestRecord& r : journal.requests) {
      const bool late = milliseconds_of(r.first_token - r.arrival) > most;
      const bool halting = r.output_tokens > 1 && milliseconds_of(tpot_of(r)) > most;
      missed += late ? 1 : 0;
      tpots += r.output_tokens > 1 ? 1 : 0;
      slow += halting ? 1 : 0;
      good += late || halting ? 0 : 1;
    }
    const auto n = static_cast<double>(count);
    CHECK(trial.targets[0].x == Approx(missed / n));
    CHECK(trial.targets[1].x == Approx(slow / tpots));
    CHECK(trial.attainment == Approx(good / n));
    CHECK(trial.attainment == Approx(trial.run.goodput * trial.run.duration_s / n));
    // What is met by its figure leaves at most ceil((1 - q)(n - 1)) misses, what is missed more
    // than (1 - q)(n - 1) - 1.
    if (trial.run.slo[0].passed) CHECK(missed <= std::ceil(0.05 * (n - 1)));
    if (!trial.run.slo[0].passed) CHECK(missed > 0.05 * (n - 1) - 1);
    if (trial.run.slo[2].passed) CHECK(trial.targets[2].x <= 0.01 + 1 / n);
  }
}

TEST_CASE("a request that is not completed misses", "[scenarios]") {
  // Ten of a hundred are longer than the model takes.
  const Trial trial = whole(with_slo(R"([{"metric": "p95_ttft_ms", "max": 5},
                                         {"metric": "mean_ttft_ms", "max": 5}])",
                                     {"engine.max_model_len=100"}),
                            apart(100, 10));
  CHECK(trial.run.failed == 10);
  CHECK(trial.targets[0].x == Approx(0.1));
  CHECK(trial.targets[1].x == Approx(3.28032));  // of those that completed
  CHECK(trial.run.slo[0].passed);
  CHECK_FALSE(trial.met);  // for not every request is done
  CHECK(trial.attainment == Approx(0.9));
}

TEST_CASE("a bounded rejection is no miss of a latency", "[scenarios]") {
  // Forty requests at once, of which the queue takes some.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 40; ++i) rows.push_back({0, 512, 8, {i}});
  const Workload workload = workload_of(rows, 512);
  const std::vector<std::string> with = {"policies.admission=gpu-only",
                                         "engine.num_gpu_blocks=200"};
  const std::string ttft = R"({"metric": "p99_ttft_ms", "max": 100000})";
  const Trial plain = whole(with_slo("[" + ttft + "]", with), workload);
  REQUIRE(plain.run.rejected > 0);
  const double share = static_cast<double>(plain.run.rejected) / 40;
  CHECK(plain.targets[0].x == Approx(share));
  CHECK_FALSE(plain.met);
  const Trial bounded = whole(
      with_slo("[" + ttft + R"(, {"metric": "rejected_share", "max": 0.99}])", with), workload);
  CHECK(bounded.targets[0].x == 0);
  CHECK(bounded.targets[0].judged == 40 - plain.run.rejected);
  CHECK(bounded.targets[1].x == Approx(share));
  CHECK(bounded.met);
}

TEST_CASE("a tenant's share is of its requests", "[scenarios]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 40; ++i) {
    rows.push_back({static_cast<std::int64_t>(i) * 1000,
                    i % 4 == 0 ? 512U : 64U,
                    2,
                    {i},
                    i % 2 == 0 ? "a" : "b"});
  }
  const Trial trial = whole(with_slo(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": "a"},
                                         {"metric": "p99_ttft_ms", "max": 5, "tenant": "b"}])"),
                            workload_of(rows, 512));
  CHECK(trial.targets[0].x == Approx(0.5));
  CHECK(trial.targets[0].judged == 20);
  CHECK(trial.targets[1].x == 0);
  CHECK(trial.attainment == Approx(0.75));
}

TEST_CASE("the warm-up that a scenario gives is not judged", "[scenarios]") {
  // The first ten requests are the large ones.
  const Scenario s = with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])",
                              {R"(workload.replication={"warmup_s": 10})"});
  const Trial behind = run_trial(s, apart(100, 10));
  CHECK(behind.targets[0].x == 0);
  CHECK(behind.targets[0].judged == 90);
  CHECK(behind.met);
  CHECK_FALSE(behind.run.slo[0].passed);  // the run's own figures are of all requests
  CHECK_FALSE(whole(s, apart(100, 10)).met);
}

TEST_CASE("a warm-up that is found takes half of the requests at most", "[scenarios]") {
  const Trial trial =
      run_trial(with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])"), repeating(400, 40, 100, 2));
  CHECK(trial.targets[0].judged >= 200);
  CHECK(trial.targets[0].judged <= 400);
  CHECK_FALSE(trial.warm_up.empty());
}

// ---- early stops

TEST_CASE("a run ends when more have missed than may miss in the end", "[scenarios]") {
  // 10 of 1,000 may miss p99. The large ones come first: behind the eleventh it is decided.
  const Trial cut =
      whole(with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])"), apart(1000, 100), true);
  CHECK(cut.cut);
  CHECK_FALSE(cut.met);
  CHECK(cut.run.completed == 11);
  CHECK(cut.targets[0].x == Approx(0.011));
  const Trial full = whole(with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])"), apart(1000, 100));
  CHECK_FALSE(full.cut);
  CHECK(full.targets[0].x == Approx(0.1));
}

TEST_CASE("requests that are never served end a run as slow ones do", "[scenarios]") {
  // The first eleven of a thousand are longer than the model takes: none of them is slow.
  const Scenario s =
      with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])", {"engine.max_model_len=100"});
  CHECK(whole(s, apart(1000, 11), true).cut);
  CHECK_FALSE(whole(s, apart(1000, 10), true).cut);
}

TEST_CASE("requests that are turned away end a run unless a target allows it", "[scenarios]") {
  // Forty at once, of which a queue of one turns away 39, then 960 one by one. Ten may miss.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    rows.push_back({i < 40 ? 0 : 1000 * static_cast<std::int64_t>(i), 512, 2, {i}});
  }
  const Workload workload = workload_of(rows, 512);
  const std::vector<std::string> with = {R"(policies={"admission": "queue-limit:max_queue=1"})"};
  const std::string ttft = R"({"metric": "p99_ttft_ms", "max": 100000})";
  const Trial cut = whole(with_slo("[" + ttft + "]", with), workload, true);
  CHECK(cut.cut);
  CHECK(cut.run.rejected == 39);
  CHECK(cut.run.completed == 0);  // nobody needs to see how the one went
  const Trial allowed =
      whole(with_slo("[" + ttft + R"(, {"metric": "rejected_share", "max": 0.5}])", with), workload,
            true);
  CHECK_FALSE(allowed.cut);
  CHECK(allowed.run.rejected == 39);
  CHECK(allowed.run.completed == 961);
}

TEST_CASE("a run tells how requests beyond tenths of a target are spread", "[scenarios]") {
  // 160 requests, the first 20 of 12.24 ms, the others of 3.28 ms: parts of ten.
  const Trial trial = whole(with_slo(R"([{"metric": "p99_ttft_ms", "max": 15}])"), apart(160, 20));
  const MissLadder& ladder = trial.targets[0].ladder;
  REQUIRE(ladder.size() == kLadderLevels * kLadderParts);
  const auto at = [&](std::size_t tenths, std::size_t part) {
    return ladder[(10 - tenths) * kLadderParts + part];
  };
  CHECK(at(10, 0) == 0);
  CHECK(at(9, 0) == 0);   // 13.5 ms
  CHECK(at(8, 0) == 10);  // 12 ms
  CHECK(at(8, 1) == 10);
  CHECK(at(8, 2) == 0);
  CHECK(at(3, 2) == 0);   // 4.5 ms
  CHECK(at(2, 2) == 10);  // 3 ms
  // Only what is judged counts, in parts of its own.
  TrialOptions options;
  options.least_warm_up = 0.5;
  const Trial half =
      run_trial(with_slo(R"([{"metric": "p99_ttft_ms", "max": 3}])"), apart(160, 20), options);
  CHECK(half.targets[0].judged == 80);
  CHECK(half.targets[0].ladder[kLadderParts - 1] == 5);
}

TEST_CASE("a run that may still meet its target goes on to its end", "[scenarios]") {
  // Eleven of 1,000 miss, which is more than 1%, but interpolation may still forgive one of them:
  // ceil(0.01 x 999) = 10 is what it leaves above, so that the eleventh decides; ten do not.
  const Scenario s = with_slo(R"([{"metric": "p99_ttft_ms", "max": 5}])");
  CHECK_FALSE(whole(s, apart(1000, 10), true).cut);
  CHECK(whole(s, apart(1000, 11), true).cut);
  // Of 150 two are more than 1%, and yet p99 may be met.
  CHECK_FALSE(whole(s, apart(150, 2), true).cut);
  CHECK(whole(s, apart(150, 3), true).cut);
}

TEST_CASE("verdicts do not depend on early stops", "[scenarios]") {
  std::array<std::uint32_t, 2> cuts{};  // judged whole, and behind a warm-up
  std::uint32_t met = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Stream draw(seed, "early-stop");
    std::vector<Row> rows;
    std::int64_t at = 0;
    const std::uint64_t gap = 12 + draw.below(16);  // around what the engine keeps up with
    for (std::uint64_t i = 0; i < 120; ++i) {
      at += static_cast<std::int64_t>(draw.below(gap));
      rows.push_back({at,
                      static_cast<std::uint32_t>(64 * (1 + draw.below(8))),
                      static_cast<std::uint32_t>(1 + draw.below(8)),
                      {draw.below(20)},
                      draw.chance(0.5) ? "a" : "b"});
    }
    const Workload workload = workload_of(rows, 512);
    const auto most = [&](double least, double range) { return least + range * draw.uniform(); };
    const std::string slo = fmt::format(
        R"([{{"metric": "p95_ttft_ms", "max": {}}}, {{"metric": "mean_e2el_ms", "max": {}}},
            {{"metric": "p90_tpot_ms", "max": {}, "tenant": "a"}},
            {{"metric": "p95_itl_ms", "max": {}}}, {{"metric": "goodput", "min": {}}}])",
        most(8, 80), most(20, 300), most(3, 30), most(3, 30), most(0, 40));
    std::vector<std::string> with = {draw.chance(0.5) ? "engine.num_gpu_blocks=150"
                                                      : "engine.num_gpu_blocks=2048"};
    if (draw.chance(0.5)) with.emplace_back("tiers.0.capacity=64blocks");
    if (draw.chance(0.3)) with.emplace_back("workload.warmup_s=0.5");
    if (draw.chance(0.3)) with.emplace_back("fleet.replicas=2");
    if (draw.chance(0.3)) with.emplace_back(R"(workload.replication={"warmup_s": 0.4})");
    const Scenario s = with_slo(slo, with);
    for (const bool find : {false, true}) {
      TrialOptions options;
      options.find_warm_up = find;
      const Trial full = run_trial(s, workload, options);
      options.stop_when_decided = true;
      const Trial cut = run_trial(s, workload, options);
      CAPTURE(seed, find, slo);
      CHECK(cut.met == full.met);
      met += full.met ? 1 : 0;
      if (!cut.cut) {
        CHECK(cut.digest == full.digest);
        continue;
      }
      ++cuts[find ? 1 : 0];
      CHECK_FALSE(full.cold_limited);
      for (std::size_t t = 0; t < full.targets.size(); ++t) {
        CAPTURE(t);
        if (s.slo[t].at_least) {
          CHECK(cut.targets[t].x >= full.targets[t].x * (1 - 1e-9));
        } else {
          CHECK(cut.targets[t].x <= full.targets[t].x * (1 + 1e-9));
        }
      }
      CHECK(cut.attainment >= full.attainment - 1e-12);
    }
  }
  CHECK(cuts[0] > 20);
  CHECK(cuts[1] > 10);
  CHECK(met > 3);
}

TEST_CASE("a stop that is asked for from outside ends the run, too", "[scenarios]") {
  SimulationOptions options;
  int asked = 0;
  options.stop = [&] { return ++asked == 50; };
  const SimulationOutcome out = simulate(reference_with(), repeating(100, 10, 50, 4), options);
  CHECK(out.stopped);
  CHECK(out.result.sim.events == 50);
  CHECK(out.result.completed < 100);
}

}  // namespace
}  // namespace spillway::test

// How often the selection is wrong on systems whose answer is known, and how often its bounds
// cover. Figures are printed; tests/long coverage runs the full numbers.
#include <fmt/format.h>

#include "scenarios/experiment/target_bound.hpp"
#include "tests/scenarios/planner/selection/known_systems.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const std::vector<double> kRates = {1.1, 1.18, 1.28, 1.4, 1.55, 1.75, 2.0, 2.4};

/// Faster up to the fourth size, then slower again, as behind a link that saturates.
const std::vector<double> kLinkBound = {1.1, 1.3, 1.6, 2.0, 1.5, 1.25, 1.15, 1.1};

std::vector<KnownSystem> systems(std::uint32_t requests) {
  std::vector<KnownSystem> out = {
      mm1(kRates, 6, requests),      mm1(kLinkBound, 6, requests),
      alike(12, 1.4, 6, requests),   md1(kRates, 2.5, requests),
      mmc(8, 8, 7.2, 0.4, requests), recorded_sessions({1, 2, 3, 4, 6, 8, 12, 16}, requests)};
  out[1].name = "M/M/1, not monotone";
  return out;
}

/// Both kinds of trial; at most `most_wrong` of each may recommend a cell that misses, and as many
/// may say that none holds, though one does. Some limits lie too close to a cell to decide,
/// but a cell that holds has to be found for half of them: who never decides is never wrong.
void run_trials(const KnownSystem& system, int trials, int most_wrong) {
  struct Kind {
    const char* name;
    Score score;
  };
  const Kind kinds[] = {{"limits anywhere", any_margins(system, trials, 0.003, 0.3)},
                        {"misses by 1%", hair_misses(system, trials, 0.003, 0.3)}};
  for (const Kind& kind : kinds) {
    const Score& s = kind.score;
    const std::string line = fmt::format(
        "{:<26} {:<16} of {}: {} wrong, {} smallest, {} larger, {} undecided, {} none; {:.0f} runs",
        system.name, kind.name, s.trials, s.wrong, s.exact, s.larger, s.undecided, s.none,
        static_cast<double>(s.runs) / s.trials);
    if (trials >= 200) fmt::print("{}\n", line);
    INFO(line);
    CHECK(s.trials == trials);
    CHECK(s.wrong <= most_wrong);
    CHECK(s.none <= most_wrong);
    CHECK(s.exact + s.larger >= trials / 2);
  }
}

/// How often [lower, upper] at 2.5% each holds the truth, and how often the bounds at 5% fail.
struct Coverage {
  double inside = 0;
  double above = 0;  ///< the truth, of its upper bound
  double below = 0;
};

Coverage coverage_of(const KnownSystem& system, std::uint32_t cell, std::size_t target, int runs,
                     int trials) {
  Coverage out;
  const FigureKind kind = system.targets[target].share ? FigureKind::kShare : FigureKind::kFigure;
  const double truth = system.truth[cell][target];
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> x;
    std::vector<double> weight;
    for (int r = 0; r < runs; ++r) {
      // A recording's resamples share its seed; independent runs are told apart by replicate.
      const CellSample sample =
          system.run(cell, static_cast<std::uint64_t>(trial) + 1, static_cast<std::uint64_t>(r));
      x.push_back(sample.x[target]);
      weight.push_back(sample.weight[target]);
    }
    const SampleSummary s = summarise(x, weight, kind, system.replication, 1);
    const bool within =
        lower_bound(s, kind, 0.025) <= truth && truth <= upper_bound(s, kind, 0.025);
    out.inside += within ? 1.0 / trials : 0;
    out.above += upper_bound(s, kind, 0.05) < truth ? 1.0 / trials : 0;
    out.below += lower_bound(s, kind, 0.05) > truth ? 1.0 / trials : 0;
  }
  return out;
}

void check_coverage(const KnownSystem& system, std::uint32_t cell, std::size_t target, int runs,
                    int trials, double least, double most) {
  const Coverage c = coverage_of(system, cell, target, runs, trials);
  const std::string line = fmt::format(
      "{:<26} {:<10} {:.4f}, {} runs, {} trials: {:.1f}% inside; of 5%: {:.1f}% above, {:.1f}% "
      "below",
      system.name, system.targets[target].name, system.truth[cell][target], runs, trials,
      100 * c.inside, 100 * c.above, 100 * c.below);
  if (trials >= 1000) fmt::print("{}\n", line);
  INFO(line);
  CHECK(c.inside >= least);
  CHECK(c.inside <= most);
}

// A true 95% procedure is wrong in at most 15 of 200 trials, and in at most 5 of 40, with 95%
// probability.

TEST_CASE("cells that miss are seldom recommended, on small queues and stores",
          "[scenarios][planner]") {
  for (const KnownSystem& system : systems(500)) run_trials(system, 40, 5);
}

TEST_CASE("bounds cover on small queues and stores", "[scenarios][planner]") {
  check_coverage(mm1({2}, 3, 2000), 0, 0, 10, 200, 0.91, 0.99);
  check_coverage(recorded_sessions({4}, 1000), 0, 0, 10, 200, 0.91, 0.99);
}

TEST_CASE("200 trials on each known system and limits by a hair", "[.long][coverage]") {
  for (const std::uint32_t requests : {1000U, 5000U}) {
    fmt::print("runs of {} requests\n", requests);
    for (const KnownSystem& system : systems(requests)) run_trials(system, 200, 15);
  }
}

TEST_CASE("two-sided bounds of 95% cover 93% to 97%", "[.long][coverage]") {
  // P(W > t) = rho e^-(mu - 1)t = 1%: at rho 0.5, t = ln 50; at 0.8, t = 4 ln 80.
  const double slow = 1 / 0.8;
  check_coverage(mm1({2}, std::log(50), 20000), 0, 0, 10, 1000, 0.93, 0.97);
  check_coverage(mm1({slow}, 4 * std::log(80), 20000), 0, 0, 10, 1000, 0.93, 0.97);
  check_coverage(mm1({slow}, 4 * std::log(80), 20000), 0, 0, 20, 1000, 0.93, 0.97);
  check_coverage(mm1({slow}, 4 * std::log(16), 20000), 0, 0, 10, 1000, 0.93, 0.97);
  check_coverage(md1({1.4}, 2.5, 20000), 0, 0, 10, 1000, 0.93, 0.97);
  check_coverage(md1({1.4}, 2.5, 20000), 0, 1, 10, 1000, 0.93, 0.97);
  check_coverage(mmc(10, 1, 7.2, 0.4, 20000), 0, 0, 10, 1000, 0.93, 0.97);
  check_coverage(recorded_sessions({4}, 5000), 0, 0, 10, 2000, 0.93, 0.97);
  check_coverage(recorded_sessions({4}, 5000), 0, 0, 40, 2000, 0.93, 0.97);
  // Short runs of a busy queue: a handful of busy periods hold all misses. Wider is allowed.
  check_coverage(mm1({slow}, 4 * std::log(80), 2000), 0, 0, 10, 2000, 0.93, 0.99);
}

}  // namespace
}  // namespace spillway::test

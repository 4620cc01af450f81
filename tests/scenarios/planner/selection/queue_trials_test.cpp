// The selection on one server with a queue, at loads to 0.95: with what a run of the planner tells
// of each replicate, from an empty start, and with longer replicates on request.
#include <cmath>

#include "scenarios/planner/selection/longer_runs.hpp"
#include "tests/scenarios/planner/known_trials.hpp"
#include "tests/scenarios/planner/selection/known_systems.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr double kAllowed = 0.01;     // the share of a p99
constexpr double kUsual = 2000;       // requests of a replicate, as plans draw them for a p99
constexpr double kLeftOut = 1. / 16;  // of a longer one

enum class Arrivals : std::uint8_t { kPoisson, kBursts };

struct Queue {
  std::string name;
  double load = 0;
  bool alike = false;  ///< services
  Arrivals arrivals = Arrivals::kPoisson;
};

/// Waits of `requests` in a row, from an empty queue. Arrivals come at rate 1 on average; bursts at
/// 1.6 and 0.4 in turn, 40 on average of the time between two changes.
class Waits {
 public:
  Waits(const Queue& queue, std::uint64_t seed)
      : queue_(queue), arrivals_(seed, "queue-arrivals"), services_(seed, "queue-services") {}
  double next() {
    const double now = wait_;
    const double service = queue_.alike ? queue_.load : services_.exponential(queue_.load);
    wait_ = std::max(0.0, wait_ + service - gap());
    return now;
  }

 private:
  double gap() {
    if (queue_.arrivals == Arrivals::kPoisson) return arrivals_.exponential(1);
    for (double passed = 0;;) {
      const double until = arrivals_.exponential(busy_ ? 1 / 1.6 : 1 / 0.4);
      if (until < left_) {
        left_ -= until;
        return passed + until;
      }
      passed += left_;
      busy_ = !busy_;
      left_ = arrivals_.exponential(40);
    }
  }

  Queue queue_;
  Stream arrivals_;
  Stream services_;
  double wait_ = 0;
  double left_ = 0;
  bool busy_ = false;
};

/// The wait that a share of `beyond` exceeds: of M/M/1 by its closed form, else of one long run.
double wait_exceeded_by(const Queue& queue, double beyond, std::uint32_t requests) {
  const bool closed = !queue.alike && queue.arrivals == Arrivals::kPoisson;
  if (closed) return std::log(queue.load / beyond) / (1 / queue.load - 1);
  std::vector<float> all(requests);
  Waits waits(queue, 77);
  for (float& wait : all) wait = static_cast<float>(waits.next());
  const auto at = all.begin() + static_cast<std::ptrdiff_t>((1 - beyond) * requests);
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

CellSample run_of(const Queue& queue, const RunRequest& r, double limit, std::uint64_t seed) {
  const double requests = kUsual * r.length;
  const auto skipped = static_cast<std::uint32_t>(r.length > 1 ? requests * kLeftOut : 0);
  Waits waits(queue, mix64(mix64(seed) + 1000 * r.length + r.replicate));
  std::vector<double> judged;
  for (std::uint32_t i = 0; i < requests; ++i) {
    const double wait = waits.next();
    if (i >= skipped) judged.push_back(wait);
  }
  const WaitFigures w = figures_of(judged, limit);
  CellSample out{{w.share}, {static_cast<double>(judged.size())}, {w.ladder}};
  out.work = requests;
  return out;
}

TrialAnswer select_once(const Queue& queue, double limit, double most_work, std::uint64_t seed) {
  SelectionProblem problem;
  problem.cells = 1;
  problem.preference = {0};
  problem.lines = {{0}};
  problem.targets = {share_target("p99_ttft_ms")};
  problem.targets.front().limit = kAllowed;
  problem.work_for_longer = most_work;
  problem.longest = 2000;
  TrialAnswer out;
  const Selection found = select_cell(problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> samples;
    for (const RunRequest& r : batch) {
      samples.push_back(run_of(queue, r, limit, seed));
      out.requests += samples.back().work;
    }
    return samples;
  });
  out.runs = found.runs;
  out.said = found.undecided         ? Said::kUndecided
             : found.recommended < 0 ? Said::kMissed
                                     : Said::kMet;
  return out;
}

/// `most_work`: for trials that are close to the limit, which all of it would not decide.
void check_queue(const Queue& queue, double ratio, int trials, double most_work,
                 std::uint32_t truth_over) {
  const double limit = wait_exceeded_by(queue, kAllowed * ratio, truth_over);
  const TrialTally tally = run_trials(ratio, trials, [&](int trial) {
    return select_once(queue, limit, most_work, static_cast<std::uint64_t>(trial));
  });
  const std::string line = line_of(queue.name, queue.load, tally);
  if (trials >= 100) fmt::print("{}\n", line);
  INFO(line);
  CHECK(fault_of(tally).empty());
}

TEST_CASE("a procedure that never decides fails, as one that is wrong", "[scenarios][planner]") {
  const auto always = [](Said said) { return [said](int) { return TrialAnswer{said}; }; };
  CHECK(fault_of(run_trials(0.7, 20, always(Said::kMet))).empty());
  CHECK(fault_of(run_trials(1.3, 20, always(Said::kMissed))).empty());
  CHECK(fault_of(run_trials(0.7, 20, always(Said::kUndecided))) == "0 decided of 20");
  CHECK(fault_of(run_trials(1.3, 20, always(Said::kUndecided))) == "0 decided of 20");
  CHECK(fault_of(run_trials(1.01, 20, always(Said::kUndecided))).empty());
  CHECK(fault_of(run_trials(1.01, 200, always(Said::kMet))) == "200 wrong of 200");
  CHECK(fault_of(run_trials(0.9, 40, always(Said::kMissed))) == "40 wrong of 40");
}

TEST_CASE("queues of one server are seldom misjudged, and judged where they are clear",
          "[scenarios][planner]") {
  const Queue half{"M/M/1", 0.5};
  check_queue(half, 0.7, 20, kWorkForLonger, 0);
  check_queue(half, 1.05, 40, 0.5e6, 0);
  check_queue(half, 1.3, 20, kWorkForLonger, 0);
  const Queue busy{"M/M/1", 0.8};
  check_queue(busy, 0.7, 10, kWorkForLonger, 0);
  check_queue(busy, 1.05, 20, 1e6, 0);
  // Without the limit of work these take 30 million requests each.
  check_queue({"M/M/1", 0.95}, 1.05, 20, 1e6, 0);
}

TEST_CASE("200 selections on each queue of one server", "[.long][coverage]") {
  const Queue queues[] = {{"M/M/1", 0.5},       {"M/M/1", 0.8},
                          {"M/M/1", 0.9},       {"M/D/1", 0.8, true},
                          {"M/D/1", 0.9, true}, {"bursts", 0.8, false, Arrivals::kBursts}};
  for (const Queue& queue : queues) {
    for (const double ratio : {0.5, 0.7, 0.9, 1.01, 1.1, 1.3}) {
      const bool close = ratio > 0.75 && ratio < 1.25;
      check_queue(queue, ratio, 200, close ? 8e6 : kWorkForLonger, 100'000'000);
    }
  }
  // A trial takes some 30 million requests.
  for (const double ratio : {0.7, 1.01, 1.3}) {
    check_queue({"M/M/1", 0.95}, ratio, 100, kWorkForLonger, 0);
  }
}

}  // namespace
}  // namespace spillway::test

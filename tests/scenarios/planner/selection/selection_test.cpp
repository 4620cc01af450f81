// Selections on small systems written down here: what is run, what is dropped, and what is said.
#include "scenarios/planner/selection/selection.hpp"

#include <map>
#include <set>

#include "scenarios/planner/selection/screening.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Cells whose share of slow requests scatters by a fifth around a mean, in runs of 10,000.
struct Bench {
  std::vector<double> means;
  SelectionProblem problem;
  std::vector<RunRequest> made;
  std::set<std::uint32_t> cold;  ///< cells that are cold-limited

  explicit Bench(std::vector<double> m, double limit = 0.01) : means(std::move(m)) {
    problem.cells = static_cast<std::uint32_t>(means.size());
    problem.targets = {{"p99_ttft_ms", limit, false, true}};
    problem.lines.emplace_back();
    for (std::uint32_t i = 0; i < problem.cells; ++i) {
      problem.preference.push_back(i);
      problem.lines.front().push_back(i);
      problem.names.push_back(std::to_string(1U << i) + "GiB");
    }
  }

  CellSample answer(const RunRequest& r) const {
    CellSample out;
    if (cold.count(r.cell) > 0) {
      out.excluded = true;
      return out;
    }
    Stream noise(7, "bench", r.replicate);  // the same for all cells
    out.x = {std::clamp(means[r.cell] * (1 + 0.2 * noise.normal()), 0.0, 1.0)};
    out.weight = {10000};
    return out;
  }

  Selection select() {
    return select_cell(problem, [this](std::span<const RunRequest> batch) {
      std::vector<CellSample> out;
      for (const RunRequest& r : batch) {
        made.push_back(r);
        out.push_back(answer(r));
      }
      return out;
    });
  }

  int runs_of(std::uint32_t cell) const {
    int count = 0;
    for (const RunRequest& r : made) count += r.cell == cell ? 1 : 0;
    return count;
  }
};

using State = SelectionState;

TEST_CASE("the smallest size that holds is recommended, the hopeless take one run",
          "[scenarios][planner]") {
  Bench bench({0.6, 0.5, 0.03, 0.006, 0.004, 0.003});
  const Selection found = bench.select();
  CHECK(found.recommended == 3);
  CHECK_FALSE(found.undecided);
  CHECK(found.cells[3].state == State::kMet);
  CHECK(found.cells[3].bound.at(0) <= 0.01);
  CHECK(found.cells[3].any_missed == found.cells[3].bound.at(0));  // of the only target
  // 60% against 1%: a mean of 1% shows such a run at most once in 60 (Markov), less than the 1 in
  // 40 that is asked.
  CHECK(found.cells[0].state == State::kMissed);
  CHECK(found.cells[0].reason == "slo");
  CHECK(bench.runs_of(0) == 1);
  CHECK(found.cells[5].reason == "not-needed");
  CHECK(found.cells[5].state == State::kLooksMet);
  CHECK(found.cells[5].bound.empty());
  CHECK(found.stop_reason == "decided: 8GiB holds");
  CHECK(found.boundary == "smooth");
  CHECK(found.runs == bench.made.size());
}

TEST_CASE("finalists are judged on replicates that screening never saw", "[scenarios][planner]") {
  Bench bench({0.03, 0.006, 0.004});
  const Selection found = bench.select();
  REQUIRE(found.finalists.front() == 1);
  std::map<std::uint32_t, std::uint32_t> next;  // each cell's replicates come once, in order
  for (const RunRequest& r : bench.made) {
    CHECK(r.replicate == next[r.cell]++);
    if (r.replicate >= kScreening) CHECK_FALSE(r.may_cut);
  }
  // Ten are enough here: the mean is 0.6% give or take 0.04%.
  CHECK(found.stages == std::vector<std::uint32_t>{10});
  CHECK(found.cells[1].replications == 10);
  CHECK(bench.runs_of(1) == 13);
}

TEST_CASE("the whole range is looked at, and a size that is slower again is named",
          "[scenarios][planner]") {
  Bench bench({0.2, 0.004, 0.004, 0.05, 0.1});
  const Selection found = bench.select();
  CHECK(found.recommended == 1);
  CHECK(found.boundary == "non_monotone");
  CHECK(found.cells[3].reason == "slo");
  CHECK(found.cells[4].state == State::kMissed);
}

TEST_CASE("a step over the limit in one size is a cliff", "[scenarios][planner]") {
  Bench bench({0.21, 0.2, 0.0011, 0.001});
  CHECK(bench.select().boundary == "cliff");
}

TEST_CASE("nothing holds: said after a run or two of each", "[scenarios][planner]") {
  Bench bench({0.9, 0.8, 0.7});
  const Selection found = bench.select();
  CHECK(found.recommended == -1);
  CHECK_FALSE(found.undecided);
  CHECK(found.stop_reason == "decided: no cell holds");
  CHECK(found.runs <= 6);
  CHECK(found.nearest == 2);
  CHECK(found.finalists.empty());
}

TEST_CASE("the nearest cell is told on replicates that all ran", "[scenarios][planner]") {
  // The first is verified and stays undecided at 40; of the second only the screening is known,
  // and its larger error does not bring it nearer.
  Bench bench({0.0102, 0.015});
  const Selection found = bench.select();
  CHECK(found.undecided);
  CHECK(found.nearest == 0);
  CHECK(found.provisional == 0);
}

TEST_CASE("what would decide is about the cell that an undecided selection speaks for",
          "[scenarios][planner]") {
  // The first was lucky in its screening, where it comes nearest; verified, the second is likelier.
  Bench bench({0.0098, 0.0096});
  bench.problem.lines.clear();
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      out.push_back(bench.answer(r));
      if (r.cell == 0 && r.replicate < kScreening) out.back().x = {0.001};
    }
    return out;
  });
  REQUIRE(found.undecided);
  CHECK(found.nearest == 0);
  CHECK(found.provisional == 1);
  CHECK_THAT(found.would_decide, ContainsSubstring("p99_ttft_ms at 2GiB"));
}

TEST_CASE("two targets may be missed by different requests", "[scenarios][planner]") {
  Bench bench({0.002});
  bench.problem.targets.push_back({"p99_tpot_ms", 0.01, false, true});
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      out.push_back(bench.answer(r));
      out.back().x.push_back(out.back().x.front());
      out.back().weight.push_back(10000);
    }
    return out;
  });
  REQUIRE(found.recommended == 0);
  const SelectedCell& cell = found.cells[0];
  // Both at half of its level: more than the sum of the bounds.
  CHECK(*cell.any_missed >= cell.bound[0] + cell.bound[1]);
  CHECK(*cell.any_missed < 0.01);
}

TEST_CASE("a near miss is verified before it is said that nothing holds", "[scenarios][planner]") {
  Bench bench({0.2, 0.0125});
  const Selection found = bench.select();
  CHECK(found.recommended == -1);
  CHECK_FALSE(found.undecided);
  CHECK(found.cells[1].state == State::kMissed);
  CHECK(found.cells[1].replications >= 10);
}

TEST_CASE("a figure on its limit stays undecided, and what would decide is said",
          "[scenarios][planner]") {
  Bench bench({0.2, 0.0098});
  const Selection found = bench.select();
  CHECK(found.recommended == -1);
  CHECK(found.undecided);
  CHECK(found.stages == std::vector<std::uint32_t>{10, 20, 40});
  CHECK(found.cells[1].reason == "budget");
  CHECK_THAT(found.would_decide,
             ContainsSubstring("of requests miss p99_ttft_ms at 2GiB, where 1.00% may, which these "
                               "runs do not settle"));
}

TEST_CASE("every preferred cell that looks met is verified", "[scenarios][planner]") {
  // Eight policies at a size that meets 1% by a little, the first by the least, and one size that
  // meets it clearly. Four finalists beside the clear one would leave the first to its screening.
  Bench bench({0.0088, 0.0085, 0.0085, 0.0085, 0.0085, 0.0085, 0.0085, 0.0085, 0.004});
  bench.problem.lines.clear();
  const Selection found = bench.select();
  CHECK(found.finalists.size() == 9);
  CHECK(found.recommended == 0);
  CHECK(found.cells[0].replications >= 10);
}

TEST_CASE("a size that no request misses is not passed over for a larger one",
          "[scenarios][planner]") {
  // The first is in doubt, from the second on no request is slow: they are the likeliest to hold,
  // however little is known of how they scatter. Once all the others were left to their screening.
  Bench bench({0.0099, 0, 0, 0, 0, 0, 0, 0.0001});
  const Selection found = bench.select();
  CHECK(found.recommended == 1);
}

TEST_CASE("a preferred cell that looks worse than one in doubt still has its turn",
          "[scenarios][planner]") {
  // Three policies at one size and a larger size. On the first three replicates the first looks
  // clear and the second less so; the first turns out to be on its limit.
  Bench bench({0.007, 0.0075, 0.02, 0.001});
  bench.problem.lines.clear();
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      out.push_back(bench.answer(r));
      if (r.cell == 0 && r.replicate >= kScreening) out.back().x[0] *= 1.4;
    }
    return out;
  });
  CHECK(found.recommended == 1);
}

TEST_CASE("what is preferred to a reserve that holds is verified on the reserve's alpha",
          "[scenarios][planner]") {
  // Sizes 0, 1 and 3 look clearest; on fresh replicates 0 and 1 are on their limit, and 3 holds.
  // Size 2 looks met, too, a little less so than 0. Once it was left to its screening.
  Bench bench({0.006, 0.005, 0.007, 0.001});
  bench.problem.lines.clear();
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      out.push_back(bench.answer(r));
      if (r.cell < 2 && r.replicate >= kScreening) out.back().x[0] *= r.cell == 0 ? 1.7 : 2;
    }
    return out;
  });
  CHECK(found.finalists == std::vector<std::uint32_t>{0, 1, 3, 2});
  CHECK(found.recommended == 2);
}

TEST_CASE("time that ends leaves what was learned, and a cell that it speaks for",
          "[scenarios][planner]") {
  Bench bench({0.2, 0.006, 0.004});
  int left = 7;  // three cells once, two twice, two of the third round
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      if (left-- <= 0) break;
      out.push_back(bench.answer(r));
    }
    return out;
  });
  CHECK(found.undecided);
  CHECK(found.out_of_time);
  CHECK(found.recommended == -1);
  CHECK(found.runs == 7);
  CHECK(found.provisional == 1);
  CHECK(found.cells[1].state == State::kLooksMet);
  CHECK(found.cells[1].replications > 0);
}

TEST_CASE("a cell that holds is kept when the time ends over a preferred one",
          "[scenarios][planner]") {
  Bench bench({0.0092, 0.005});
  std::uint32_t made = 0;  // screening 6, then ten of each finalist decide the second
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      if (made == 26) break;
      ++made;
      out.push_back(bench.answer(r));
    }
    return out;
  });
  CHECK(found.recommended == 1);
  CHECK_FALSE(found.undecided);
  CHECK_THAT(found.stop_reason, ContainsSubstring("was not decided"));
  CHECK(found.cut_short);
  CHECK(found.cells[0].reason == "budget");
}

TEST_CASE("a preferred cell in doubt does not hide one that holds", "[scenarios][planner]") {
  Bench bench({0.0099, 0.005});
  const Selection found = bench.select();
  CHECK(found.recommended == 1);
  CHECK(found.cells[0].reason == "budget");
  CHECK_THAT(found.stop_reason, StartsWith("2GiB holds; whether a preferred one"));
}

TEST_CASE("preference, not size, says which of those that hold is recommended",
          "[scenarios][planner]") {
  Bench bench({0.004, 0.004, 0.004});
  bench.problem.preference = {2, 0, 1};
  const Selection found = bench.select();
  CHECK(found.recommended == 2);
  CHECK(bench.runs_of(0) == 3);
}

TEST_CASE("every target has to hold", "[scenarios][planner]") {
  // At least 100 requests/s: the share holds everywhere, the rate from the third cell on.
  Bench bench({0.002, 0.002, 0.002, 0.002});
  bench.problem.targets.push_back({"request_throughput", 100, true, false});
  const std::vector<double> rates = {60, 90, 110, 120};
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      CellSample sample = bench.answer(r);
      Stream noise(8, "rate", r.replicate);
      sample.x.push_back(rates[r.cell] * (1 + 0.02 * noise.normal()));
      sample.weight.push_back(10000);
      out.push_back(sample);
    }
    return out;
  });
  CHECK(found.recommended == 2);
  CHECK(found.cells[2].bound.at(1) >= 100);
  CHECK(found.cells[2].bound.at(1) < 110);
}

TEST_CASE("a limit of zero holds where no run has a miss", "[scenarios][planner]") {
  Bench bench({0.001, 0.0}, 0);
  const Selection found = bench.select();
  CHECK(found.recommended == 1);
  CHECK(found.cells[0].reason == "slo");
}

TEST_CASE("a budget that ends before the first stage decides nothing", "[scenarios][planner]") {
  Bench bench({0.2, 0.004});
  bench.problem.max_runs = 8;  // screening takes 6 at most, the first stage 10 more
  const Selection found = bench.select();
  CHECK(found.undecided);
  CHECK(found.recommended == -1);
  CHECK(found.runs <= 8);
  CHECK_THAT(
      found.would_decide,
      ContainsSubstring(
          "a budget of 15 runs would reach the next stage, of about 25 likely the end; 8 were"));
}

TEST_CASE("fewer than five replications decide nothing", "[scenarios][planner]") {
  Bench bench({0.004});
  bench.problem.most_replications = 4;
  const Selection found = bench.select();
  CHECK(found.undecided);
  CHECK(found.would_decide == "at least 5 replications; 4 were allowed");
}

TEST_CASE("stages end at the replications that are allowed", "[scenarios][planner]") {
  Bench bench({0.0098});
  bench.problem.most_replications = 25;
  CHECK(bench.select().stages == std::vector<std::uint32_t>{10, 20, 25});
}

TEST_CASE("cells that the trace does not fill are left out", "[scenarios][planner]") {
  Bench bench({0.2, 0.004, 0.001});
  bench.cold = {2};
  const Selection found = bench.select();
  CHECK(found.recommended == 1);
  CHECK(found.cells[2].state == State::kExcluded);
  CHECK(found.cells[2].reason == "cold-limited");
  bench.cold = {1, 2};
  const Selection none = bench.select();
  CHECK(none.undecided);  // whether they hold is not known
  CHECK_THAT(none.would_decide, StartsWith("a longer trace"));
}

TEST_CASE("resamples of one recording never pass for many recordings", "[scenarios][planner]") {
  // 0.8% give or take 0.16% for one recording: 1% is 1.3 standard errors off, however many
  // resamples are drawn. Independent draws decide it.
  Bench bench({0.2, 0.008});
  CHECK(bench.select().recommended == 1);
  bench.problem.replication = Replication::kResampled;
  bench.problem.most_replications = 160;
  const Selection found = bench.select();
  CHECK(found.undecided);
  CHECK_THAT(found.would_decide, ContainsSubstring("times this length, or as many days"));
}

/// A run of 2,000 requests, none beyond the target and 80 beyond half of it, in queues of `queue`:
/// what is left of the last one comes in a part of its own.
CellSample nobody_misses(std::uint64_t replicate, std::uint32_t queue) {
  CellSample out{{0.0}, {2000}};
  out.ladder.emplace_back(kLadderLevels * kLadderParts, 0);
  Stream places(9, "queues", replicate);
  for (std::uint32_t queues = 80 / queue; queues > 0; --queues) {
    const std::size_t part = places.below(kLadderParts);
    for (std::size_t level = 5; level < kLadderLevels; ++level) {
      out.ladder[0][level * kLadderParts + part] += queue;
    }
  }
  return out;
}

TEST_CASE("a target that nobody misses is decided by how requests queue below it",
          "[scenarios][planner]") {
  // 4% of the requests are beyond half of the target, none beyond the target. If two come as one,
  // 20,000 requests without a miss rule out 1%; if eighty do, they are 250, and do not.
  Bench bench({0.0});
  const auto in_queues_of = [&](std::uint32_t queue) {
    return select_cell(bench.problem, [=](std::span<const RunRequest> batch) {
      std::vector<CellSample> out;
      for (const RunRequest& r : batch) out.push_back(nobody_misses(r.replicate, queue));
      return out;
    });
  };
  const Selection apart = in_queues_of(2);
  CHECK(apart.recommended == 0);
  CHECK(apart.stages == std::vector<std::uint32_t>{10});
  bench.problem.most_replications = 10;
  CHECK(in_queues_of(80).undecided);
}

/// Queues of 40 slow requests that start at random, in runs of 2,000 requests or many times that.
CellSample queues_of_forty(const RunRequest& r, double share) {
  const double requests = 2000.0 * r.length;
  CellSample out{{0}, {requests}};
  out.work = requests;
  out.ladder.emplace_back(kLadderLevels * kLadderParts, 0);
  Stream places(11, "queues", 100000 * r.cell + 1000 * r.length + r.replicate);
  double beyond = 0;
  for (double at = places.exponential(40 / share); at < requests;
       at += places.exponential(40 / share)) {
    const auto part = static_cast<std::size_t>(at / requests * kLadderParts);
    for (std::size_t level = 0; level < kLadderLevels; ++level) {
      out.ladder[0][level * kLadderParts + part] += 40;
    }
    beyond += 40;
  }
  out.x = {beyond / requests};
  return out;
}

TEST_CASE("what the usual replicates leave open is asked of longer ones", "[scenarios][planner]") {
  // 80,000 requests are worth 2,000: 0.7% of them is 14 queues, give or take 4, where 1% is 20.
  Bench bench({0.007});
  std::vector<RunRequest> made;
  const auto select = [&](double share) {
    made.clear();
    return select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
      std::vector<CellSample> out;
      for (const RunRequest& r : batch) {
        made.push_back(r);
        out.push_back(queues_of_forty(r, share));
      }
      return out;
    });
  };
  const Selection before = select(0.007);
  CHECK(before.undecided);
  CHECK(made.back().length == 1);
  bench.problem.work_for_longer = 20e6;
  bench.problem.longest = 1000;
  const Selection met = select(0.007);
  CHECK(met.recommended == 0);
  CHECK(made.back().length >= 4);
  CHECK(met.cells[0].length == made.back().length);
  CHECK(met.cells[0].replications == 40);
  const Selection missed = select(0.013);
  CHECK(missed.cells[0].state == State::kMissed);
  CHECK(missed.stop_reason == "decided: no cell holds");
  // Nothing tells 0.99% from 1% within the work that is allowed: most of it is not even begun.
  double work = 0;
  const Selection close = select(0.0099);
  for (const RunRequest& r : made) work += 2000.0 * r.length;
  CHECK(close.undecided);
  CHECK(work < 20e6 + 1e6);
  bench.problem.requests = 2000;
  CHECK_THAT(select(0.0099).would_decide, ContainsSubstring("workload.replication.requests=") ||
                                              ContainsSubstring("a looser limit would decide"));
  bench.problem.max_runs = 60;  // 3, then 40 of the usual length
  CHECK(select(0.007).undecided);
  CHECK(made.back().length == 1);
}

TEST_CASE("what was left to longer replicates has its turn once something holds",
          "[scenarios][planner]") {
  // Ten replicates of the smaller size are worth 500 requests. Alone, longer ones would be run;
  // behind a larger size that holds, thirty more of the usual length show that it holds, too.
  Bench bench({0.001, 0});
  bench.problem.work_for_longer = 20e6;
  bench.problem.longest = 1000;
  std::uint32_t longest = 0;
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      longest = std::max(longest, r.length);
      out.push_back(r.cell == 0 ? queues_of_forty(r, 0.001) : bench.answer(r));
    }
    return out;
  });
  CHECK(found.recommended == 0);
  CHECK(found.cells[0].replications > 10);
  CHECK(longest == 1);
}

TEST_CASE("the last stage of longer replicates is the last, though fewer cells cost less",
          "[scenarios][planner]") {
  // It spends what is left of alpha. Then two of three cells are shown to miss, and for the third
  // alone there is work enough for one more.
  const double shares[] = {0.00955, 0.01332, 0.01345};
  Bench bench({0.00955, 0.01332, 0.01345});
  bench.problem.work_for_longer = 8.251e6;
  bench.problem.longest = 1000;
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) out.push_back(queues_of_forty(r, shares[r.cell]));
    return out;
  });
  CHECK(found.undecided);
}

TEST_CASE("a verdict of the screening spends its part of alpha, which targets share",
          "[scenarios][planner]") {
  // 5% x 3/4 x 2/3, for two targets 1.25% each: a share of 1% is 80 times that in at most 1 run of
  // 80 (Markov).
  Bench bench({0.0});
  bench.problem.targets.push_back({"p99_tpot_ms", 0.01, false, true});
  const auto missed_after = [&](const std::vector<double>& runs) {
    CellRecords records(bench.problem);
    for (std::uint32_t r = 0; r < runs.size(); ++r) {
      records.add({0, r}, CellSample{{runs[r], 0.0}, {10000, 10000}});
    }
    records.mark_missed(0.05);
    return records[0].missed;
  };
  CHECK_FALSE(missed_after({0.79}));
  CHECK(missed_after({0.81}));
  // The bounds at the end have a quarter of that, 0.31% each: what a bound of 0.45% shows to miss
  // is not enough, what one of 0.3% shows is.
  const auto lower = [&](double scale, double alpha) {
    const std::vector<double> x = {0.9 * scale, scale, 1.1 * scale};
    return lower_bound(summarise(x, std::vector<double>(3, 10000), FigureKind::kShare,
                                 Replication::kIndependent, 1),
                       FigureKind::kShare, alpha);
  };
  double scale = 0.01;
  while (lower(scale, 0.0045) < 0.01) scale *= 1.0005;
  CHECK_FALSE(missed_after({0.9 * scale, scale, 1.1 * scale}));
  while (lower(scale, 0.003) < 0.01) scale *= 1.0005;
  CHECK(missed_after({0.9 * scale, scale, 1.1 * scale}));
}

TEST_CASE("an overload is shown by few runs, however much they differ", "[scenarios][planner]") {
  // Every other run misses forty times what it may, the others half of it: a bet of half of the
  // money is worth 20.5 x 0.75 times as much after each two.
  Bench bench({0.2});
  bench.problem.work_for_longer = 1e9;
  bench.problem.longest = 100;
  const Selection found = select_cell(bench.problem, [&](std::span<const RunRequest> batch) {
    std::vector<CellSample> out;
    for (const RunRequest& r : batch) {
      CellSample sample{{r.replicate % 2 == 0 ? 0.4 : 0.005}, {2000}};
      sample.ladder.emplace_back(kLadderLevels * kLadderParts,
                                 static_cast<std::uint32_t>(sample.x[0] * 125));
      sample.work = 2000;
      out.push_back(std::move(sample));
    }
    return out;
  });
  CHECK(found.cells[0].state == State::kMissed);
  CHECK(found.runs <= 13);
}

}  // namespace
}  // namespace spillway::test

// Systems whose answer is known: what each cell's figures are in the long run, and runs that
// scatter around that. Queues by their closed forms, sessions by the tail of their sizes.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/planner/selection/selection.hpp"
#include "sim/rng.hpp"

namespace spillway::test {

/// A queue or a store at several sizes, the smallest first.
struct KnownSystem {
  std::string name;
  std::uint32_t cells = 0;
  std::vector<SelectionTarget> targets;    ///< limits are set by trial
  std::vector<std::vector<double>> truth;  ///< by cell and target
  /// A run of a cell. Equal (seed, replicate) see the same arrivals in every cell.
  std::function<CellSample(std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate)> run;
  Replication replication = Replication::kIndependent;
};

/// Waits of one run: the share beyond `limit`, and their mean.
struct WaitFigures {
  double share = 0;
  double mean = 0;
  MissLadder ladder{};
};

/// Figures of waits in the order of arrival, as run_judge.hpp makes them of requests.
inline WaitFigures figures_of(const std::vector<double>& waits, double limit) {
  WaitFigures out;
  std::vector<LadderStep> steps;
  std::uint64_t slow = 0;
  double sum = 0;
  for (const double wait : waits) {
    slow += wait > limit ? 1 : 0;
    sum += wait;
    const auto number = static_cast<std::uint32_t>(steps.size());
    steps.push_back({Time(Duration(number)), number, wait});
  }
  const auto all = static_cast<double>(waits.size());
  out.share = static_cast<double>(slow) / all;
  out.mean = sum / all;
  out.ladder = miss_ladder(steps, limit);
  return out;
}

/// Lindley's recursion: a wait is the one before, plus its service, less the time between arrivals.
/// `rate` is the server's, arrivals come at rate 1; services are exponential, or all alike.
inline WaitFigures single_server(double rate, bool alike, std::uint32_t requests, double limit,
                                 std::uint64_t seed, std::uint64_t replicate) {
  Stream arrivals(seed, "known-arrivals", replicate);
  Stream services(seed, "known-services", replicate);
  const std::uint32_t settle = 1000;  // the queue starts empty
  double wait = 0;
  std::vector<double> waits;
  for (std::uint32_t i = 0; i < settle + requests; ++i) {
    if (i >= settle) waits.push_back(wait);
    const double service = alike ? 1 / rate : services.exponential(1 / rate);
    wait = std::max(0.0, wait + service - arrivals.exponential(1));
  }
  return figures_of(waits, limit);
}

/// `servers` of rate 1 (Kiefer and Wolfowitz: the work left at each server, sorted), arrivals at
/// `load`.
inline WaitFigures many_servers(std::uint32_t servers, double load, std::uint32_t requests,
                                double limit, std::uint64_t seed, std::uint64_t replicate) {
  Stream arrivals(seed, "known-arrivals", replicate);
  Stream services(seed, "known-services", replicate);
  std::vector<double> work(servers, 0);
  std::vector<double> waits;
  const std::uint32_t settle = 1000;
  for (std::uint32_t i = 0; i < settle + requests; ++i) {
    const double wait = work.front();
    if (i >= settle) waits.push_back(wait);
    const double left = wait + services.exponential(1);
    const double passed = arrivals.exponential(1 / load);
    // The served one moves back to its place; then time passes for all.
    std::size_t at = 1;
    for (; at < work.size() && work[at] < left; ++at) work[at - 1] = work[at];
    work[at - 1] = left;
    for (double& w : work) w = std::max(0.0, w - passed);
  }
  return figures_of(waits, limit);
}

inline SelectionTarget share_target(std::string name) {
  return {std::move(name), 0, false, true};
}

/// M/M/1: P(W > t) = rho e^-(mu - lambda)t.
inline KnownSystem mm1(std::vector<double> rates, double limit, std::uint32_t requests) {
  KnownSystem out;
  out.name = "M/M/1";
  out.cells = static_cast<std::uint32_t>(rates.size());
  out.targets = {share_target("wait")};
  for (const double rate : rates) out.truth.push_back({std::exp(-(rate - 1) * limit) / rate});
  out.run = [=](std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate) {
    const WaitFigures w = single_server(rates[cell], false, requests, limit, seed, replicate);
    return CellSample{{w.share}, {static_cast<double>(requests)}, {w.ladder}};
  };
  return out;
}

/// The same M/M/1 at `cells` cells, each with arrivals of its own: as many chances to be wrong. The
/// last has a server of twice the rate.
inline KnownSystem alike(std::uint32_t cells, double rate, double limit, std::uint32_t requests) {
  std::vector<double> rates(cells, rate);
  rates.push_back(2 * rate);
  KnownSystem out = mm1(rates, limit, requests);
  out.name = "M/M/1, alike";
  out.run = [one = out.run](std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate) {
    return one(cell, 1'000'003 * (cell + 1) + seed, replicate);
  };
  return out;
}

/// M/D/1, two targets. Share: P(W <= t) = (1 - rho) sum over k of (-y)^k e^y / k!, with
/// y = lambda (t - k D) (Erlang 1909). Mean wait: rho D / 2(1 - rho) (Pollaczek and Khinchine).
inline KnownSystem md1(std::vector<double> rates, double limit, std::uint32_t requests) {
  KnownSystem out;
  out.name = "M/D/1, share and mean";
  out.cells = static_cast<std::uint32_t>(rates.size());
  out.targets = {share_target("wait"), {"mean wait", 0, false, false}};
  for (const double rate : rates) {
    const double service = 1 / rate;
    double within = 0;
    for (int k = 0; k * service <= limit; ++k) {
      const double y = limit - k * service;
      double term = std::exp(y);
      for (int i = 1; i <= k; ++i) term *= -y / i;
      within += term;
    }
    out.truth.push_back({1 - (1 - service) * within, service * service / (2 * (1 - service))});
  }
  out.run = [=](std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate) {
    const WaitFigures w = single_server(rates[cell], true, requests, limit, seed, replicate);
    const auto n = static_cast<double>(requests);
    return CellSample{{w.share, w.mean}, {n, n}, {w.ladder, {}}};
  };
  return out;
}

/// M/M/c: P(W > t) = C(c, a) e^-(c - a)t, C by Erlang's recursion for B.
inline KnownSystem mmc(std::uint32_t fewest, std::uint32_t cells, double load, double limit,
                       std::uint32_t requests) {
  KnownSystem out;
  out.name = "M/M/c";
  out.cells = cells;
  out.targets = {share_target("wait")};
  for (std::uint32_t i = 0; i < cells; ++i) {
    const double c = fewest + i;
    double blocked = 1;
    for (std::uint32_t k = 1; k <= fewest + i; ++k) blocked = load * blocked / (k + load * blocked);
    const double waits = blocked / (1 - load / c * (1 - blocked));
    out.truth.push_back({waits * std::exp(-(c - load) * limit)});
  }
  out.run = [=](std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate) {
    const WaitFigures w = many_servers(fewest + cell, load, requests, limit, seed, replicate);
    return CellSample{{w.share}, {static_cast<double>(requests)}, {w.ladder}};
  };
  return out;
}

/// Sessions of lognormal working sets and geometric lengths: the requests of one that a size does
/// not hold are slow, so their share is the tail of the working sets. Replicates draw sessions
/// again from one recording, which `seed` draws from the population.
inline KnownSystem recorded_sessions(std::vector<double> sizes, std::uint32_t sessions) {
  KnownSystem out;
  out.name = "sessions of one recording";
  out.cells = static_cast<std::uint32_t>(sizes.size());
  out.targets = {share_target("too large")};
  out.replication = Replication::kResampled;
  for (const double size : sizes) {
    out.truth.push_back({0.5 * std::erfc(std::log(size) / std::sqrt(2.0))});
  }
  out.run = [=](std::uint32_t cell, std::uint64_t seed, std::uint64_t replicate) {
    Stream draws(seed, "known-resample", replicate);
    double slow = 0;
    double all = 0;
    for (std::uint32_t i = 0; i < sessions; ++i) {
      Stream session(seed, "known-session", draws.below(sessions));
      const double requests = static_cast<double>(session.geometric(0.2));
      slow += session.lognormal(1, 1) > sizes[cell] ? requests : 0;
      all += requests;
    }
    return CellSample{{slow / all}, {all}};
  };
  return out;
}

/// How trials ended.
struct Score {
  int trials = 0;
  int wrong = 0;      ///< a cell was recommended that misses
  int exact = 0;      ///< the smallest that holds
  int larger = 0;     ///< another that holds
  int undecided = 0;  ///< said so
  int none = 0;       ///< said that none holds, though one does
  std::uint64_t runs = 0;
};

inline bool holds(const KnownSystem& system, const std::vector<double>& limits,
                  std::uint32_t cell) {
  for (std::size_t t = 0; t < limits.size(); ++t) {
    if (system.truth[cell][t] > limits[t]) return false;
  }
  return true;
}

/// One selection on a system, with the limits of its targets.
inline Selection select_on(const KnownSystem& system, const std::vector<double>& limits,
                           std::uint64_t seed) {
  SelectionProblem problem;
  problem.cells = system.cells;
  problem.targets = system.targets;
  problem.replication = system.replication;
  problem.lines.emplace_back();
  for (std::uint32_t i = 0; i < system.cells; ++i) {
    problem.preference.push_back(i);
    problem.lines.front().push_back(i);
  }
  for (std::size_t t = 0; t < limits.size(); ++t) problem.targets[t].limit = limits[t];
  return select_cell(problem, [&](std::span<const RunRequest> requests) {
    std::vector<CellSample> out;
    for (const RunRequest& r : requests) out.push_back(system.run(r.cell, seed, r.replicate));
    return out;
  });
}

/// Counts how one trial ended.
inline void count(Score& score, const KnownSystem& system, const std::vector<double>& limits,
                  const Selection& found) {
  std::uint32_t best = system.cells;
  for (std::uint32_t i = system.cells; i-- > 0;) {
    if (holds(system, limits, i)) best = i;
  }
  ++score.trials;
  score.runs += found.runs;
  if (found.undecided) {
    ++score.undecided;
  } else if (found.recommended < 0) {
    ++(best == system.cells ? score.exact : score.none);
  } else {
    const auto cell = static_cast<std::uint32_t>(found.recommended);
    ++(!holds(system, limits, cell) ? score.wrong : cell == best ? score.exact : score.larger);
  }
}

/// Trials of a system, each with limits drawn between what its cells do, log-uniform, so that
/// margins are of any width, the tightest included. The first target's limit lies between `least`
/// and `most`; others are drawn around the same cell.
inline Score any_margins(const KnownSystem& system, int trials, double least, double most) {
  Score score;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial) + 1;
    Stream draw(seed, "known-limits");
    const double first = least * std::pow(most / least, draw.uniform());
    std::vector<double> limits = {first};
    for (std::size_t t = 1; t < system.targets.size(); ++t) {
      std::uint32_t near = 0;
      while (near + 2 < system.cells && system.truth[near][0] > first) ++near;
      const double a = system.truth[near][t];
      const double b = system.truth[near == 0 ? 0 : near - 1][t];
      limits.push_back(a * std::pow(b / a, 1.5 * draw.uniform()));
    }
    count(score, system, limits, select_on(system, limits, seed));
  }
  return score;
}

/// The hardest trials: the limit lies just 1% below what some cell does, which so misses. Cells are
/// those with a share between `least` and `most`.
inline Score hair_misses(const KnownSystem& system, int trials, double least, double most) {
  Score score;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial) + 1;
    Stream draw(seed, "known-limits");
    std::uint32_t cell = 0;
    do {
      cell = static_cast<std::uint32_t>(draw.below(system.cells));
    } while (system.truth[cell][0] < least || system.truth[cell][0] > most);
    std::vector<double> limits = {system.truth[cell][0] * 0.99};
    for (std::size_t t = 1; t < system.targets.size(); ++t) {
      limits.push_back(system.truth[cell][t] * 0.99);
    }
    count(score, system, limits, select_on(system, limits, seed));
  }
  return score;
}

}  // namespace spillway::test

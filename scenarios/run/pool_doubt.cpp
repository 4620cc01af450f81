#include "scenarios/run/pool_doubt.hpp"

#include <array>
#include <cmath>

#include "reports/notes/run_notes.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kBand = 0.1;  // of the blocks; so much do start-up logs differ from estimates

/// By so much does a figure move, as a share of it.
double moved(double from, double to) {
  return from > 0 ? std::abs(to / from - 1) : 0;
}

std::optional<RunResult> run_with(const Scenario& scenario, const Workload& workload,
                                  double factor) {
  Scenario other = scenario;
  other.engine.scale_pool(factor);
  try {
    return simulate(other, workload, {}).result;
  } catch (const InputError&) {
    return std::nullopt;  // a request that no longer fits
  }
}

}  // namespace

std::optional<Note> pool_doubt(const Scenario& scenario, const Workload& workload,
                               const RunResult& run) {
  if (!scenario.pool_estimated || run.tiers.empty()) return std::nullopt;
  // Fewer blocks than all that were ever kept: else none has to leave, with a tenth less either.
  const double least = (1 - kBand) * scenario.engine.usable_blocks();
  const bool pressed = run.preemptions > 0 || static_cast<double>(run.tiers[0].stores) > least;
  if (!pressed) return std::nullopt;
  std::array<std::optional<RunResult>, 2> others;
  parallel_for(2, 2, [&](std::size_t i) {
    others[i] = run_with(scenario, workload, i == 0 ? 1 - kBand : 1 + kBand);
  });
  if (!others[0] || !others[1]) return std::nullopt;
  double ttft = 0;
  double throughput = 0;
  for (const auto& other : others) {
    ttft = std::max(ttft, moved(run.ttft.mean_ms, other->ttft.mean_ms));
    throughput = std::max(throughput, moved(run.output_throughput, other->output_throughput));
  }
  if (std::max(ttft, throughput) <= kBand) return std::nullopt;
  NoteFigures figures = {{"blocks", scenario.engine.usable_blocks()}, {"band_share", kBand}};
  // The one that moves more.
  if (ttft >= throughput) {
    figures.emplace_back("fewer_ms", others[0]->ttft.mean_ms);
    figures.emplace_back("here_ms", run.ttft.mean_ms);
    figures.emplace_back("more_ms", others[1]->ttft.mean_ms);
  } else {
    figures.emplace_back("fewer_tokens", others[0]->output_throughput);
    figures.emplace_back("here_tokens", run.output_throughput);
    figures.emplace_back("more_tokens", others[1]->output_throughput);
  }
  return run_note("blocks-steep", std::move(figures));
}

}  // namespace spillway

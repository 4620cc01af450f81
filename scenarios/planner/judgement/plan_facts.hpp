// What the parts of a judgement share: the cells of one combination in order of size, the one that
// is judged, and what the workload alone says.
#pragma once

#include <string>
#include <vector>

#include "reports/plan/cells.hpp"
#include "scenarios/planner/cell_trials.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "sim/busiest_link.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

inline constexpr double kWorthwhile = 0.01;  // of prompt tokens: less is no gain
inline constexpr double kBusyLink = 0.80;    // beyond it a link counts as the bottleneck
inline constexpr double kSlower = 0.05;      // of a figure: less is noise of batching

/// One target at one cell. A target on a percentile is met or missed by its share of requests, and
/// shown as its figure.
struct TargetView {
  std::string name;
  std::string tenant;
  bool at_least = false;
  double target = 0;
  double value = 0;
  bool met = false;
  double margin = 0;  ///< distance to the target as a share of it; negative when it is missed

  /// "p99_ttft_ms is 812, target at most 2,000"
  std::string text() const;
  std::string label() const;  ///< its name, and whose requests
};

std::vector<TargetView> targets_of(const PlanPoint& point);
/// In one run.
std::vector<TargetView> targets_of(const RunResult& run);
/// The target with the least margin.
TargetView tightest(const std::vector<TargetView>& targets);
TargetView tightest(const PlanPoint& point);
/// How near a cell comes to the SLO by its tightest target in the run of the workload itself, which
/// every cell has.
double own_margin(const PlanResult& plan, const PlanPoint& point);
/// The recommended cell, else the one that an undecided plan speaks for, else the one that comes
/// nearest by its own margin; cells that cannot be judged come last.
int judged_point(const PlanResult& plan);

/// Requests that fall due over `arrivals_s` come faster than they leave: half of them wait, in the
/// server's queue or in the clients', for more than a tenth of that time; or the server works on
/// for that long once the last has come, while others waited; or a limit turns away a tenth of
/// them.
bool is_overloaded(const RunResult& run, double arrivals_s);

/// Two cells on workloads that both ran: what the one does on many replicates and the other on few
/// tells them apart by the replicates.
struct Compared {
  std::vector<TargetView> first;
  std::vector<TargetView> second;
  std::vector<bool> apart;    ///< by target: they differ by more than replicates scatter
  std::vector<double> noise;  ///< by target: half the interval of the difference; empty: not known
  std::string on;             ///< "on the 3 replicates that both ran", "in one run of each"
};

/// What the workload alone says, whatever the size.
struct Demand {
  double arrivals_s = 0;  ///< over which requests fall due; 0: that depends on the answers
  /// Share of prompt blocks that an earlier prompt held; caches give more only from answers.
  double reusable = 0;
  std::uint64_t context_p50 = 0;  ///< tokens of prompt and answer
  std::uint64_t context_p95 = 0;
  /// Of a prompt's tokens, on average, and as a share of all: those whose block at least 1% of the
  /// requests (and ten) have in common.
  double common_tokens = 0;
  double common_share = 0;
};

class PlanFacts {
 public:
  PlanFacts(const PlanResult& plan, const SearchSpace& space, const Workload& workload,
            const CellTrials& trials, Replication replication);

  const Workload& workload() const { return workload_; }
  const Demand& demand() const { return demand_; }
  const SearchSpace& space() const { return space_; }

  /// The recommended cell, or the one that comes nearest.
  int judged() const { return judged_; }
  /// The cells that differ from it in size alone, ascending, itself among them.
  const std::vector<int>& line() const { return line_; }
  /// Where `line` has the judged cell.
  std::size_t place() const;

  const PlanPoint& point(int index) const { return plan_.points[static_cast<std::size_t>(index)]; }
  const RunResult& run(int index) const { return point(index).run; }
  const Scenario& scenario(int index) const {
    return space_.cells[static_cast<std::size_t>(index)].scenario;
  }
  /// Its size, with the searched values where there are several combinations.
  std::string label(int index) const;
  /// The cell of `line` without a tier; -1: none was tried.
  int without_tier() const;
  bool overloaded(int index) const;
  /// By the replicates that both ran whole, else by their runs of the workload itself.
  Compared compared(int first, int second) const;

 private:
  const PlanResult& plan_;
  const SearchSpace& space_;
  const Workload& workload_;
  const CellTrials& trials_;
  Replication replication_;
  Demand demand_;
  int judged_ = -1;
  std::vector<int> line_;
};

}  // namespace spillway

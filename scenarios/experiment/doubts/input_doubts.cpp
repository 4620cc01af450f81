#include "scenarios/experiment/doubts/input_doubts.hpp"

#include <algorithm>

#include "reports/notes/run_notes.hpp"
#include "scenarios/experiment/doubts/slo_doubts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/search_axis.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/decimal.hpp"
#include "traces/stats/clock_unit.hpp"

namespace spillway {

namespace {

/// Whoever slows the recording down a hundredfold knows of it.
constexpr double kSlowedDown = 0.01;

bool keeps_recorded_times(const ArrivalConfig& arrival) {
  return arrival.kind == ArrivalConfig::Kind::kTrace && to_double(arrival.speed) > kSlowedDown;
}

}  // namespace

Notes input_doubts(const Scenario& s, const Workload& workload) {
  Notes out;
  const auto fast = seconds_read_as_ms(workload);
  if (fast && keeps_recorded_times(s.workload->arrival)) {
    out.push_back(run_note("clock-unit", {{"what", describe(*fast)}}));
  }
  append(out, slo_in_seconds(s, workload));
  if (auto few = few_for_percentile(s, workload)) out.push_back(*std::move(few));
  return out;
}

std::optional<Note> concurrency_note(const Scenario& s) {
  if (s.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop) return std::nullopt;
  const auto searches = [&](const SearchAxis& axis) { return axis.key == "workload.concurrency"; };
  const bool searched =
      s.plan && std::any_of(s.plan->search.begin(), s.plan->search.end(), searches);
  const bool set = s.workload->arrival.concurrency > 0;
  // Where sessions wait for answers, a cap on them is how an agent's sandbox is described.
  if (!searched && (!set || s.workload->arrival.wait)) return std::nullopt;
  return run_note("concurrency-caps");
}

}  // namespace spillway

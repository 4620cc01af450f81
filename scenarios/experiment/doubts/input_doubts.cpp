#include "scenarios/experiment/doubts/input_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/experiment/doubts/slo_doubts.hpp"
#include "sim/decimal.hpp"
#include "traces/stats/clock_unit.hpp"

namespace spillway {

namespace {

constexpr std::string_view kCodes[] = {"clock-unit", "slo-unit", "few-for-percentile"};

/// Whoever slows the recording down a hundredfold knows of it.
constexpr double kSlowedDown = 0.01;

bool keeps_recorded_times(const ArrivalConfig& arrival) {
  return arrival.kind == ArrivalConfig::Kind::kTrace && to_double(arrival.speed) > kSlowedDown;
}

}  // namespace

std::string_view name_of(DoubtCode code) {
  return kCodes[static_cast<std::size_t>(code)];
}

std::vector<InputDoubt> input_doubts(const Scenario& s, const Workload& workload) {
  std::vector<InputDoubt> out;
  const auto fast = seconds_read_as_ms(workload);
  if (fast && keeps_recorded_times(s.workload.arrival)) {
    out.push_back({DoubtCode::kClockUnit,
                   describe(*fast) + ". If they are seconds, set workload.speed=0.001"});
  }
  for (std::string& text : slo_in_seconds(s, workload)) {
    out.push_back({DoubtCode::kSloUnit, std::move(text)});
  }
  std::string few = few_for_percentile(s, workload);
  if (!few.empty()) out.push_back({DoubtCode::kFewForPercentile, std::move(few)});
  return out;
}

std::string concurrency_note(const Scenario& s) {
  if (s.workload.arrival.kind == ArrivalConfig::Kind::kClosedLoop) return "";
  const auto searches = [&](const SearchAxis& axis) { return axis.key == "workload.concurrency"; };
  const bool searched =
      s.plan && std::any_of(s.plan->search.begin(), s.plan->search.end(), searches);
  const bool set = s.workload.arrival.concurrency > 0;
  // Where sessions wait for answers, a cap on them is how an agent's sandbox is described.
  if (!searched && (!set || s.workload.arrival.wait)) return "";
  return fmt::format(
      "workload.concurrency caps the requests in flight; it adds no load to {} arrivals. For "
      "clients that each send the next request after an answer, set workload.arrival=closed-loop",
      s.workload.arrival.kind == ArrivalConfig::Kind::kTrace ? "recorded" : "random");
}

}  // namespace spillway

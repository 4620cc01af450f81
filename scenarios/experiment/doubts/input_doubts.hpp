// What is probably not meant of a scenario and its workload, found before anything runs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario/scenario.hpp"
#include "sim/workload.hpp"

namespace spillway {

enum class DoubtCode : std::uint8_t {
  kClockUnit,        ///< recorded times look like seconds that were read as milliseconds
  kSloUnit,          ///< a target looks like seconds where milliseconds are meant
  kFewForPercentile  ///< not one request of the workload lies above a percentile
};
/// "clock-unit", "slo-unit", "few-for-percentile".
std::string_view name_of(DoubtCode code);

struct InputDoubt {
  DoubtCode code{};
  std::string text;  ///< sentences: what it does, and which key or value mends it
};

/// The gravest first. Of a plan, `scenario` is any of its combinations.
std::vector<InputDoubt> input_doubts(const Scenario& scenario, const Workload& workload);

/// What workload.concurrency does on arrivals that are no closed loop, where it is set or searched:
/// it caps requests in flight and adds no load. Empty: it is not, or sessions wait for answers too.
std::string concurrency_note(const Scenario& scenario);

}  // namespace spillway

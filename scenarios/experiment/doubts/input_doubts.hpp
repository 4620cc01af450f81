// What is probably not meant of a scenario and its workload, found before anything runs.
#pragma once

#include <optional>
#include <string_view>

#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

inline constexpr std::string_view kFewForPercentile = "few-for-percentile";

/// The gravest first. Of a plan, `scenario` is any of its combinations.
Notes input_doubts(const Scenario& scenario, const Workload& workload);

/// What workload.concurrency does on arrivals that are no closed loop, where it is set or searched:
/// it caps requests in flight and adds no load. None: it is not, or sessions wait for answers too.
std::optional<Note> concurrency_note(const Scenario& scenario);

}  // namespace spillway

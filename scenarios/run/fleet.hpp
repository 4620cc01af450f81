// Which of several identical instances serves a request.
#pragma once

#include <optional>
#include <string>

#include "models/session_split.hpp"
#include "sim/note.hpp"

namespace spillway {

struct Scenario;

struct FleetSplit {
  SessionSplit sessions;
  Notes notes;  ///< how requests were split, and what that leaves out
};

/// Nothing where one instance serves all. Sessions are the workload's; where it names none, those
/// that shared prefixes suggest.
std::optional<FleetSplit> split_fleet(const Scenario& scenario, const Workload& workload);

}  // namespace spillway

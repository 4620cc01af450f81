// Which of several identical instances serves a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/cluster/router.hpp"
#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// As fleet.routing says; null where one instance serves all. Sessions are the workload's; where it
/// names none, those that shared prefixes suggest.
std::unique_ptr<Router> make_fleet_router(const Scenario& scenario, const Workload& workload);

/// How requests were divided, `served` by instance, and what that leaves out.
Notes fleet_notes(const Scenario& scenario, const Workload& workload,
                  std::span<const std::uint64_t> served);

}  // namespace spillway

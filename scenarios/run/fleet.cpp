#include "scenarios/run/fleet.hpp"

#include <algorithm>

#include "models/cluster/session_groups.hpp"
#include "reports/notes/run_notes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "traces/reshape/session_inference.hpp"

namespace spillway {

namespace {

/// Storage that each instance has for itself; empty where none does.
std::string own_storage(const Scenario& s) {
  std::vector<std::string> out;
  const auto look = [&](const TierChoice& t) {
    if (t.storage && t.scope == Scope::kInstance) out.push_back(t.name);
  };
  if (s.tier) look(*s.tier);
  for (const TierChoice& tier : s.behind) look(tier);
  return fmt::format("{}", fmt::join(out, " and "));
}
bool own_media(const Scenario& s) {
  return std::any_of(s.media.begin(), s.media.end(),
                     [](const MediumChoice& m) { return m.scope == Scope::kInstance; });
}

bool names_sessions(const Workload& workload) {
  return workload.has_sessions() || !workload.columns().after_begin.empty();
}

std::unique_ptr<Router> session_router(const Scenario& s, const Workload& workload) {
  const auto by_session = [&](std::span<const std::uint32_t> sessions) {
    return make_session_hash(instances_by_session(workload, sessions, s.fleet->replicas, s.seed));
  };
  if (names_sessions(workload)) return by_session(workload.columns().session);
  const Workload inferred =
      infer_sessions(Workload(nullptr, workload.columns(), WorkloadSource{workload.source()}), {});
  return by_session(inferred.columns().session);
}

}  // namespace

std::unique_ptr<Router> make_fleet_router(const Scenario& s, const Workload& workload) {
  if (s.fleet->replicas == 1) return nullptr;
  switch (s.fleet->routing) {
    case FleetRouting::kRoundRobin:
      return make_round_robin();
    case FleetRouting::kLeastLoaded:
      return make_least_loaded();
    case FleetRouting::kSessionHash:
      break;
  }
  return session_router(s, workload);
}

Notes fleet_notes(const Scenario& s, const Workload& workload,
                  std::span<const std::uint64_t> served) {
  const auto [least, most] = std::minmax_element(served.begin(), served.end());
  NoteFigures figures = {
      {"instances", served.size()}, {"least_requests", *least}, {"most_requests", *most}};
  Notes out;
  if (s.fleet->routing != FleetRouting::kSessionHash) {
    figures.emplace_back("routing", name_of(s.fleet->routing));
    out.push_back(run_note("fleet-by-routing", std::move(figures)));
  } else if (names_sessions(workload)) {
    out.push_back(run_note("fleet-by-session", std::move(figures)));
  } else {
    out.push_back(run_note("fleet-by-inferred-session", std::move(figures)));
  }
  if (const std::string own = own_storage(s); !own.empty()) {
    out.push_back(run_note("fleet-own-storage", {{"tiers", own}}));
  }
  if (own_media(s)) out.push_back(run_note("fleet-own-media"));
  return out;
}

}  // namespace spillway

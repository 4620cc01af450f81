#include "scenarios/run/fleet.hpp"

#include <algorithm>

#include "reports/notes/run_notes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "traces/reshape/session_inference.hpp"

namespace spillway {

namespace {

/// Storage or a medium that each instance has for itself.
bool own_storage(const Scenario& s) {
  const auto own = [](const TierChoice& t) { return t.storage && t.scope == Scope::kInstance; };
  return (s.tier && own(*s.tier)) || std::any_of(s.behind.begin(), s.behind.end(), own);
}
bool own_media(const Scenario& s) {
  return std::any_of(s.media.begin(), s.media.end(),
                     [](const MediumChoice& m) { return m.scope == Scope::kInstance; });
}

Notes notes_of(const Scenario& s, const SessionSplit& split, bool named) {
  const auto [least, most] =
      std::minmax_element(split.members.begin(), split.members.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const NoteFigures figures = {{"instances", split.members.size()},
                               {"least_requests", least->size()},
                               {"most_requests", most->size()}};
  Notes out = {named ? run_note("fleet-by-session", figures)
                     : run_note("fleet-by-inferred-session", figures)};
  if (own_storage(s)) out.push_back(run_note("fleet-own-storage"));
  if (own_media(s)) out.push_back(run_note("fleet-own-media"));
  return out;
}

}  // namespace

std::optional<FleetSplit> split_fleet(const Scenario& s, const Workload& workload) {
  if (s.fleet->replicas == 1) return std::nullopt;
  const auto split = [&](std::span<const std::uint32_t> sessions) {
    return split_sessions(workload, sessions, s.fleet->replicas, s.seed);
  };
  FleetSplit out;
  const bool named = workload.has_sessions() || !workload.columns().after_begin.empty();
  if (named) {
    out.sessions = split(workload.columns().session);
    out.notes = notes_of(s, out.sessions, true);
    return out;
  }
  const Workload inferred =
      infer_sessions(Workload(nullptr, workload.columns(), WorkloadSource{workload.source()}), {});
  out.sessions = split(inferred.columns().session);
  out.notes = notes_of(s, out.sessions, false);
  return out;
}

}  // namespace spillway

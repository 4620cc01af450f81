#include "scenarios/run/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/reshape/session_inference.hpp"

namespace spillway {

namespace {

bool has_storage(const Scenario& s) {
  return !s.behind.empty() || (s.tier && s.tier->storage);
}

std::string note_of(const Scenario& s, const SessionSplit& split, const std::string& who) {
  const auto [least, most] =
      std::minmax_element(split.members.begin(), split.members.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::string out = fmt::format(
      "fleet: {} instances that serve {} to {} requests each; {} goes to the instance that a hash "
      "of seed and session names. Routing by load or by prefix is not modelled",
      split.members.size(), least->size(), most->size(), who);
  if (has_storage(s)) {
    out +=
        ", nor is storage that instances share: each has devices of its own (device.clients stands "
        "for neighbours)";
  }
  if (!s.media.empty()) out += ", nor media that instances share: each has its own";
  return out;
}

}  // namespace

std::optional<FleetSplit> split_fleet(const Scenario& s, const Workload& workload) {
  if (s.fleet.replicas == 1) return std::nullopt;
  const auto split = [&](std::span<const std::uint32_t> sessions) {
    return split_sessions(workload, sessions, s.fleet.replicas, s.seed);
  };
  FleetSplit out;
  const bool named = workload.has_sessions() || !workload.columns().after_begin.empty();
  if (named) {
    out.sessions = split(workload.columns().session);
    out.note = note_of(s, out.sessions, "a session");
    return out;
  }
  const Workload inferred =
      infer_sessions(Workload(nullptr, workload.columns(), WorkloadSource{workload.source()}), {});
  out.sessions = split(inferred.columns().session);
  out.note = note_of(s, out.sessions,
                     "a session (inferred from shared prefixes: the workload names none)");
  return out;
}

}  // namespace spillway

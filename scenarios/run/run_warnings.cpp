#include "scenarios/run/run_warnings.hpp"

#include <algorithm>

#include "reports/format.hpp"
#include "scenarios/run/tiering_warnings.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

/// Requests rejected because no admission could help them.
std::uint64_t exceeding(const RunResult& r) {
  return count_of(r.rejected_reasons, Reason::kExceedsPool);
}

/// v0 that ran out of CPU blocks ends there, as upstream's does; one too large request that was
/// swapped out blocks everybody.
void warn_of_swapping(std::uint32_t stuck, SimulationOutcome& out) {
  const RunResult& r = out.result;
  std::vector<std::string>& warnings = out.warnings;
  if (!r.swap) return;
  if (!r.swap->fatal.empty()) {
    warnings.push_back(
        fmt::format("the engine died: {}. {} requests failed with it. More engine.swap_space, or "
                    "\"preemption_mode\": \"recompute\", avoids that",
                    r.swap->fatal, count_of(r.failed_reasons, Reason::kEngineDead)));
  }
  if (const std::uint64_t cut = count_of(r.failed_reasons, Reason::kExceedsPool); cut > 0) {
    warnings.push_back(fmt::format(
        "{} requests outgrew the pool in the middle of their answer; v0 ends them there", cut));
  }
  if (stuck > 0) {
    out.standstill =
        "the request that v0 would resume next does not fit even an empty pool and its watermark, "
        "and nothing starts before it";
    warnings.push_back(
        fmt::format("deadlock: {} requests are stuck, as {}", stuck, out.standstill));
  }
}

/// Transfers that no measurement stands behind.
void warn_of_reach(SimulationOutcome& out) {
  const auto range = [](const ReachCount& reach) {
    const auto least = format_bytes(static_cast<double>(reach.least_piece));
    const auto most = format_bytes(static_cast<double>(reach.most_piece));
    return fmt::format("{} copies of {} each",
                       reach.least_copies == reach.most_copies
                           ? format_count(reach.least_copies)
                           : fmt::format("{} to {}", format_count(reach.least_copies),
                                         format_count(reach.most_copies)),
                       least == most ? least : fmt::format("{} to {}", least, most));
  };
  for (const LinkResult& link : out.result.links) {
    if (link.extrapolated.transfers + link.across_step.transfers == 0) continue;
    std::string text = fmt::format("link {}:", link.name);
    if (link.extrapolated.transfers > 0) {
      text += fmt::format(
          " {} of {} transfers ({}) lie outside the sizes and counts it was measured at: the "
          "rate of the nearest measured point was taken, and how far it is off is not known",
          format_count(link.extrapolated.transfers), format_count(link.transfers),
          range(link.extrapolated));
    }
    if (link.across_step.transfers > 0) {
      text += fmt::format(
          "{} {} of {} transfers ({}) lie between measured rates that differ by more than 2x: "
          "their times may be off by as much",
          link.extrapolated.transfers > 0 ? ";" : "", format_count(link.across_step.transfers),
          format_count(link.transfers), range(link.across_step));
    }
    out.warnings.push_back(text + " (source: " + link.model + ")");
  }
}

/// Each engine has tiers of its own; what is true of several is said once.
void warn_of_tiers(const Scenario& s, const Cluster& cluster, SimulationOutcome& out) {
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    SimulationOutcome one;
    std::swap(one.result, out.result);
    warn_of_tiering(s, cluster[i], one);
    std::swap(one.result, out.result);
    for (std::string& warning : one.warnings) {
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end()) {
        out.warnings.push_back(std::move(warning));
      }
    }
  }
}

}  // namespace

void add_run_warnings(const Scenario& s, const Workload& workload, const Cluster& cluster,
                      std::uint32_t stuck, SimulationOutcome& out) {
  RunResult& r = out.result;
  warn_of_reach(out);
  warn_of_tiers(s, cluster, out);
  warn_of_swapping(stuck, out);
  if (stuck > 0 && !r.swap) {
    std::uint32_t at = 0;
    while (!cluster[at].standstill()) ++at;
    const Standstill& why = *cluster[at].standstill();
    const bool loop = why.kind == Standstill::Kind::kPreemptionLoop;
    out.warnings.push_back(fmt::format("{} ({}): {} requests are stuck. {}{}",
                                       loop ? "livelock" : "deadlock", name_of(why.kind), stuck,
                                       loop ? "" : "Nothing runs: ", explain(why)));
    out.standstill = (loop ? "" : "nothing runs: ") + explain(why);
  }
  if (r.preemptions > 0 && s.engine.defer_block_free && r.tiers.size() > 1) {
    out.warnings.push_back(fmt::format(
        "{} preemptions: with asynchronous scheduling beside a tier this release keeps the "
        "blocks "
        "of preempted requests until the step in flight has ended, so that one shortage preempts "
        "several (vLLM 45357, 49674); most of their blocks are still cached when they return. "
        "engine.defer_block_free=false shows the run without",
        format_count(r.preemptions)));
  }
  if (r.requests == 0) {
    out.warnings.push_back(
        "no request was measured: all arrived before warmup_s or were due after horizon_s");
  }
  const std::uint64_t too_large = exceeding(r);
  const std::uint64_t too_long = count_of(r.failed_reasons, Reason::kTooLong);
  if (too_long + too_large > 0) {
    out.warnings.push_back(
        fmt::format("{} of {} requests did not enter: {} too long for "
                    "max_model_len ({} tokens; engine.max_model_len sets it), {} larger than "
                    "the whole pool. Latencies are of the others",
                    too_long + too_large, r.requests, too_long, s.engine.max_model_len, too_large));
  }
  if (r.rejected > too_large) {
    out.warnings.push_back(fmt::format(
        "admission ({}) rejected {} of {} requests; latencies are of those that completed",
        s.admission.text(), r.rejected - too_large, r.requests));
  }
  if (r.client_queue_time.max_ms > 0) {
    out.warnings.push_back(fmt::format(
        "clients held requests back for {:.0f} ms on average (concurrency): latencies count from "
        "arrival at the server and leave that out",
        r.client_queue_time.mean_ms));
  }
  out.warnings.push_back(
      "reuse inside differing trace blocks is invisible to a trace of block ids: hits are a lower "
      "bound");
  std::uint32_t joined = 0;  // engines of one instance share its workload
  for (std::uint32_t i = 0; i < cluster.size(); i += cluster.engines_of_instance()) {
    joined += cluster[i].chains().joined();
  }
  if (joined > 0) {
    out.warnings.push_back(fmt::format(
        "where the session's next prompt begins with a request's prompt and has room for its "
        "answer, it is taken to contain that answer ({} of {} requests)",
        joined, workload.size()));
  }
}

}  // namespace spillway

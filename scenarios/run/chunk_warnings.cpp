#include "scenarios/run/chunk_warnings.hpp"

#include <algorithm>

#include "reports/notes/run_notes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

/// L1 drops chunks once a second only: what a burst brings between two ticks has no room.
void warn_of_bursts(const Scenario& s, SimulationOutcome& out) {
  if (!has_mp(s.engine.connector)) return;
  const std::size_t l1 = s.engine.connector == ConnectorKind::kHybrid ? 2 : 1;
  const TierResult& tier = out.result.tiers[l1];
  if (tier.store_failures == 0) return;
  const std::uint64_t offered = tier.stores + tier.store_failures;
  out.warnings.push_back(run_note(
      "burst-lost",
      {{"tier", tier.name},
       {"chunks", tier.store_failures},
       {"lost_share", static_cast<double>(tier.store_failures) / static_cast<double>(offered)},
       {"ticks", tier.chunks->ticks}}));
}

/// Every request that looks below HBM waits a scheduling pass, even where nothing is there.
void warn_of_deferrals(const Scenario& s, SimulationOutcome& out) {
  const bool asks = has_mp(s.engine.connector) ||
                    (s.engine.connector == ConnectorKind::kLlmdFs && s.engine.llmd.async_lookup);
  if (!asks || out.result.deferrals == 0) return;
  out.warnings.push_back(run_note("lookup-deferred", {{"deferrals", out.result.deferrals}}));
}

void warn_of_files(const Scenario& s, SimulationOutcome& out) {
  if (s.engine.connector != ConnectorKind::kLlmdFs) return;
  const TierResult& tier = out.result.tiers[1];
  if (tier.chunks->idle_ticks > 0 && s.tier->evictor) {
    const double minutes = static_cast<double>(s.tier->evictor->access.count()) / 60e9;
    out.warnings.push_back(
        run_note("evictor-idle",
                 {{"tier", tier.name}, {"ticks", tier.chunks->idle_ticks}, {"minutes", minutes}}));
  }
  if (tier.store_failures > 0) {
    out.warnings.push_back(
        run_note("files-not-written", {{"tier", tier.name}, {"files", tier.store_failures}}));
  }
  if (tier.chunks->missing_reads > 0) {
    out.warnings.push_back(
        run_note("reads-swallowed", {{"tier", tier.name}, {"files", tier.chunks->missing_reads}}));
  }
}

/// Replicas that each have a remote store of their own find nothing of each other's.
void warn_of_own_stores(const Scenario& s, SimulationOutcome& out) {
  if (s.fleet->replicas == 1) return;
  const auto look = [&](const TierChoice& tier) {
    if (tier.kind() != "kv" || tier.scope != Scope::kInstance) return;
    out.warnings.push_back(
        run_note("store-for-each", {{"tier", tier.name}, {"instances", s.fleet->replicas}}));
  };
  look(*s.tier);
  for (const TierChoice& tier : s.behind) look(tier);
}

/// Whatever is found is loaded, though it is never worth it.
void warn_of_slow_loads(SimulationOutcome& out) {
  const RunResult& r = out.result;
  for (const LoadBreakEven& even : r.break_even) {
    if (even.tokens > 0) continue;
    const auto tokens = std::find_if(
        r.prompt_tokens_by_source.begin(), r.prompt_tokens_by_source.end(),
        [&](const auto& source) { return source.first == even.tier && source.second > 0; });
    const auto time = std::find_if(r.load_times.rbegin(), r.load_times.rend(),
                                   [&](const LoadTime& t) { return t.tier == even.tier; });
    if (tokens == r.prompt_tokens_by_source.end() || time == r.load_times.rend()) continue;
    out.warnings.push_back(
        run_note("load-never-pays", {{"tier", even.tier},
                                     {"load_ms", time->load_ms},
                                     {"compute_ms", time->compute_ms},
                                     {"tokens", time->tokens},
                                     {"prompt_share", static_cast<double>(tokens->second) /
                                                          static_cast<double>(r.input_tokens)}}));
  }
}

void warn_of_outages(SimulationOutcome& out) {
  for (const TierResult& tier : out.result.tiers) {
    for (const ReasonCount& refusal : tier.write_refusals) {
      if (refusal.reason != "unreachable") continue;
      out.warnings.push_back(
          run_note("store-unreachable", {{"tier", tier.name}, {"chunks", refusal.count}}));
    }
  }
}

void warn_of_failures(const Scenario& s, SimulationOutcome& out) {
  const std::uint64_t failures = out.result.load_failures;
  if (failures == 0) return;
  const std::uint64_t failed = count_of(out.result.failed_reasons, Reason::kKvLoadFailed);
  NoteFigures figures = {{"loads", failures}, {"requests", failed}};
  out.warnings.push_back(s.engine.recompute_failed
                             ? run_note("loads-recomputed", std::move(figures))
                             : run_note("loads-failed", std::move(figures)));
}

/// Mooncake Store found what did not come before its lease had ended.
void warn_of_leases(const Scenario& s, SimulationOutcome& out) {
  const EngineConfig& e = s.engine;
  if (!e.store_first() && !e.sglang.mooncake) return;
  for (const TierResult& tier : out.result.tiers) {
    if (!tier.chunks || tier.chunks->lost == 0) continue;
    out.warnings.push_back(
        run_note("leases-ended", {{"tier", tier.name},
                                  {"objects", tier.chunks->lost},
                                  {"lease_ms", milliseconds_of(e.mooncake.lease)}}));
  }
}

}  // namespace

void warn_of_chunks(const Scenario& s, SimulationOutcome& out) {
  warn_of_leases(s, out);
  const bool chunks = keeps_chunks(s.engine.connector) || s.engine.is_mooncake();
  if (!chunks || out.result.tiers.size() < 2) return;
  warn_of_failures(s, out);
  warn_of_slow_loads(out);
  warn_of_outages(out);
  warn_of_bursts(s, out);
  warn_of_deferrals(s, out);
  warn_of_files(s, out);
  warn_of_own_stores(s, out);
}

}  // namespace spillway

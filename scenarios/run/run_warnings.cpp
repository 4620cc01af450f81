#include "scenarios/run/run_warnings.hpp"

#include <algorithm>

#include "reports/notes/run_notes.hpp"
#include "scenarios/run/chunk_warnings.hpp"
#include "scenarios/run/standstill_note.hpp"
#include "scenarios/run/tiering_warnings.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

/// Requests rejected because no admission could help them.
std::uint64_t exceeding(const RunResult& r) {
  return count_of(r.rejected_reasons, Reason::kExceedsPool);
}

/// The server serves nobody any more, for this reason.
void tell_standstill(std::string_view kind, std::uint32_t stuck, const Note& why,
                     SimulationOutcome& out) {
  out.standstill = why.text;
  out.warnings.push_back(
      run_note("standstill", {{"kind", kind}, {"requests", stuck}, {"why", why.text}}));
}

/// v0 that ran out of CPU blocks ends there, as upstream's does; one too large request that was
/// swapped out blocks everybody.
void warn_of_swapping(std::uint32_t stuck, SimulationOutcome& out) {
  const RunResult& r = out.result;
  if (!r.swap) return;
  if (!r.swap->fatal.empty()) {
    out.warnings.push_back(run_note(
        "engine-died",
        {{"cause", r.swap->fatal}, {"requests", count_of(r.failed_reasons, Reason::kEngineDead)}}));
  }
  if (const std::uint64_t cut = count_of(r.failed_reasons, Reason::kExceedsPool); cut > 0) {
    out.warnings.push_back(run_note("outgrew-pool", {{"requests", cut}}));
  }
  if (stuck > 0) tell_standstill("swap", stuck, run_note("swapped-too-large"), out);
}

/// Transfers that no measurement stands behind.
void warn_of_reach(SimulationOutcome& out) {
  const auto range = [](const char* name, double least, double most) {
    NoteFigure figure(name, least);
    if (most > least) figure.most = most;
    return figure;
  };
  const auto figures = [&](const LinkResult& link, const ReachCount& reach) {
    return NoteFigures{{"link", link.name},
                       {"transfers", reach.transfers},
                       {"transfers_in_all", link.transfers},
                       range("copies", static_cast<double>(reach.least_copies),
                             static_cast<double>(reach.most_copies)),
                       range("piece_bytes", static_cast<double>(reach.least_piece),
                             static_cast<double>(reach.most_piece)),
                       {"source", link.model}};
  };
  for (const LinkResult& link : out.result.links) {
    if (link.extrapolated.transfers > 0) {
      out.warnings.push_back(run_note("beyond-calibration", figures(link, link.extrapolated)));
    }
    if (link.across_step.transfers > 0) {
      out.warnings.push_back(run_note("between-rates", figures(link, link.across_step)));
    }
  }
}

/// Each engine has tiers of its own; what is true of several is said once.
void warn_of_tiers(const Scenario& s, const Cluster& cluster, SimulationOutcome& out) {
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    SimulationOutcome one;
    std::swap(one.result, out.result);
    warn_of_tiering(s, cluster[i], one);
    std::swap(one.result, out.result);
    for (Note& note : one.warnings) add_once(out.warnings, std::move(note));
  }
}

}  // namespace

void warn_of_fit(const Scenario& s, const FitReach& reach, SimulationOutcome& out) {
  // A run like the fitted one leaves its range now and then: below this no figure shows it.
  constexpr double kLeastShare = 0.01;
  if (reach.outside_share() < kLeastShare) return;
  const FittedRange& range = s.compute->profile->range;
  const auto span = [](const char* name, const FittedRange::Span& of) {
    NoteFigure figure(name, static_cast<std::int64_t>(of.least));
    if (of.most > of.least) figure.most = static_cast<std::int64_t>(of.most);
    figure.given = of.known();
    return figure;
  };
  out.warnings.push_back(run_note("beyond-fit", {{"profile", s.compute->profile->name},
                                                 {"outside_share", reach.outside_share()},
                                                 span("fitted_decodes", range.decodes),
                                                 span("fitted_context", range.context),
                                                 span("fitted_prefill", range.prefill_tokens),
                                                 span("decodes", reach.seen.decodes),
                                                 span("context", reach.seen.context),
                                                 span("prefill", reach.seen.prefill_tokens)}));
}

void add_run_warnings(const Scenario& s, const Workload& workload, const Cluster& cluster,
                      std::uint32_t stuck, SimulationOutcome& out) {
  RunResult& r = out.result;
  warn_of_reach(out);
  warn_of_tiers(s, cluster, out);
  warn_of_chunks(s, out);
  warn_of_swapping(stuck, out);
  if (stuck > 0 && !r.swap) {
    std::uint32_t at = 0;
    while (!cluster[at].standstill()) ++at;
    const Standstill& why = *cluster[at].standstill();
    tell_standstill(name_of(why.kind), stuck, standstill_note(why), out);
  }
  if (r.preemptions > 0 && s.engine.defer_block_free && r.tiers.size() > 1) {
    out.warnings.push_back(run_note("deferred-free", {{"preemptions", r.preemptions}}));
  }
  if (r.requests == 0) out.warnings.push_back(run_note("nothing-measured"));
  const std::uint64_t too_large = exceeding(r);
  const std::uint64_t too_long = count_of(r.failed_reasons, Reason::kTooLong);
  if (too_long + too_large > 0) {
    NoteFigures figures = {{"requests", too_long + too_large}, {"requests_in_all", r.requests}};
    if (too_long > 0) {
      figures.emplace_back("too_long", too_long);
      figures.emplace_back("max_model_len", s.engine.max_model_len);
    }
    if (too_large > 0) figures.emplace_back("too_large", too_large);
    out.warnings.push_back(run_note("not-admitted", std::move(figures)));
  }
  if (r.rejected > too_large) {
    out.warnings.push_back(run_note("rejected", {{"policy", s.admission.text()},
                                                 {"requests", r.rejected - too_large},
                                                 {"requests_in_all", r.requests}}));
  }
  if (r.client_queue_time.max_ms > 0) {
    out.warnings.push_back(
        run_note("clients-waited", {{"mean_wait_ms", r.client_queue_time.mean_ms}}));
  }
  out.warnings.push_back(run_note("reuse-lower-bound"));
  if (const std::uint32_t joined = cluster.chains().joined(); joined > 0) {
    out.warnings.push_back(run_note("answers-in-prompts",
                                    {{"requests", joined}, {"requests_in_all", workload.size()}}));
  }
}

}  // namespace spillway

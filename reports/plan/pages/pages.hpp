// The pages of a plan's report, one file each, in the order that a reader meets them. A page that
// has nothing to show says why in a sentence.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct Provenance;

/// Buy this, set this, expect that: read in ten seconds.
Section decision_page(const PlanResult& plan, const Provenance& provenance);
/// The traffic that the answer is about.
Section workload_page(const PlanResult& plan, const Provenance& provenance);
/// Size against outcome.
Section knee_page(const PlanResult& plan);
/// What the policy leaves on the table.
Section policies_page(const PlanResult& plan, const Provenance& provenance);
/// What a first token waits for, and on which link.
Section time_page(const PlanResult& plan);
Section sensitivity_page(const PlanResult& plan, const Provenance& provenance);
/// Other demand, lost hosts, slow devices.
Section scenarios_page(const PlanResult& plan);
/// What else needs the host's memory.
Section host_page(const PlanResult& plan, const Provenance& provenance);
Section cost_page(const PlanResult& plan, const Provenance& provenance);
/// What to set, how to go back, what to watch.
Section apply_page(const PlanResult& plan, const Provenance& provenance);
/// What the answer rests on, what was not modelled, what would prove it wrong.
Section validity_page(const PlanResult& plan, const Provenance& provenance);
Section provenance_page(const PlanResult& plan, const Provenance& provenance);

}  // namespace spillway

// What fits one screen of a terminal: a plan's answer, what to buy and set, how sure, the sizes
// around the decision. The rest stands behind --details.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/note.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct Provenance;

struct GlanceRoom {
  std::size_t width = 100;  ///< columns of every line but a first one that no terminal wraps
  std::size_t lines = 24;   ///< of the report with what stands below it
  std::size_t below = 0;    ///< lines that follow whatever happens, e.g. where the report is
  std::size_t notes = 0;    ///< that could be shown, a line each, where there is room
  bool unicode = false;
};

struct Glance {
  Report report;
  std::size_t notes = 0;  ///< lines left for notes
};

/// The table shrinks to its most telling rows where the lines would not suffice.
Glance plan_glance(const PlanResult& plan, const Provenance& provenance, const GlanceRoom& room);

/// What of the plan itself a reader must not miss, the gravest first, as notes.
Notes plan_notes(const PlanResult& plan);

}  // namespace spillway

// The reports of traffic: what a trace is like, and its hits at every capacity and of
// every policy.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/report.hpp"

namespace spillway {

struct Provenance;

/// From the results of a `trace-stats` document.
Report trace_report(const nlohmann::json& results, const Provenance& provenance);
/// The part of it that a terminal shows.
Report trace_summary(const nlohmann::json& results, const Provenance& provenance);
/// From the results of an `mrc` document.
Report mrc_report(const nlohmann::json& results, const Provenance& provenance);
/// With the curve drawn in characters, for a terminal.
Report mrc_summary(const nlohmann::json& results, const Provenance& provenance);

/// From the results of a `replay` document: hits by policy and capacity, beside their bounds.
Report replay_report(const nlohmann::json& rows, const Provenance& provenance);
/// Its tables, at most 100 columns wide where names are short.
Report replay_summary(const nlohmann::json& rows, const Provenance& provenance);

}  // namespace spillway

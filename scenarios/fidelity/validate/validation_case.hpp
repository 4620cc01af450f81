// A validation case: a measured run, the scenario that should reproduce it, and how far off it may
// be. One JSON file each (scenarios/validation/README.md describes the keys).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"

namespace spillway {

/// One parameter and where a user would get it from, so that a reader sees that none is the case's
/// own. A name covers everything below it: "compute.profile" all that the profile fitted.
struct CaseParameter {
  std::string name;  ///< dotted key of the scenario
  std::string value;
  std::string from;
};

/// Who measured, where it is published, and under which terms.
struct CaseSource {
  std::string measured;  ///< in words
  std::string origin;    ///< repository or page
  std::string commit;
  std::string licence;
};

enum class CaseKind : std::uint8_t {
  kRun,     ///< one measured run beside one simulation
  kPoints,  ///< rows of a serving table, each a closed loop; two parameters fitted on some
  kPairs,   ///< throughputs of servers without and with a tier below HBM; nothing fitted
};

struct ValidationCase {
  CaseKind kind = CaseKind::kRun;
  std::string name;
  std::string description;
  std::string path;                   ///< of the case file
  std::vector<std::string> measured;  ///< as written; found beside the case or under --data
  std::vector<std::vector<std::string>> repeats;
  std::vector<std::string> metrics;  ///< empty: all that both runs have
  /// % by metric, or by group: means, percentiles (of TTFT, TPOT and E2E), counters (of the
  /// peaks). `tolerance` is what a change must not exceed, `bar` what was aimed at.
  std::map<std::string, double> tolerance;
  std::map<std::string, double> bar;
  std::uint32_t from_request = 0;  ///< score only the requests from this one on
  std::uint32_t first = 0;         ///< of the earliest so many; 0: of all
  std::vector<CaseParameter> parameters;
  CaseSource source;
  std::vector<std::string> fitted;  ///< what was fitted, from what
  std::vector<std::string> hides;   ///< what an error as small or large as this does not show
  std::optional<JsonSource> inline_scenario;
  std::string scenario_path;
  std::string backend;    ///< of a serving table: whose rows
  std::string precision;  ///< and in which
  std::string release;    ///< of a study of pairs
  SourceRef where;

  static const KeyTable kKeys, kEvaluate, kParameter, kSource, kPoints, kPairs;
};

/// Throws InputError (exit 2) naming file, line and field.
ValidationCase read_case(const std::string& path);

/// What bounds `metric` in `limits`: its own entry, else its group's.
std::optional<double> limit_of(const std::map<std::string, double>& limits,
                               std::string_view metric);

/// The scenario's source, with `--set` and --seed applied; where it gives no workload, the measured
/// requests are it.
JsonSource scenario_source(const ValidationCase& c, const std::vector<std::string>& set);
/// The same for a run of which this is known: where its times are a client's, the front end counts;
/// where the engine's, it does not. A closed loop is simulated as one. The scenario's own keys win.
JsonSource scenario_source(const ValidationCase& c, const std::vector<std::string>& set,
                           const MeasuredFacts& facts);

/// Every leaf key that the case's scenario gives, dotted, with its value; name, description, seed
/// and the workload say nothing about the system and are left out.
std::vector<CaseParameter> leaves_of(const nlohmann::json& scenario);

/// Leaves that no entry of `parameters` covers.
std::vector<std::string> unexplained(const std::vector<CaseParameter>& leaves,
                                     const std::vector<CaseParameter>& parameters);
/// The entry that covers the leaf, the longest name first; null: none.
const CaseParameter* explanation_of(const std::string& leaf,
                                    const std::vector<CaseParameter>& parameters);

}  // namespace spillway

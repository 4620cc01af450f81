// The name of a run: equal keys mean equal results, wherever and whenever they were made.
//
// A key is the SHA-256 of the run's identity as canonical JSON: the resolved configuration, the
// content of traces and profiles, seed and replicate. Paths, names, threads and outputs are no part
// of it, so that a campaign may move, and a plan finds again what another one ran.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace spillway {

struct Scenario;

/// Raised whenever equal inputs begin to give other results (a golden digest moves): what was
/// stored before is then not found any more.
inline constexpr int kModelSemantics = 1;

struct RunIdentity {
  /// What is stored under the key and in which version, e.g. "sweep-run/1".
  std::string_view form;
  /// Content hashes of the trace and of further days, in their order; empty where the workload is
  /// generated (configuration and seed decide it then).
  std::span<const std::uint64_t> traces;
  /// None: the workload itself.
  std::optional<std::uint32_t> replicate;
};

/// Everything that decides the run of `scenario` (with its seed before replication).
nlohmann::json run_identity(const Scenario& scenario, const RunIdentity& identity);

/// 64 hex digits.
std::string run_key(const Scenario& scenario, const RunIdentity& identity);

}  // namespace spillway

// What to set in an engine so that it is the one a scenario describes: arguments, environment, the
// arithmetic behind every converted size, and what no flag covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

inline constexpr std::int64_t kGib = std::int64_t{1} << 30;

/// The flags of `release`, of one instance, with `capacity` for the tier below HBM (bytes over all
/// ranks of one engine, or blocks, as in TierChoice). A size is never less than `capacity` needs.
/// Sizes carry over to a release of another engine than the scenario's; what does not is told in
/// `not_covered`.
EngineFlags flags_of(const Scenario& scenario, const Capacity& capacity,
                     const EnginePreset& release);

}  // namespace spillway

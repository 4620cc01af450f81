// The variants of a comparison of engines: one scenario, as each of them would be told it, with the
// same device pool and the same bytes of host memory.
#pragma once

#include <span>
#include <string>

#include "scenarios/experiment/variants.hpp"

namespace spillway {

/// `names` are engines, releases of them or connectors of vLLM; the first is the baseline. The
/// scenario's own engine keeps its settings; others get its pool, its limits of a step, its ranks
/// and its host memory, and their own defaults in all else. Throws InputError (exit 2) at --engines
/// for fewer than two engines, one given twice and a scenario that has more below HBM than host
/// memory.
VariantSet make_engine_variants(const JsonSource& source, std::span<const std::string> names);

}  // namespace spillway

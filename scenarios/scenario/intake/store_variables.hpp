// Variables of stores that are attached to an engine, each of which has to be used, ignored with a
// reason, or told as unknown.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

/// Some variable is of a store that has a reader here.
bool any_store_variable(const ShellVariables& variables);

/// Where in `text`, the call's own, each of its variables stands: the first time from the call's
/// line on, else the last time before.
std::map<std::string, SourceRef, std::less<>> places_of_variables(std::string_view text,
                                                                  const EngineCall& call);

/// A remark on every variable that nothing has read, once the tiers are known.
void remark_store_variables(const EngineCall& call, Draft& draft);

}  // namespace spillway

// The tables of policies by kind. Adding one: a file under the kind's folder, then its declaration
// and its row in catalogue.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "policies/eviction_policy.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

/// What a new eviction policy may know.
struct EvictionContext {
  std::uint32_t slots = 0;  ///< slot ids are below this
};

using EvictionEntry = Entry<EvictionPolicy, EvictionContext>;
std::span<const EvictionEntry> eviction_policies();

}  // namespace spillway

// A part of a workload as a workload of its own.
#pragma once

#include <span>

#include "sim/workload.hpp"

namespace spillway {

/// The requests of `whole` that `members` names, in ascending order. They arrive, and belong to the
/// sessions and tenants, as they did; blocks are numbered anew, and what they waited for that is
/// not among them is forgotten.
Workload part_of(const Workload& whole, std::span<const RequestId> members);

}  // namespace spillway

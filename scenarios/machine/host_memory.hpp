// How much memory may still be taken here: by the machine, by the process' cgroup, by its limits.
#pragma once

#include <cstdint>
#include <string>

#include "sim/memory.hpp"

namespace spillway {

/// The smallest limit from our cgroup up to the root, and what is left of it; -1: none.
struct CgroupMemory {
  std::int64_t limit = -1;
  std::int64_t free = -1;
};

/// `root` stands before every path, as in machine.hpp.
CgroupMemory cgroup_memory(const std::string& root);

/// What the machine has available, within the cgroup's limit; 0 where it does not say.
std::int64_t available_memory(const std::string& root);

/// The most that this program had, in bytes. Not getrusage(2), which counts what the process was
/// before it became this program.
std::int64_t peak_resident();

/// For watch_memory(). What the system does not say is no limit.
MemoryState memory_state();

}  // namespace spillway

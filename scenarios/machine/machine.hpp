// What this machine is: read from /proc, /sys and the system's own calls, never guessed.
//
// What cannot be read stays empty, 0 or -1 ("not known"). `root` stands before every path, so that
// tests can show another machine's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

/// The folder that files would be written to.
struct ScratchFacts {
  std::string path;
  std::string fs;      ///< file system type, e.g. ext4
  std::string device;  ///< as it is mounted
  std::int64_t free_bytes = -1;
  bool in_memory = false;   ///< tmpfs, ramfs
  bool in_network = false;  ///< nfs and the like: not this machine's storage
  bool in_overlay = false;
};

/// The facts of the profile, and what changes from one minute to the next.
struct HostState {
  MachineFacts facts;
  std::vector<std::vector<int>> node_cpus;  ///< those of facts.numa that we may use
  std::vector<int> cpus;                    ///< all that we may use
  std::int64_t llc_bytes = 0;               ///< last-level cache; 0: not known
  std::int64_t available_bytes = 0;         ///< memory, within the cgroup's limit too
  double load = -1;
  std::string governor;
  std::int64_t swap_used_bytes = 0;
  bool lock_exempt = false;  ///< may lock beyond RLIMIT_MEMLOCK
  std::string huge_pages;    ///< always, madvise or never
  ScratchFacts scratch;      ///< of no path: not asked for
};

HostState read_host(const std::string& root, const std::string& scratch);

/// Of the state at the start: what makes figures worse or less certain than the machine.
std::vector<std::string> host_warnings(const HostState& host);

/// "0-2,8" as {0, 1, 2, 8}; stops where it is no list.
std::vector<int> cpu_list(const std::string& text);

}  // namespace spillway

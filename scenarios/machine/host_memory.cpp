#include "scenarios/machine/host_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <sstream>

#include "scenarios/machine/system_files.hpp"

namespace spillway {

CgroupMemory cgroup_memory(const std::string& root) {
  CgroupMemory out;
  const std::string text = slurp(root + "/proc/self/cgroup");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string base = root + (unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    while (true) {  // inside a container the path may not exist: only its top does
      const std::string at = (std::filesystem::path(base) / group).string() + "/";
      const std::int64_t limit =
          number(first_line(at + (unified ? "memory.max" : "memory.limit_in_bytes")), -1);
      const std::int64_t used =
          number(first_line(at + (unified ? "memory.current" : "memory.usage_in_bytes")), 0);
      const std::int64_t cache = number(
          field(slurp(at + "memory.stat"), unified ? "inactive_file" : "total_inactive_file", ' '),
          0);
      // The first version writes a huge number for none.
      if (limit >= 0 && limit < (std::int64_t{1} << 60) && (out.limit < 0 || limit < out.limit)) {
        out = {limit, std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used - cache))};
      }
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return out;
}

std::int64_t available_memory(const std::string& root) {
  const std::string meminfo = slurp(root + "/proc/meminfo");
  const std::int64_t machine = std::max<std::int64_t>(0, kib_field(meminfo, "MemAvailable"));
  const CgroupMemory cgroup = cgroup_memory(root);
  return cgroup.limit >= 0 ? std::min(machine, cgroup.free) : machine;
}

std::int64_t peak_resident() {
  return std::max<std::int64_t>(0, kib_field(slurp("/proc/self/status"), "VmHWM"));
}

MemoryState memory_state() {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  MemoryState out{available_memory(""), kUnlimited, 0};
  if (out.free == 0) out.free = kUnlimited;
  const std::string pages = slurp("/proc/self/statm");  // all, resident
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::size_t second = pages.find(' ');
  if (second != std::string::npos) {
    out.resident = page * number(std::string_view(pages).substr(second + 1), 0);
  }
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::int64_t all = page * number(pages, 0);
    out.address_space = std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - all);
  }
  return out;
}

}  // namespace spillway

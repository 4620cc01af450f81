#include "scenarios/machine/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "reports/format.hpp"
#include "scenarios/machine/host_memory.hpp"
#include "scenarios/machine/system_files.hpp"
#include "sim/numbers.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;

std::string cpu_name(const std::string& info) {
  const std::string model = field(info, "model name");
  if (!model.empty()) return model;
  const std::string part = field(info, "CPU part");  // Arm names its cores by number
  return part.empty() ? "" : fmt::format("{} part {}", field(info, "CPU implementer"), part);
}

std::string virtualization(const std::string& root, const std::string& cpuinfo) {
  if (slurp(root + "/proc/version").find("gVisor") != std::string::npos) return "gVisor";
  const std::string flags = " " + field(cpuinfo, "flags") + " ";
  const std::string vendor = first_line(root + "/sys/class/dmi/id/sys_vendor");
  const std::string product = first_line(root + "/sys/class/dmi/id/product_name");
  const std::string board = trimmed(vendor + " " + product);
  if (flags.find(" hypervisor ") != std::string::npos) {
    return board.empty() ? "hypervisor" : fmt::format("hypervisor ({})", board);
  }
  if (!first_line(root + "/sys/hypervisor/type").empty()) {
    return first_line(root + "/sys/hypervisor/type");
  }
  if (flags.size() > 2) return "none";
  // Other processors have no such flag; what runs under QEMU says so.
  return board.find("QEMU") != std::string::npos ? fmt::format("hypervisor ({})", board) : "";
}

std::string iommu(const std::string& root) {
  const std::string groups = root + "/sys/kernel/iommu_groups";
  if (!fs::is_directory(groups)) return "";
  std::set<std::string> types;
  for (const std::string& group : names_in(groups)) {
    const std::string type = first_line(fmt::format("{}/{}/type", groups, group));
    if (!type.empty()) types.insert(type);
  }
  return types.empty() ? "none" : fmt::format("{}", fmt::join(types, ", "));
}

/// The choice in brackets: "always [madvise] never".
std::string chosen(const std::string& line) {
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  return open == std::string::npos || close < open ? "" : line.substr(open + 1, close - open - 1);
}

std::string hugepages(const std::string& transparent, const std::string& meminfo) {
  const std::int64_t total = number(field(meminfo, "HugePages_Total"), -1);
  std::string out;
  if (!transparent.empty()) out = fmt::format("transparent: {}", transparent);
  if (total < 0) return out;
  const std::string size = field(meminfo, "Hugepagesize");
  return fmt::format("{}{}reserved: {} of {}", out, out.empty() ? "" : "; ", total, size);
}

/// PCI Express generation of "32.0 GT/s PCIe".
int generation(const std::string& speed) {
  constexpr std::pair<std::string_view, int> kSpeeds[] = {{"2.5", 1}, {"5", 2},  {"8", 3},
                                                          {"16", 4},  {"32", 5}, {"64", 6}};
  std::string figure = speed.substr(0, speed.find(' '));
  if (figure.ends_with(".0")) figure.resize(figure.size() - 2);
  for (const auto& [gts, gen] : kSpeeds) {
    if (figure == gts) return gen;
  }
  return 0;
}

std::vector<GpuFacts> driver_gpus(const std::string& root) {
  std::vector<GpuFacts> out;
  const std::string folder = root + "/proc/driver/nvidia/gpus";
  for (const std::string& pci : names_in(folder)) {
    const std::string info = slurp(fmt::format("{}/{}/information", folder, pci));
    const std::string device = fmt::format("{}/sys/bus/pci/devices/{}", root, pci);
    GpuFacts gpu;
    gpu.index = static_cast<int>(out.size());
    gpu.name = field(info, "Model");
    gpu.uuid = field(info, "GPU UUID");
    gpu.pci = pci;
    gpu.numa = static_cast<int>(number(first_line(device + "/numa_node"), -1));
    gpu.link_gen_max = generation(first_line(device + "/max_link_speed"));
    gpu.link_width_max = static_cast<int>(number(first_line(device + "/max_link_width"), 0));
    out.push_back(gpu);
  }
  return out;
}

/// "550.54.15" of the driver's version line.
std::string driver_version(const std::string& root) {
  std::istringstream words(first_line(root + "/proc/driver/nvidia/version"));
  for (std::string word; words >> word;) {
    const bool version = word.find('.') != std::string::npos &&
                         word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) return word;
  }
  return "";
}

std::int64_t last_level_cache(const std::string& root) {
  std::int64_t best = 0;
  int level = 0;
  const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache";
  for (const std::string& index : names_in(folder)) {
    const std::string at = fmt::format("{}/{}/", folder, index);
    const auto here = static_cast<int>(number(first_line(at + "level"), 0));
    const std::string size = first_line(at + "size");  // "32768K"
    if (here < level || !size.ends_with('K')) continue;
    level = here;
    best = number(size, 0) << 10;
  }
  return best;
}

void add_nodes(HostState& host, const std::string& root) {
  const std::string folder = root + "/sys/devices/system/node";
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("node") || number(name.substr(4), -1) < 0) continue;
    NumaFacts node;
    node.node = static_cast<int>(number(name.substr(4), 0));
    node.cpus = first_line(fmt::format("{}/{}/cpulist", folder, name));
    const std::string info = slurp(fmt::format("{}/{}/meminfo", folder, name));
    const std::size_t total = info.find("MemTotal:");
    if (total != std::string::npos) {
      node.memory_bytes = number(trimmed(info.substr(total + 9, 40)), 0) << 10;
    }
    host.facts.numa.push_back(node);
  }
  const auto order = [](const NumaFacts& a, const NumaFacts& b) { return a.node < b.node; };
  std::sort(host.facts.numa.begin(), host.facts.numa.end(), order);
  for (const NumaFacts& node : host.facts.numa) {
    std::vector<int> usable;
    for (const int cpu : cpu_list(node.cpus)) {
      if (std::binary_search(host.cpus.begin(), host.cpus.end(), cpu)) usable.push_back(cpu);
    }
    host.node_cpus.push_back(std::move(usable));
  }
}

/// The mount that holds `path`: the longest mount point that begins it.
void add_mount(ScratchFacts& scratch, const std::string& root) {
  std::error_code error;
  const std::string real = fs::weakly_canonical(scratch.path, error).string();
  std::istringstream lines(slurp(root + "/proc/self/mountinfo"));
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skip;
    std::string point;
    for (int i = 0; i < 4; ++i) words >> skip;
    words >> point;
    const std::size_t tail = line.find(" - ");
    if (tail == std::string::npos) continue;
    const bool below = real.starts_with(point) &&
                       (point == "/" || real.size() == point.size() || real[point.size()] == '/');
    if (!below || point.size() < longest) continue;
    longest = point.size();
    std::istringstream rest(line.substr(tail + 3));
    rest >> scratch.fs >> scratch.device;
  }
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return scratch.fs.starts_with(name); });
  };
  scratch.in_memory = one_of({"tmpfs", "ramfs"});
  scratch.in_overlay = one_of({"overlay"});
  scratch.in_network =
      one_of({"nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "fuse", "9p", "virtiofs"});
}

/// "ext4 on /dev/vda (MODEL)"; the model where the device has one.
std::string storage_text(const ScratchFacts& scratch, const std::string& root) {
  if (scratch.fs.empty()) return "";
  std::string out = fmt::format("{} on {}", scratch.fs, scratch.device);
  if (!scratch.device.starts_with("/dev/")) return out;
  const std::string name = fs::path(scratch.device).filename().string();
  std::error_code error;
  const fs::path block = fs::canonical(root + "/sys/class/block/" + name, error);
  if (error) return out;
  for (const fs::path& at : {block, block.parent_path()}) {  // a partition lies in its disk
    const std::string model = first_line((at / "device/model").string());
    if (!model.empty()) return fmt::format("{} ({})", out, model);
  }
  return out;
}

bool may_lock(const std::string& root) {
  constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK
  const std::string text = field(slurp(root + "/proc/self/status"), "CapEff");
  return (parse_whole<std::uint64_t>(text, 16).value_or(0) >> kIpcLock & 1) != 0;
}

}  // namespace

std::vector<int> cpu_list(const std::string& text) {
  std::vector<int> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int from = 0;
    auto parsed = std::from_chars(at, end, from);
    if (parsed.ec != std::errc() || from < 0) break;
    int to = from;
    if (parsed.ptr < end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, to);
      if (parsed.ec != std::errc() || to - from > 1'000'000) break;
    }
    for (int cpu = from; cpu <= to; ++cpu) out.push_back(cpu);
    at = parsed.ptr;
    if (at < end && *at != ',') break;
    ++at;
  }
  return out;
}

HostState read_host(const std::string& root, const std::string& scratch) {
  HostState host;
  MachineFacts& facts = host.facts;
  const std::string cpuinfo = slurp(root + "/proc/cpuinfo");
  const std::string meminfo = slurp(root + "/proc/meminfo");
  host.cpus = allowed_cpus();
  facts.cpu = cpu_name(cpuinfo);
  facts.cores = static_cast<std::uint32_t>(host.cpus.size());
  facts.memory_bytes = std::max<std::int64_t>(0, kib_field(meminfo, "MemTotal"));
  add_nodes(host, root);
  facts.gpus = driver_gpus(root);
  facts.driver = driver_version(root);
  facts.os = field(slurp(root + "/etc/os-release"), "PRETTY_NAME", '=');
  struct utsname names {};
  if (uname(&names) == 0) facts.kernel = fmt::format("{} {}", names.sysname, names.release);
  facts.virtualization = virtualization(root, cpuinfo);
  facts.iommu = iommu(root);
  host.huge_pages = chosen(first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  facts.hugepages = hugepages(host.huge_pages, meminfo);
  struct rlimit limit {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.memlock_bytes = static_cast<std::int64_t>(limit.rlim_cur);
  }
  facts.cgroup_memory_bytes = cgroup_memory(root).limit;
  host.available_bytes = available_memory(root);
  host.llc_bytes = last_level_cache(root);
  const std::string load = first_line(root + "/proc/loadavg");
  if (const LeadingReal read = leading_real(load); read.length > 0) host.load = read.value;
  host.governor = first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const std::int64_t swap = kib_field(meminfo, "SwapTotal");
  if (swap > 0) host.swap_used_bytes = swap - kib_field(meminfo, "SwapFree");
  host.lock_exempt = may_lock(root);
  if (scratch.empty()) return host;

  host.scratch.path = scratch;
  add_mount(host.scratch, root);
  struct statvfs space {};
  if (statvfs(scratch.c_str(), &space) == 0) {
    host.scratch.free_bytes = static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
  }
  facts.storage = storage_text(host.scratch, root);
  return host;
}

std::vector<std::string> host_warnings(const HostState& host) {
  const MachineFacts& facts = host.facts;
  std::vector<std::string> out;
  const auto warn = [&]<class... A>(fmt::format_string<A...> text, A&&... a) {
    out.push_back(fmt::format(text, std::forward<A>(a)...));
  };
  if (!facts.virtualization.empty() && facts.virtualization != "none") {
    warn("virtual machine or sandbox ({}): neighbours and the host's caches are in the figures",
         facts.virtualization);
  }
  if (facts.iommu.find("DMA") != std::string::npos) {
    warn("IOMMU translates ({}): device copies may be slower than in pass-through (iommu=pt)",
         facts.iommu);
  }
  if (facts.memlock_bytes >= 0 && facts.memlock_bytes < facts.memory_bytes / 2) {
    warn(
        "memlock limit is {} of {} memory: pinned pools above it fail{}; raise it with "
        "`ulimit -l unlimited` (LimitMEMLOCK=infinity in a service)",
        format_bytes(static_cast<double>(facts.memlock_bytes)),
        format_bytes(static_cast<double>(facts.memory_bytes)),
        host.lock_exempt ? " for processes without CAP_IPC_LOCK" : "");
  }
  if (host.huge_pages == "never") {
    warn("transparent huge pages are off: a pinned pool stands on 4 KiB pages");
  }
  if (host.load > 1) {
    warn("load average was {:.2f} at the start: other work shares the machine", host.load);
  }
  if (!host.governor.empty() && host.governor != "performance") {
    warn("CPU frequency governor is {}, not performance: short cells may run at low clocks",
         host.governor);
  }
  if (host.swap_used_bytes > 0) {
    warn("{} of swap in use: memory is short",
         format_bytes(static_cast<double>(host.swap_used_bytes)));
  }
  const ScratchFacts& scratch = host.scratch;
  if (scratch.in_memory) {
    warn(
        "scratch {} is in memory ({}): its figures are of memory, not of storage; --scratch "
        "names another folder",
        scratch.path, scratch.fs);
  }
  if (scratch.in_network) {
    warn("scratch {} is a shared or network file system ({}): its figures are of the path to it",
         scratch.path, scratch.fs);
  }
  if (scratch.in_overlay) {
    warn("scratch {} is on an overlay: which device lies below is not known", scratch.path);
  }
  return out;
}

}  // namespace spillway

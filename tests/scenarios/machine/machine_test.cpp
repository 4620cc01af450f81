// What a machine says of itself in /proc and /sys, on folders that pretend to be one.
#include "scenarios/machine/machine.hpp"

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::Scratch;

/// A folder with files at paths of a machine.
class Pretended {
 public:
  Pretended& has(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(scratch_.path(path)).parent_path());
    scratch_.file(path, text);
    return *this;
  }
  HostState read(const std::string& scratch = "") const {
    return read_host(scratch_.path(""), scratch);
  }
  std::string path(const std::string& name) const { return scratch_.path(name); }

 private:
  Scratch scratch_;
};

bool any_contains(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST_CASE("lists of CPUs as the system writes them", "[scenarios]") {
  CHECK(cpu_list("0-2,8") == std::vector<int>{0, 1, 2, 8});
  CHECK(cpu_list("5") == std::vector<int>{5});
  CHECK(cpu_list("").empty());
  CHECK(cpu_list("x").empty());
}

TEST_CASE("of a machine that says nothing nothing is guessed", "[scenarios]") {
  const Pretended machine;
  const HostState host = machine.read();
  CHECK(host.facts.cpu.empty());
  CHECK(host.facts.memory_bytes == 0);
  CHECK(host.facts.numa.empty());
  CHECK(host.facts.gpus.empty());
  CHECK(host.facts.driver.empty());
  CHECK(host.facts.virtualization.empty());
  CHECK(host.facts.iommu.empty());
  CHECK(host.facts.hugepages.empty());
  CHECK(host.facts.cgroup_memory_bytes == -1);
  CHECK(host.llc_bytes == 0);
  CHECK(host.load < 0);
  CHECK(host.scratch.free_bytes == -1);
}

TEST_CASE("a server with two nodes and a GPU", "[scenarios]") {
  Pretended machine;
  machine.has("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu sse\n")
      .has("proc/meminfo",
           "MemTotal:       1000000 kB\nMemAvailable:    800000 kB\nSwapTotal:       1000 kB\n"
           "SwapFree:         400 kB\nHugePages_Total:       8\nHugepagesize:       2048 kB\n")
      .has("sys/devices/system/node/node0/cpulist", "0-1\n")
      .has("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  600000 kB\n")
      .has("sys/devices/system/node/node1/cpulist", "2-3\n")
      .has("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
      .has("sys/kernel/iommu_groups/0/type", "DMA-FQ\n")
      .has("sys/kernel/iommu_groups/1/type", "identity\n")
      .has("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n")
      .has("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n")
      .has("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n")
      .has("sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n")
      .has("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
      .has("proc/loadavg", "2.50 1.00 1.00 1/100 1\n")
      .has("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 12\"\n")
      .has("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n")
      .has("proc/driver/nvidia/gpus/0000:01:00.0/information",
           "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-1234\n")
      .has("sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n")
      .has("sys/bus/pci/devices/0000:01:00.0/max_link_speed", "32.0 GT/s PCIe\n")
      .has("sys/bus/pci/devices/0000:01:00.0/max_link_width", "16\n");
  const HostState host = machine.read();
  const MachineFacts& facts = host.facts;
  CHECK(facts.cpu == "Fast CPU");
  CHECK(facts.memory_bytes == 1'000'000 * 1024);
  CHECK(host.available_bytes == 800'000 * 1024);
  CHECK(host.swap_used_bytes == 600 * 1024);
  REQUIRE(facts.numa.size() == 2);
  CHECK(facts.numa[0].cpus == "0-1");
  CHECK(facts.numa[0].memory_bytes == 600'000 * 1024);
  CHECK(facts.numa[1].node == 1);
  CHECK(facts.virtualization == "none");
  CHECK(facts.iommu == "DMA-FQ, identity");
  CHECK(facts.hugepages == "transparent: madvise; reserved: 8 of 2048 kB");
  CHECK(host.llc_bytes == 32 << 20);
  CHECK(facts.os == "Debian 12");
  CHECK(facts.driver == "550.54.15");
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].name == "NVIDIA H100");
  CHECK(facts.gpus[0].uuid == "GPU-1234");
  CHECK(facts.gpus[0].numa == 1);
  CHECK(facts.gpus[0].link_gen_max == 5);
  CHECK(facts.gpus[0].link_width_max == 16);

  const std::vector<std::string> warnings = host_warnings(host);
  CHECK(any_contains(warnings, "IOMMU translates"));
  CHECK(any_contains(warnings, "load average was 2.50"));
  CHECK(any_contains(warnings, "governor is powersave"));
  CHECK(any_contains(warnings, "swap in use"));
  CHECK_FALSE(any_contains(warnings, "virtual machine"));
}

TEST_CASE("a guest is told by its processor's flag", "[scenarios]") {
  Pretended machine;
  machine.has("proc/cpuinfo", "model name : X\nflags : fpu hypervisor sse\n");
  CHECK(machine.read().facts.virtualization == "hypervisor");
  machine.has("sys/class/dmi/id/sys_vendor", "QEMU\n");
  CHECK(machine.read().facts.virtualization == "hypervisor (QEMU)");
  CHECK(any_contains(host_warnings(machine.read()), "virtual machine or sandbox"));
}

TEST_CASE("the tightest memory limit above us counts, cache that can go does not", "[scenarios]") {
  Pretended machine;
  machine.has("proc/meminfo", "MemTotal: 100000 kB\nMemAvailable: 90000 kB\n")
      .has("proc/self/cgroup", "0::/a/b\n")
      .has("sys/fs/cgroup/a/memory.max", "10000000\n")
      .has("sys/fs/cgroup/a/memory.current", "4000000\n")
      .has("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1000000\n")
      .has("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(machine.read().facts.cgroup_memory_bytes == 10'000'000);
  // 10 MB less 4 MB in use, of which 1 MB is cache.
  CHECK(machine.read().available_bytes == 7'000'000);

  Pretended older;
  older.has("proc/meminfo", "MemAvailable: 90000 kB\n")
      .has("proc/self/cgroup", "4:cpu,memory:/box\n")
      .has("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .has("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000000\n");
  CHECK(older.read().facts.cgroup_memory_bytes == 5'000'000);
  CHECK(older.read().available_bytes == 5'000'000);
}

TEST_CASE("scratch is judged by the mount that holds it", "[scenarios]") {
  Pretended machine;
  const std::string folder = machine.path("");
  machine.has("proc/self/mountinfo",
              "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /elsewhere rw - nfs4 host:/x rw\n");
  CHECK(machine.read(folder).facts.storage == "ext4 on /dev/sda1");
  CHECK(machine.read(folder).scratch.free_bytes > 0);
  const auto warned = [&](const std::string& fs) {
    machine.has("proc/self/mountinfo", "1 0 8:1 / / rw - " + fs + " none rw\n");
    return host_warnings(machine.read(folder));
  };
  CHECK(any_contains(warned("tmpfs"), "is in memory (tmpfs)"));
  CHECK(any_contains(warned("nfs4"), "network file system (nfs4)"));
  CHECK(any_contains(warned("overlay"), "is on an overlay"));
  CHECK_FALSE(any_contains(warned("ext4"), "scratch"));
}

TEST_CASE("this machine is read without trouble", "[scenarios]") {
  const Scratch scratch;
  const HostState host = read_host("", scratch.path(""));
  CHECK(host.facts.cores >= 1);
  CHECK(host.cpus.size() == host.facts.cores);
  CHECK_FALSE(host.facts.kernel.empty());
  CHECK(host.scratch.free_bytes >= 0);
}

}  // namespace
}  // namespace spillway

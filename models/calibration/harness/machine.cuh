// What the harness reads about the machine: NVML where it can be loaded, and the system's files.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

#include "models/calibration/harness/request.hpp"

namespace spillway_harness {

/// A library opened at run time; without it, its functions are null.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
    }
  }
  template <class Function>
  void find(Function& function, const char* name) const {
    if (handle_ != nullptr) function = reinterpret_cast<Function>(dlsym(handle_, name));
  }
  bool found() const { return handle_ != nullptr; }

 private:
  void* handle_ = nullptr;  // stays open: closing CUDA's libraries at exit helps nobody
};

/// The few calls of NVML that are needed, declared here because its header is not always there.
class Nvml {
 public:
  Nvml() : library_({"libnvidia-ml.so.1"}) {
    int (*init)() = nullptr;
    library_.find(init, "nvmlInit_v2");
    library_.find(by_pci_, "nvmlDeviceGetHandleByPciBusId_v2");
    library_.find(driver_, "nvmlSystemGetDriverVersion");
    library_.find(gen_, "nvmlDeviceGetCurrPcieLinkGeneration");
    library_.find(width_, "nvmlDeviceGetCurrPcieLinkWidth");
    library_.find(gen_max_, "nvmlDeviceGetMaxPcieLinkGeneration");
    library_.find(width_max_, "nvmlDeviceGetMaxPcieLinkWidth");
    library_.find(clock_, "nvmlDeviceGetClockInfo");
    works_ = init != nullptr && by_pci_ != nullptr && init() == 0;
  }

  std::string driver() const {
    char text[96] = "";
    if (!works_ || driver_ == nullptr || driver_(text, sizeof text) != 0) return "";
    return text;
  }

  struct State {
    unsigned gen = 0;
    unsigned width = 0;
    unsigned gen_max = 0;
    unsigned width_max = 0;
    unsigned sm_mhz = 0;
    unsigned memory_mhz = 0;
  };
  /// Zeros where NVML is absent or does not say.
  State state_of(const std::string& pci) const {
    State out;
    void* device = nullptr;
    if (!works_ || by_pci_(pci.c_str(), &device) != 0) return out;
    const auto read = [&](int (*get)(void*, unsigned*), unsigned& value) {
      if (get == nullptr || get(device, &value) != 0) value = 0;
    };
    read(gen_, out.gen);
    read(width_, out.width);
    read(gen_max_, out.gen_max);
    read(width_max_, out.width_max);
    constexpr int kSm = 1;      // NVML_CLOCK_SM
    constexpr int kMemory = 2;  // NVML_CLOCK_MEM
    if (clock_ == nullptr || clock_(device, kSm, &out.sm_mhz) != 0) out.sm_mhz = 0;
    if (clock_ == nullptr || clock_(device, kMemory, &out.memory_mhz) != 0) out.memory_mhz = 0;
    return out;
  }

 private:
  Library library_;
  bool works_ = false;
  int (*by_pci_)(const char*, void**) = nullptr;
  int (*driver_)(char*, unsigned) = nullptr;
  int (*gen_)(void*, unsigned*) = nullptr;
  int (*width_)(void*, unsigned*) = nullptr;
  int (*gen_max_)(void*, unsigned*) = nullptr;
  int (*width_max_)(void*, unsigned*) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
};

inline std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

inline int numa_of(std::string pci) {
  std::transform(pci.begin(), pci.end(), pci.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string text = first_line("/sys/bus/pci/devices/" + pci + "/numa_node");
  return text.empty() ? -1 : std::max(-1, std::atoi(text.c_str()));
}

inline bool on_wsl() {
  return first_line("/proc/version").find("icrosoft") != std::string::npos;
}

/// Bytes of the largest CPU cache; an assumption of 64 MiB where the system does not say.
inline std::int64_t last_level_cache() {
  std::int64_t largest = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string size =
        first_line("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size");
    if (size.empty()) break;
    const std::int64_t unit = size.back() == 'M' ? 1 << 20 : 1 << 10;
    largest = std::max<std::int64_t>(largest, std::atoll(size.c_str()) * unit);
  }
  return largest > 0 ? largest : std::int64_t{64} << 20;
}

/// Keeps the calling thread, and so the memory that it touches first, on one node.
class NodeBinding {
 public:
  NodeBinding() { sched_getaffinity(0, sizeof original_, &original_); }
  /// The node where the thread now is; -1 where that cannot be had.
  int bind(int node) {
    if (node == node_) return node_;
    sched_setaffinity(0, sizeof original_, &original_);
    node_ = -1;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    const std::string list =
        first_line("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (node < 0 || list.empty()) return node_;
    for (const std::string& range : split(list, ',')) {
      const std::vector<std::string> ends = split(range, '-');
      if (ends.empty()) continue;
      const int first = std::atoi(ends.front().c_str());
      const int last = std::min(std::atoi(ends.back().c_str()), CPU_SETSIZE - 1);
      for (int cpu = first; cpu <= last; ++cpu) {
        if (CPU_ISSET(cpu, &original_)) CPU_SET(cpu, &wanted);
      }
    }
    if (CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0) node_ = node;
    return node_;
  }

 private:
  cpu_set_t original_;
  int node_ = -1;
};

}  // namespace spillway_harness

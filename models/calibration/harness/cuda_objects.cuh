// CUDA's errors as exceptions, and its streams, events and memory as owned objects.
#pragma once

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/calibration/harness/request.hpp"

namespace spillway_harness {

class CudaFailure : public std::runtime_error {
 public:
  CudaFailure(cudaError_t code, const std::string& what) : std::runtime_error(what), code_(code) {}
  std::string name() const { return cudaGetErrorName(code_); }
  std::string text() const { return std::string(what()) + ": " + cudaGetErrorString(code_); }

 private:
  cudaError_t code_;
};

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw CudaFailure(code, what);
}

inline void check_launch(const char* what) {
  check(cudaGetLastError(), what);
}

/// Whether the current device still works after an error: those that stick have taken the context.
inline bool device_works() {
  (void)cudaGetLastError();  // forgets an error that does not stick
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  return cudaGetLastError() == cudaSuccess;
}

/// On the device that is current when it is made.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "wait for a stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "make an event"); }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "record"); }
  void wait() const { check(cudaEventSynchronize(event_), "wait for an event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

inline double elapsed_us(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from, to), "read events");
  return 1000.0 * static_cast<double>(ms);
}

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::int64_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "allocate device memory");
  }
  ~DeviceMemory() {
    if (data_ != nullptr) cudaFree(data_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  std::int64_t bytes() const { return bytes_; }
  char* data() const { return static_cast<char*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void swap(DeviceMemory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Kilobytes on huge pages in the mappings that hold [data, data + bytes), by /proc/self/smaps.
inline std::int64_t huge_kilobytes(const void* data, std::int64_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t to = from + static_cast<std::uintptr_t>(bytes);
  std::ifstream smaps("/proc/self/smaps");
  std::int64_t out = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, rights) == 3) {
      inside = begin < to && end > from;
    } else if (inside && line.compare(0, 14, "AnonHugePages:") == 0) {
      out += std::strtoll(line.c_str() + 14, nullptr, 10);
    }
  }
  return out;
}

/// Host memory of one kind: host_alloc, write_combined, registered_4k, registered_2m, pageable.
/// Touched, so that it exists, by the thread that makes it.
class HostMemory {
 public:
  static constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

  HostMemory() = default;
  HostMemory(const std::string& kind, std::int64_t bytes) : kind_(kind), bytes_(bytes) {
    if (kind == "host_alloc" || kind == "write_combined") {
      unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped;
      if (kind == "write_combined") flags |= cudaHostAllocWriteCombined;
      check(cudaHostAlloc(&data_, static_cast<std::size_t>(bytes), flags), "cudaHostAlloc");
      return;
    }
    if (kind != "registered_4k" && kind != "registered_2m" && kind != "pageable") {
      throw BadRequest(
          "mem: expected host_alloc, write_combined, registered_4k, registered_2m or pageable, "
          "found \"" +
          kind + "\"");
    }
    map(kind == "registered_2m");
    if (kind == "pageable") return;
    try {
      enlist();
    } catch (...) {
      unmap();
      throw;
    }
  }
  ~HostMemory() {
    if (data_ == nullptr) return;
    if (mapped_ == nullptr) {
      cudaFreeHost(data_);
      return;
    }
    if (registered_) cudaHostUnregister(data_);
    unmap();
  }
  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  char* data() const { return static_cast<char*>(data_); }
  std::int64_t bytes() const { return bytes_; }
  const std::string& kind() const { return kind_; }
  /// What cudaHostRegister took.
  double register_s() const { return register_s_; }
  /// As kernels see it.
  char* on_device() const {
    if (kind_ == "pageable") throw BadRequest("mem: a kernel cannot reach pageable memory");
    void* out = nullptr;
    check(cudaHostGetDevicePointer(&out, data_, 0), "cudaHostGetDevicePointer");
    return static_cast<char*>(out);
  }

 private:
  void map(bool huge) {
    mapped_bytes_ = bytes_ + (huge ? 2 * kHugePage : 0);
    mapped_ = mmap(nullptr, static_cast<std::size_t>(mapped_bytes_), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) {
      mapped_ = nullptr;
      throw std::bad_alloc();
    }
    auto at = reinterpret_cast<std::uintptr_t>(mapped_);
    if (huge) at = (at + kHugePage - 1) / kHugePage * kHugePage;
    data_ = reinterpret_cast<void*>(at);
    madvise(mapped_, static_cast<std::size_t>(mapped_bytes_),
            huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (std::int64_t i = 0; i < bytes_; i += 4096) data()[i] = 1;
  }
  void enlist() {
    if (kind_ == "registered_2m" && huge_kilobytes(data_, bytes_) < bytes_ / 1024) {
      throw BadRequest("mem: the system gave no (or not only) pages of 2 MiB");
    }
    const auto before = std::chrono::steady_clock::now();
    check(cudaHostRegister(data_, static_cast<std::size_t>(bytes_),
                           cudaHostRegisterPortable | cudaHostRegisterMapped),
          "cudaHostRegister");
    register_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    registered_ = true;
  }
  void unmap() {
    munmap(mapped_, static_cast<std::size_t>(mapped_bytes_));
    data_ = mapped_ = nullptr;
  }
  void swap(HostMemory& other) {
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(registered_, other.registered_);
    std::swap(register_s_, other.register_s_);
  }

  std::string kind_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  void* mapped_ = nullptr;  ///< null: allocated by CUDA
  std::int64_t mapped_bytes_ = 0;
  bool registered_ = false;
  double register_s_ = 0;
};

}  // namespace spillway_harness

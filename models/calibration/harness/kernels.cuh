// The plain kernels: a gate, patterns and their verification, copies by kernel, memory traffic.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace spillway_harness {

/// The word at place `index` of a source. No two places of an arena hold the same.
__host__ __device__ inline std::uint64_t word_at(std::uint64_t index) {
  return (index + 1) * 0x9e3779b97f4a7c15ULL;
}

__device__ inline std::uint64_t device_ns() {
  std::uint64_t out = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(out));
  return out;
}

/// One thread that waits for the host to set `flag`, and gives up after `limit_ns`.
__global__ void spin(const volatile int* flag, volatile int* gave_up, std::uint64_t limit_ns) {
  const std::uint64_t start = device_ns();
  while (*flag == 0) {
    if (device_ns() - start > limit_ns) {
      *gave_up = 1;
      __threadfence_system();
      return;
    }
  }
}

/// Fills `words` with the pattern of their places.
__global__ void fill(std::uint64_t* data, std::int64_t words) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    data[i] = word_at(static_cast<std::uint64_t>(i));
  }
}

/// Copies of `bytes` that should lie at `to[i]` and hold the pattern of `base + from[i]`: the first
/// byte that differs, as copy * bytes + offset, ends up in `first`.
__global__ void verify(const char* data, const std::int64_t* to, const std::int64_t* from,
                       std::int64_t base, std::int64_t n, std::int64_t bytes,
                       unsigned long long* first) {
  const std::int64_t words = bytes / 8;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n * words;
       i += step) {
    const std::int64_t copy = i / words;
    const std::int64_t word = i % words;
    const auto* at = reinterpret_cast<const std::uint64_t*>(data + to[copy]);
    if (at[word] == word_at(static_cast<std::uint64_t>((base + from[copy]) / 8 + word))) continue;
    atomicMin(first, static_cast<unsigned long long>(copy * bytes + word * 8));
  }
}

constexpr int kCopyThreads = 512;
constexpr std::int64_t kCopyUnit = 64 * 1024;  ///< a block copies at most so much at a time

/// Gather or scatter: copies of `bytes` (a multiple of 16) from src + from[i] to dst + to[i]. One
/// side is host memory. A block takes every gridDim-th unit; four loads are in flight per thread.
__global__ void __launch_bounds__(kCopyThreads)
    copy_units(char* dst, const std::int64_t* to, const char* src, const std::int64_t* from,
               std::int64_t n, std::int64_t bytes) {
  const std::int64_t units = (bytes + kCopyUnit - 1) / kCopyUnit;
  for (std::int64_t u = blockIdx.x; u < n * units; u += gridDim.x) {
    const std::int64_t copy = u / units;
    const std::int64_t begin = u % units * kCopyUnit;
    const std::int64_t length = (bytes - begin < kCopyUnit ? bytes - begin : kCopyUnit) / 16;
    const auto* in = reinterpret_cast<const uint4*>(src + from[copy] + begin);
    auto* out = reinterpret_cast<uint4*>(dst + to[copy] + begin);
    std::int64_t i = threadIdx.x;
    for (; i + 3 * kCopyThreads < length; i += 4 * kCopyThreads) {
      const uint4 a = in[i];
      const uint4 b = in[i + kCopyThreads];
      const uint4 c = in[i + 2 * kCopyThreads];
      const uint4 d = in[i + 3 * kCopyThreads];
      out[i] = a;
      out[i + kCopyThreads] = b;
      out[i + 2 * kCopyThreads] = c;
      out[i + 3 * kCopyThreads] = d;
    }
    for (; i < length; i += kCopyThreads) out[i] = in[i];
  }
}

/// Reads everything; the write to `sink`, which hardly ever happens, keeps the reads alive.
__global__ void read_all(const uint4* data, std::int64_t count, unsigned* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  unsigned sum = 0;
#pragma unroll 4
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 v = data[i];
    sum ^= v.x + v.y + v.z + v.w;
  }
  if (sum == 0x5bd1e995u) *sink = sum;
}

/// The pattern, 16 bytes at a time.
__global__ void write_all(ulonglong2* data, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto at = static_cast<std::uint64_t>(i);
    data[i] = make_ulonglong2(word_at(2 * at), word_at(2 * at + 1));
  }
}

__global__ void copy_all(uint4* dst, const uint4* src, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    dst[i] = src[i];
  }
}

/// Arithmetic that keeps the clocks up for `limit_ns`.
__global__ void keep_busy(float* sink, std::uint64_t limit_ns) {
  const std::uint64_t start = device_ns();
  float x = static_cast<float>(threadIdx.x);
  while (device_ns() - start < limit_ns) {
    for (int i = 0; i < 256; ++i) x = x * 1.0000001f + 0.5f;
  }
  if (x == -1) *sink = x;
}

}  // namespace spillway_harness

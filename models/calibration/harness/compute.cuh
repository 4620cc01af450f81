// Memory traffic and GEMM, for rates and for disturbing copies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/calibration/harness/answer.hpp"
#include "models/calibration/harness/copies.cuh"

namespace spillway_harness {

inline int sm_count_of(int gpu) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu), "count the SMs");
  return count;
}

/// Throws BadRequest rather than failing half-way: `bytes` and a tenth must be free.
inline void expect_free(std::int64_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "read the free memory");
  if (static_cast<double>(free) < 1.1 * static_cast<double>(bytes)) {
    throw BadRequest("not enough free device memory: " + std::to_string(bytes) + " bytes needed");
  }
}

// ---- HBM

/// One pass over device memory: read, write or copy.
class MemoryTraffic {
 public:
  MemoryTraffic(int gpu, const std::string& op, std::int64_t bytes)
      : op_(op), bytes_(bytes), blocks_(8 * sm_count_of(gpu)) {
    if (op != "read" && op != "write" && op != "copy") {
      throw BadRequest("op: expected read, write or copy");
    }
    expect_free(bytes * (op == "copy" ? 2 : 1));
    data_ = DeviceMemory(bytes);
    fill_device(data_);
    if (op == "copy") other_ = DeviceMemory(bytes);
    sink_ = DeviceMemory(16);
  }

  void enqueue(cudaStream_t stream) const {
    const std::int64_t count = bytes_ / 16;
    if (op_ == "read") {
      read_all<<<blocks_, 512, 0, stream>>>(data_.as<uint4>(), count, sink_.as<unsigned>());
    } else if (op_ == "write") {
      write_all<<<blocks_, 512, 0, stream>>>(data_.as<ulonglong2>(), count);
    } else {
      copy_all<<<blocks_, 512, 0, stream>>>(other_.as<uint4>(), data_.as<uint4>(), count);
    }
    check_launch("memory traffic");
  }

  /// Poisons what a pass writes, passes once more and compares; the problem, or nothing.
  std::string verify_pass(const Stream& stream) const {
    if (op_ == "read") return "";
    const DeviceMemory& target = op_ == "copy" ? other_ : data_;
    check(cudaMemset(target.data(), kPoison, static_cast<std::size_t>(bytes_)), "poison");
    check(cudaDeviceSynchronize(), "poison");
    enqueue(stream);
    stream.wait();
    const std::int64_t zero = 0;
    const DeviceMemory offset(sizeof zero);
    const DeviceMemory first(sizeof(unsigned long long));
    unsigned long long wrong = ~0ULL;
    check(cudaMemcpy(offset.data(), &zero, sizeof zero, cudaMemcpyHostToDevice), "verify");
    check(cudaMemcpy(first.data(), &wrong, sizeof wrong, cudaMemcpyHostToDevice), "verify");
    verify<<<1024, 256>>>(target.data(), offset.as<std::int64_t>(), offset.as<std::int64_t>(), 0, 1,
                          bytes_, first.as<unsigned long long>());
    check_launch("verify");
    check(cudaMemcpy(&wrong, first.data(), sizeof wrong, cudaMemcpyDeviceToHost), "verify");
    return wrong == ~0ULL ? "" : "contents differ at offset " + std::to_string(wrong);
  }

 private:
  std::string op_;
  std::int64_t bytes_;
  int blocks_;
  DeviceMemory data_;
  DeviceMemory other_;
  DeviceMemory sink_;
};

inline void measure_hbm(const Request& request, const Limits& limits, Answer& answer) {
  const auto gpu = static_cast<int>(request.number("gpu", 0, 63));
  check(cudaSetDevice(gpu), "choose the device");
  const std::int64_t bytes = request.number("bytes", 1 << 20, std::int64_t{1} << 38) / 16 * 16;
  const MemoryTraffic traffic(gpu, request.text("op"), bytes);
  const Stream stream;
  const Enqueue enqueue = [&](cudaStream_t s, std::int64_t) { traffic.enqueue(s); };
  std::vector<double> samples;
  {
    Gate gate;
    samples = GatedTimer(gate, stream, enqueue).run(limits.limit_s, 1);
  }
  const double moved = static_cast<double>(bytes) * (request.text("op") == "copy" ? 2 : 1);
  answer.number("gbs", moved / summary_of(samples).median / 1000).spread("time", samples);
  const std::string problem = traffic.verify_pass(stream);
  answer.flag("valid", problem.empty());
  if (!problem.empty()) answer.text("problem", problem);
}

// ---- GEMM: y[m, n] = x[m, k] * w[n, k]^T, accumulated in float

/// Small numbers around zero: a product of zeros would run faster than real ones do.
template <class T>
__global__ void fill_values(T* data, std::int64_t count, std::uint64_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t x = word_at(static_cast<std::uint64_t>(i) + seed);
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ULL;
    data[i] = T(static_cast<float>(x >> 40) / static_cast<float>(1 << 23) - 1.0f);
  }
}

template <class T>
__device__ float as_float(T value) {
  return static_cast<float>(value);
}

/// The simple kernel for machines without cuBLAS: a warp computes 32 x 32 results straight from
/// global memory. m and n are multiples of 32, k of 16. Below compute capability 8 it does nothing,
/// and the check of the product says so.
template <class T>
__global__ void __launch_bounds__(128)
    gemm_built_in(T* y, const T* x, const T* w, int m, int n, int k) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  const int warps_across = n / 32;
  const int warp = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int row = warp / warps_across * 32;
  const int column = warp % warps_across * 32;
  if (row >= m) return;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& line : sum) {
    for (auto& part : line) wmma::fill_fragment(part, 0.0f);
  }
  for (int at = 0; at < k; at += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> b[2];
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(a[i], x + std::int64_t{row + 16 * i} * k + at,
                             static_cast<unsigned>(k));
      wmma::load_matrix_sync(b[i], w + std::int64_t{column + 16 * i} * k + at,
                             static_cast<unsigned>(k));
    }
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
    }
  }
  // Results go through shared memory, because only the library knows who holds which element.
  __shared__ __align__(32) float parts[4][16 * 16];
  float* const part = parts[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(part, sum[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < 256; e += 32) {
        const std::int64_t at_row = row + 16 * i + e / 16;
        y[at_row * n + column + 16 * j + e % 16] = T(part[e]);
      }
      __syncwarp();
    }
  }
#endif
}

/// How far some results are from sums in double, relative to what rounding explains: the largest
/// of |y - exact| / (0.01 |exact| + 0.002 sqrt(k)) over 256 places, one per thread block.
template <class T>
__global__ void check_gemm(const T* y, const T* x, const T* w, int m, int n, int k, float* worst) {
  const std::uint64_t draw = word_at(blockIdx.x + 1) >> 20;
  const int row = static_cast<int>(draw % static_cast<std::uint64_t>(m));
  const int column = static_cast<int>(draw / 65537 % static_cast<std::uint64_t>(n));
  __shared__ double sums[128];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < k; i += 128) {
    sum += static_cast<double>(as_float(x[std::int64_t{row} * k + i])) *
           static_cast<double>(as_float(w[std::int64_t{column} * k + i]));
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  double exact = 0;
  for (const double part : sums) exact += part;
  const double got = static_cast<double>(as_float(y[std::int64_t{row} * n + column]));
  const double allowed = 0.01 * fabs(exact) + 0.002 * sqrt(static_cast<double>(k));
  const double off = fabs(got - exact) / allowed;
  // Not a number must not pass; positive floats compare as their bits do.
  const float value = off < 1e30 ? static_cast<float>(off) : 1e30f;
  atomicMax(reinterpret_cast<int*>(worst), __float_as_int(value));
}

/// cuBLAS without linking it: present on machines with a toolkit or a framework.
class CuBlas {
 public:
  CuBlas() : library_({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}) {
    library_.find(create_, "cublasCreate_v2");
    library_.find(destroy_, "cublasDestroy_v2");
    library_.find(set_stream_, "cublasSetStream_v2");
    library_.find(version_, "cublasGetVersion_v2");
    library_.find(gemm_, "cublasGemmEx");
  }
  ~CuBlas() { release(); }
  CuBlas(const CuBlas&) = delete;
  CuBlas& operator=(const CuBlas&) = delete;

  bool found() const {
    return create_ != nullptr && destroy_ != nullptr && set_stream_ != nullptr &&
           version_ != nullptr && gemm_ != nullptr;
  }
  /// "cublas 130001", or "built-in". Needs a device.
  std::string name() {
    int version = 0;
    if (!found() || !ready() || version_(handle_, &version) != 0) return "built-in";
    return "cublas " + std::to_string(version);
  }
  /// A handle on the current device; false where cuBLAS does not want to.
  bool ready() {
    int gpu = 0;
    if (!found() || cudaGetDevice(&gpu) != cudaSuccess) return false;
    if (handle_ != nullptr && gpu == gpu_) return true;
    release();
    gpu_ = gpu;
    if (create_(&handle_) == 0) return true;
    handle_ = nullptr;
    return false;
  }
  /// Throws BadRequest where cuBLAS refuses.
  void multiply(cudaStream_t stream, bool bf16, void* y, const void* x, const void* w, int m, int n,
                int k) {
    constexpr int kNormal = 0;         // CUBLAS_OP_N
    constexpr int kTransposed = 1;     // CUBLAS_OP_T
    constexpr int kSumInFloat = 68;    // CUBLAS_COMPUTE_32F
    constexpr int kAnyAlgorithm = -1;  // CUBLAS_GEMM_DEFAULT
    const int type = bf16 ? CUDA_R_16BF : CUDA_R_16F;
    const float one = 1;
    const float zero = 0;
    // It counts columns first: y^T = w x^T.
    int status = set_stream_(handle_, stream);
    if (status == 0) {
      status = gemm_(handle_, kTransposed, kNormal, n, m, k, &one, w, type, k, x, type, k, &zero, y,
                     type, n, kSumInFloat, kAnyAlgorithm);
    }
    if (status != 0) throw BadRequest("cublasGemmEx: status " + std::to_string(status));
  }

 private:
  void release() {
    if (handle_ != nullptr) destroy_(handle_);
    handle_ = nullptr;
  }
  Library library_;
  void* handle_ = nullptr;
  int gpu_ = -1;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_stream_)(void*, cudaStream_t) = nullptr;
  int (*version_)(void*, int*) = nullptr;
  int (*gemm_)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
               int, const void*, void*, int, int, int, int) = nullptr;
};

/// One GEMM over and over; weights rotate through more than the L2, as layers do.
template <class T>
class Gemm {
 public:
  Gemm(CuBlas& blas, int gpu, int m, int n, int k)
      : blas_(blas), built_in_(!blas.ready()), m_(m), n_(n), k_(k), padded_((m + 31) / 32 * 32) {
    if (n % 32 != 0 || k % 16 != 0) throw BadRequest("n, k: expected multiples of 32 and 16");
    int l2 = 0;
    check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu), "read the size of the L2");
    const std::int64_t weight = std::int64_t{n} * k * 2;
    copies_ = std::clamp<std::int64_t>(2 * std::int64_t{l2} / weight + 1, 1, 64);
    expect_free(copies_ * weight + 2 * padded_ * (std::int64_t{n} + k));
    w_ = DeviceMemory(copies_ * weight);
    x_ = DeviceMemory(2 * padded_ * k);
    y_ = DeviceMemory(2 * padded_ * n);
    fill_values<<<1024, 256>>>(w_.template as<T>(), copies_ * n * k, 7);
    fill_values<<<1024, 256>>>(x_.template as<T>(), padded_ * k, 11);
    check_launch("fill matrices");
    check(cudaDeviceSynchronize(), "fill matrices");
  }

  std::string library() { return built_in_ ? "built-in" : blas_.name(); }

  void enqueue(cudaStream_t stream, std::int64_t batch) {
    const T* const w = w_.template as<T>() + batch % copies_ * n_ * k_;
    if (!built_in_) {
      blas_.multiply(stream, std::is_same<T, __nv_bfloat16>::value, y_.data(), x_.data(), w, m_, n_,
                     k_);
      return;
    }
    const std::int64_t warps = padded_ / 32 * (n_ / 32);
    gemm_built_in<T><<<static_cast<unsigned>((warps + 3) / 4), 128, 0, stream>>>(
        y_.template as<T>(), x_.template as<T>(), w, static_cast<int>(padded_), n_, k_);
    check_launch("built-in GEMM");
  }

  std::string verify_product(const Stream& stream) {
    check(cudaMemset(y_.data(), 0xff, static_cast<std::size_t>(y_.bytes())), "poison");  // NaN
    check(cudaDeviceSynchronize(), "poison");
    enqueue(stream, 0);
    stream.wait();
    const DeviceMemory worst(sizeof(float));
    check(cudaMemset(worst.data(), 0, sizeof(float)), "verify");
    check_gemm<T><<<256, 128>>>(y_.template as<T>(), x_.template as<T>(), w_.template as<T>(), m_,
                                n_, k_, worst.as<float>());
    check_launch("verify");
    float off = 0;
    check(cudaMemcpy(&off, worst.data(), sizeof off, cudaMemcpyDeviceToHost), "verify");
    return off <= 1 ? "" : "the product is wrong by " + number_text(off) + " times what is allowed";
  }

 private:
  CuBlas& blas_;
  bool built_in_;
  int m_;
  int n_;
  int k_;
  std::int64_t padded_;
  std::int64_t copies_ = 1;
  DeviceMemory w_;
  DeviceMemory x_;
  DeviceMemory y_;
};

template <class T>
void measure_gemm_of(CuBlas& blas, int gpu, const Request& request, const Limits& limits,
                     Answer& answer) {
  const auto m = static_cast<int>(request.number("m", 1, 1 << 20));
  const auto n = static_cast<int>(request.number("n", 32, 1 << 20));
  const auto k = static_cast<int>(request.number("k", 16, 1 << 20));
  Gemm<T> gemm(blas, gpu, m, n, k);
  const Stream stream;
  const Enqueue enqueue = [&](cudaStream_t s, std::int64_t batch) { gemm.enqueue(s, batch); };
  {
    Gate gate;
    // cuBLAS may start a few kernels for one product.
    answer.spread("time", GatedTimer(gate, stream, enqueue).run(limits.limit_s, 4));
  }
  answer.text("library", gemm.library());
  const std::string problem = gemm.verify_product(stream);
  answer.flag("valid", problem.empty());
  if (!problem.empty()) answer.text("problem", problem);
}

/// bf16 where the GPU has it for tensor cores, else fp16.
inline std::string dtype_of(int gpu) {
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "read the device");
  return major >= 8 ? "bf16" : "fp16";
}

inline void measure_gemm(CuBlas& blas, const Request& request, const Limits& limits,
                         Answer& answer) {
  const auto gpu = static_cast<int>(request.number("gpu", 0, 63));
  check(cudaSetDevice(gpu), "choose the device");
  const std::string dtype = request.text("dtype");
  if (dtype == "bf16" && dtype_of(gpu) == "bf16") {
    measure_gemm_of<__nv_bfloat16>(blas, gpu, request, limits, answer);
  } else if (dtype == "fp16") {
    measure_gemm_of<__half>(blas, gpu, request, limits, answer);
  } else {
    throw BadRequest("dtype: expected fp16, or bf16 on compute capability 8 and above");
  }
}

}  // namespace spillway_harness

// Reference attention: plain kernels of ours, in half precision with float accumulators, for 128
// values a head. They read what attention must read, and stand for how time grows, not for how
// fast an engine's kernels are (models/calibration/protocol.md).
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <cfloat>
#include <string>

#include "models/calibration/harness/compute.cuh"

namespace spillway_harness {

constexpr int kHeadDim = 128;
constexpr int kDecodeThreads = 128;
constexpr int kLanesPerKey = 8;  ///< 16 values of a key each
constexpr int kValuesPerLane = kHeadDim / kLanesPerKey;
constexpr int kKeysAtOnce = kDecodeThreads / kLanesPerKey;
constexpr int kPrefillRows = 16;  ///< queries per warp
constexpr int kPrefillKeys = 32;  ///< keys per step

/// Queries [sequence][row][q_head][128]; keys and values [sequence][kv_head][token][128]; `room` is
/// tokens per sequence in memory. Query i sees the `cached` keys, and new ones up to itself.
struct AttentionShape {
  int sequences = 1;
  int q_heads = 1;
  int kv_heads = 1;
  int q_tokens = 1;
  int cached = 0;
  int rows = 1;  ///< of queries in memory per sequence
  int room = 1;
  __host__ __device__ int tokens() const { return cached + q_tokens; }
};

__device__ inline void load_values(float* out, const __half* from) {
  const auto* packed = reinterpret_cast<const uint4*>(from);
  for (int part = 0; part < kValuesPerLane / 8; ++part) {
    const uint4 four = packed[part];
    const unsigned words[4] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < 4; ++i) {
      const __half2 two = *reinterpret_cast<const __half2*>(&words[i]);
      const float2 both = __half22float2(two);
      out[8 * part + 2 * i] = both.x;
      out[8 * part + 2 * i + 1] = both.y;
    }
  }
}

/// What a part of the keys contributes to one query head: for each split the largest score, the sum
/// of weights and the weighted values.
struct DecodePart {
  float largest;
  float sum;
};

/// One block per (split, kv_head, sequence); its Group query heads share the keys they read.
template <int Group>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_parts(const __half* q, const __half* k, const __half* v, AttentionShape shape,
                 int splits, DecodePart* parts, float* values) {
  const int split = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  const int sequence = static_cast<int>(blockIdx.z);
  const int thread = static_cast<int>(threadIdx.x);
  const int at = thread % kLanesPerKey * kValuesPerLane;
  const int tokens = shape.tokens();
  const int share = (tokens + splits - 1) / splits;
  const int from = split * share;
  const int to = min(tokens, from + share);
  const std::int64_t base =
      (std::int64_t{sequence} * shape.kv_heads + head) * shape.room * kHeadDim + at;

  float query[Group][kValuesPerLane];
  float sum[Group];
  float largest[Group];
  float out[Group][kValuesPerLane];
#pragma unroll
  for (int g = 0; g < Group; ++g) {
    const std::int64_t row = std::int64_t{sequence} * shape.rows * shape.q_heads + head * Group + g;
    load_values(query[g], q + row * kHeadDim + at);
    sum[g] = 0;
    largest[g] = -FLT_MAX;
#pragma unroll
    for (int i = 0; i < kValuesPerLane; ++i) out[g][i] = 0;
  }
  // Every lane goes through every step, so that the shuffles below find all of them.
  for (int step = from; step < to; step += kKeysAtOnce) {
    const int key = step + thread / kLanesPerKey;
    const bool mine = key < to;
    const std::int64_t place = base + std::int64_t{mine ? key : from} * kHeadDim;
    float key_values[kValuesPerLane];
    load_values(key_values, k + place);
    float score[Group];
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      float dot = 0;
#pragma unroll
      for (int i = 0; i < kValuesPerLane; ++i) dot += query[g][i] * key_values[i];
      for (int lane = kLanesPerKey / 2; lane > 0; lane /= 2) {
        dot += __shfl_xor_sync(0xffffffffu, dot, lane);
      }
      score[g] = dot * 0.08838834764f;  // 1 / sqrt(128)
    }
    load_values(key_values, v + place);
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      if (!mine) continue;
      const float next = fmaxf(largest[g], score[g]);
      const float keep = __expf(largest[g] - next);
      const float weight = __expf(score[g] - next);
      largest[g] = next;
      sum[g] = sum[g] * keep + weight;
#pragma unroll
      for (int i = 0; i < kValuesPerLane; ++i) {
        out[g][i] = out[g][i] * keep + weight * key_values[i];
      }
    }
  }
  // The block's 16 streams of keys become one, head by head.
  __shared__ float shared_largest[kKeysAtOnce];
  __shared__ float shared_sum[kKeysAtOnce];
  __shared__ float shared_out[kKeysAtOnce][kHeadDim];
#pragma unroll
  for (int g = 0; g < Group; ++g) {
    const int stream = thread / kLanesPerKey;
    if (thread % kLanesPerKey == 0) {
      shared_largest[stream] = largest[g];
      shared_sum[stream] = sum[g];
    }
#pragma unroll
    for (int i = 0; i < kValuesPerLane; ++i) shared_out[stream][at + i] = out[g][i];
    __syncthreads();
    float top = -FLT_MAX;
    for (const float value : shared_largest) top = fmaxf(top, value);
    float total = 0;
    float value = 0;
    for (int s = 0; s < kKeysAtOnce; ++s) {
      const float keep = shared_sum[s] > 0 ? __expf(shared_largest[s] - top) : 0;
      total += shared_sum[s] * keep;
      value += shared_out[s][thread] * keep;
    }
    const std::int64_t part =
        (std::int64_t{sequence} * shape.q_heads + head * Group + g) * splits + split;
    if (thread == 0) parts[part] = {top, total};
    values[part * kHeadDim + thread] = value;
    __syncthreads();
  }
}

/// One block per (q_head, sequence) puts the splits together.
__global__ void __launch_bounds__(kHeadDim)
    join_parts(__half* out, AttentionShape shape, int splits, const DecodePart* parts,
               const float* values) {
  const std::int64_t row = std::int64_t{blockIdx.y} * shape.q_heads + blockIdx.x;
  float top = -FLT_MAX;
  for (int s = 0; s < splits; ++s) {
    const DecodePart part = parts[row * splits + s];
    if (part.sum > 0) top = fmaxf(top, part.largest);
  }
  float total = 0;
  float value = 0;
  for (int s = 0; s < splits; ++s) {
    const DecodePart part = parts[row * splits + s];
    const float keep = part.sum > 0 ? __expf(part.largest - top) : 0;
    total += part.sum * keep;
    value += values[(row * splits + s) * kHeadDim + threadIdx.x] * keep;
  }
  const std::int64_t place =
      (std::int64_t{blockIdx.y} * shape.rows * shape.q_heads + blockIdx.x) * kHeadDim;
  out[place + threadIdx.x] = __float2half(value / total);
}

/// A warp takes 16 queries of one head through the keys, 32 at a time, on tensor cores; its
/// accumulator lies in shared memory, where rows can be rescaled. Blocks of one warp.
__global__ void __launch_bounds__(32) prefill_tiles(__half* out, const __half* q, const __half* k,
                                                    const __half* v, AttentionShape shape) {
#if __CUDA_ARCH__ >= 700
  using namespace nvcuda;
  // Tensor cores load and store at multiples of 32 bytes.
  __shared__ __align__(32) float result[kPrefillRows][kHeadDim];
  __shared__ __align__(32) float scores[kPrefillRows][kPrefillKeys];
  __shared__ __align__(32) __half weights[kPrefillRows][kPrefillKeys];
  __shared__ float largest[kPrefillRows];
  __shared__ float sum[kPrefillRows];
  __shared__ float keep[kPrefillRows];
  const int lane = static_cast<int>(threadIdx.x);
  const int first_row = static_cast<int>(blockIdx.x) * kPrefillRows;
  const int head = static_cast<int>(blockIdx.y);
  const int sequence = static_cast<int>(blockIdx.z);
  const std::int64_t q_place =
      ((std::int64_t{sequence} * shape.rows + first_row) * shape.q_heads + head) * kHeadDim;
  const auto q_pitch = static_cast<unsigned>(shape.q_heads * kHeadDim);
  const int kv_head = head / (shape.q_heads / shape.kv_heads);
  const std::int64_t kv_place =
      (std::int64_t{sequence} * shape.kv_heads + kv_head) * shape.room * kHeadDim;

  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> query[kHeadDim / 16];
  for (int d = 0; d < kHeadDim / 16; ++d) {
    wmma::load_matrix_sync(query[d], q + q_place + 16 * d, q_pitch);
  }
  for (int e = lane; e < kPrefillRows * kHeadDim; e += 32) result[e / kHeadDim][e % kHeadDim] = 0;
  if (lane < kPrefillRows) {
    largest[lane] = -FLT_MAX;
    sum[lane] = 0;
  }
  __syncwarp();
  const int last_key = min(shape.tokens(), shape.cached + first_row + kPrefillRows);
  for (int key = 0; key < last_key; key += kPrefillKeys) {
    for (int part = 0; part < kPrefillKeys / 16; ++part) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> dot;
      wmma::fill_fragment(dot, 0.0f);
      for (int d = 0; d < kHeadDim / 16; ++d) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> keys;
        wmma::load_matrix_sync(
            keys, k + kv_place + std::int64_t{key + 16 * part} * kHeadDim + 16 * d, kHeadDim);
        wmma::mma_sync(dot, query[d], keys, dot);
      }
      wmma::store_matrix_sync(&scores[0][16 * part], dot, kPrefillKeys, wmma::mem_row_major);
    }
    __syncwarp();
    // Two lanes per row, 16 keys each.
    const int row = lane / 2;
    const int half = lane % 2 * 16;
    const int visible = shape.cached + first_row + row;  // the last key that the row may see
    float top = largest[row];
    for (int i = half; i < half + 16; ++i) {
      if (key + i <= visible) top = fmaxf(top, scores[row][i] * 0.08838834764f);
    }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    float total = 0;
    for (int i = half; i < half + 16; ++i) {
      const float weight =
          key + i <= visible ? __expf(scores[row][i] * 0.08838834764f - top) : 0.0f;
      total += weight;
      weights[row][i] = __float2half(weight);
    }
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    __syncwarp();
    if (half == 0) {
      keep[row] = __expf(largest[row] - top);
      sum[row] = sum[row] * keep[row] + total;
      largest[row] = top;
    }
    __syncwarp();
    for (int e = lane; e < kPrefillRows * kHeadDim; e += 32) {
      result[e / kHeadDim][e % kHeadDim] *= keep[e / kHeadDim];
    }
    __syncwarp();
    for (int d = 0; d < kHeadDim / 16; ++d) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
      wmma::load_matrix_sync(sums, &result[0][16 * d], kHeadDim, wmma::mem_row_major);
      for (int part = 0; part < kPrefillKeys / 16; ++part) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> weight;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> values;
        wmma::load_matrix_sync(weight, &weights[0][16 * part], kPrefillKeys);
        wmma::load_matrix_sync(
            values, v + kv_place + std::int64_t{key + 16 * part} * kHeadDim + 16 * d, kHeadDim);
        wmma::mma_sync(sums, weight, values, sums);
      }
      wmma::store_matrix_sync(&result[0][16 * d], sums, kHeadDim, wmma::mem_row_major);
    }
    __syncwarp();
  }
  for (int e = lane; e < kPrefillRows * kHeadDim; e += 32) {
    const int row = e / kHeadDim;
    out[q_place + std::int64_t{row} * q_pitch + e % kHeadDim] =
        __float2half(result[row][e % kHeadDim] / sum[row]);
  }
#endif
}

/// One row of attention as its definition says, in float, by one block; how far `got` is from it
/// becomes part of `worst`. Rows are drawn by block. Scores lie in `scratch`, a row per block.
__global__ void __launch_bounds__(kHeadDim)
    check_attention(const __half* got, const __half* q, const __half* k, const __half* v,
                    AttentionShape shape, float* scratch, float* worst) {
  const std::uint64_t draw = word_at(blockIdx.x + 1) >> 20;
  const int thread = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(draw % static_cast<std::uint64_t>(shape.q_tokens));
  const int head = static_cast<int>(draw / 4099 % static_cast<std::uint64_t>(shape.q_heads));
  const int sequence = static_cast<int>(draw / 65537 % static_cast<std::uint64_t>(shape.sequences));
  const int kv_head = head / (shape.q_heads / shape.kv_heads);
  const std::int64_t q_place =
      ((std::int64_t{sequence} * shape.rows + row) * shape.q_heads + head) * kHeadDim;
  const std::int64_t kv_place =
      (std::int64_t{sequence} * shape.kv_heads + kv_head) * shape.room * kHeadDim;
  float* const score = scratch + std::int64_t{blockIdx.x} * shape.room;
  const int keys = shape.cached + row + 1;
  for (int key = thread; key < keys; key += kHeadDim) {
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d) {
      dot += __half2float(q[q_place + d]) *
             __half2float(k[kv_place + std::int64_t{key} * kHeadDim + d]);
    }
    score[key] = dot * 0.08838834764f;
  }
  __syncthreads();
  float top = -FLT_MAX;
  for (int key = 0; key < keys; ++key) top = fmaxf(top, score[key]);
  float total = 0;
  float value = 0;
  for (int key = 0; key < keys; ++key) {
    const float weight = expf(score[key] - top);
    total += weight;
    value += weight * __half2float(v[kv_place + std::int64_t{key} * kHeadDim + thread]);
  }
  const float exact = value / total;
  const float off =
      fabsf(__half2float(got[q_place + thread]) - exact) / (0.002f + 0.02f * fabsf(exact));
  atomicMax(reinterpret_cast<int*>(worst), __float_as_int(off < 1e30f ? off : 1e30f));
}

class Attention {
 public:
  Attention(int gpu, bool decode, AttentionShape shape) : decode_(decode), shape_(shape) {
    const int group = shape.q_heads / std::max(1, shape.kv_heads);
    if (shape.kv_heads < 1 || shape.q_heads % shape.kv_heads != 0 ||
        (group != 1 && group != 2 && group != 4 && group != 8)) {
      throw BadRequest("q_heads, kv_heads: expected 1, 2, 4 or 8 query heads per key head");
    }
    if (decode && shape.q_tokens != 1) throw BadRequest("q_tokens: decode has one");
    shape_.rows = decode ? 1 : (shape.q_tokens + kPrefillRows - 1) / kPrefillRows * kPrefillRows;
    shape_.room = (shape.tokens() + kPrefillKeys - 1) / kPrefillKeys * kPrefillKeys;
    const std::int64_t kv = std::int64_t{shape.sequences} * shape.kv_heads * shape_.room * kHeadDim;
    const std::int64_t rows = std::int64_t{shape.sequences} * shape_.rows * shape.q_heads;
    const int blocks = shape.sequences * shape.kv_heads;
    splits_ = std::clamp((2 * sm_count_of(gpu) + blocks - 1) / blocks, 1,
                         std::max(1, shape.tokens() / 256));
    expect_free(4 * kv + 4 * rows * kHeadDim + rows * splits_ * (8 + 4 * kHeadDim));
    q_ = DeviceMemory(2 * rows * kHeadDim);
    out_ = DeviceMemory(2 * rows * kHeadDim);
    k_ = DeviceMemory(2 * kv);
    v_ = DeviceMemory(2 * kv);
    if (decode) {
      parts_ = DeviceMemory(rows * splits_ * static_cast<std::int64_t>(sizeof(DecodePart)));
      values_ = DeviceMemory(rows * splits_ * kHeadDim * 4);
    }
    fill_values<<<1024, 256>>>(q_.as<__half>(), rows * kHeadDim, 3);
    fill_values<<<1024, 256>>>(k_.as<__half>(), kv, 5);
    fill_values<<<1024, 256>>>(v_.as<__half>(), kv, 9);
    check_launch("fill attention");
    check(cudaDeviceSynchronize(), "fill attention");
  }

  int calls() const { return decode_ ? 2 : 1; }
  const char* kernel() const {
    return decode_ ? "reference-split-decode" : "reference-wmma-prefill";
  }

  void enqueue(cudaStream_t stream) const {
    const auto count = [](int value) { return static_cast<unsigned>(value); };
    if (!decode_) {
      const dim3 grid(count(shape_.rows / kPrefillRows), count(shape_.q_heads),
                      count(shape_.sequences));
      prefill_tiles<<<grid, 32, 0, stream>>>(out_.as<__half>(), q_.as<__half>(), k_.as<__half>(),
                                             v_.as<__half>(), shape_);
      check_launch("prefill attention");
      return;
    }
    const dim3 grid(count(splits_), count(shape_.kv_heads), count(shape_.sequences));
    switch (shape_.q_heads / shape_.kv_heads) {
      case 1:
        launch_decode<1>(grid, stream);
        break;
      case 2:
        launch_decode<2>(grid, stream);
        break;
      case 4:
        launch_decode<4>(grid, stream);
        break;
      default:
        launch_decode<8>(grid, stream);
    }
    join_parts<<<dim3(count(shape_.q_heads), count(shape_.sequences)), kHeadDim, 0, stream>>>(
        out_.as<__half>(), shape_, splits_, parts_.as<DecodePart>(), values_.as<float>());
    check_launch("decode attention");
  }

  std::string verify_rows(const Stream& stream) const {
    constexpr int kRows = 64;
    check(cudaMemset(out_.data(), 0xff, static_cast<std::size_t>(out_.bytes())), "poison");  // NaN
    check(cudaDeviceSynchronize(), "poison");
    enqueue(stream);
    stream.wait();
    const DeviceMemory scratch(std::int64_t{kRows} * shape_.room * 4);
    const DeviceMemory worst(sizeof(float));
    check(cudaMemset(worst.data(), 0, sizeof(float)), "verify");
    check_attention<<<kRows, kHeadDim>>>(out_.as<__half>(), q_.as<__half>(), k_.as<__half>(),
                                         v_.as<__half>(), shape_, scratch.as<float>(),
                                         worst.as<float>());
    check_launch("verify");
    float off = 0;
    check(cudaMemcpy(&off, worst.data(), sizeof off, cudaMemcpyDeviceToHost), "verify");
    return off <= 1 ? "" : "attention is wrong by " + number_text(off) + " times what is allowed";
  }

 private:
  template <int Group>
  void launch_decode(dim3 grid, cudaStream_t stream) const {
    decode_parts<Group><<<grid, kDecodeThreads, 0, stream>>>(
        q_.as<__half>(), k_.as<__half>(), v_.as<__half>(), shape_, splits_, parts_.as<DecodePart>(),
        values_.as<float>());
    check_launch("decode attention");
  }

  bool decode_;
  AttentionShape shape_;
  int splits_ = 1;
  DeviceMemory q_;
  DeviceMemory k_;
  DeviceMemory v_;
  DeviceMemory out_;
  DeviceMemory parts_;
  DeviceMemory values_;
};

inline void measure_attention(const Request& request, const Limits& limits, Answer& answer) {
  const auto gpu = static_cast<int>(request.number("gpu", 0, 63));
  check(cudaSetDevice(gpu), "choose the device");
  const auto small = [&](const char* key, std::int64_t least, std::int64_t most) {
    return static_cast<int>(request.number(key, least, most));
  };
  const std::string op = request.text("op");
  if (op != "prefill" && op != "decode") throw BadRequest("op: expected prefill or decode");
  if (small("head_dim", 1, 4096) != kHeadDim) throw BadRequest("head_dim: expected 128");
  AttentionShape shape;
  shape.sequences = small("sequences", 1, 4096);
  shape.q_heads = small("q_heads", 1, 1024);
  shape.kv_heads = small("kv_heads", 1, 1024);
  shape.q_tokens = small("q_tokens", 1, 1 << 20);
  shape.cached = small("cached", 0, 1 << 24);
  const Attention attention(gpu, op == "decode", shape);
  const Stream stream;
  const Enqueue enqueue = [&](cudaStream_t s, std::int64_t) { attention.enqueue(s); };
  {
    Gate gate;
    answer.spread("time", GatedTimer(gate, stream, enqueue).run(limits.limit_s, attention.calls()));
  }
  answer.text("kernel", attention.kernel());
  const std::string problem = attention.verify_rows(stream);
  answer.flag("valid", problem.empty());
  if (!problem.empty()) answer.text("problem", problem);
}

}  // namespace spillway_harness

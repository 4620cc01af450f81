// What a measured run tells about the system it ran on: facts that are better than estimates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace spillway {

/// What the engine said about itself; absent where it did not.
struct MeasuredFacts {
  std::optional<std::string> engine;  ///< vllm
  std::optional<std::string> version;
  std::optional<std::string> model;
  std::optional<std::string> gpu;  ///< as its driver calls it
  std::optional<std::uint32_t> num_gpu_blocks;
  std::optional<std::uint32_t> block_tokens;
  std::optional<std::uint64_t> kv_tokens;  ///< that the pool holds, where no blocks are told
  std::optional<std::uint32_t> max_num_seqs;
  std::optional<std::uint32_t> max_num_batched_tokens;
  std::optional<std::uint32_t> max_model_len;
  std::optional<std::uint32_t> tensor_parallel_size;
  std::optional<std::uint32_t> data_parallel_size;
  std::optional<bool> enable_expert_parallel;
  std::optional<bool> enforce_eager;
  std::optional<double> host_overhead_us;    ///< per step
  std::optional<std::string> clock;          ///< client: times are a client's; else the engine's
  std::optional<std::uint32_t> concurrency;  ///< clients that keep a request in flight each
  std::optional<double> d2h_gbs;             ///< that copies reached in the run
  std::optional<double> h2d_gbs;
  std::string source;  ///< file, for messages

  bool of_client() const { return clock == "client"; }
};

}  // namespace spillway

// What a calibration measured on one machine, as plain data: the machine, raw cells, fits.
//
// One struct per row of the profile document (`spillway schema profile`); keys there are the names
// of the members here. Sizes in bytes, times in the unit of the name, rates in GB/s of 1e9 bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spillway {

/// Repeated measurements of one time.
struct Spread {
  double med_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  double p99_us = 0;
  double cv = 0;  ///< standard deviation / mean
  std::uint32_t samples = 0;
};

/// Of every cell: how far it can be trusted.
struct CellState {
  bool valid = true;    ///< contents were verified, or there was nothing to verify
  bool stable = true;   ///< cv within the limit, after repeats
  double at_s = 0;      ///< since the calibration began: drift shows
  std::string problem;  ///< why it is not valid; empty
};

/// `n` copies of `bytes` each, submitted together. `time` is of all of them, from the first one's
/// start to the last one's end; `submit_us` what the host thread spent in the API, where ungated.
struct CopyCell {
  std::string dir;  ///< h2d, d2h
  int gpu = 0;
  int numa = -1;        ///< node of the host memory; -1: not known
  std::string api;      ///< memcpy_async, memcpy_2d, memcpy_batch, memcpy_batch_overlap, kernel_<b>
  std::string mem;      ///< host_alloc, registered_4k, registered_2m, pageable, write_combined
  std::string pattern;  ///< contiguous, strided, random, layer_first, page_first
  std::uint32_t stream_count = 1;
  std::int64_t bytes = 0;
  std::uint32_t n = 1;
  bool gated = true;  ///< submitted behind a spinning kernel, so that submission is not timed
  Spread time;
  double submit_us = 0;
  CellState state;
};

/// Copies that run at once, and the rate that each of them reached.
struct ContentionActor {
  std::string dir;
  int gpu = 0;
  std::int64_t bytes = 0;
  std::uint32_t n = 1;
  double alone_gbs = 0;
  double together_gbs = 0;
};
struct ContentionCell {
  std::string kind;  ///< duplex, streams, gpus
  std::vector<ContentionActor> actors;
  CellState state;
};

/// A copy beside a kernel: factors on the time each takes alone, at least 1 when they disturb.
struct InterferenceCell {
  std::string dir;
  std::string api;
  std::int64_t bytes = 0;
  std::uint32_t n = 1;
  std::string kernel;  ///< gemm, read, attention
  double copy_factor = 1;
  double kernel_factor = 1;
  CellState state;
};

struct HbmCell {
  int gpu = 0;
  std::string op;  ///< read, write, copy (bytes read + written)
  std::int64_t bytes = 0;
  double gbs = 0;
  Spread time;
  CellState state;
};

struct GemmCell {
  int gpu = 0;
  std::string library;  ///< cublas <version>, or built-in
  std::string dtype;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Spread time;
  CellState state;
};

/// One layer's attention over `sequences` equal sequences of `cached` keys, `q_tokens` new each.
struct AttentionCell {
  int gpu = 0;
  std::string op;  ///< prefill, decode, mixed
  std::string kernel;
  std::uint32_t q_heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t sequences = 0;
  std::uint32_t q_tokens = 0;
  std::uint32_t cached = 0;
  Spread time;
  CellState state;
};

struct DramCell {
  std::string op;  ///< copy (read + written bytes), triad
  int numa = 0;
  std::uint32_t threads = 1;
  std::int64_t bytes = 0;  ///< per array
  double gbs = 0;
  Spread time;
  CellState state;
};

/// Making host memory usable for copies.
struct RegistrationCell {
  std::string method;  ///< mlock, host_alloc, host_register
  std::int64_t bytes = 0;
  std::int64_t page_bytes = 4096;
  double seconds = 0;
  CellState state;
};

struct StorageCell {
  std::string fs;      ///< file system type
  std::string engine;  ///< io_uring, pread
  std::string op;      ///< read, write, sustained_write
  bool direct = true;  ///< O_DIRECT
  bool cold = true;    ///< buffered reads: page cache dropped before
  std::int64_t bytes = 0;
  std::uint32_t qd = 1;
  std::uint32_t jobs = 1;
  double gbs = 0;
  double lat_p50_us = 0;
  double lat_p90_us = 0;
  double lat_p99_us = 0;
  double lat_p999_us = 0;
  std::uint64_t operations = 0;
  std::int64_t after_bytes = 0;  ///< sustained_write: written before this cell
  CellState state;
};

/// A key-value server (Redis, Valkey), by `clients` that each have one command in flight.
struct KvCell {
  std::string server;      ///< name and version, e.g. redis 7.0.15
  std::string place;       ///< local: on this machine; remote
  std::string op;          ///< read, write, mixed (half of the clients each), exists, ping
  std::int64_t bytes = 0;  ///< of one value; 0: no value
  std::uint32_t clients = 1;
  double gbs = 0;       ///< of all clients; 0 for exists and ping
  double read_gbs = 0;  ///< of mixed: what those that read have of it
  double lat_p50_us = 0;
  double lat_p90_us = 0;
  double lat_p99_us = 0;
  std::uint64_t values = 0;  ///< commands that were measured
  Spread time;               ///< of one value at the rate of each slice; exists, ping: of a command
  CellState state;
};

/// Collectives of a few sizes over the first `ranks` GPUs, measured by one call of nccl-tests.
struct CollectivePoint {
  std::int64_t bytes = 0;  ///< of the tensor
  double time_us = 0;      ///< mean of one collective, replayed in a CUDA graph
};
struct CollectiveCell {
  std::string op;  ///< all_reduce
  std::uint32_t ranks = 2;
  std::vector<CollectivePoint> points;  ///< ascending sizes
  CellState state;
};

/// A function of two arguments on a grid; for copies GB/s over copy size and copy count.
struct FitTable {
  std::vector<double> x;       ///< ascending
  std::vector<double> y;       ///< ascending
  std::vector<double> values;  ///< row per y
  std::vector<bool> measured;  ///< false: no cell stands there, and a neighbour's value was taken
};

/// What was fitted from which cells, and how well it predicts cells it has not seen.
struct FitRecord {
  std::string target;  ///< e.g. copy/h2d/memcpy_batch/host_alloc/contiguous
  std::string form;    ///< table, affine, roofline, ...
  std::map<std::string, double> params;
  double mape = 0;           ///< % over the cells fitted
  double held_out_mape = 0;  ///< % over the sizes held out
  double held_out_median = 0;
  double held_out_p95 = 0;
  double max_err = 0;  ///< % worst of all
  double from = 0;     ///< range of the argument; beyond it the fit extrapolates
  double to = 0;
  std::uint32_t cells = 0;
  std::uint32_t held_out = 0;
  FitTable table;  ///< empty unless `form` is table
};

struct GpuFacts {
  int index = 0;
  std::string uuid;
  std::string name;
  std::string pci;
  int numa = -1;
  int link_gen = 0;  ///< under load; 0: not known
  int link_width = 0;
  int link_gen_max = 0;
  int link_width_max = 0;
  std::int64_t memory_bytes = 0;
  int sm_count = 0;
  int sm_mhz_before = 0;
  int sm_mhz_after = 0;
  int memory_mhz_before = 0;
  int memory_mhz_after = 0;
};

struct NumaFacts {
  int node = 0;
  std::string cpus;  ///< as the system lists them, e.g. 0-15
  std::int64_t memory_bytes = 0;
};

struct MachineFacts {
  std::string cpu;
  std::uint32_t cores = 0;  ///< usable here
  std::int64_t memory_bytes = 0;
  std::vector<NumaFacts> numa;
  std::vector<GpuFacts> gpus;
  std::string driver;  ///< empty: none
  std::string cuda_runtime;
  std::string os;
  std::string kernel;
  std::string virtualization;  ///< none, or what the system says
  std::string iommu;
  std::string hugepages;
  std::int64_t memlock_bytes = -1;  ///< -1: unlimited
  std::int64_t cgroup_memory_bytes = -1;
  std::string storage;  ///< device and file system under the scratch folder
};

struct HardwareProfile {
  std::string name;
  std::string created;  ///< ISO 8601, UTC
  std::string command;
  double budget_s = 0;
  double spent_s = 0;
  bool complete = true;  ///< false: the budget, a signal or a lost GPU ended it early
  MachineFacts machine;
  std::string machine_hash;  ///< over its stable facts; empty until written or read
  std::vector<CopyCell> copy;
  std::vector<ContentionCell> contention;
  std::vector<InterferenceCell> interference;
  std::vector<HbmCell> hbm;
  std::vector<GemmCell> gemm;
  std::vector<AttentionCell> attention;
  std::vector<DramCell> dram;
  std::vector<RegistrationCell> registration;
  std::vector<StorageCell> storage;
  std::vector<KvCell> kv;
  std::vector<CollectiveCell> collective;
  std::vector<FitRecord> fits;
  std::vector<std::string> warnings;
};

}  // namespace spillway

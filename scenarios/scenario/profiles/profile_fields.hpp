// The members of a hardware profile, by name: writing, reading, its schema and tests walk these
// tables. A new member is a line here; a new section of measurements is a line in the last table.
#pragma once

#include <array>
#include <string_view>

#include "models/calibration/profile.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "sim/fields.hpp"

namespace spillway {

class ObjectReader;

inline constexpr std::array<std::string_view, 2> kDirections = {"h2d", "d2h"};
inline constexpr FieldRule kDirection =
    one_of(kDirections, "Direction: h2d is host to device, d2h is device to host.");
inline constexpr std::array<std::string_view, 3> kStorageOps = {"read", "write", "sustained_write"};
inline constexpr std::array<std::string_view, 5> kKvOps = {"read", "write", "mixed", "exists",
                                                           "ping"};
inline constexpr std::array<std::string_view, 2> kKvPlaces = {"local", "remote"};
inline constexpr std::array<std::string_view, 1> kCollectiveOps = {"all_reduce"};
inline constexpr FieldRule kGpuIndex = may_say("Index of the GPU.");
inline constexpr FieldRule kTrust = may_say("How far the cell can be trusted.");
inline constexpr FieldRule kRunTime = says("Time of one run.");

template <>
struct Fields<Spread> {
  static constexpr std::string_view kName = "spread";
  static constexpr std::string_view kHelp = "Repeated measurements of one time.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("med_us", r.med_us, says("Median."));
    f("p10_us", r.p10_us, may_say("10th percentile."));
    f("p90_us", r.p90_us, may_say("90th percentile."));
    f("p99_us", r.p99_us, may_say("99th percentile."));
    f("cv", r.cv, may_say("Standard deviation divided by mean."));
    f("samples", r.samples, may_say("Number of measurements."));
  }
};

template <>
struct Fields<CellState> {
  static constexpr std::string_view kName = "state";
  static constexpr std::string_view kHelp = "How far a cell can be trusted.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("valid", r.valid, may_say("Whether the contents were right, where there were any to check."));
    f("stable", r.stable, may_say("Whether cv is within its limit, after repeats."));
    f("at_s", r.at_s, may_say("Time since the calibration began; it shows drift."));
    f("problem", r.problem, may_say("Why the cell is not valid; empty for a valid cell."));
  }
};

template <>
struct Fields<CopyCell> {
  static constexpr std::string_view kName = "copy";
  static constexpr std::string_view kHelp = "Copies of one size that were submitted together.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("gpu", r.gpu, kGpuIndex);
    f("numa", r.numa, may_say("NUMA node of the host memory; -1 is unknown.", -1));
    f("api", r.api,
      says("memcpy_async, memcpy_2d, memcpy_batch, memcpy_batch_overlap, or kernel_ and its number "
           "of thread blocks."));
    f("mem", r.mem,
      says("Host memory: host_alloc, registered_4k, registered_2m, pageable or write_combined."));
    f("pattern", r.pattern,
      says("Order in memory: contiguous, strided, random, layer_first or page_first."));
    f("stream_count", r.stream_count, may_say("CUDA streams that the copies are spread over.", 1));
    f("bytes", r.bytes, says("Size of each copy.", 1));
    f("n", r.n, says("Number of copies.", 1));
    f("gated", r.gated,
      may_say("Whether a kernel held the copies until all were submitted; time then excludes "
              "submission."));
    f("time", r.time, says("First start to last end of all copies."));
    f("submit_us", r.submit_us,
      may_say("Time that the host thread spent submitting, where gated is false."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<ContentionActor> {
  static constexpr std::string_view kName = "actor";
  static constexpr std::string_view kHelp = "One of the copies that run at once.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("gpu", r.gpu, kGpuIndex);
    f("bytes", r.bytes, says("Size of each copy.", 1));
    f("n", r.n, may_say("Number of copies.", 1));
    f("alone_gbs", r.alone_gbs, says("Rate of these copies alone."));
    f("together_gbs", r.together_gbs, says("Rate while the other copies run."));
  }
};

template <>
struct Fields<ContentionCell> {
  static constexpr std::string_view kName = "contention";
  static constexpr std::string_view kHelp = "Copies that run at once, and the rate of each.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, says("What the copies share: duplex, streams or gpus."));
    f("actors", r.actors, says("The copies."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<InterferenceCell> {
  static constexpr std::string_view kName = "interference";
  static constexpr std::string_view kHelp = "Copies and a kernel that run at once.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("api", r.api, says("How the copies are made, as in copy."));
    f("bytes", r.bytes, says("Size of each copy.", 1));
    f("n", r.n, may_say("Number of copies.", 1));
    f("kernel", r.kernel, says("The kernel: gemm, read or attention."));
    f("copy_factor", r.copy_factor,
      may_say("Time of the copies with the kernel, divided by their time alone."));
    f("kernel_factor", r.kernel_factor,
      may_say("Time of the kernel with the copies, divided by its time alone."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<HbmCell> {
  static constexpr std::string_view kName = "hbm";
  static constexpr std::string_view kHelp = "Memory of the GPU.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, kGpuIndex);
    f("op", r.op, says("read, write or copy."));
    f("bytes", r.bytes, says("Bytes read or written.", 1));
    f("gbs", r.gbs, says("Rate; that of copy counts bytes read and written."));
    f("time", r.time, may_say("Time of one run."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<GemmCell> {
  static constexpr std::string_view kName = "gemm";
  static constexpr std::string_view kHelp = "One matrix product, m x k by k x n.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, kGpuIndex);
    f("library", r.library, may_say("cublas with its version, or built-in."));
    f("dtype", r.dtype, says("Type of the numbers."));
    f("m", r.m, says("Rows of the product.", 1));
    f("n", r.n, says("Columns of the product.", 1));
    f("k", r.k, says("Length of the sums.", 1));
    f("time", r.time, kRunTime);
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<AttentionCell> {
  static constexpr std::string_view kName = "attention";
  static constexpr std::string_view kHelp = "One layer's attention over equal sequences.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, kGpuIndex);
    f("op", r.op, says("prefill, decode or mixed."));
    f("kernel", r.kernel, may_say("Name of the kernel."));
    f("q_heads", r.q_heads, says("Query heads.", 1));
    f("kv_heads", r.kv_heads, says("KV heads.", 1));
    f("head_dim", r.head_dim, says("Width of a head.", 1));
    f("sequences", r.sequences, says("Number of sequences.", 1));
    f("q_tokens", r.q_tokens, says("New tokens of each sequence.", 1));
    f("cached", r.cached, says("Cached tokens of each sequence."));
    f("time", r.time, kRunTime);
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<DramCell> {
  static constexpr std::string_view kName = "dram";
  static constexpr std::string_view kHelp = "Host memory.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("op", r.op, says("copy or triad."));
    f("numa", r.numa, may_say("NUMA node of the memory; -1 is unknown.", -1));
    f("threads", r.threads, says("Threads that run at once.", 1));
    f("bytes", r.bytes, says("Size of each array.", 1));
    f("gbs", r.gbs, says("Rate; it counts bytes read and written."));
    f("time", r.time, may_say("Time of one run."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<RegistrationCell> {
  static constexpr std::string_view kName = "registration";
  static constexpr std::string_view kHelp = "Making host memory usable for copies.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("method", r.method, says("mlock, host_alloc or host_register."));
    f("bytes", r.bytes, says("Size of the memory.", 1));
    f("page_bytes", r.page_bytes, may_say("Size of its pages.", 1));
    f("seconds", r.seconds, says("Time that it took."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<StorageCell> {
  static constexpr std::string_view kName = "storage";
  static constexpr std::string_view kHelp = "Reads or writes of one size in the scratch folder.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("fs", r.fs, may_say("Type of the file system."));
    f("engine", r.engine, may_say("io_uring or pread."));
    f("op", r.op, one_of(kStorageOps, "What was done; sustained_write is a part of a long write."));
    f("direct", r.direct, may_say("Whether O_DIRECT bypassed the page cache."));
    f("cold", r.cold, may_say("Whether the page cache was dropped before buffered reads."));
    f("bytes", r.bytes, says("Size of each operation.", 1));
    f("qd", r.qd, says("Operations in flight per job.", 1));
    f("jobs", r.jobs, says("Jobs that run at once.", 1));
    f("gbs", r.gbs, says("Rate of all jobs."));
    f("lat_p50_us", r.lat_p50_us, may_say("Median latency of an operation."));
    f("lat_p90_us", r.lat_p90_us, may_say("90th percentile of the latency."));
    f("lat_p99_us", r.lat_p99_us, may_say("99th percentile of the latency."));
    f("lat_p999_us", r.lat_p999_us, may_say("99.9th percentile of the latency."));
    f("operations", r.operations, may_say("Operations that were measured."));
    f("after_bytes", r.after_bytes,
      may_say("Bytes that were written before this cell of sustained_write."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<KvCell> {
  static constexpr std::string_view kName = "kv";
  static constexpr std::string_view kHelp =
      "A key-value server, by clients that each have one command in flight.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("server", r.server, may_say("Name and version of the server, e.g. redis 7.0.15."));
    f("place", r.place, one_of(kKvPlaces, "Whether the server runs on the measured machine."));
    f("op", r.op,
      one_of(kKvOps, "What the clients do; in mixed half of them read and half of them write."));
    f("bytes", r.bytes, may_say("Size of one value; 0 without a value."));
    f("clients", r.clients, says("Clients at once, each with its own connection.", 1));
    f("gbs", r.gbs, may_say("Rate of all clients; 0 without a value."));
    f("read_gbs", r.read_gbs, may_say("mixed: the part of the rate that is read."));
    f("lat_p50_us", r.lat_p50_us, may_say("Median latency of a command."));
    f("lat_p90_us", r.lat_p90_us, may_say("90th percentile of the latency."));
    f("lat_p99_us", r.lat_p99_us, may_say("99th percentile of the latency."));
    f("values", r.values, may_say("Commands that were measured."));
    f("time", r.time,
      may_say("Time of one value at the rate of each slice; exists and ping: of a command."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<CollectivePoint> {
  static constexpr std::string_view kName = "point";
  static constexpr std::string_view kHelp = "Collectives of one size.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("bytes", r.bytes, says("Size of the tensor.", 1));
    f("time_us", r.time_us, says("Mean time of one collective in a CUDA graph."));
  }
};

template <>
struct Fields<CollectiveCell> {
  static constexpr std::string_view kName = "collective";
  static constexpr std::string_view kHelp = "Collectives between GPUs, by NCCL.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("op", r.op, one_of(kCollectiveOps, "The collective."));
    f("ranks", r.ranks, says("Number of GPUs.", 2));
    f("points", r.points, says("Time of each size; sizes ascend."));
    f("state", r.state, kTrust);
  }
};

template <>
struct Fields<FitTable> {
  static constexpr std::string_view kName = "table";
  static constexpr std::string_view kHelp = "A function of two arguments on a full grid.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("x", r.x, says("Ascending values of the first argument; for copies their size."));
    f("y", r.y, says("Ascending values of the second argument; for copies their number."));
    f("values", r.values, says("Values of the function, a row for each y."));
    f("measured", r.measured,
      may_say("Whether a cell was measured there; otherwise the value is a neighbour's."));
  }
  /// A fit of another form has no table.
  static bool absent(const FitTable& table) { return table.x.empty(); }
  static void check(const ObjectReader& in, const FitTable& table);
};

template <>
struct Fields<FitRecord> {
  static constexpr std::string_view kName = "fit";
  static constexpr std::string_view kHelp =
      "What was fitted, and how well it predicts cells that the fit did not see.";
  static constexpr double kMostPercent = 1e9;
  template <class R, class F>
  static void visit(R& r, F&& f) {
    const auto error = [](std::string_view help) { return may_say(help, 0, kMostPercent); };
    f("target", r.target,
      says("What was fitted, e.g. copy/h2d/memcpy_batch/host_alloc/contiguous."));
    f("form", r.form, says("Form of the fit: table, affine, roofline and others."));
    f("params", r.params, may_say("Parameters of the form, by name.", -kNoLimit));
    f("mape", r.mape, error("Mean absolute error over the fitted cells, in percent."));
    f("held_out_mape", r.held_out_mape,
      error("Mean absolute error over the held-out sizes, in percent."));
    f("held_out_median", r.held_out_median,
      error("Median absolute error over the held-out sizes, in percent."));
    f("held_out_p95", r.held_out_p95,
      error("95th percentile of the absolute error over the held-out sizes, in percent."));
    f("max_err", r.max_err, error("Largest absolute error, in percent."));
    f("from", r.from, may_say("Smallest argument in the calibration range."));
    f("to", r.to, may_say("Largest argument in the calibration range."));
    f("cells", r.cells, may_say("Number of fitted cells."));
    f("held_out", r.held_out, may_say("Number of held-out cells."));
    f("table", r.table, may_say("The grid of a fit of form table."));
  }
};

template <>
struct Fields<GpuFacts> {
  static constexpr std::string_view kName = "gpu";
  static constexpr std::string_view kHelp = "A GPU of the machine.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("index", r.index, kGpuIndex);
    f("uuid", r.uuid, may_say("Its UUID, as the driver gives it."));
    f("name", r.name, says("Its name, as the driver gives it."));
    f("pci", r.pci, may_say("Its PCI address."));
    f("numa", r.numa, may_say("NUMA node of the GPU; -1 is unknown.", -1));
    f("link_gen", r.link_gen, may_say("PCI Express generation under load; 0 is unknown."));
    f("link_width", r.link_width, may_say("PCI Express lanes under load; 0 is unknown."));
    f("link_gen_max", r.link_gen_max,
      may_say("Highest PCI Express generation of the link; 0 is unknown."));
    f("link_width_max", r.link_width_max,
      may_say("Most PCI Express lanes of the link; 0 is unknown."));
    f("memory_bytes", r.memory_bytes, may_say("Size of its memory."));
    f("sm_count", r.sm_count, may_say("Streaming multiprocessors."));
    f("sm_mhz_before", r.sm_mhz_before, may_say("SM clock before the calibration."));
    f("sm_mhz_after", r.sm_mhz_after, may_say("SM clock after the calibration."));
    f("memory_mhz_before", r.memory_mhz_before, may_say("Memory clock before the calibration."));
    f("memory_mhz_after", r.memory_mhz_after, may_say("Memory clock after the calibration."));
  }
};

template <>
struct Fields<NumaFacts> {
  static constexpr std::string_view kName = "numa";
  static constexpr std::string_view kHelp = "A NUMA node of the machine.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("node", r.node, may_say("Number of the node."));
    f("cpus", r.cpus, may_say("Its CPUs, as the system lists them, e.g. 0-15."));
    f("memory_bytes", r.memory_bytes, may_say("Size of its memory."));
  }
};

template <>
struct Fields<MachineFacts> {
  static constexpr std::string_view kName = "machine";
  static constexpr std::string_view kHelp = "The machine that was measured.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cpu", r.cpu, says("Name of the CPU."));
    f("cores", r.cores, may_say("Cores that the calibration could use."));
    f("memory_bytes", r.memory_bytes, may_say("Size of the host memory."));
    f("numa", r.numa, may_say("Its NUMA nodes."));
    f("gpus", r.gpus, may_say("Its GPUs."));
    f("driver", r.driver, may_say("Version of the GPU driver; empty without a driver."));
    f("cuda_runtime", r.cuda_runtime, may_say("Version of the CUDA runtime."));
    f("os", r.os, may_say("Operating system."));
    f("kernel", r.kernel, may_say("Version of the operating system's kernel."));
    f("virtualization", r.virtualization, may_say("none, or the virtualization in use."));
    f("iommu", r.iommu, may_say("Types of the IOMMU groups, or none."));
    f("hugepages", r.hugepages, may_say("Setting of transparent huge pages, and pages reserved."));
    f("memlock_bytes", r.memlock_bytes, may_say("Limit of locked memory; -1 is no limit.", -1));
    f("cgroup_memory_bytes", r.cgroup_memory_bytes,
      may_say("Memory limit of the cgroup; -1 is no limit.", -1));
    f("storage", r.storage, may_say("Device and file system of the scratch folder."));
  }
};

template <>
struct Fields<HardwareProfile> {
  static constexpr std::string_view kName = "results";
  static constexpr std::string_view kHelp = "What a calibration measured on one machine.";
  static constexpr double kMostSeconds = 1e9;
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, may_say("Name of the profile."));
    f("created", r.created, may_say("When the calibration began, ISO 8601 in UTC."));
    f("command", r.command, may_say("The command that measured."));
    f("complete", r.complete,
      may_say("False if the budget, a signal or a lost GPU ended the calibration early."));
    f("budget_s", r.budget_s, may_say("Time that the calibration was allowed.", 0, kMostSeconds));
    f("spent_s", r.spent_s, may_say("Time that the calibration took.", 0, kMostSeconds));
    f("machine", r.machine, says("The machine that was measured."));
    f("machine_hash", derived(machine_hash(r.machine)),
      FieldRule{.help = "Hash of CPU, memory, NUMA nodes, GPUs and driver.",
                .pattern = kDigestForm});
    f("copy", r.copy, may_say("Copies between host and GPU."));
    f("contention", r.contention, may_say("Copies that run at once."));
    f("interference", r.interference, may_say("Copies and kernels that run at once."));
    f("compute", group([&](auto&& g) {
        g("hbm", r.hbm, may_say("Memory of the GPUs."));
        g("gemm", r.gemm, may_say("Matrix products."));
        g("attention", r.attention, may_say("Attention of one layer."));
      }),
      may_say("Kernels of the GPUs."));
    f("dram", r.dram, may_say("Host memory."));
    f("registration", r.registration, may_say("Making host memory usable for copies."));
    f("storage", r.storage, may_say("Storage of the scratch folder."));
    f("kv", r.kv, may_say("A key-value server such as Redis."));
    f("collective", r.collective, may_say("Collectives between GPUs."));
    f("fits", r.fits, may_say("What was fitted from the cells."));
  }
};

}  // namespace spillway

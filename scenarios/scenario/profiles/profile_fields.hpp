// The members of each row of a profile, by name: one table that writing, reading and tests walk.
//
// A new member is a line here and a property in scenarios/schema/profile.schema.json.
#pragma once

#include <array>
#include <string_view>

#include "models/calibration/profile.hpp"
#include "sim/fields.hpp"

namespace spillway {

inline constexpr FieldRule kOrMinusOne = {.least = -1};
inline constexpr FieldRule kPercent = {.most = 1e9};
inline constexpr std::array<std::string_view, 2> kDirections = {"h2d", "d2h"};
inline constexpr FieldRule kDirection = {.required = true, .choices = kDirections};
inline constexpr std::array<std::string_view, 3> kStorageOps = {"read", "write", "sustained_write"};
inline constexpr FieldRule kStorageOp = {.required = true, .choices = kStorageOps};

template <>
struct Fields<Spread> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("med_us", r.med_us, kNeeded);
    f("p10_us", r.p10_us, FieldRule{});
    f("p90_us", r.p90_us, FieldRule{});
    f("p99_us", r.p99_us, FieldRule{});
    f("cv", r.cv, FieldRule{});
    f("samples", r.samples, FieldRule{});
  }
};

template <>
struct Fields<CellState> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("valid", r.valid, FieldRule{});
    f("stable", r.stable, FieldRule{});
    f("at_s", r.at_s, FieldRule{});
    f("problem", r.problem, FieldRule{});
  }
};

template <>
struct Fields<CopyCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("gpu", r.gpu, FieldRule{});
    f("numa", r.numa, kOrMinusOne);
    f("api", r.api, kNeeded);
    f("mem", r.mem, kNeeded);
    f("pattern", r.pattern, kNeeded);
    f("stream_count", r.stream_count, FieldRule{.least = 1});
    f("bytes", r.bytes, kCountRule);
    f("n", r.n, kCountRule);
    f("gated", r.gated, FieldRule{});
    f("time", r.time, kNeeded);
    f("submit_us", r.submit_us, FieldRule{});
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<ContentionActor> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("gpu", r.gpu, FieldRule{});
    f("bytes", r.bytes, kCountRule);
    f("n", r.n, FieldRule{.least = 1});
    f("alone_gbs", r.alone_gbs, kNeeded);
    f("together_gbs", r.together_gbs, kNeeded);
  }
};

template <>
struct Fields<ContentionCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, kNeeded);
    f("actors", r.actors, kNeeded);
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<InterferenceCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dir", r.dir, kDirection);
    f("api", r.api, kNeeded);
    f("bytes", r.bytes, kCountRule);
    f("n", r.n, FieldRule{.least = 1});
    f("kernel", r.kernel, kNeeded);
    f("copy_factor", r.copy_factor, FieldRule{});
    f("kernel_factor", r.kernel_factor, FieldRule{});
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<HbmCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, FieldRule{});
    f("op", r.op, kNeeded);
    f("bytes", r.bytes, kCountRule);
    f("gbs", r.gbs, kNeeded);
    f("time", r.time, FieldRule{});
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<GemmCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, FieldRule{});
    f("library", r.library, FieldRule{});
    f("dtype", r.dtype, kNeeded);
    f("m", r.m, kCountRule);
    f("n", r.n, kCountRule);
    f("k", r.k, kCountRule);
    f("time", r.time, kNeeded);
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<AttentionCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, FieldRule{});
    f("op", r.op, kNeeded);
    f("kernel", r.kernel, FieldRule{});
    f("q_heads", r.q_heads, kCountRule);
    f("kv_heads", r.kv_heads, kCountRule);
    f("head_dim", r.head_dim, kCountRule);
    f("sequences", r.sequences, kCountRule);
    f("q_tokens", r.q_tokens, kCountRule);
    f("cached", r.cached, kNeeded);
    f("time", r.time, kNeeded);
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<DramCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("op", r.op, kNeeded);
    f("numa", r.numa, kOrMinusOne);
    f("threads", r.threads, kCountRule);
    f("bytes", r.bytes, kCountRule);
    f("gbs", r.gbs, kNeeded);
    f("time", r.time, FieldRule{});
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<RegistrationCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("method", r.method, kNeeded);
    f("bytes", r.bytes, kCountRule);
    f("page_bytes", r.page_bytes, FieldRule{.least = 1});
    f("seconds", r.seconds, kNeeded);
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<StorageCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("fs", r.fs, FieldRule{});
    f("engine", r.engine, FieldRule{});
    f("op", r.op, kStorageOp);
    f("direct", r.direct, FieldRule{});
    f("cold", r.cold, FieldRule{});
    f("bytes", r.bytes, kCountRule);
    f("qd", r.qd, kCountRule);
    f("jobs", r.jobs, kCountRule);
    f("gbs", r.gbs, kNeeded);
    f("lat_p50_us", r.lat_p50_us, FieldRule{});
    f("lat_p90_us", r.lat_p90_us, FieldRule{});
    f("lat_p99_us", r.lat_p99_us, FieldRule{});
    f("lat_p999_us", r.lat_p999_us, FieldRule{});
    f("operations", r.operations, FieldRule{});
    f("after_bytes", r.after_bytes, FieldRule{});
    f("state", r.state, FieldRule{});
  }
};

template <>
struct Fields<FitTable> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("x", r.x, kNeeded);
    f("y", r.y, kNeeded);
    f("values", r.values, kNeeded);
    f("measured", r.measured, FieldRule{});
  }
  /// A fit without a table has none to show.
  static bool absent(const FitTable& table) { return table.x.empty(); }
  static void check(const ObjectReader& in, const FitTable& table);
};

template <>
struct Fields<FitRecord> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("target", r.target, kNeeded);
    f("form", r.form, kNeeded);
    f("params", r.params, FieldRule{.least = -1e18});
    f("mape", r.mape, kPercent);
    f("held_out_mape", r.held_out_mape, kPercent);
    f("held_out_median", r.held_out_median, kPercent);
    f("held_out_p95", r.held_out_p95, kPercent);
    f("max_err", r.max_err, kPercent);
    f("from", r.from, FieldRule{});
    f("to", r.to, FieldRule{});
    f("cells", r.cells, FieldRule{});
    f("held_out", r.held_out, FieldRule{});
    f("table", r.table, FieldRule{});
  }
};

template <>
struct Fields<GpuFacts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("index", r.index, FieldRule{});
    f("uuid", r.uuid, FieldRule{});
    f("name", r.name, kNeeded);
    f("pci", r.pci, FieldRule{});
    f("numa", r.numa, kOrMinusOne);
    f("link_gen", r.link_gen, FieldRule{});
    f("link_width", r.link_width, FieldRule{});
    f("link_gen_max", r.link_gen_max, FieldRule{});
    f("link_width_max", r.link_width_max, FieldRule{});
    f("memory_bytes", r.memory_bytes, FieldRule{});
    f("sm_count", r.sm_count, FieldRule{});
    f("sm_mhz_before", r.sm_mhz_before, FieldRule{});
    f("sm_mhz_after", r.sm_mhz_after, FieldRule{});
    f("memory_mhz_before", r.memory_mhz_before, FieldRule{});
    f("memory_mhz_after", r.memory_mhz_after, FieldRule{});
  }
};

template <>
struct Fields<NumaFacts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("node", r.node, FieldRule{});
    f("cpus", r.cpus, FieldRule{});
    f("memory_bytes", r.memory_bytes, FieldRule{});
  }
};

template <>
struct Fields<MachineFacts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cpu", r.cpu, kNeeded);
    f("cores", r.cores, FieldRule{});
    f("memory_bytes", r.memory_bytes, FieldRule{});
    f("numa", r.numa, FieldRule{});
    f("gpus", r.gpus, FieldRule{});
    f("driver", r.driver, FieldRule{});
    f("cuda_runtime", r.cuda_runtime, FieldRule{});
    f("os", r.os, FieldRule{});
    f("kernel", r.kernel, FieldRule{});
    f("virtualization", r.virtualization, FieldRule{});
    f("iommu", r.iommu, FieldRule{});
    f("hugepages", r.hugepages, FieldRule{});
    f("memlock_bytes", r.memlock_bytes, kOrMinusOne);
    f("cgroup_memory_bytes", r.cgroup_memory_bytes, kOrMinusOne);
    f("storage", r.storage, FieldRule{});
  }
};

}  // namespace spillway

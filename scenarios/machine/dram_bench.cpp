#include "scenarios/machine/dram_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/machine/mapping.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

constexpr int kArrays = 3;
constexpr std::int64_t kCacheMultiple = 4;  ///< of the last-level cache, per array
constexpr std::int64_t kLeastArray = std::int64_t{1} << 20;
constexpr std::int64_t kArrayWithoutCache = std::int64_t{128} << 20;  ///< its size is not known
constexpr std::size_t kSamples = 20;
constexpr std::size_t kLeastSamples = 5;
constexpr double kSample_s = 0.002;        ///< a sample is at least that long
constexpr double kExpectedCopyRate = 8e9;  ///< bytes/s of one thread, for the plan
constexpr double kScale = 3;

/// A share of the three arrays, and what one thread does with it.
struct Slice {
  double* a;
  double* b;
  double* c;
  std::size_t size;

  void touch(std::size_t offset) const {
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = 0;
      b[i] = static_cast<double>((offset + i) % 1021);
      c[i] = static_cast<double>((offset + i) % 509);
    }
  }
  [[gnu::noinline]] void copy() const { std::memcpy(a, b, size * sizeof *a); }
  [[gnu::noinline]] void triad() const {
    for (std::size_t i = 0; i < size; ++i) a[i] = b[i] + kScale * c[i];
  }
  bool holds(bool triad) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (a[i] != (triad ? b[i] + kScale * c[i] : b[i])) return false;
    }
    return true;
  }
};

/// Binds the calling thread for as long as it lives.
class Bound {
 public:
  explicit Bound(int cpu) : before_(allowed_cpus()), done_(bind_to({cpu})) {}
  ~Bound() {
    if (done_) bind_to(before_);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  bool done() const { return done_; }

 private:
  std::vector<int> before_;
  bool done_;
};

struct Passes {
  std::vector<double> samples_us;  ///< of one pass each
  bool correct = true;
  bool bound = true;
};

/// All threads go over the arrays together, sample by sample.
class Stream3 {
 public:
  Stream3(std::int64_t bytes, const std::vector<int>& cpus, bool triad, const BenchLimits& limits)
      : memory_(bytes * kArrays),
        bytes_(bytes),
        cpus_(cpus),
        triad_(triad),
        stop_(limits.stop),
        longest_s_(longest_cell_s(limits.budget_s)),
        line_(static_cast<std::ptrdiff_t>(cpus.size())),
        begin_s_(cpus.size()),
        end_s_(cpus.size()) {}

  Passes run() {
    run_together(cpus_.size(), [this](std::size_t t) { work(t); });
    return {std::move(samples_us_), correct_, bound_};
  }

 private:
  Slice slice(std::size_t thread, std::size_t& offset) const {
    const auto elements = static_cast<std::size_t>(bytes_) / sizeof(double);
    offset = elements * thread / cpus_.size();
    const std::size_t end = elements * (thread + 1) / cpus_.size();
    double* base = memory_.as<double>().data() + offset;
    return {base, base + elements, base + 2 * elements, end - offset};
  }

  void work(std::size_t thread) {
    const Bound bound(cpus_[thread]);
    if (!bound.done()) bound_ = false;
    std::size_t offset = 0;
    const Slice mine = slice(thread, offset);
    mine.touch(offset);
    const double begin_s = monotonic_s();
    pass(mine);  // warm-up; how long it takes says how many passes make a sample
    if (thread == 0) {
      const double once = std::max(1e-9, monotonic_s() - begin_s);
      passes_ = std::max(1, static_cast<int>(kSample_s / once) + 1);
      started_s_ = monotonic_s();
    }
    line_.arrive_and_wait();
    while (!done_) {
      begin_s_[thread] = monotonic_s();
      for (int p = 0; p < passes_; ++p) pass(mine);
      end_s_[thread] = monotonic_s();
      line_.arrive_and_wait();
      if (thread == 0) note_sample();
      line_.arrive_and_wait();
    }
    if (!mine.holds(triad_)) correct_ = false;
  }

  void pass(const Slice& mine) const {
    if (triad_) {
      mine.triad();
    } else {
      mine.copy();
    }
  }

  void note_sample() {
    const double begin = *std::min_element(begin_s_.begin(), begin_s_.end());
    const double end = *std::max_element(end_s_.begin(), end_s_.end());
    samples_us_.push_back((end - begin) * 1e6 / passes_);
    const std::size_t n = samples_us_.size();
    done_ = n >= kSamples || (n >= kLeastSamples && end - started_s_ > longest_s_) ||
            (stop_ && stop_());
  }

  Mapping memory_;
  std::int64_t bytes_;
  const std::vector<int>& cpus_;
  bool triad_;
  const std::function<bool()>& stop_;
  double longest_s_;
  std::barrier<> line_;
  std::vector<double> begin_s_;
  std::vector<double> end_s_;
  std::vector<double> samples_us_;
  int passes_ = 1;
  double started_s_ = 0;
  bool done_ = false;  ///< written and read on either side of the barrier
  std::atomic<bool> correct_{true};
  std::atomic<bool> bound_{true};
};

double expected_s(std::int64_t bytes, std::uint32_t threads, double longest_s) {
  const double rate = kExpectedCopyRate * std::min(4U, threads);
  const double pass = std::max(kSample_s, kArrays * static_cast<double>(bytes) / rate);
  const double fill = kArrays * static_cast<double>(bytes) / 1e9 / std::min(4U, threads);
  return fill + std::min(kSamples * pass, std::max(longest_s, kLeastSamples * pass));
}

}  // namespace

std::vector<DramBench::Node> DramBench::nodes() const {
  std::vector<Node> out;
  for (std::size_t i = 0; i < host_.facts.numa.size(); ++i) {
    if (host_.node_cpus[i].empty()) continue;  // memory without CPUs, or closed to us
    out.push_back({host_.facts.numa[i].node, host_.node_cpus[i]});
  }
  if (out.empty() && !host_.cpus.empty()) out.push_back({-1, host_.cpus});
  return out;
}

std::vector<CellPlan> DramBench::plan(const BenchLimits& limits,
                                      std::vector<std::string>& missing) {
  limits_ = limits;
  warnings_.clear();
  const std::int64_t wanted =
      host_.llc_bytes > 0 ? kCacheMultiple * host_.llc_bytes : kArrayWithoutCache;
  const std::int64_t page = std::int64_t{4} << 10;
  const std::int64_t bytes = std::min(wanted, limits.memory_bytes / kArrays) / page * page;
  if (bytes < kLeastArray) {
    missing.push_back(fmt::format("dram: needs {} of memory at least, may use {}",
                                  format_bytes(static_cast<double>(kArrays * kLeastArray)),
                                  format_bytes(static_cast<double>(limits.memory_bytes))));
    return {};
  }
  if (bytes < wanted && host_.llc_bytes > 0) {
    warnings_.push_back(fmt::format(
        "dram: arrays of {} are less than {} times the last-level cache of {}: caches are in the "
        "figures; --memory {} or more would do",
        format_bytes(static_cast<double>(bytes)), kCacheMultiple,
        format_bytes(static_cast<double>(host_.llc_bytes)),
        format_bytes(static_cast<double>(kArrays * wanted))));
  }
  std::vector<CellPlan> out;
  for (const Node& node : nodes()) {
    const auto all = static_cast<std::uint32_t>(node.cpus.size());
    std::vector<std::uint32_t> counts;
    for (std::uint32_t n = 1; n < all; n *= 2) counts.push_back(n);
    counts.push_back(all);
    for (const std::uint32_t n : counts) {
      for (const char* op : {"copy", "triad"}) {
        const int priority = n == all ? 0 : n == 1 ? 1 : 2;
        out.push_back({"dram",
                       {{"op", op}, {"numa", node.id}, {"threads", n}, {"bytes", bytes}},
                       expected_s(bytes, n, longest_cell_s(limits.budget_s)),
                       priority});
      }
    }
  }
  return out;
}

nlohmann::json DramBench::measure(const CellPlan& cell) {
  DramCell row;
  row.op = cell.request.at("op");
  row.numa = cell.request.at("numa");
  row.threads = cell.request.at("threads");
  row.bytes = cell.request.at("bytes");
  std::vector<int> cpus;
  for (const Node& node : nodes()) {
    if (node.id == row.numa) cpus = node.cpus;
  }
  cpus.resize(row.threads);
  const bool triad = row.op == "triad";
  try {
    const Passes passes = Stream3(row.bytes, cpus, triad, limits_).run();
    row.time = spread_of(passes.samples_us);
    const double moved = static_cast<double>(row.bytes) * (triad ? 3 : 2);
    row.gbs = row.time.med_us > 0 ? moved / row.time.med_us / 1e3 : 0;
    row.state.stable = row.time.cv <= kUnstableCv;
    if (!passes.correct) row.state.problem = "the result differs from what was to be computed";
    if (!passes.bound) row.state.problem = "a thread could not be bound to its CPU";
  } catch (const std::bad_alloc&) {
    row.state.problem = "the system refused the memory";
  }
  row.state.valid = row.state.problem.empty();
  return to_document(row);
}

}  // namespace spillway

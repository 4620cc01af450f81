#include "scenarios/machine/gpu_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace spillway {

namespace {

// Only to expect how long a cell takes: a PCIe 4 link, and the cost of a call from hardware.md 2.
constexpr double kAssumedBytesPerS = 20e9;
constexpr double kAssumedCallS = 6e-6;
constexpr double kVerifyBytesPerS = 4e9;
constexpr double kSetUpS = 0.05;
constexpr double kWarmUpS = 0.05;
constexpr double kGpuSamples = 20;
constexpr double kFewestSamples = 5;
constexpr double kSampleS = 0.002;

/// The harness queues no more calls than this behind its spinning kernel.
constexpr std::int64_t kMostGatedCalls = 512;

constexpr int kOwnNode = -2;  ///< that of the GPU

struct Copy {
  std::string dir;
  std::string api = "memcpy_async";
  std::int64_t bytes = 0;
  std::int64_t n = 1;
  std::string mem = "host_alloc";
  std::string pattern = "contiguous";
  bool gated = true;
  int stream_count = 1;
  int gpu = 0;
  int numa = kOwnNode;  ///< node of the host memory
};

bool one_call(const std::string& api) {
  return api == "memcpy_2d" || api.starts_with("kernel_");
}

class Lister {
 public:
  explicit Lister(const GpuCellsInput& input) : input_(input) {}

  std::vector<CellPlan> take() {
    std::stable_sort(out_.begin(), out_.end(),
                     [](const CellPlan& a, const CellPlan& b) { return a.priority < b.priority; });
    return std::move(out_);
  }

  void copy(int priority, Copy c) {
    // Two places for every copy, and the rotation: a batch takes no more than an eighth.
    const std::int64_t span = c.bytes * c.n;
    if (span > std::min(input_.memory_bytes / 8, 1024 * kMiB)) return;
    // A copy of pageable memory is not queued: the call waits for it.
    if ((!one_call(c.api) && c.n > kMostGatedCalls) || c.mem == "pageable") c.gated = false;
    const nlohmann::json request = {
        {"dir", c.dir},     {"gpu", c.gpu}, {"numa", c.numa == kOwnNode ? numa_of(c.gpu) : c.numa},
        {"api", c.api},     {"mem", c.mem}, {"pattern", c.pattern},
        {"bytes", c.bytes}, {"n", c.n},     {"stream_count", c.stream_count},
        {"gated", c.gated}};
    const double calls = one_call(c.api) ? 1.0 : static_cast<double>(c.n);
    add("copy", priority, request,
        std::max(calls * kAssumedCallS, static_cast<double>(span) / kAssumedBytesPerS),
        static_cast<double>(span));
  }

  /// `batch_s`: one round of what is measured; `bytes`: what is checked or filled.
  void add(const std::string& section, int priority, const nlohmann::json& request, double batch_s,
           double bytes) {
    if (!seen_.insert(section + request.dump()).second) return;
    const double samples_s = std::clamp(kGpuSamples * std::max(kSampleS, batch_s), 0.0,
                                        std::max(input_.cell_limit_s, kFewestSamples * batch_s));
    out_.push_back(
        {section, request,
         kSetUpS + std::max(kWarmUpS, 4 * batch_s) + samples_s + bytes / kVerifyBytesPerS,
         priority});
  }

  const GpuCellsInput& input() const { return input_; }

 private:
  int numa_of(int gpu) const { return input_.gpus[static_cast<std::size_t>(gpu)].numa; }

  const GpuCellsInput& input_;
  std::vector<CellPlan> out_;
  std::set<std::string> seen_;  ///< what is listed, at its lowest priority
};

const std::vector<std::string> kBothWays = {"h2d", "d2h"};

void list_link_curve(Lister& list) {
  for (const std::string& dir : kBothWays) {
    for (std::int64_t bytes = 4 * kKiB; bytes <= 64 * kMiB; bytes *= 4) {
      for (const std::int64_t n : {1, 16, 256}) list.copy(0, {.dir = dir, .bytes = bytes, .n = n});
    }
    for (std::int64_t bytes = 4 * kKiB; bytes <= 64 * kMiB; bytes *= 2) {
      for (const std::int64_t n : {1, 16, 64, 256, 1'000, 10'000}) {
        list.copy(3, {.dir = dir, .bytes = bytes, .n = n});
      }
    }
  }
  for (const GpuFacts& gpu : list.input().gpus) {
    for (const std::string& dir : kBothWays) {
      for (std::int64_t bytes = 16 * kKiB; bytes <= 16 * kMiB; bytes *= 8) {
        list.copy(3, {.dir = dir, .bytes = bytes, .n = 64, .gpu = gpu.index});
      }
    }
  }
}

/// What the host thread pays for submitting.
void list_submission(Lister& list) {
  for (const std::string& dir : kBothWays) {
    for (const std::int64_t n : {1, 64, 1'000}) {
      for (const std::int64_t bytes : {4 * kKiB, 64 * kKiB, 2 * kMiB}) {
        list.copy(n == 64 ? 1 : 4, {.dir = dir, .bytes = bytes, .n = n, .gated = false});
        if (list.input().batch) {
          list.copy(4, {.dir = dir, .api = "memcpy_batch", .bytes = bytes, .n = n, .gated = false});
        }
        list.copy(4, {.dir = dir, .api = "kernel_8", .bytes = bytes, .n = n, .gated = false});
      }
    }
  }
}

void list_methods(Lister& list) {
  // 24, 28 and 32 KiB: on an H100 the batched copy changes its regime there (vllm PR 42212).
  const std::vector<std::int64_t> sizes = {4 * kKiB,   8 * kKiB,  16 * kKiB, 24 * kKiB,
                                           28 * kKiB,  32 * kKiB, 64 * kKiB, 128 * kKiB,
                                           512 * kKiB, 2 * kMiB,  8 * kMiB};
  std::vector<std::string> methods = {"kernel_1", "kernel_2", "kernel_4", "kernel_8", "kernel_16"};
  if (list.input().batch) methods.insert(methods.end(), {"memcpy_batch", "memcpy_batch_overlap"});
  for (const std::string& dir : kBothWays) {
    for (const std::string& api : methods) {
      const bool main = api == "memcpy_batch" || api == "kernel_8";
      for (const std::int64_t bytes : sizes) {
        for (const std::int64_t n : {16, 64, 256, 1'000, 10'000}) {
          const bool first = main && n == 256 && bytes <= 2 * kMiB;
          list.copy(first ? 1 : 4, {.dir = dir, .api = api, .bytes = bytes, .n = n});
        }
      }
    }
    for (const std::string pattern : {"contiguous", "strided"}) {
      for (const std::int64_t bytes : {4 * kKiB, 32 * kKiB, 256 * kKiB, 2 * kMiB}) {
        for (const std::int64_t n : {64, 1'000}) {
          list.copy(5,
                    {.dir = dir, .api = "memcpy_2d", .bytes = bytes, .n = n, .pattern = pattern});
        }
      }
    }
  }
}

void list_patterns(Lister& list) {
  for (const std::string& dir : kBothWays) {
    for (const std::string pattern : {"random", "strided", "layer_first", "page_first"}) {
      for (const std::string api : {"memcpy_async", "memcpy_batch", "kernel_8"}) {
        if (api == "memcpy_batch" && !list.input().batch) continue;
        for (const std::int64_t bytes : {4 * kKiB, 32 * kKiB, 256 * kKiB, 2 * kMiB}) {
          const bool first = pattern == "random" && api == "memcpy_async" && bytes >= 32 * kKiB;
          list.copy(first ? 2 : 5,
                    {.dir = dir, .api = api, .bytes = bytes, .n = 256, .pattern = pattern});
        }
      }
    }
    for (const std::string mem : {"registered_4k", "registered_2m", "pageable", "write_combined"}) {
      for (const std::int64_t bytes : {16 * kKiB, 256 * kKiB, 4 * kMiB, 64 * kMiB}) {
        for (const std::int64_t n : {1, 64}) {
          list.copy(5, {.dir = dir, .bytes = bytes, .n = n, .mem = mem});
        }
      }
    }
    for (const int node : list.input().numa_nodes) {
      for (const std::int64_t bytes : {64 * kKiB, 2 * kMiB}) {
        if (list.input().numa_nodes.size() > 1) {
          list.copy(5, {.dir = dir, .bytes = bytes, .n = 64, .numa = node});
        }
      }
    }
    for (const int streams : {2, 4, 8}) {
      for (const std::int64_t bytes : {16 * kKiB, 256 * kKiB, 2 * kMiB}) {
        list.copy(5, {.dir = dir, .bytes = bytes, .n = 256, .stream_count = streams});
      }
    }
  }
  for (const std::string method : {"host_alloc", "host_register"}) {
    for (const std::int64_t page : {std::int64_t{4096}, 2 * kMiB}) {
      if (method == "host_alloc" && page != 4096) continue;
      for (const std::int64_t bytes : {64 * kMiB, 1024 * kMiB}) {
        if (bytes > list.input().memory_bytes / 2) continue;
        list.add("registration", 5, {{"method", method}, {"bytes", bytes}, {"page_bytes", page}},
                 static_cast<double>(bytes) / 5e9, 0);
      }
    }
  }
}

nlohmann::json actor(const std::string& dir, int gpu, std::int64_t bytes, std::int64_t n) {
  return {{"dir", dir}, {"gpu", gpu}, {"bytes", bytes}, {"n", n}};
}

void contention(Lister& list, int priority, const std::string& kind, const nlohmann::json& actors) {
  double bytes = 0;
  for (const nlohmann::json& a : actors) {
    bytes += static_cast<double>(a["bytes"].get<std::int64_t>() * a["n"].get<std::int64_t>());
  }
  if (bytes > static_cast<double>(list.input().memory_bytes) / 4) return;
  // Each actor alone, then all together.
  list.add("contention", priority, {{"kind", kind}, {"actors", actors}},
           2 * bytes / kAssumedBytesPerS, bytes);
}

void list_contention(Lister& list) {
  constexpr std::int64_t kCopies = 32;
  for (const std::int64_t base : {64 * kKiB, 2 * kMiB}) {
    for (const auto& [h2d, d2h] : {std::pair{1, 1}, {1, 2}, {1, 4}, {2, 1}, {4, 1}}) {
      contention(list, h2d == d2h ? 0 : 6, "duplex",
                 {actor("h2d", 0, base * h2d, kCopies), actor("d2h", 0, base * d2h, kCopies)});
    }
    for (const std::string& dir : kBothWays) {
      for (const int streams : {2, 4, 8}) {
        nlohmann::json actors = nlohmann::json::array();
        for (int i = 0; i < streams; ++i) actors.push_back(actor(dir, 0, base, kCopies));
        contention(list, 6, "streams", actors);
      }
    }
  }
  const std::vector<GpuFacts>& gpus = list.input().gpus;
  const auto together = [&](const std::vector<int>& which) {
    for (const std::string dirs : {"h2d", "d2h", "both"}) {
      nlohmann::json actors = nlohmann::json::array();
      for (const int gpu : which) {
        for (const std::string& dir : kBothWays) {
          if (dirs == "both" || dirs == dir) actors.push_back(actor(dir, gpu, 2 * kMiB, kCopies));
        }
      }
      contention(list, which.size() == gpus.size() ? 2 : 6, "gpus", actors);
    }
  };
  std::vector<int> all;
  for (const GpuFacts& gpu : gpus) all.push_back(gpu.index);
  if (all.size() > 1) together(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) together({all[i], all[j]});
  }
}

void list_interference(Lister& list) {
  for (const std::string& dir : kBothWays) {
    for (const std::string kernel : {"gemm", "read", "attention"}) {
      for (const std::string api : {"memcpy_async", "memcpy_batch", "kernel_8"}) {
        if (api == "memcpy_batch" && !list.input().batch) continue;
        const bool first = dir == "h2d" && api == "memcpy_async";
        constexpr std::int64_t kBytes = 2 * kMiB;
        constexpr std::int64_t kCopies = 32;
        list.add(
            "interference", first ? 2 : 6,
            {{"dir", dir}, {"api", api}, {"bytes", kBytes}, {"n", kCopies}, {"kernel", kernel}},
            4.0 * kBytes * kCopies / kAssumedBytesPerS, kBytes * kCopies);
      }
    }
  }
}

void list_memory_and_compute(Lister& list) {
  for (const std::string op : {"read", "write", "copy"}) {
    for (const std::int64_t bytes : {1024 * kMiB, 256 * kMiB}) {
      list.add("hbm", bytes == 1024 * kMiB ? 0 : 7, {{"gpu", 0}, {"op", op}, {"bytes", bytes}},
               static_cast<double>(bytes) / 1e12, 0);
    }
  }
  struct Shape {
    std::int64_t n;
    std::int64_t k;
  };
  // The four projections of an 8B model with 8 KV heads.
  const std::vector<Shape> shapes = {{4096, 4096}, {6144, 4096}, {28672, 4096}, {4096, 14336}};
  for (const std::int64_t m : {1, 16, 64, 256, 512, 1024, 2048, 4096, 8192}) {
    for (const Shape& shape : shapes) {
      const bool first = shape.n == 4096 && (m == 16 || m == 256 || m == 4096);
      list.add(
          "gemm", first ? 2 : 7,
          {{"gpu", 0}, {"dtype", list.input().dtype}, {"m", m}, {"n", shape.n}, {"k", shape.k}},
          2.0 * static_cast<double>(m * shape.n * shape.k) / 1e14, 0);
    }
  }
  const auto attention = [&](const std::string& op, std::int64_t sequences, std::int64_t q_tokens,
                             std::int64_t cached, bool first) {
    constexpr std::int64_t kHeads = 32;
    constexpr std::int64_t kKvHeads = 8;
    constexpr std::int64_t kDim = 128;
    const std::int64_t kv_bytes = 4 * sequences * (cached + q_tokens) * kKvHeads * kDim;
    if (kv_bytes > 4 * 1024 * kMiB) return;
    const double flops = 4.0 * static_cast<double>(sequences * q_tokens * kHeads * kDim) *
                         static_cast<double>(cached + q_tokens);
    list.add("attention", first ? 1 : 7,
             {{"gpu", 0},
              {"op", op},
              {"q_heads", kHeads},
              {"kv_heads", kKvHeads},
              {"head_dim", kDim},
              {"sequences", sequences},
              {"q_tokens", q_tokens},
              {"cached", cached}},
             std::max(flops / 5e12, static_cast<double>(kv_bytes) / 5e11), 0);
  };
  for (const std::int64_t cached : {0, 512, 2048, 8192, 32768}) {
    for (const std::int64_t q : {16, 64, 256, 1024}) {
      attention("prefill", 1, q, cached, q == 256 && (cached == 0 || cached == 8192));
    }
    for (const std::int64_t sequences : {1, 8, 32, 128}) {
      if (cached > 0) attention("decode", sequences, 1, cached, sequences == 32 && cached == 2048);
    }
  }
}

}  // namespace

double gpu_cell_limit_s(double budget_s) {
  return std::clamp(budget_s / 1200, 0.05, 1.0);
}

std::vector<CellPlan> list_gpu_cells(const GpuCellsInput& input) {
  if (input.gpus.empty()) return {};
  Lister list(input);
  list_link_curve(list);
  list_submission(list);
  list_methods(list);
  list_patterns(list);
  list_contention(list);
  list_interference(list);
  list_memory_and_compute(list);
  return list.take();
}

}  // namespace spillway

// Batches of copies between host and device: every method, host memory and pattern, verified.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/harness/answer.hpp"
#include "models/calibration/harness/layout.hpp"
#include "models/calibration/harness/machine.cuh"
#include "models/calibration/harness/timing.cuh"

namespace spillway_harness {

constexpr int kPoison = 0xa5;

inline void fill_host(char* data, std::int64_t bytes) {
  auto* words = reinterpret_cast<std::uint64_t*>(data);
  for (std::int64_t i = 0; i < bytes / 8; ++i) words[i] = word_at(static_cast<std::uint64_t>(i));
}

inline void fill_device(const DeviceMemory& memory) {
  fill<<<1024, 256>>>(memory.as<std::uint64_t>(), memory.bytes() / 8);
  check_launch("fill");
  check(cudaDeviceSynchronize(), "fill");
}

/// What one batch of copies is.
struct CopyShape {
  bool to_device = true;
  std::string api = "memcpy_async";
  std::string pattern = "contiguous";
  std::int64_t bytes = 0;
  std::int64_t n = 1;

  std::int64_t span() const { return span_of(pattern, bytes, n); }
  bool by_kernel() const { return api.compare(0, 7, "kernel_") == 0; }
  int kernel_blocks() const {
    const std::int64_t blocks = whole_number("api", api.substr(7));
    if (blocks < 1 || blocks > 1024) throw BadRequest("api: expected kernel_1 to kernel_1024");
    return static_cast<int>(blocks);
  }
  /// Submissions to the stream; the batched call counts as its copies, since a driver may take it
  /// apart.
  int calls() const {
    const bool one = by_kernel() || api == "memcpy_2d";
    return static_cast<int>(one ? 1 : std::min<std::int64_t>(n, 1 << 20));
  }
  cudaMemcpyKind kind() const {
    return to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  }
};

inline CopyShape shape_of(const Request& request) {
  CopyShape out;
  const std::string dir = request.text("dir");
  if (dir != "h2d" && dir != "d2h") throw BadRequest("dir: expected h2d or d2h");
  out.to_device = dir == "h2d";
  out.api = request.text_or("api", "memcpy_async");
  out.pattern = request.text_or("pattern", "contiguous");
  out.bytes = request.number("bytes", 16, std::int64_t{1} << 40);
  out.n = request.number("n", 1, 1 << 20);
  if (out.bytes % 16 != 0) throw BadRequest("bytes: expected a multiple of 16");
  return out;
}

/// Queues the copies of one shape between two arenas. A batch uses place `batch % places` of both.
class Copier {
 public:
  Copier(const CopyShape& shape, const HostMemory& host, const DeviceMemory& device,
         std::uint64_t seed)
      : shape_(shape),
        host_(host),
        device_(device),
        offsets_(offsets_of(shape.pattern, shape.bytes, shape.n, seed)),
        places_(std::max<std::int64_t>(1, std::min(host.bytes(), device.bytes()) / shape.span())) {
    const std::size_t bytes = offsets_.host.size() * sizeof(std::int64_t);
    host_offsets_ = DeviceMemory(static_cast<std::int64_t>(bytes));
    device_offsets_ = DeviceMemory(static_cast<std::int64_t>(bytes));
    check(cudaMemcpy(host_offsets_.data(), offsets_.host.data(), bytes, cudaMemcpyHostToDevice),
          "send offsets");
    check(cudaMemcpy(device_offsets_.data(), offsets_.device.data(), bytes, cudaMemcpyHostToDevice),
          "send offsets");
    if (shape.by_kernel()) host_on_device_ = host.on_device();
    prepare_method();
  }

  std::int64_t places() const { return places_; }

  /// Copies first, first + step, ... of a batch; all of them unless several streams share it.
  void enqueue(cudaStream_t stream, std::int64_t batch, std::int64_t first = 0,
               std::int64_t step = 1) {
    const std::int64_t base = batch % places_ * shape_.span();
    if (shape_.api == "memcpy_async") {
      for (std::int64_t i = first; i < shape_.n; i += step) {
        const auto at = static_cast<std::size_t>(i);
        char* const host = host_.data() + base + offsets_.host[at];
        char* const device = device_.data() + base + offsets_.device[at];
        check(cudaMemcpyAsync(shape_.to_device ? device : host, shape_.to_device ? host : device,
                              static_cast<std::size_t>(shape_.bytes), shape_.kind(), stream),
              "cudaMemcpyAsync");
      }
    } else if (shape_.api == "memcpy_2d") {
      enqueue_2d(stream, base);
    } else if (shape_.by_kernel()) {
      enqueue_kernel(stream, base);
    } else {
      enqueue_batch(stream, base);
    }
  }

  /// Poisons where the batch goes, copies it once more and compares every byte; the problem, or
  /// nothing.
  std::string verify_batch(const Stream& stream, std::int64_t batch) {
    const std::int64_t base = batch % places_ * shape_.span();
    if (shape_.to_device) {
      check(cudaMemset(device_.data() + base, kPoison, static_cast<std::size_t>(shape_.span())),
            "poison");
      check(cudaDeviceSynchronize(), "poison");
    } else {
      std::fill_n(host_.data() + base, shape_.span(), static_cast<char>(kPoison));
    }
    enqueue(stream, batch);
    stream.wait();
    // Reading write-combined memory from the CPU would take seconds.
    const bool on_device = shape_.to_device || host_.kind() == "write_combined";
    const std::int64_t first = on_device ? first_wrong_on_device(base) : first_wrong_on_host(base);
    if (first < 0) return "";
    return "contents differ at offset " + std::to_string(first % shape_.bytes) + " of copy " +
           std::to_string(first / shape_.bytes);
  }

 private:
  void prepare_method() {
    const auto size = static_cast<std::size_t>(shape_.n);
    if (shape_.api == "memcpy_batch" || shape_.api == "memcpy_batch_overlap") {
      targets_.resize(size);
      sources_.resize(size);
      sizes_.assign(size, static_cast<std::size_t>(shape_.bytes));
    } else if (shape_.api == "memcpy_2d") {
      if (shape_.pattern != "contiguous" && shape_.pattern != "strided") {
        throw BadRequest("api: memcpy_2d copies contiguous and strided patterns only");
      }
    } else if (shape_.by_kernel()) {
      (void)shape_.kernel_blocks();
    } else if (shape_.api != "memcpy_async") {
      throw BadRequest("api: unknown method \"" + shape_.api + "\"");
    }
  }

  void enqueue_2d(cudaStream_t stream, std::int64_t base) {
    const auto width = static_cast<std::size_t>(shape_.bytes);
    const std::size_t pitch = shape_.pattern == "strided" ? 2 * width : width;
    char* const host = host_.data() + base;
    char* const device = device_.data() + base;
    check(
        cudaMemcpy2DAsync(shape_.to_device ? device : host, pitch, shape_.to_device ? host : device,
                          pitch, width, static_cast<std::size_t>(shape_.n), shape_.kind(), stream),
        "cudaMemcpy2DAsync");
  }

  void enqueue_kernel(cudaStream_t stream, std::int64_t base) {
    const auto* there = host_offsets_.as<std::int64_t>();
    const auto* here = device_offsets_.as<std::int64_t>();
    char* const host = host_on_device_ + base;
    char* const device = device_.data() + base;
    copy_units<<<shape_.kernel_blocks(), kCopyThreads, 0, stream>>>(
        shape_.to_device ? device : host, shape_.to_device ? here : there,
        shape_.to_device ? host : device, shape_.to_device ? there : here, shape_.n, shape_.bytes);
    check_launch("copy kernel");
  }

  void enqueue_batch([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] std::int64_t base) {
#if CUDART_VERSION >= 12080
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      char* const host = host_.data() + base + offsets_.host[i];
      char* const device = device_.data() + base + offsets_.device[i];
      targets_[i] = shape_.to_device ? device : host;
      sources_[i] = shape_.to_device ? host : device;
    }
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    attributes.flags = shape_.api == "memcpy_batch_overlap" ? cudaMemcpyFlagPreferOverlapWithCompute
                                                            : cudaMemcpyFlagDefault;
    std::size_t from = 0;  // the attributes hold from the first copy on
#if CUDART_VERSION >= 13000
    check(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(),
                               &attributes, &from, 1, stream),
          "cudaMemcpyBatchAsync");
#else
    std::size_t failed = 0;
    check(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(),
                               &attributes, &from, 1, &failed, stream),
          "cudaMemcpyBatchAsync");
#endif
#else
    throw BadRequest("api: cudaMemcpyBatchAsync came with CUDA 12.8; this harness is older");
#endif
  }

  std::int64_t first_wrong_on_device(std::int64_t base) {
    const DeviceMemory first(sizeof(unsigned long long));
    unsigned long long wrong = ~0ULL;
    check(cudaMemcpy(first.data(), &wrong, sizeof wrong, cudaMemcpyHostToDevice), "verify");
    const char* const data = (shape_.to_device ? device_.data() : host_.on_device()) + base;
    const auto* there = host_offsets_.as<std::int64_t>();
    const auto* here = device_offsets_.as<std::int64_t>();
    // The pattern of the source counts from the start of its arena.
    verify_from(data, shape_.to_device ? here : there, shape_.to_device ? there : here, base,
                first);
    check(cudaMemcpy(&wrong, first.data(), sizeof wrong, cudaMemcpyDeviceToHost), "verify");
    return wrong == ~0ULL ? -1 : static_cast<std::int64_t>(wrong);
  }

  void verify_from(const char* data, const std::int64_t* to, const std::int64_t* from,
                   std::int64_t base, const DeviceMemory& first) {
    verify<<<1024, 256>>>(data, to, from, base, shape_.n, shape_.bytes,
                          first.as<unsigned long long>());
    check_launch("verify");
    check(cudaDeviceSynchronize(), "verify");
  }

  std::int64_t first_wrong_on_host(std::int64_t base) const {
    for (std::int64_t i = 0; i < shape_.n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto* words =
          reinterpret_cast<const std::uint64_t*>(host_.data() + base + offsets_.host[at]);
      const std::int64_t from = (base + offsets_.device[at]) / 8;
      for (std::int64_t w = 0; w < shape_.bytes / 8; ++w) {
        if (words[w] != word_at(static_cast<std::uint64_t>(from + w))) {
          return i * shape_.bytes + w * 8;
        }
      }
    }
    return -1;
  }

  CopyShape shape_;
  const HostMemory& host_;
  const DeviceMemory& device_;
  Offsets offsets_;
  std::int64_t places_;
  DeviceMemory host_offsets_;
  DeviceMemory device_offsets_;
  char* host_on_device_ = nullptr;
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

/// Host and device memory for copies, kept from cell to cell: pinning it takes longer than copying.
class Arenas {
 public:
  /// Sources hold the pattern of their places; targets anything.
  HostMemory& host(const std::string& mem, int node, bool source, std::int64_t bytes) {
    HostMemory& memory = source ? host_source_ : host_target_;
    if (mem != mem_ || node != node_) {
      host_source_ = HostMemory();
      host_target_ = HostMemory();
      mem_ = mem;
      node_ = node;
    }
    if (memory.bytes() < bytes) {
      memory = HostMemory();
      memory = HostMemory(mem, bytes);
      if (source) fill_host(memory.data(), bytes);
    }
    return memory;
  }
  DeviceMemory& device(int gpu, bool source, std::int64_t bytes) {
    DeviceMemory& memory = source ? device_source_ : device_target_;
    if (gpu != gpu_) {
      release_device();
      gpu_ = gpu;
    }
    check(cudaSetDevice(gpu), "choose the device");
    if (memory.bytes() < bytes) {
      memory = DeviceMemory();
      memory = DeviceMemory(bytes);
      if (source) fill_device(memory);
    }
    return memory;
  }
  void release_device() {
    device_source_ = DeviceMemory();
    device_target_ = DeviceMemory();
    gpu_ = -1;
  }
  void release() {
    release_device();
    host_source_ = HostMemory();
    host_target_ = HostMemory();
    mem_.clear();
  }

 private:
  std::string mem_;
  int node_ = -1;
  int gpu_ = -1;
  HostMemory host_source_;
  HostMemory host_target_;
  DeviceMemory device_source_;
  DeviceMemory device_target_;
};

/// Bytes through which buffers rotate: more than the caches hold, a quarter of the memory at most.
inline std::int64_t rotation_of(int gpu, std::int64_t span, const Limits& limits) {
  int l2 = 0;
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu), "read the size of the L2");
  const std::int64_t wanted = 2 * std::max<std::int64_t>(l2, last_level_cache());
  const std::int64_t most = std::max(span, limits.memory_bytes / 4);
  if (span > limits.memory_bytes / 4) {
    throw BadRequest("memory_bytes: a batch needs " + std::to_string(span) + " bytes");
  }
  return std::max(span, std::min(wanted, most) / span * span);
}

inline void measure_copy(const Request& request, const Limits& limits, Arenas& arenas,
                         NodeBinding& nodes, Answer& answer) {
  const CopyShape shape = shape_of(request);
  const std::string mem = request.text("mem");
  const auto gpu = static_cast<int>(request.number("gpu", 0, 63));
  const auto streams = request.number_or("stream_count", 1, 1, 64);
  const bool gated = request.number("gated", 0, 1) == 1;
  const auto seed = static_cast<std::uint64_t>(request.number_or("seed", 1, 0, INT64_MAX));
  if (gated && shape.calls() > kMostGatedCalls) {
    throw BadRequest("gated: no more than 512 calls can be queued behind the gate");
  }
  if (gated && mem == "pageable") {
    throw BadRequest("gated: a copy of pageable memory is not queued, the call waits for it");
  }
  if (streams > 1 && (shape.api != "memcpy_async" || shape.n < streams)) {
    throw BadRequest("stream_count: several streams share the calls of memcpy_async only");
  }
  const int node = nodes.bind(static_cast<int>(request.number_or("numa", -1, -1, 1023)));
  check(cudaSetDevice(gpu), "choose the device");
  const std::int64_t rotation = rotation_of(gpu, shape.span(), limits);
  const HostMemory& host = arenas.host(mem, node, shape.to_device, rotation);
  const DeviceMemory& device = arenas.device(gpu, !shape.to_device, rotation);
  Copier copier(shape, host, device, seed);

  const Stream stream;
  std::vector<std::unique_ptr<Stream>> others;
  std::vector<Event> joined;
  for (std::int64_t i = 1; i < streams; ++i) {
    others.push_back(std::make_unique<Stream>());
    joined.emplace_back();
  }
  const Event fork;
  const Enqueue enqueue = [&](cudaStream_t first, std::int64_t batch) {
    // The other streams start when the first one is here, and it waits for them.
    if (streams > 1) fork.record(first);
    copier.enqueue(first, batch, 0, streams);
    for (std::size_t i = 0; i < others.size(); ++i) {
      check(cudaStreamWaitEvent(*others[i], fork, 0), "fork streams");
      copier.enqueue(*others[i], batch, static_cast<std::int64_t>(i) + 1, streams);
      joined[i].record(*others[i]);
      check(cudaStreamWaitEvent(first, joined[i], 0), "join streams");
    }
  };
  if (gated) {
    Gate gate;
    const int calls = shape.calls() + static_cast<int>(streams > 1 ? 3 * streams : 0);
    answer.spread("time", GatedTimer(gate, stream, enqueue).run(limits.limit_s, calls));
    answer.number("submit_us", 0);
  } else {
    const UngatedTimes times = time_ungated(stream, enqueue, limits.limit_s);
    answer.spread("time", times.total_us).number("submit_us", times.submit_us);
  }
  const std::string problem = copier.verify_batch(stream, copier.places() - 1);
  answer.flag("valid", problem.empty());
  if (!problem.empty()) answer.text("problem", problem);
  answer.whole("numa", node).whole("rotation_bytes", rotation);
}

/// Copies that go on beside other work; owns its buffers.
class CopyParty {
 public:
  CopyParty(const CopyShape& shape, std::int64_t arena)
      : host_("host_alloc", arena), device_(arena) {
    if (shape.to_device) {
      fill_host(host_.data(), arena);
    } else {
      fill_device(device_);
    }
    copier_ = std::make_unique<Copier>(shape, host_, device_, 1);
  }
  Copier& copier() { return *copier_; }

 private:
  HostMemory host_;
  DeviceMemory device_;
  std::unique_ptr<Copier> copier_;
};

inline void measure_contention(const Request& request, const Limits& limits, NodeBinding& nodes,
                               Answer& answer) {
  const std::vector<Actor> actors = request.actors();
  std::int64_t held = 0;
  std::vector<std::unique_ptr<CopyParty>> copies;
  std::vector<Party> parties;
  for (const Actor& actor : actors) {
    CopyShape shape;
    shape.to_device = actor.dir == "h2d";
    shape.bytes = actor.bytes;
    shape.n = actor.n;
    if (shape.bytes % 16 != 0) throw BadRequest("actors: expected multiples of 16 bytes");
    const std::int64_t span = shape.span();
    const std::int64_t places = std::max<std::int64_t>(1, (std::int64_t{64} << 20) / span);
    held += places * span;
    if (held > limits.memory_bytes / 2) throw BadRequest("memory_bytes: too little for the actors");
    check(cudaSetDevice(actor.gpu), "choose the device");
    char pci[32] = "";
    check(cudaDeviceGetPCIBusId(pci, sizeof pci, actor.gpu), "read the PCI address");
    nodes.bind(numa_of(pci));
    copies.push_back(std::make_unique<CopyParty>(shape, places * span));
    Copier& copier = copies.back()->copier();
    Party party;
    party.gpu = actor.gpu;
    party.calls = shape.calls();
    party.enqueue = [&copier](cudaStream_t stream, std::int64_t batch) {
      copier.enqueue(stream, batch);
    };
    parties.push_back(std::move(party));
  }
  {
    Gate gate;
    time_parties(gate, parties, limits.limit_s);
  }
  std::vector<double> alone;
  std::vector<double> together;
  std::string problem;
  for (std::size_t i = 0; i < parties.size(); ++i) {
    const auto bytes = static_cast<double>(actors[i].bytes * actors[i].n);
    alone.push_back(bytes / summary_of(parties[i].alone_us).median / 1000);
    together.push_back(bytes / summary_of(parties[i].together_us).median / 1000);
    check(cudaSetDevice(parties[i].gpu), "choose the device");
    if (problem.empty()) problem = copies[i]->copier().verify_batch(*parties[i].stream, 0);
  }
  answer.numbers("alone_gbs", alone).numbers("together_gbs", together);
  answer.flag("valid", problem.empty());
  if (!problem.empty()) answer.text("problem", problem);
}

}  // namespace spillway_harness

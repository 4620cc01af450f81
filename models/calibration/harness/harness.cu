// spillway-gpu-harness: measures copies and kernels on this machine's GPUs for `spillway
// calibrate`, which starts it and speaks models/calibration/protocol.md with it. It is a program of
// its own, so that what happens to a GPU happens to this process only. CUDA's runtime is linked
// statically and the driver found at run time: without one, it starts and says so.
#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "models/calibration/harness/attention.cuh"
#include "models/calibration/harness/compute.cuh"
#include "models/calibration/harness/copies.cuh"
#include "models/calibration/harness/machine.cuh"
#include "models/calibration/harness/replay.cuh"

namespace spillway_harness {
namespace {

constexpr int kProtocol = 1;
constexpr int kLostExit = 3;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class Harness {
 public:
  void answer(const Request& request, Answer& out) {
    const std::string command = request.text("cmd");
    Limits limits;
    limits.limit_s = request.real_or("limit_s", limits.limit_s);
    limits.memory_bytes = request.number_or("memory_bytes", limits.memory_bytes,
                                            std::int64_t{1} << 20, std::int64_t{1} << 50);
    if (command == "hello") {
      hello(out);
    } else if (command == "device") {
      device(static_cast<int>(request.number("gpu", 0, 63)), out);
    } else if (command == "copy") {
      measure_copy(request, limits, arenas_, nodes_, out);
    } else if (command == "contention") {
      arenas_.release();
      measure_contention(request, limits, nodes_, out);
    } else if (command == "interference") {
      arenas_.release();
      interference(request, limits, out);
    } else if (command == "hbm") {
      arenas_.release_device();
      measure_hbm(request, limits, out);
    } else if (command == "gemm") {
      arenas_.release_device();
      measure_gemm(blas_, request, limits, out);
    } else if (command == "attention") {
      arenas_.release_device();
      measure_attention(request, limits, out);
    } else if (command == "registration") {
      arenas_.release();
      registration(request, limits, out);
    } else if (command == "replay") {
      arenas_.release();
      replay(request, limits, std::cin, out);
    } else {
      throw BadRequest("cmd: unknown command \"" + command + "\"");
    }
  }

 private:
  void hello(Answer& out) {
    out.whole("protocol", kProtocol).text("harness", "spillway-gpu-harness");
    out.flag("simulated", false).text("runtime", version_text(CUDART_VERSION));
    int driver = 0;
    int gpus = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
      out.text("missing", "no driver").text("what", "libcuda.so.1 is not there or does not start");
      return;
    }
    const cudaError_t counted = cudaGetDeviceCount(&gpus);
    (void)cudaGetLastError();
    if (counted == cudaErrorInsufficientDriver) {
      out.text("missing", "no driver")
          .text("what", "the driver knows CUDA " + version_text(driver) + ", this harness needs " +
                            version_text(CUDART_VERSION));
      return;
    }
    if (counted != cudaSuccess || gpus == 0) {
      out.text("missing", "no device")
          .text("what",
                counted == cudaSuccess ? "the driver finds none" : cudaGetErrorString(counted));
      return;
    }
    check(cudaSetDevice(0), "choose the device");
    const std::string named = nvml_.driver();
    out.text("driver", named.empty() ? "CUDA " + version_text(driver) : named);
    out.flag("nvml", !named.empty()).flag("wsl", on_wsl());
    out.flag("batch", CUDART_VERSION >= 12080 && driver >= 12080);
    out.text("library", blas_.name()).text("dtype", dtype_of(0)).whole("gpus", gpus);
  }

  /// The link is read while copies run, for idle links drop to a lower generation; the clocks while
  /// a kernel runs.
  void device(int gpu, Answer& out) {
    check(cudaSetDevice(gpu), "choose the device");
    cudaDeviceProp properties = {};
    check(cudaGetDeviceProperties(&properties, gpu), "read the device");
    char pci[32] = "";
    check(cudaDeviceGetPCIBusId(pci, sizeof pci, gpu), "read the PCI address");
    constexpr std::uint64_t kBusyNs = 250'000'000;
    constexpr std::int64_t kLoad = std::int64_t{16} << 20;
    const HostMemory host("host_alloc", kLoad);
    const DeviceMemory memory(kLoad);
    const Stream copies;
    const Stream kernel;
    keep_busy<<<properties.multiProcessorCount, 256, 0, kernel>>>(memory.as<float>(), kBusyNs);
    check_launch("keep busy");
    const double until = now_s() + 0.2;
    Nvml::State state;
    while (now_s() < until) {
      for (int i = 0; i < 16; ++i) {
        check(cudaMemcpyAsync(memory.data(), host.data(), static_cast<std::size_t>(kLoad),
                              cudaMemcpyHostToDevice, copies),
              "load the link");
      }
      state = nvml_.state_of(pci);
      copies.wait();
    }
    kernel.wait();
    out.text("uuid", uuid_text(properties.uuid)).text("name", properties.name).text("pci", pci);
    out.whole("numa", numa_of(pci));
    out.whole("memory_bytes", static_cast<std::int64_t>(properties.totalGlobalMem));
    out.whole("sm_count", properties.multiProcessorCount);
    out.whole("link_gen", state.gen).whole("link_width", state.width);
    out.whole("link_gen_max", state.gen_max).whole("link_width_max", state.width_max);
    out.whole("sm_mhz", state.sm_mhz).whole("memory_mhz", state.memory_mhz);
  }

  static std::string uuid_text(const cudaUUID_t& uuid) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out = "GPU-";
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
      const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
      out += kDigits[byte / 16];
      out += kDigits[byte % 16];
    }
    return out;
  }

  /// A copy beside a kernel: how much longer each takes.
  void interference(const Request& request, const Limits& limits, Answer& out) {
    const auto gpu = static_cast<int>(request.number_or("gpu", 0, 0, 63));
    check(cudaSetDevice(gpu), "choose the device");
    const CopyShape shape = shape_of(request);
    if (shape.span() > limits.memory_bytes / 4) throw BadRequest("memory_bytes: too little");
    const std::int64_t places = std::max<std::int64_t>(1, (std::int64_t{256} << 20) / shape.span());
    CopyParty copy(shape, std::min(places, limits.memory_bytes / 4 / shape.span()) * shape.span());
    std::vector<Party> parties(2);
    parties[0].gpu = parties[1].gpu = gpu;
    parties[0].calls = shape.calls();
    parties[0].enqueue = [&](cudaStream_t stream, std::int64_t batch) {
      copy.copier().enqueue(stream, batch);
    };
    const std::string kernel = request.text("kernel");
    std::unique_ptr<MemoryTraffic> traffic;
    std::unique_ptr<Attention> attention;
    std::unique_ptr<Gemm<__half>> gemm;
    if (kernel == "read") {
      traffic = std::make_unique<MemoryTraffic>(gpu, "read", std::int64_t{512} << 20);
      parties[1].enqueue = [&](cudaStream_t stream, std::int64_t) { traffic->enqueue(stream); };
    } else if (kernel == "attention") {
      AttentionShape shapes;  // decode of an 8B model: 32 sequences of 2,048 tokens
      shapes.sequences = 32;
      shapes.q_heads = 32;
      shapes.kv_heads = 8;
      shapes.cached = 2048;
      attention = std::make_unique<Attention>(gpu, true, shapes);
      parties[1].calls = attention->calls();
      parties[1].enqueue = [&](cudaStream_t stream, std::int64_t) { attention->enqueue(stream); };
    } else if (kernel == "gemm") {
      gemm = std::make_unique<Gemm<__half>>(blas_, gpu, 2048, 4096, 4096);
      parties[1].calls = 4;
      parties[1].enqueue = [&](cudaStream_t stream, std::int64_t batch) {
        gemm->enqueue(stream, batch);
      };
    } else {
      throw BadRequest("kernel: expected gemm, read or attention");
    }
    {
      Gate gate;
      time_parties(gate, parties, limits.limit_s);
    }
    const auto factor = [](const Party& party) {
      return summary_of(party.together_us).median / summary_of(party.alone_us).median;
    };
    out.number("copy_factor", factor(parties[0])).number("kernel_factor", factor(parties[1]));
    const std::string problem = copy.copier().verify_batch(*parties[0].stream, 0);
    out.flag("valid", problem.empty());
    if (!problem.empty()) out.text("problem", problem);
  }

  /// What it takes to pin memory; touching it is not in the time where that can be told apart.
  void registration(const Request& request, const Limits& limits, Answer& out) {
    const std::string method = request.text("method");
    const std::int64_t bytes = request.number("bytes", 4096, std::int64_t{1} << 39);
    const bool huge = request.number_or("page_bytes", 4096, 4096, 1 << 30) > 4096;
    if (bytes > limits.memory_bytes / 2) throw BadRequest("memory_bytes: too little");
    check(cudaSetDevice(0), "choose the device");
    check(cudaFree(nullptr), "start CUDA");
    std::vector<double> seconds;
    constexpr int kRepeats = 5;
    const double start = now_s();
    for (int i = 0; i < kRepeats && (i < 2 || now_s() - start < limits.limit_s); ++i) {
      const double before = now_s();
      if (method == "host_alloc") {
        const HostMemory memory("host_alloc", bytes);
        seconds.push_back(now_s() - before);
      } else if (method == "host_register") {
        HostMemory memory(huge ? "registered_2m" : "registered_4k", bytes);
        seconds.push_back(memory.register_s());
      } else {
        throw BadRequest("method: expected host_alloc or host_register");
      }
    }
    out.number("seconds", summary_of(seconds).median);
  }

  Nvml nvml_;
  CuBlas blas_;
  Arenas arenas_;
  NodeBinding nodes_;
};

int serve() {
  Harness harness;
  for (std::string line; std::getline(std::cin, line);) {
    std::string id = "0";
    Answer answer;
    const auto failed = [&](const char* key, const std::string& name, const std::string& what) {
      answer = Answer();
      answer.raw("id", id).text(key, name).text("what", what);
    };
    bool lost = false;
    try {
      const Request request(line);
      id = std::to_string(request.number("id", 0, INT64_MAX));
      answer.raw("id", id);
      if (request.text("cmd") == "quit") return 0;
      harness.answer(request, answer);
    } catch (const CudaFailure& error) {
      lost = !device_works();
      failed(lost ? "lost" : "error", error.name(), error.text());
    } catch (const BadRequest& error) {
      failed("error", "bad request", error.what());
    } catch (const std::bad_alloc&) {
      failed("error", "out of memory", "the system gives no more host memory");
    } catch (const std::exception& error) {
      failed("error", "harness", error.what());
    }
    std::cout << answer.line() << "\n" << std::flush;
    // Taking down a context that is lost may hang or crash.
    if (lost) std::_Exit(kLostExit);
  }
  return 0;
}

}  // namespace
}  // namespace spillway_harness

int main() {
  // Streams that share a queue would wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  return spillway_harness::serve();
}

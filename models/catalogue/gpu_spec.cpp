#include "models/catalogue/gpu_spec.hpp"

#include "models/catalogue/lookup.hpp"

namespace spillway {

namespace {

constexpr Generation kAmpere = Generation::kAmpere;
constexpr Generation kAda = Generation::kAda;
constexpr Generation kHopper = Generation::kHopper;
constexpr Generation kBlackwell = Generation::kBlackwell;

// Memory, bandwidth, rates: ai-dynamo/aiconfigurator@095f58a51c4c systems/*.yaml and
// stas00/ml-engineering@744d01e compute/accelerator/README.md; H100-NVL from
// inference-sim/training@ed5c1d2 datasheets (halved, no sparsity); A10, RTX4090 from public gists
// (kimbochen, mikasenghaas); A10 and A30 SM counts unverified. B200's bandwidth is the 7,672 GB/s
// of device clocks (pytorch/ao PR 4002), its host link Gen5 until one measures Gen6.
// clang-format off
constexpr GpuSpec kGpus[] = {
    // name, driver bytes, label only, GB/s, BF16 TFLOP/s, FP8 TFLOP/s, SMs, host link, peer GB/s,
    // generation, kernels of, L2 MiB (NVIDIA's architecture papers)
    {"A100-SXM4-40GB", 42949672960, false, 1555, 312, 0, 108,
     HostLink::kPcie4, 300, kAmpere, {}, 40},
    {"A100-SXM4-80GB", 85899345920, false, 2039, 312, 0, 108,
     HostLink::kPcie4, 300, kAmpere, {}, 40},
    {"A100-PCIe-80GB", 85899345920, false, 1935, 312, 0, 108, HostLink::kPcie4, 0, kAmpere, {}, 40},
    {"H100-SXM5-80GB", 85520809984, false, 3350, 989, 1979, 132,
     HostLink::kPcie5, 450, kHopper, {}, 50},
    {"H100-PCIe-80GB", 85520809984, false, 2000, 756, 1513, 114,
     HostLink::kPcie5, 0, kHopper, {}, 50},
    {"H100-NVL-94GB", 100485038080, false, 3900, 835.5, 1670.5, 132,
     HostLink::kPcie5, 300, kHopper},
    {"H200-SXM-141GB", 150754820096, false, 4800, 989, 1979, 132,
     HostLink::kPcie5, 450, kHopper, {}, 50},
    {"B200-SXM-180GB", 192265846784, false, 7672, 2250, 4500, 148,
     HostLink::kPcie5, 900, kBlackwell},
    {"GB200 (per GPU)", 186000000000, true, 8000, 2500, 5000, 148, HostLink::kC2c, 900, kBlackwell},
    {"GH200-96GB", 102625181696, false, 4000, 989, 1979, 132, HostLink::kC2c, 0, kHopper},
    {"GH200-144GB", 141000000000, true, 4800, 989, 1979, 132, HostLink::kC2c, 0, kHopper},
    {"L4-24GB", 24152899584, false, 300, 121, 242, 58, HostLink::kPcie4, 0, kAda, {}, 48},
    {"L40S-48GB", 48305799168, false, 864, 362, 733, 142, HostLink::kPcie4, 0, kAda, {}, 96},
    {"A10-24GB", 24146608128, false, 600, 125, 0, 72, HostLink::kPcie4, 0, kAmpere},
    {"A30-24GB", 25769803776, false, 933, 165, 0, 56, HostLink::kPcie4, 0, kAmpere},
    {"RTX4090-24GB", 25757220864, false, 1008, 165, 330, 128, HostLink::kPcie4, 0, kAda, {}, 72},
    {"RTX-PRO-6000-Server-96GB", 102641958912, false, 1792, 467.8, 935.6, 188,
     HostLink::kPcie5, 0, kBlackwell, {}, 128},
    {"MI300X-192GB", 206141652992, false, 5300, 1307, 2615, 304, HostLink::kPcie5, 64},
};
// clang-format on

constexpr Alias kAliases[] = {
    {"A100", "A100-SXM4-80GB"},
    {"A100-80GB", "A100-SXM4-80GB"},
    {"A100-SXM", "A100-SXM4-80GB"},
    {"A100-40GB", "A100-SXM4-40GB"},
    {"A100-PCIe", "A100-PCIe-80GB"},
    {"H100", "H100-SXM5-80GB"},
    {"H100-80GB", "H100-SXM5-80GB"},
    {"H100-SXM", "H100-SXM5-80GB"},
    {"H100-SXM5", "H100-SXM5-80GB"},
    {"H100-SXM-80GB", "H100-SXM5-80GB"},
    {"H100-PCIe", "H100-PCIe-80GB"},
    {"H100-NVL", "H100-NVL-94GB"},
    {"H200", "H200-SXM-141GB"},
    {"H200-SXM", "H200-SXM-141GB"},
    {"B200", "B200-SXM-180GB"},
    {"GB200", "GB200 (per GPU)"},
    {"GH200", "GH200-96GB"},
    {"L4", "L4-24GB"},
    {"L40S", "L40S-48GB"},
    {"A10", "A10-24GB"},
    {"A30", "A30-24GB"},
    {"RTX4090", "RTX4090-24GB"},
    {"4090", "RTX4090-24GB"},
    {"GeForce RTX 4090", "RTX4090-24GB"},
    {"RTX-PRO-6000", "RTX-PRO-6000-Server-96GB"},
    {"MI300X", "MI300X-192GB"},
};

}  // namespace

std::span<const GpuSpec> gpu_specs() {
  return kGpus;
}

std::string_view gpu_specs_source() {
  return "data sheets as collected by ai-dynamo/aiconfigurator@095f58a51c4c and "
         "stas00/ml-engineering@744d01e";
}

const GpuSpec& find_gpu(std::string_view name, const SourceRef& where) {
  return find_by_suffix<GpuSpec>(kGpus, kAliases, "GPU", name, where);
}

}  // namespace spillway

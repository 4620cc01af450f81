// Which GPU: by name from the catalogue, a MIG slice of one, or by its data sheet.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/catalogue/gpu_spec.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/gpu.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr double kMostRate = 1e7;
constexpr std::string_view kHostLinkNames[] = {"pcie4", "pcie5", "c2c"};
constexpr std::string_view kGenerationNames[] = {"ampere", "ada", "hopper", "blackwell", "other"};
constexpr Key kOwnGpuKeys[] = {
    required(text_key("name", "Name from spillway list gpus, or a new name.")),
    text_key("mig", "MIG slice of the named GPU, e.g. 3g.40gb."),
    text_key("like", "A listed GPU that supplies every figure that is not given."),
    size_key("memory", "Memory of the GPU."),
    rate_key("memory_bandwidth", "Memory bandwidth."),
    number_key("bf16_tflops", 0.1, kMostRate, "Dense BF16 rate."),
    number_key("fp8_tflops", 0, kMostRate, "Dense FP8 rate. 0: the GPU has none.",
               "0, or that of like"),
    integer_key("sm_count", 1, 4096, "Streaming multiprocessors."),
    choice_key("host_link", kHostLinkNames, "Link to the host."),
    choice_key("generation", kGenerationNames,
               "Generation of the tensor cores. It decides which kernels narrow weights take.",
               "other, or that of like"),
    rate_key("peer_bandwidth", "Bandwidth to other GPUs of the node, in each direction.",
             "through the host")};

struct NamedGeneration {
  std::string_view name;
  Generation generation;
};
constexpr NamedGeneration kGenerations[] = {{"ampere", Generation::kAmpere},
                                            {"ada", Generation::kAda},
                                            {"hopper", Generation::kHopper},
                                            {"blackwell", Generation::kBlackwell},
                                            {"other", Generation::kOther}};

struct NamedLink {
  std::string_view name;
  HostLink link;
};
constexpr NamedLink kHostLinks[] = {
    {"pcie4", HostLink::kPcie4}, {"pcie5", HostLink::kPcie5}, {"c2c", HostLink::kC2c}};

/// "3g.40gb": slices of the SMs (of 7) and memory.
struct MigProfile {
  int slices = 0;
  int gb = 0;
};

std::optional<MigProfile> mig_profile(std::string_view text) {
  MigProfile out;
  const char* end = text.data() + text.size();
  const auto slices = std::from_chars(text.data(), end, out.slices);
  if (slices.ec != std::errc() || end - slices.ptr < 2 || slices.ptr[0] != 'g' ||
      slices.ptr[1] != '.') {
    return std::nullopt;
  }
  const auto gb = std::from_chars(slices.ptr + 2, end, out.gb);
  const std::string_view unit(gb.ptr, static_cast<std::size_t>(end - gb.ptr));
  if (gb.ec != std::errc() || unit != "gb" || out.gb < 1 || out.slices < 1 || out.slices > 7) {
    return std::nullopt;
  }
  return out;
}

/// "80" of "H100-SXM5-80GB"; of a name without it, the memory.
double label_gb(const GpuSpec& gpu) {
  const std::size_t end = gpu.name.find("GB");
  std::size_t from = end;
  while (end != std::string_view::npos && from > 0 && gpu.name[from - 1] >= '0' &&
         gpu.name[from - 1] <= '9') {
    --from;
  }
  int label = 0;
  if (end != std::string_view::npos) {
    std::from_chars(gpu.name.data() + from, gpu.name.data() + end, label);
  }
  return label > 0 ? label : static_cast<double>(gpu.memory_bytes) / 1e9;
}

/// A slice of `whole`: its share of the SMs counts in sevenths, of the memory in eighths (NVIDIA
/// MIG User Guide, "GPU instance profiles"); bandwidth and L2 go with the memory. Peers are out of
/// its reach.
void cut(const ObjectReader& gpu, const GpuSpec& whole, const std::string& profile, OwnGpu& out) {
  constexpr std::string_view kSliced[] = {"A100", "A30", "H100", "H200", "B200", "GB200", "GH200"};
  const bool sliced =
      std::any_of(std::begin(kSliced), std::end(kSliced),
                  [&](std::string_view one) { return whole.name.starts_with(one); });
  if (!sliced) gpu.fail("mig", fmt::format("{} has no MIG slices", whole.name));
  const int compute_slices = whole.name.starts_with("A30") ? 4 : 7;
  constexpr int kMemorySlices = 8;
  const auto mig = mig_profile(profile);
  if (!mig) {
    gpu.fail("mig", fmt::format("expected a MIG profile such as 3g.40gb, found \"{}\"", profile));
  }
  // The label on the box: profiles are named by eighths of it, rounded.
  const double label = label_gb(whole);
  int eighths = 0;
  for (int n = 1; n <= kMemorySlices; ++n) {
    if (std::lround(label * n / kMemorySlices) == mig->gb) eighths = n;
  }
  if (eighths == 0 || mig->slices > compute_slices) {
    gpu.fail("mig", fmt::format("{} has no profile \"{}\": memory comes in eighths of {:.0f} GB",
                                whole.name, profile, label));
  }
  GpuSpec& spec = out.spec;
  spec = whole;
  spec.like = whole.like.empty() ? whole.name : whole.like;
  const double compute = double(mig->slices) / compute_slices;
  spec.bf16_tflops *= compute;
  spec.fp8_tflops *= compute;
  spec.sm_count = whole.sm_count * mig->slices / compute_slices;
  spec.memory_bytes = whole.memory_bytes * eighths / kMemorySlices;
  spec.memory_gbs = whole.memory_gbs * eighths / kMemorySlices;
  spec.peer_gbs = 0;
  out.name = fmt::format("{} MIG {}", whole.name, profile);
}

void read_sheet(const ObjectReader& gpu, OwnGpu& out) {
  GpuSpec& spec = out.spec;
  if (const auto like = gpu.text("like")) {
    const GpuSpec& known = find_gpu(*like, gpu.where("like"));
    spec = known;
    spec.like = known.name;
  }
  const bool base = !spec.like.empty();
  const auto rate = [&](std::string_view key, double& to, bool needed) {
    if (const auto text = gpu.text(key, ObjectReader::kRate)) {
      to = static_cast<double>(parse_bandwidth(*text, gpu.where(key))) / 1e9;
    } else if (needed && !base) {
      gpu.missing(key, ObjectReader::kRate);
    }
  };
  if (const auto memory = gpu.text("memory", ObjectReader::kSize)) {
    spec.memory_bytes = parse_bytes(*memory, gpu.where("memory")).count();
    spec.memory_is_label = true;
  } else if (!base) {
    gpu.missing("memory", "a size such as \"48GB\", or mig, or the name of a known GPU in like");
  }
  rate("memory_bandwidth", spec.memory_gbs, true);
  if (base) {
    spec.bf16_tflops = gpu.number("bf16_tflops").value_or(spec.bf16_tflops);
  } else {
    spec.bf16_tflops = gpu.require_number("bf16_tflops");
    spec.sm_count = static_cast<std::int32_t>(gpu.require_integer("sm_count"));
    spec.host_link = HostLink::kPcie4;
  }
  spec.fp8_tflops = gpu.number("fp8_tflops").value_or(spec.fp8_tflops);
  assign(spec.sm_count, gpu.integer("sm_count"));
  if (const auto link = gpu.text("host_link")) {
    spec.host_link =
        find_row(std::span<const NamedLink>(kHostLinks), "host link", *link, gpu.where("host_link"))
            .link;
  } else if (!base) {
    gpu.missing("host_link", "pcie4, pcie5 or c2c");
  }
  if (const auto name = gpu.text("generation")) {
    spec.generation = find_row(std::span<const NamedGeneration>(kGenerations), "generation", *name,
                               gpu.where("generation"))
                          .generation;
  }
  rate("peer_bandwidth", spec.peer_gbs, false);
}

}  // namespace

const KeyTable ScenarioKeys::kGpu = kOwnGpuKeys;

namespace {

void use_own(const ObjectReader& gpu, Scenario& s) {
  auto own = std::make_shared<OwnGpu>();
  if (const auto profile = gpu.text("mig")) {
    gpu.refuse({"memory", "memory_bandwidth", "bf16_tflops", "fp8_tflops", "sm_count", "host_link",
                "generation", "peer_bandwidth", "like"},
               "expected only without mig: a slice has its share of the GPU that name says");
    cut(gpu, find_gpu(gpu.require_text("name"), gpu.where("name")), *profile, *own);
    s.notes.push_back(scenario_note("gpu-slice", {{"gpu", own->name}}));
  } else {
    read_sheet(gpu, *own);
    own->name = gpu.require_text("name");
  }
  own->spec.name = own->name;
  s.gpu = &own->spec;
  s.own_gpu = std::move(own);
}

}  // namespace

/// A name, the path of a data sheet, or the data sheet itself.
void read_gpu(const ObjectReader& top, Scenario& s) {
  if (!top.has("gpu")) return;
  if (top.value("gpu").is_object()) return use_own(*top.object("gpu", ScenarioKeys::kGpu), s);
  const std::string text = *top.text("gpu");
  if (!text.ends_with(".json")) {
    s.gpu = &find_gpu(text, top.where("gpu"));
    return;
  }
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  const JsonSource file = JsonSource::from_file(path_beside(folder, top.where("gpu"), text));
  use_own(ObjectReader(file, "", "the GPU's data sheet", ScenarioKeys::kGpu), s);
}

}  // namespace spillway

#include "scenarios/machine/gpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "scenarios/machine/gpu_cells.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr int kProtocol = 1;
constexpr double kStableCv = 0.05;
constexpr double kHelloS = 30;  // the first call of CUDA reads and checks every GPU
constexpr double kDeviceS = 10;
constexpr std::string_view kSimulated = "simulated harness: not a measurement";

std::string text_of(const json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::int64_t whole_of(const json& answer, const char* key, std::int64_t otherwise = 0) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : otherwise;
}

bool flag_of(const json& answer, const char* key, bool otherwise) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

/// A finite number that is not negative.
bool is_measure(const json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
}

bool are_measures(const json& values, std::size_t count) {
  return values.is_array() && values.size() == count &&
         std::all_of(values.begin(), values.end(), is_measure);
}

bool is_spread(const json& value) {
  if (!value.is_object()) return false;
  for (const char* key : {"med_us", "p10_us", "p90_us", "p99_us", "cv", "samples"}) {
    if (!value.contains(key) || !is_measure(value[key])) return false;
  }
  return value["samples"].is_number_integer() && value["med_us"].get<double>() > 0;
}

/// What an answer must hold for a row of its section.
struct SectionKeys {
  std::string_view section;
  std::vector<const char*> numbers;
  std::vector<const char*> words;
  bool time;
};

const std::vector<SectionKeys>& section_keys() {
  static const std::vector<SectionKeys> rows = {
      {"copy", {"submit_us"}, {}, true},
      {"contention", {}, {}, false},
      {"interference", {"copy_factor", "kernel_factor"}, {}, false},
      {"hbm", {"gbs"}, {}, true},
      {"gemm", {}, {"library"}, true},
      {"attention", {}, {"kernel"}, true},
      {"registration", {"seconds"}, {}, false}};
  return rows;
}

/// A row of its section before anything was measured: a cell that fails is a row too.
json unmeasured(const SectionKeys& keys, const json& request) {
  json row = request;
  for (const char* key : keys.numbers) row[key] = 0;
  for (const char* key : keys.words) row[key] = "";
  if (keys.time) {
    row["time"] = {{"med_us", 0}, {"p10_us", 0}, {"p90_us", 0},
                   {"p99_us", 0}, {"cv", 0},     {"samples", 0}};
  }
  if (keys.section == "contention") {
    for (json& actor : row["actors"]) actor["alone_gbs"] = actor["together_gbs"] = 0;
  }
  return row;
}

/// Moves what `keys` asks for from `answer` to `row`; the name of what it lacks, or nothing.
std::string take_members(const SectionKeys& keys, const json& answer, json& row) {
  for (const char* key : keys.numbers) {
    if (!answer.contains(key) || !is_measure(answer[key])) return key;
    row[key] = answer[key];
  }
  for (const char* key : keys.words) {
    row[key] = text_of(answer, key);
    if (row[key].get_ref<const std::string&>().empty()) return key;
  }
  if (keys.time) {
    if (!answer.contains("time") || !is_spread(answer["time"])) return "time";
    row["time"] = answer["time"];
  }
  if (keys.section != "contention") return "";
  json& actors = row["actors"];
  for (const char* key : {"alone_gbs", "together_gbs"}) {
    if (!answer.contains(key) || !are_measures(answer[key], actors.size())) return key;
    for (std::size_t i = 0; i < actors.size(); ++i) actors[i][key] = answer[key][i];
  }
  return "";
}

void set_state(json& row, bool valid, const std::string& problem) {
  const bool stable = !row.contains("time") || row["time"].value("cv", 0.0) <= kStableCv;
  row["state"] = {
      {"valid", valid}, {"stable", valid && stable}, {"at_s", 0.0}, {"problem", problem}};
}

GpuFacts facts_of(const json& answer, int index) {
  GpuFacts out;
  out.index = index;
  out.uuid = text_of(answer, "uuid");
  out.name = text_of(answer, "name");
  out.pci = text_of(answer, "pci");
  const auto small = [&](const char* key, int otherwise = 0) {
    return static_cast<int>(
        std::clamp<std::int64_t>(whole_of(answer, key, otherwise), -1, 1 << 30));
  };
  out.numa = small("numa", -1);
  out.link_gen = small("link_gen");
  out.link_width = small("link_width");
  out.link_gen_max = small("link_gen_max");
  out.link_width_max = small("link_width_max");
  out.memory_bytes = whole_of(answer, "memory_bytes");
  out.sm_count = small("sm_count");
  out.sm_mhz_before = out.sm_mhz_after = small("sm_mhz");
  out.memory_mhz_before = out.memory_mhz_after = small("memory_mhz");
  return out;
}

json for_device(int index) {
  return {{"gpu", index}};
}

}  // namespace

std::optional<GpuConnection> connect_gpu(const GpuHarnessOptions& options,
                                         std::vector<std::string>& missing) {
  const auto program = find_gpu_harness(options, missing);
  if (!program) return std::nullopt;
  try {
    GpuConnection out{std::make_unique<GpuHarness>(*program, options.patience_s), {}};
    const json hello = out.harness->ask("hello", json::object(), kHelloS);
    if (whole_of(hello, "protocol") != kProtocol) {
      missing.push_back(fmt::format("GPU: {} speaks protocol {}, expected {}", *program,
                                    whole_of(hello, "protocol"), kProtocol));
      return std::nullopt;
    }
    if (hello.contains("missing")) {
      missing.push_back(
          fmt::format("GPU: {} ({})", text_of(hello, "missing"), text_of(hello, "what")));
      return std::nullopt;
    }
    out.survey.simulated = flag_of(hello, "simulated", false);
    out.survey.driver = text_of(hello, "driver");
    out.survey.runtime = text_of(hello, "runtime");
    out.survey.library = text_of(hello, "library");
    out.survey.batch = flag_of(hello, "batch", false);
    out.survey.wsl = flag_of(hello, "wsl", false);
    if (const std::string dtype = text_of(hello, "dtype"); !dtype.empty()) {
      out.survey.dtype = dtype;
    }
    constexpr std::int64_t kMostGpus = 64;
    for (int i = 0; i < std::min(whole_of(hello, "gpus"), kMostGpus); ++i) {
      const json answer = out.harness->ask("device", for_device(i), kDeviceS);
      if (answer.contains("error")) {
        missing.push_back(
            fmt::format("GPU {}: {}: {}", i, text_of(answer, "error"), text_of(answer, "what")));
        continue;
      }
      out.survey.gpus.push_back(facts_of(answer, i));
    }
    if (out.survey.gpus.empty()) {
      missing.push_back("GPU: no device");
      return std::nullopt;
    }
    return out;
  } catch (const BenchLost& lost) {
    missing.push_back(fmt::format("GPU: {}", lost.what()));
    return std::nullopt;
  }
}

std::vector<std::string> gpu_warnings(const GpuSurvey& survey) {
  std::vector<std::string> out;
  if (survey.simulated) out.emplace_back(kSimulated);
  if (survey.wsl) {
    out.emplace_back(
        "WSL: pinned memory can be slower than pageable for small copies, and the link is not "
        "seen");
  }
  for (const GpuFacts& gpu : survey.gpus) {
    const bool known = gpu.link_gen > 0 && gpu.link_gen_max > 0;
    if (known && (gpu.link_gen < gpu.link_gen_max || gpu.link_width < gpu.link_width_max)) {
      out.push_back(fmt::format(
          "GPU {} ({}): the link runs at generation {} x{} under load, and could at generation {} "
          "x{}: it trained down, and every copy of this profile is that slow",
          gpu.index, gpu.pci, gpu.link_gen, gpu.link_width, gpu.link_gen_max, gpu.link_width_max));
    }
    if (!known) {
      out.push_back(fmt::format(
          "GPU {}: the state of its link is not known (NVML does not say): a link that trained "
          "down would not be noticed",
          gpu.index));
    }
  }
  return out;
}

std::vector<CellPlan> GpuBench::plan(const BenchLimits& limits, std::vector<std::string>& missing) {
  limits_ = limits;
  if (!connection_) connection_ = connect_gpu(options_, missing);
  if (!connection_) return {};
  GpuCellsInput input;
  input.gpus = connection_->survey.gpus;
  input.dtype = connection_->survey.dtype;
  input.batch = connection_->survey.batch;
  input.memory_bytes = limits.memory_bytes;
  input.cell_limit_s = gpu_cell_limit_s(limits.budget_s);
  return list_gpu_cells(input);
}

json GpuBench::measure(const CellPlan& cell) {
  if (!connection_) throw BenchLost("the GPU harness is not there");
  const auto keys = std::find_if(section_keys().begin(), section_keys().end(),
                                 [&](const SectionKeys& k) { return k.section == cell.section; });
  KV_ASSERT(keys != section_keys().end(), "section {}", cell.section);
  json request = cell.request;
  request["limit_s"] = gpu_cell_limit_s(limits_.budget_s);
  request["memory_bytes"] = limits_.memory_bytes;
  request["seed"] = limits_.seed;
  const json answer = connection_->harness->ask(cell.section, request, 5 * cell.expected_s);

  measured_ = true;
  json row = unmeasured(*keys, cell.request);
  bool valid = flag_of(answer, "valid", true);
  std::string problem = text_of(answer, "problem");
  if (answer.contains("error")) {
    valid = false;
    problem = fmt::format("{}: {}", text_of(answer, "error"), text_of(answer, "what"));
  } else if (const std::string lacking = take_members(*keys, answer, row); !lacking.empty()) {
    valid = false;
    problem = fmt::format("the harness's answer has no usable `{}`", lacking);
  } else if (!valid && problem.empty()) {
    problem = "the harness says that it is not valid";
  }
  set_state(row, valid, problem);
  return row;
}

void GpuBench::add_facts(MachineFacts& machine) {
  if (!connection_) return;
  GpuSurvey& survey = connection_->survey;
  try {
    for (GpuFacts& gpu : survey.gpus) {
      if (!measured_) break;
      const json now = connection_->harness->ask("device", for_device(gpu.index), kDeviceS);
      gpu.sm_mhz_after = static_cast<int>(whole_of(now, "sm_mhz", gpu.sm_mhz_after));
      gpu.memory_mhz_after = static_cast<int>(whole_of(now, "memory_mhz", gpu.memory_mhz_after));
    }
  } catch (const BenchLost&) {
    // What was known before stays; that the GPU is gone is told by whoever measured.
  }
  machine.gpus = survey.gpus;
  machine.driver = survey.driver;
  machine.cuda_runtime = survey.runtime;
}

std::span<const GpuFacts> GpuBench::gpus() const {
  if (!connection_) return {};
  return connection_->survey.gpus;
}

std::vector<std::string> GpuBench::warnings() const {
  return connection_ ? gpu_warnings(connection_->survey) : std::vector<std::string>();
}

}  // namespace spillway

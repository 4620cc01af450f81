#include "scenarios/scenario/intake/intake_gpu.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "models/catalogue/gpu_device.hpp"
#include "models/catalogue/lookup.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using GpuJson = nlohmann::ordered_json;

/// Tried in this order where nothing says which GPU: the smallest that holds the model.
constexpr const char* kUsualGpus[] = {"H100", "H200", "B200"};
constexpr std::int64_t kMostRanks = 8;  // of one node

class GpuChooser {
 public:
  GpuChooser(const ServedModel& served, const IntakeOptions& options, const std::string& source,
             Draft& draft)
      : served_(served), options_(options), source_(source), draft_(draft) {}

  std::string choice(const EngineCall& call) {
    choose(call);
    return std::move(gpu_);
  }

 private:
  static GpuJson gpu_json(const std::string& name, const std::string& mig) {
    if (mig.empty()) return name;
    return {{"name", name}, {"mig", mig}};
  }

  void choose(const EngineCall& call) {
    std::string name = options_.gpu;
    std::string mig;
    std::string origin = "--gpu";
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      mig = name.substr(colon + 1);
      name.resize(colon);
    }
    if (name.empty() && !call.gpu.empty()) {
      mig = call.mig;
      std::string device = call.gpu;
      if (const std::size_t slice = device.find("-MIG-"); slice != std::string::npos) {
        mig = device.substr(slice + 5);
        device.resize(slice);
      }
      const GpuSpec* known = gpu_of_device(device, memory_in(device));
      if (known != nullptr) {
        name = std::string(known->name);
        origin = fmt::format("{} ({})", call.gpu, call.place.empty() ? "log" : call.place);
        draft_.remark(Standing::kUsed, call.gpu, fmt::format("gpu {}", name));
      } else {
        draft_.remark(Standing::kAssumed, call.gpu,
                      "no GPU of the catalogue: see \"gpu\" as an object in "
                      "scenarios/guide/models-and-gpus.md");
      }
    } else if (!name.empty()) {
      find_gpu(name, {"--gpu", 0, ""});
    }
    if (!name.empty()) {
      draft_.set("gpu", gpu_json(name, mig), origin);
      gpu_ = name;
      std::optional<InputError> error = fits();
      if (error && spread([&] { return !(error = fits()); })) return;
      if (error) throw *error;
      return;
    }
    if (call.image.find("rocm") != std::string::npos) {
      draft_.set("gpu", "MI300X", "ASSUMED: the image is for ROCm; give --gpu");
      if (!fits()) {
        gpu_ = "MI300X";
        return draft_.remark(Standing::kAssumed, "gpu",
                             "MI300X: the image is for ROCm and names no GPU; --gpu NAME says it");
      }
    }
    try_usual(call.mig);
  }

  static std::int64_t memory_in(const std::string& device) {
    const std::size_t gb = device.find("GB");
    if (gb == std::string::npos) return 0;
    std::size_t from = gb;
    while (from > 0 && device[from - 1] >= '0' && device[from - 1] <= '9') --from;
    const std::string_view digits = std::string_view(device).substr(from, gb - from);
    const std::int64_t out = parse_whole<std::int64_t>(digits).value_or(0);
    return out < 10000 ? out * 1'000'000'000 : 0;
  }

  /// Whether the scenario loads on one of the usual GPUs; else the last error.
  std::optional<InputError> fits_usual(const std::string& mig) {
    std::optional<InputError> error;
    for (const char* usual : kUsualGpus) {
      draft_.set("gpu", gpu_json(usual, mig), "ASSUMED: nothing names it; give --gpu");
      error = fits();
      if (!error) {
        gpu_ = usual;
        draft_.remark(Standing::kAssumed, "gpu",
                      fmt::format("{}: the input names none; --gpu NAME says it (spillway list "
                                  "gpus)",
                                  gpu_));
        return error;
      }
      if (!mig.empty()) break;
    }
    return error;
  }

  void try_usual(const std::string& mig) {
    std::optional<InputError> error = fits_usual(mig);
    if (error && mig.empty() && spread([&] { return !(error = fits_usual(mig)); })) return;
    if (error) throw *error;
  }

  /// More GPUs where no number of them was given. `holds` tells whether that does.
  template <class Holds>
  bool spread(const Holds& holds) {
    if (served_.ranks || draft_.at("engine.data_parallel_size").is_number_integer()) return false;
    for (std::int64_t ranks = 2; ranks <= kMostRanks; ranks *= 2) {
      draft_.set("engine.tensor_parallel_size", ranks, "ASSUMED: the fewest that hold it");
      if (!holds()) continue;
      draft_.remark(
          Standing::kAssumed, "tensor_parallel_size",
          fmt::format("{}: the input gives none, and fewer GPUs do not hold the model", ranks));
      return true;
    }
    return false;
  }

  /// The scenario as a run would read it; errors name what it was made from.
  std::optional<InputError> fits() const {
    const std::string place = (std::filesystem::path(options_.folder) / "scenario").string();
    try {
      load_scenario(JsonSource::from_text(place, draft_.text()));
      return std::nullopt;
    } catch (const InputError& e) {
      return InputError(e.fault(), {source_, 0, e.where().field}, e.message());
    }
  }

  const ServedModel& served_;
  const IntakeOptions& options_;
  const std::string& source_;
  Draft& draft_;
  std::string gpu_;
};

}  // namespace

std::string choose_gpu(const EngineCall& call, const ServedModel& served,
                       const IntakeOptions& options, const std::string& source, Draft& draft) {
  return GpuChooser(served, options, source, draft).choice(call);
}

}  // namespace spillway

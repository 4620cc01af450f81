#include "scenarios/scenario/intake/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/catalogue/gpu_device.hpp"
#include "models/catalogue/lookup.hpp"
#include "models/catalogue/model_name.hpp"
#include "models/catalogue/unknown_model.hpp"
#include "models/releases/kv_groups.hpp"
#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/intake_inputs.hpp"
#include "scenarios/scenario/intake/routing_names.hpp"
#include "scenarios/scenario/intake/sglang_arguments.hpp"
#include "scenarios/scenario/intake/trtllm_arguments.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/known_models.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUsualModel = "Llama-3.1-8B";
/// Tried in this order where nothing says which GPU: the smallest that holds the model.
constexpr const char* kUsualGpus[] = {"H100", "H200", "B200"};
constexpr std::int64_t kMostRanks = 8;  // of one node

/// A scenario has no nulls; in a config.json they say what a missing key says.
Json without_nulls(const nlohmann::json& value) {
  if (!value.is_object()) return Json::parse(value.dump());
  Json out = Json::object();
  for (const auto& [key, inner] : value.items()) {
    if (!inner.is_null()) out[key] = without_nulls(inner);
  }
  return out;
}

bool is_v0_preset(std::string_view preset) {
  return find_preset(preset, {}).family == EngineFamily::kVllmV0;
}

class IntakeMaker {
 public:
  IntakeMaker(const std::vector<IntakeText>& inputs, const IntakeOptions& options)
      : inputs_(inputs), options_(options), draft_(out_.draft) {}

  Intake make() {
    IntakeInputs given = read_inputs(inputs_, options_);
    const EngineCall call = choose_call(given, inputs_, options_, draft_);
    notes_ = std::move(given.notes);
    config_ = std::move(given.config);
    out_.source = source_of(call);
    start();
    if (call.engine == "sglang" || call.engine == "trtllm") {
      served_ = call.engine == "sglang" ? read_sglang_arguments(call, draft_)
                                        : read_trtllm_arguments(call, draft_);
      model();
    } else {
      served_ = read_vllm_arguments(call, draft_);
      model();
      if (draft_.at("engine.preset") == "vllm") {  // no other manager of KV
        preset(call);
        sliding();
      }
      pool(call);
    }
    fleet(call);
    tier();
    workload();
    slo();
    prices();
    gpu(call);
    assumed();
    return std::move(out_);
  }

 private:
  // ---- what was given

  std::string source_of(const EngineCall& call) const {
    std::string out = call.where.file;
    if (!call.place.empty()) out += ", " + call.place;
    if (call.where.line > 0) out += fmt::format(", line {}", call.where.line);
    return out;
  }

  /// Keys in the order in which people read them.
  void start() {
    for (const std::string& note : notes_) draft_.remark(Standing::kAssumed, "input", note);
    draft_.set("name", "served", "--served-model-name would say it");
    draft_.set("model.name", "", "");
    draft_.set("gpu", "", "");
    draft_.set("engine.preset", "vllm", "");
  }

  // ---- parts

  void model() {
    if (!options_.model.empty() && !config_ &&
        named_model(options_.model).match != NamedModel::Match::kExact &&
        !own_model(options_.model)) {
      find_model(options_.model, {"--model", 0, ""});
    }
    std::string given = options_.model.empty() ? served_.model : options_.model;
    const std::string written = given;
    while (given.size() > 1 && given.ends_with('/')) given.pop_back();
    const std::string origin = options_.model.empty() ? "the command's model" : "--model";
    const bool open = given.empty() || given.find_first_of("$<>") != std::string::npos;
    std::string weights = weight_dtype_of(served_.quantization);
    if (config_) return model_from_config(open ? "" : given, weights);
    NamedModel named = open ? NamedModel{} : named_model(given);
    std::optional<KnownModel> own;
    if (!open && named.match != NamedModel::Match::kExact) own = own_model(given);
    if (own) {
      named = {own->spec, NamedModel::Match::kExact, own->weights ? own->weights->dtype : ""};
    }
    if (weights.empty()) weights = named.weight_dtype;
    std::string hub;
    if (names_gguf(given)) {
      hub = " of the original model (a GGUF file holds none)";
    } else if (given.find('/') != std::string::npos && given.front() != '/') {
      hub = fmt::format(" (https://huggingface.co/{}/resolve/main/config.json)", given);
    }
    if (named.spec == nullptr) {
      out_.model_assumed = true;
      draft_.set("model.name", kUsualModel,
                 "ASSUMED: " + (given.empty() ? "no model is named" : given + " is not known"));
      draft_.remark(Standing::kAssumed,
                    given.empty() ? std::string("model") : fmt::format("model {}", written),
                    fmt::format("not in the catalogue: {} stands in its place. Give --config "
                                "config.json{}, or --model NAME (spillway list models)",
                                kUsualModel, hub));
    } else {
      shape_ = *named.spec;
      const std::string name(named.spec->name);
      std::string from = origin;
      switch (named.match) {
        case NamedModel::Match::kSize:
          out_.model_assumed = true;
          from = fmt::format("ASSUMED: the nearest in size to {}", given);
          draft_.remark(Standing::kAssumed, fmt::format("model {}", written),
                        fmt::format("not in the catalogue: {}, the nearest in size, stands in its "
                                    "place. Give --config config.json{}",
                                    name, hub));
          break;
        case NamedModel::Match::kVariant:
          from = fmt::format("{}: {}, whose shape it has", origin, given);
          draft_.remark(Standing::kUsed, written, fmt::format("model.name {}", name));
          break;
        default:
          draft_.remark(Standing::kUsed, written, fmt::format("model.name {}", name));
      }
      draft_.set("model.name", name, from);
    }
    if (!weights.empty()) {
      if (served_.quantization.empty()) {
        draft_.remark(Standing::kUsed, fmt::format("{} in the model's name", weights),
                      "model.weight_dtype");
      }
      draft_.set("model.weight_dtype", weights,
                 served_.quantization.empty() ? "the model's name"
                                              : "--quantization " + served_.quantization);
    }
    if (draft_.at("name") == "served" && !given.empty() && !open) {
      draft_.set("name", given.substr(given.rfind('/') + 1), "the model");
    }
  }

  /// The shape as the file has it, with the members that decide it.
  void model_from_config(const std::string& given, const std::string& weights) {
    const ObjectReader top(*config_, "", "config.json");
    const std::string name = given.empty() ? "" : given;
    const ModelConfig read = read_model_config(top, name);
    shape_ = read.model->spec;
    draft_.set("model.name", std::string(read.model->spec.name), "the model");
    Json config = Json::object();
    const auto keep = [](const nlohmann::json& from, Json& to) {
      for (const std::string_view key : model_config_keys()) {
        if (from.contains(key) && !from[std::string(key)].is_null() &&
            !from[std::string(key)].is_object()) {
          to[std::string(key)] = Json::parse(from[std::string(key)].dump());
        }
      }
      for (const char* key : {"rope_scaling", "rope_parameters", "quantization_config"}) {
        if (from.contains(key) && from[key].is_object()) to[key] = without_nulls(from[key]);
      }
    };
    const nlohmann::json& root = config_->root();
    keep(root, config);
    for (const std::string_view key : inner_config_keys()) {
      const std::string inner(key);
      if (!root.contains(inner) || !root[inner].is_object()) continue;
      config[inner] = Json::object();
      keep(root[inner], config[inner]);
    }
    draft_.set("model.config", std::move(config), config_->name());
    const std::string dtype = !weights.empty() ? weights
                              : read.weights   ? read.weights->dtype
                                               : std::string();
    if (!dtype.empty()) {
      draft_.set("model.weight_dtype", dtype,
                 weights.empty() ? "quantization_config" : "--quantization");
    }
    if (draft_.at("name") == "served") {
      draft_.set("name", std::string(read.model->spec.name), "the model");
    }
    draft_.remark(Standing::kUsed, config_->name(), "model.config");
  }

  /// The nearest release of the same generation: vLLM serves with v1 since 0.8, unless told.
  void preset(const EngineCall& call) {
    const std::string version = options_.release.empty() ? call.version : options_.release;
    const std::string from = options_.release.empty() ? call.version_from : "--release";
    const auto variable = call.environment.find("VLLM_USE_V1");
    const std::string use_v1 = variable == call.environment.end() ? "" : variable->second;
    const auto minor = minor_version(version);
    if (!options_.release.empty() && !minor) {
      throw InputError(
          Fault::kUsage, {"--release", 0, ""},
          fmt::format("expected a release of vLLM such as 0.9.1, found \"{}\"", options_.release));
    }
    if (!minor && use_v1 != "0") {
      draft_.set("engine.preset", std::string(engine_presets().back().name),
                 "no release is named: the newest");
      draft_.remark(
          Standing::kAssumed, "release of vLLM",
          fmt::format("{}: the input names none; --release says it", engine_presets().back().name));
      return;
    }
    bool v0 = use_v1 == "0" || (minor && *minor < kFirstV1Minor && use_v1 != "1");
    std::string why;
    if (v0 && parallel()) {
      why = "v0, which is not modelled with several GPUs: simulated as v1";
      v0 = false;
    }
    const EnginePreset& chosen =
        nearest_preset(v0 ? EngineFamily::kVllmV0 : EngineFamily::kVllmV1, minor.value_or(6));
    draft_.set("engine.preset", std::string(chosen.name),
               version.empty() ? "VLLM_USE_V1=0" : fmt::format("{}: vLLM {}", from, version));
    const bool same = minor && chosen.name == fmt::format("vllm@0.{}", *minor);
    if (!same || !why.empty()) {
      draft_.remark(Standing::kAssumed, fmt::format("vLLM {}", version.empty() ? "v0" : version),
                    fmt::format("simulated as {}, the nearest release of {}{}{}", chosen.name,
                                v0 ? "v0" : "v1", why.empty() ? "" : "; it is ", why));
    } else {
      draft_.remark(Standing::kUsed, fmt::format("vLLM {}", version), "engine.preset");
    }
  }

  bool parallel() const {
    return draft_.has("engine.tensor_parallel_size") ||
           draft_.has("engine.pipeline_parallel_size") || draft_.has("engine.data_parallel_size") ||
           draft_.has("tiers");
  }

  /// vLLM keeps only the window of sliding layers unless told otherwise; beside a connector since
  /// connectors know KV groups (#39403).
  void sliding() {
    const EnginePreset& preset = find_preset(draft_.at("engine.preset").get<std::string>(), {});
    if (!shape_ || preset.family == EngineFamily::kVllmV0) return;
    const KvGroups groups = kv_groups_of(*shape_);
    if (!groups.hybrid() || draft_.has("engine.hybrid_kv_cache")) return;
    const bool offloads = draft_.has("tiers");
    const bool plain = !draft_.has("tiers.1") && !draft_.has("tiers.0.eviction") &&
                       !draft_.has("engine.offload_connector") &&
                       !draft_.has("engine.offload_block_tokens") &&
                       !draft_.has("engine.store_threshold");
    if (offloads && !preset.has_tiering) return;
    if (!plain) {
      return draft_.remark(Standing::kNotModelled, "hybrid KV cache",
                           "sliding layers are charged in full: their windows are not modelled "
                           "beside these settings of the connector");
    }
    draft_.set("engine.hybrid_kv_cache", true, "vLLM's default for sliding layers");
    groups_ = groups.count();
  }

  /// Keys that the generation of the engine does not have.
  void pool(const EngineCall& call) {
    const bool v0 = is_v0_preset(draft_.at("engine.preset").get<std::string>());
    if (v0 && draft_.has("engine.swap_space")) {
      draft_.remark(Standing::kUsed, "--swap-space", "engine.swap_space");
    }
    if (v0) {
      for (const char* key : {"engine.enable_prefix_caching", "engine.async_scheduling",
                              "engine.long_prefill_token_threshold", "engine.scheduling_policy",
                              "engine.hybrid_kv_cache", "engine.reserve_full_isl"}) {
        if (!draft_.has(key)) continue;
        const Json value = draft_.at(key);
        draft_.erase(key);
        if (value == false) continue;
        draft_.remark(Standing::kNotModelled, fmt::format("{}", key), "not modelled with v0");
      }
    } else {
      for (const char* key : {"engine.swap_space", "engine.preemption_mode"}) {
        if (!draft_.has(key)) continue;
        draft_.erase(key);
        draft_.remark(
            Standing::kNoEffect,
            key == std::string("engine.swap_space") ? "--swap-space" : "--preemption-mode",
            "v1 has no swap space: what it preempts is computed again");
      }
    }
    if (draft_.at("engine.max_cudagraph_capture_size").is_number() &&
        draft_.at("engine.enforce_eager") == true) {
      draft_.erase("engine.max_cudagraph_capture_size");
    }
    constexpr std::int64_t kBlock = 16;
    const Json block = draft_.at("engine.block_tokens");
    const std::int64_t tokens = block.is_number_integer() ? block.get<std::int64_t>() : kBlock;
    if (draft_.has("engine.num_gpu_blocks")) return;
    if (call.pool_blocks) {
      draft_.set("engine.num_gpu_blocks", *call.pool_blocks, "the log's number of GPU blocks");
      draft_.remark(Standing::kUsed, fmt::format("{} GPU blocks", *call.pool_blocks),
                    "engine.num_gpu_blocks");
    } else if (call.pool_tokens && *call.pool_tokens / tokens >= 2) {
      draft_.set("engine.num_gpu_blocks", *call.pool_tokens / tokens * groups_,
                 fmt::format("the log's GPU KV cache size: {} tokens", *call.pool_tokens));
      draft_.remark(Standing::kUsed, fmt::format("GPU KV cache size: {} tokens", *call.pool_tokens),
                    "engine.num_gpu_blocks");
    }
  }

  void fleet(const EngineCall& call) {
    if (!call.memory.empty()) {
      draft_.remark(Standing::kNotModelled, "memory: " + call.memory,
                    "a tier of DRAM has to fit it beside the engine: give host.memory, or read "
                    "the report's page Host budget; /dev/shm has to hold the tier as well");
    }
    if (!call.replicas || *call.replicas < 2) return;
    const std::int64_t most = FleetChoice::kMostReplicas;
    draft_.set("fleet.replicas", std::min(*call.replicas, most), "replicas of " + call.place);
    draft_.remark(Standing::kUsed, fmt::format("replicas: {}", *call.replicas), "fleet.replicas");
    set_routing(call.routing, call.routing_from, draft_);
  }

  /// A tier of nothing is what runs today, and where a plan begins.
  void tier() {
    if (is_v0_preset(draft_.at("engine.preset").get<std::string>())) {
      if (!draft_.has("tiers")) return;
      draft_.erase("tiers");
      draft_.remark(Standing::kNotModelled, "offload", "v0 has no offload");
    }
    if (draft_.has("tiers")) return;
    const std::string origin = "nothing is offloaded today; `plan` tries sizes";
    draft_.set("tiers.0.name", "dram", origin);
    draft_.set("tiers.0.kind", "dram", "");
    draft_.set("tiers.0.capacity", "0GiB", origin);
  }

  void workload() {
    if (!options_.trace.empty()) {
      std::string path = options_.trace;
      std::error_code none;
      if (!std::filesystem::is_regular_file(path, none)) {
        throw InputError(Fault::kIo, {"--trace", 0, ""},
                         fmt::format("cannot open {}: expected a trace file", path));
      }
      if (!options_.folder.empty()) {
        const auto relative = std::filesystem::relative(path, options_.folder, none);
        if (!none && !relative.empty()) path = relative.string();
      }
      return draft_.set("workload.trace", path, "--trace");
    }
    // Chat sessions of four turns that fit the model's length.
    const Json length = draft_.at("engine.max_model_len");
    std::int64_t most = length.is_number_integer() ? length.get<std::int64_t>() : 8192;
    // TensorRT-LLM rejects prompts beyond a step, unless it cuts them.
    if (draft_.at("engine.preset") == "trtllm" &&
        draft_.at("engine.enable_chunked_prefill") != true) {
      const Json step = draft_.at("engine.max_num_batched_tokens");
      most = std::min(most, step.is_number_integer() ? step.get<std::int64_t>() : 8192);
    }
    const std::int64_t user = std::clamp<std::int64_t>(most / 40, 1, 300);
    const Json sessions = {
        {"requests", 600},     {"sessions_per_s", 0.1},
        {"turns", 4},          {"system_tokens", std::clamp<std::int64_t>(most / 10, 1, 1000)},
        {"user_tokens", user}, {"answer_tokens", user},
        {"max_context", most}};
    draft_.set("workload.synthetic", sessions, "ASSUMED: chat sessions; give --trace FILE");
    draft_.remark(Standing::kAssumed, "workload",
                  "chat sessions that nobody measured: your trace decides the answer (--trace "
                  "FILE; from a request log: spillway trace import)");
  }

  void slo() {
    draft_.set("slo",
               Json::array({{{"metric", "p99_ttft_ms"}, {"max", 2000}},
                            {{"metric", "p99_tpot_ms"}, {"max", 100}}}),
               "ASSUMED: put your targets here");
    draft_.remark(Standing::kAssumed, "slo",
                  "p99 TTFT 2.0 s and p99 TPOT 100 ms: put your own targets");
  }

  /// What an answer costs is asked first.
  void prices() {
    if (!draft_.has("tiers")) return;  // nothing to plan
    draft_.set("plan.prices", "list-2025", "ASSUMED: list prices of 2025; put a file of your own");
    draft_.remark(Standing::kAssumed, "plan.prices",
                  "list prices of 2025 in USD: put a file of your own (spillway schema prices)");
  }

  /// In the scenario, so that every result tells it; the figures of the SLO are in the answer.
  void assumed() {
    Json list = Json::array();
    for (const Remark& remark : draft_.remarks()) {
      if (remark.standing != Standing::kAssumed || remark.what == "slo") continue;
      list.push_back(fmt::format("assumed: {}: {}", remark.what, remark.why));
    }
    if (!list.empty()) draft_.set("assumed", std::move(list), "delete what is no longer so");
  }

  // ---- the GPU, last: whether the rest fits it decides

  static Json gpu_json(const std::string& name, const std::string& mig) {
    if (mig.empty()) return name;
    return {{"name", name}, {"mig", mig}};
  }

  void gpu(const EngineCall& call) {
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
      out_.gpu = name;
      std::optional<InputError> error = fits();
      if (error && spread([&] { return !(error = fits()); })) return;
      if (error) throw *error;
      return;
    }
    if (call.image.find("rocm") != std::string::npos) {
      draft_.set("gpu", "MI300X", "ASSUMED: the image is for ROCm; give --gpu");
      if (!fits()) {
        out_.gpu = "MI300X";
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
        out_.gpu = usual;
        draft_.remark(Standing::kAssumed, "gpu",
                      fmt::format("{}: the input names none; --gpu NAME says it (spillway list "
                                  "gpus)",
                                  out_.gpu));
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
      return InputError(e.fault(), {out_.source, 0, e.where().field}, e.message());
    }
  }

  const std::vector<IntakeText>& inputs_;
  const IntakeOptions& options_;
  Intake out_;
  Draft& draft_;
  std::vector<std::string> notes_;
  std::optional<JsonSource> config_;
  ServedModel served_;
  std::optional<ModelSpec> shape_;  ///< a row of the catalogue or of a config.json
  std::int64_t groups_ = 1;         ///< of KV: the pool counts pages of one
};

}  // namespace

Intake make_scenario(const std::vector<IntakeText>& inputs, const IntakeOptions& options) {
  return IntakeMaker(inputs, options).make();
}

}  // namespace spillway

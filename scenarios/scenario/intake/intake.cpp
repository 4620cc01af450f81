#include "scenarios/scenario/intake/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/intake_gpu.hpp"
#include "scenarios/scenario/intake/intake_inputs.hpp"
#include "scenarios/scenario/intake/intake_model.hpp"
#include "scenarios/scenario/intake/mooncake_settings.hpp"
#include "scenarios/scenario/intake/routing_names.hpp"
#include "scenarios/scenario/intake/sglang_arguments.hpp"
#include "scenarios/scenario/intake/store_variables.hpp"
#include "scenarios/scenario/intake/trtllm_arguments.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"
#include "scenarios/scenario/intake/vllm_release.hpp"
#include "scenarios/scenario/sections/fleet.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

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
    for (const Remark& one : call.remarks) draft_.remark(one.standing, one.what, one.why);
    if (call.engine == "sglang" || call.engine == "trtllm") {
      served_ = call.engine == "sglang" ? read_sglang_arguments(call, draft_)
                                        : read_trtllm_arguments(call, draft_);
      model();
    } else if (call.engine == "mooncake") {
      read_mooncake_alone(call, draft_);
      model();
    } else {
      served_ = read_vllm_arguments(call, draft_);
      set_vllm_release(call, options_, model(), draft_);
    }
    remark_store_variables(call, draft_);
    fleet(call);
    tier();
    workload();
    slo();
    prices();
    out_.gpu = choose_gpu(call, served_, options_, out_.source, draft_);
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

  std::optional<ModelSpec> model() {
    IntakeModel found = choose_model(served_, options_, config_, draft_);
    out_.model_assumed = found.assumed;
    return std::move(found.shape);
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

  const std::vector<IntakeText>& inputs_;
  const IntakeOptions& options_;
  Intake out_;
  Draft& draft_;
  std::vector<std::string> notes_;
  std::optional<JsonSource> config_;
  ServedModel served_;
};

}  // namespace

Intake make_scenario(const std::vector<IntakeText>& inputs, const IntakeOptions& options) {
  return IntakeMaker(inputs, options).make();
}

}  // namespace spillway

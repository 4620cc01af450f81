#include "scenarios/scenario/intake/trtllm_arguments.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "models/releases/host_sizes.hpp"
#include "models/releases/trtllm_config.hpp"
#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/trtllm_options.hpp"
#include "sim/catalogue.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// llm_args.py, CudaGraphConfig.
constexpr std::int64_t kGraphBatch = 128;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <class Matches>
const FlagRow* row_that(const Matches& matches) {
  const std::span<const FlagRow> rows = trtllm_options();
  const auto found = std::find_if(rows.begin(), rows.end(), matches);
  return found == rows.end() ? nullptr : &*found;
}

class TrtllmArguments {
 public:
  TrtllmArguments(const EngineCall& call, Draft& draft) : call_(call), draft_(draft) {}

  ServedModel read() {
    draft_.set("engine.preset", "trtllm", "TensorRT-LLM");
    for (std::size_t i = 0; i < call_.words.size(); ++i) take(i);
    if (!file_.empty()) read_file_of_options();
    if (!override_.empty()) {
      file_ = "--override-engine-args";
      read_options(override_);
    }
    for (const Option& option : options_) apply(option);
    host_memory();
    manager();
    steps();
    return std::move(out_);
  }

 private:
  struct Option {
    const FlagRow* row;
    std::string value;    ///< empty: null
    std::string written;  ///< "--max_batch_size 64", "kv_cache_config.max_tokens: 9"
    bool of_file = false;
  };

  [[noreturn]] void fail(const Option& option, std::string_view expected) const {
    SourceRef where = call_.where;
    where.field = option.of_file ? file_ + ": " + std::string(option.row->name)
                                 : option.written.substr(0, option.written.find_first_of(" ="));
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected {}, found \"{}\"", expected, option.value));
  }

  // ---- what was given

  void take(std::size_t& i) {
    std::string flag = call_.words[i].text;
    std::string written = flag;
    if (!flag.starts_with("--")) {
      if (out_.model.empty()) out_.model = flag;
      return;
    }
    std::optional<std::string> value;
    if (const std::size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    std::replace(flag.begin() + 2, flag.end(), '-', '_');
    const FlagRow* row = find_trtllm_flag(flag);
    const bool takes = row == nullptr || row->value != FlagValue::kNone;
    if (!value && takes && i + 1 < call_.words.size() &&
        !call_.words[i + 1].text.starts_with("--")) {
      value = call_.words[++i].text;
      written += " " + *value;
    }
    if (row == nullptr) return unknown(flag, written);
    if (row->name == "--extra_llm_api_options") {
      file_ = value.value_or("");
      file_written_ = written;
      return;
    }
    if (row->name == "--override_engine_args") {
      override_ = value.value_or("");
      return draft_.remark(Standing::kUsed, "--override-engine-args",
                           "its settings, which override the file's");
    }
    options_.push_back({row, takes ? value.value_or("") : "true", written});
  }

  void unknown(const std::string& name, const std::string& written) {
    std::vector<std::string_view> names;
    for (const FlagRow& known : trtllm_options()) {
      const bool flag = name.starts_with("--");
      if (!(flag ? known.alias : known.name).empty()) {
        names.push_back(flag ? known.alias : known.name);
      }
    }
    const std::string_view near = nearest_name(name, names);
    draft_.remark(Standing::kUnknown, written,
                  near.empty() ? std::string("no option of TensorRT-LLM that is known")
                               : fmt::format("no option of TensorRT-LLM that is known; did you "
                                             "mean {}?",
                                             near));
  }

  void read_file_of_options() {
    const std::optional<CallFile> found = file_of_call(call_, file_);
    if (!found) {
      return draft_.remark(Standing::kNotModelled, file_written_,
                           "the file was not found, and its settings are left out: put it beside "
                           "the input");
    }
    draft_.remark(Standing::kUsed, file_written_, "its settings, which override flags");
    read_options(found->text);
  }

  /// A file, or a Python dictionary, which is YAML as well.
  void read_options(const std::string& text) {
    try {
      const YAML::Node root = YAML::Load(text);
      if (root && !root.IsNull() && !root.IsMap()) {
        throw InputError(Fault::kUsage, {file_, 1, ""}, "expected a mapping of options");
      }
      flatten(root, "");
    } catch (const YAML::Exception& e) {
      throw InputError(Fault::kUsage, {file_, e.mark.line + 1, ""},
                       fmt::format("not YAML: {}", e.msg));
    }
  }

  static bool has_levels(const std::string& name) {
    return row_that([&](const FlagRow& row) { return row.name.starts_with(name + "."); }) !=
           nullptr;
  }

  void flatten(const YAML::Node& map, const std::string& above) {
    for (const auto& entry : map) {
      const std::string name = above + entry.first.as<std::string>();
      const YAML::Node& node = entry.second;
      if (node.IsMap() && has_levels(name)) {
        flatten(node, name + ".");
        continue;
      }
      YAML::Emitter text;
      text << YAML::Flow << node;
      const std::string value = node.IsScalar() ? node.Scalar() : node.IsNull() ? "" : text.c_str();
      const std::string written =
          name + (node.IsMap() ? "" : ": " + (node.IsNull() ? "null" : value));
      const FlagRow* row = row_that([&](const FlagRow& r) { return r.name == name; });
      if (row == nullptr || name.starts_with("--")) {
        unknown(name, written);
        continue;
      }
      const auto replaced =
          std::stable_partition(options_.begin(), options_.end(),
                                [&](const Option& option) { return option.row != row; });
      for (auto one = replaced; one != options_.end(); ++one) {
        draft_.remark(Standing::kNoEffect, one->written, file_ + " has " + written);
      }
      options_.erase(replaced, options_.end());
      options_.push_back({row, value, written, true});
    }
  }

  // ---- what it means

  void put(const Option& option, const std::string& key, Json value) {
    draft_.set(key, std::move(value),
               option.of_file ? fmt::format("{}: {}", file_, option.written) : option.written);
    used(option, key);
  }
  void used(const Option& option, const std::string& why) {
    draft_.remark(Standing::kUsed, option.written, why);
  }
  void left_out(const Option& option, const std::string& why) {
    draft_.remark(Standing::kNotModelled, option.written, why);
  }

  std::int64_t whole(const Option& option) const {
    const auto value = parse_whole<std::int64_t>(option.value);
    if (!value) fail(option, "a whole number");
    return *value;
  }
  /// As YAML 1.1 and click write it.
  bool truth(const Option& option) const {
    const std::string value = lower(option.value);
    if (value == "true" || value == "yes" || value == "on" || value == "1") return true;
    if (value == "false" || value == "no" || value == "off" || value == "0") return false;
    fail(option, "true or false");
  }

  void apply(const Option& option) {
    const FlagRow& row = *option.row;
    const bool none = option.of_file && option.value.empty();
    if (none && row.name != "cuda_graph_config") {
      return draft_.remark(Standing::kNoEffect, option.written, "the default holds");
    }
    switch (row.use) {
      case FlagUse::kKey:
        return key(option, std::string(row.key));
      case FlagUse::kHandled:
        return handled(option);
      case FlagUse::kNoEffect:
        return draft_.remark(Standing::kNoEffect, option.written, std::string(row.note));
      case FlagUse::kNotModelled:
        return not_modelled(option);
    }
  }

  void key(const Option& option, const std::string& key) {
    if (option.row->value == FlagValue::kNone) return put(option, key, truth(option));
    if (key != "engine.free_gpu_memory_fraction") return put(option, key, whole(option));
    const auto value = parse_real(option.value);
    if (!value) fail(option, "a number");
    put(option, key, *value);
  }

  void handled(const Option& option) {
    const std::string_view name = option.row->name;
    if (name == "model") {
      out_.model = option.value;
    } else if (name == "--served_model_name") {
      put(option, "name", option.value);
    } else if (name.ends_with("_parallel_size")) {
      ranks(option);
    } else if (name == "enable_attention_dp") {
      if (truth(option)) {
        fail(option, "false: data parallelism of TensorRT-LLM's attention is not modelled");
      }
      used(option, "as it is here");
    } else if (name == "kv_cache_config.host_cache_size") {
      host_ = option;
    } else if (name.ends_with("use_kv_cache_manager_v2")) {
      if (lower(option.value) == "auto") return used(option, "V1 here");
      if (!truth(option)) return used(option, "as it is here");
      v2_ = true;
      put(option, "engine.kv_cache_manager", "v2");
    } else if (name.ends_with("max_util_for_resume")) {
      resume_ = option;
    } else if (name.starts_with("cuda_graph_config")) {
      graphs(option);
    } else if (name.starts_with("quant_config") || name == "kv_cache_config.dtype") {
      dtype(option);
    } else if (name == "disable_overlap_scheduler") {
      serial_ = truth(option);
      if (serial_) put(option, "engine.async_scheduling", false);
    } else {
      policy(option);
    }
  }

  void ranks(const Option& option) {
    const std::int64_t value = whole(option);
    if (value < 1) fail(option, "1 or more");
    if (option.row->name != "tensor_parallel_size") {
      const bool pipeline = option.row->name == "pipeline_parallel_size";
      if (value > 1) {
        fail(option, fmt::format("1: {} of TensorRT-LLM is not modelled",
                                 pipeline ? "a pipeline" : "context parallelism"));
      }
      return used(option, "as it is here");
    }
    out_.ranks = true;
    ranks_ = value;
    if (value > 1) return put(option, "engine.tensor_parallel_size", value);
    used(option, "as it is here");
  }

  void graphs(const Option& option) {
    if (option.row->name == "cuda_graph_config") {
      if (!option.value.empty()) return used(option, "as by default");
      graphs_said_ = true;
      return put(option, "engine.enforce_eager", true);
    }
    std::int64_t most = 0;
    if (option.row->name == "cuda_graph_config.batch_sizes") {
      try {
        for (const YAML::Node& one : YAML::Load(option.value)) {
          most = std::max(most, one.as<std::int64_t>());
        }
      } catch (const YAML::Exception&) {
        fail(option, "a list of whole numbers");
      }
    } else {
      most = whole(option);
    }
    if (most < 1) return used(option, "as by default");
    graphs_said_ = true;
    put(option, "engine.max_cudagraph_capture_size", most);
  }

  void dtype(const Option& option) {
    const std::string value = lower(option.value);
    if (option.row->name == "quant_config.quant_algo") {
      out_.quantization = value.starts_with("w4")   ? "awq"
                          : value.starts_with("w8") ? "int8"
                                                    : value;
      return used(option, "model.weight_dtype");
    }
    if (value == "auto") return used(option, "as the checkpoint has it; 16 bits here");
    if (value.starts_with("fp8") || value == "int8") return put(option, "model.kv_dtype", "fp8");
    if (value.ends_with("fp4")) return put(option, "model.kv_dtype", "fp4");
    used(option, "16 bits, as here");
  }

  void policy(const Option& option) {
    std::string value = option.value;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (std::count(std::begin(kCapacityPolicyNames), std::end(kCapacityPolicyNames), value) > 0) {
      return put(option, "engine.capacity_scheduler_policy", value);
    }
    left_out(option, "each request is admitted by itself");
  }

  void not_modelled(const Option& option) {
    std::string value = lower(option.value);
    if (option.row->value == FlagValue::kNone && value != "auto") {
      value = truth(option) ? "true" : "false";
    }
    if (value == option.row->key) return used(option, "as it is here");
    left_out(option, std::string(option.row->note));
  }

  /// The KV cache manager V2 lacks settings of V1, and has one policy.
  void manager() {
    if (!v2_) {
      if (resume_) draft_.remark(Standing::kNoEffect, resume_->written, "only with the manager V2");
      return;
    }
    for (const char* key : {"engine.copy_on_partial_reuse", "engine.secondary_offload_min_priority",
                            "engine.capacity_scheduler_policy"}) {
      if (!draft_.has(key)) continue;
      draft_.erase(key);
      draft_.remark(Standing::kNoEffect, key, "the manager V2 has no such choice");
    }
    if (resume_) {
      const auto value = parse_real(resume_->value);
      if (!value) fail(*resume_, "a number");
      put(*resume_, "engine.max_util_for_resume", *value);
    }
    if (host_) return;
    draft_.set("tiers.0.name", "dram", "as large as the pool: the manager V2 makes it so");
    draft_.set("tiers.0.kind", "dram", "");
  }

  /// Of each rank, in bytes.
  void host_memory() {
    if (!host_) return;
    const std::int64_t value = whole(*host_);
    if (value < 0) fail(*host_, "0 or more");
    if (value == 0) return used(*host_, "no tier");
    const std::int64_t bytes =
        host_size_of("trtllm").bytes(value, static_cast<std::uint32_t>(ranks_));
    draft_.set("tiers.0.name", "dram", "");
    draft_.set("tiers.0.kind", "dram", "");
    draft_.set("tiers.0.capacity", fmt::format("{}B", bytes),
               fmt::format("{}, of each of {} {}", host_->written, ranks_,
                           ranks_ == 1 ? "rank" : "ranks"));
    used(*host_, "tiers.0.capacity");
  }

  /// Defaults of TensorRT-LLM that are not those of a scenario.
  void steps() {
    if (!serial_) {
      draft_.remark(Standing::kNotModelled, "disable_overlap_scheduler: false",
                    "the overlap scheduler, on by default, is left out: each step waits for the "
                    "host");
    }
    if (!graphs_said_) {
      draft_.set("engine.max_cudagraph_capture_size", kGraphBatch,
                 "TensorRT-LLM's default (cuda_graph_config.max_batch_size)");
    }
  }

  const EngineCall& call_;
  Draft& draft_;
  ServedModel out_;
  std::string file_;
  std::string file_written_;
  std::string override_;
  std::vector<Option> options_;
  std::optional<Option> host_;
  std::int64_t ranks_ = 1;
  std::optional<Option> resume_;
  bool v2_ = false;
  bool serial_ = false;
  bool graphs_said_ = false;
};

}  // namespace

ServedModel read_trtllm_arguments(const EngineCall& call, Draft& draft) {
  return TrtllmArguments(call, draft).read();
}

}  // namespace spillway

// How vLLM reads its command line: vllm/utils/argparse_utils.py (FlexibleArgumentParser).
#include "scenarios/scenario/intake/vllm_arguments.hpp"

#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/lmcache_settings.hpp"
#include "scenarios/scenario/intake/vllm_connectors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"
#include "sim/catalogue.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// One argument as it was given.
struct Argument {
  std::string flag;  ///< canonical, "--max-num-seqs"; empty: positional
  const FlagRow* row = nullptr;
  bool off = false;  ///< --no-...
  std::string path;  ///< behind a dot: "kv_connector"
  std::vector<std::string> values;
  std::string written;
  std::vector<std::string> open;  ///< substitutions that nothing resolves
};

bool is_value(const std::string& word) {
  if (word.empty() || word.front() != '-') return true;
  return word.size() > 1 && (word[1] >= '0' && word[1] <= '9');  // a negative number
}

std::optional<bool> truth(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text == "true" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "no") return false;
  return std::nullopt;
}

std::string dashed(std::string name) {
  const std::size_t end = std::min(name.find_first_of(".="), name.size());
  std::replace(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return name;
}

/// By name, alias, or as argparse does a prefix that only one flag has.
const FlagRow* flag_named(const std::string& name) {
  if (const FlagRow* row = find_vllm_flag(name)) return row;
  if (!name.starts_with("--") || name.size() < 5) return nullptr;
  const FlagRow* found = nullptr;
  for (const FlagRow& flag : vllm_flags()) {
    if (!flag.name.starts_with(name)) continue;
    if (found != nullptr) return nullptr;
    found = &flag;
  }
  return found;
}

std::vector<Argument> split(const ConfiguredWords& all) {
  const std::vector<ShellWord>& words = all.words;
  std::vector<Argument> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Argument argument;
    const bool of_file = i >= all.first && i < all.first + all.of_file;
    argument.written = words[i].text;
    argument.open = words[i].open;
    std::string name = words[i].text;
    const bool is_flag = name.size() > 1 && name.front() == '-' && !is_value(name);
    if (!is_flag) {
      argument.values = {name};
      out.push_back(std::move(argument));
      continue;
    }
    std::optional<std::string> given;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      given = name.substr(equals + 1);
      name.resize(equals);
    }
    if (name.starts_with("--")) name = dashed(name);
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
      argument.path = name.substr(dot + 1);
      name.resize(dot);
    }
    if (name.size() == 3 && name.starts_with("-O")) {  // -O3
      given = name.substr(2);
      name.resize(2);
    }
    argument.row = flag_named(name);
    if (argument.row == nullptr && name.starts_with("--no-")) {
      argument.row = flag_named("--" + name.substr(5));
      argument.off = argument.row != nullptr;
    }
    argument.flag = argument.row == nullptr ? name : std::string(argument.row->name);
    const FlagValue takes = !argument.path.empty()    ? FlagValue::kOne
                            : argument.row == nullptr ? FlagValue::kOne
                            : argument.off            ? FlagValue::kNone
                                                      : argument.row->value;
    const auto take = [&] {
      ++i;
      argument.values.push_back(words[i].text);
      argument.written += " " + words[i].text;
      argument.open.insert(argument.open.end(), words[i].open.begin(), words[i].open.end());
    };
    const auto next_is_value = [&] { return i + 1 < words.size() && is_value(words[i + 1].text); };
    if (given) {
      argument.values.push_back(*given);
    } else if (takes == FlagValue::kMany) {
      while (next_is_value()) take();
    } else if (takes != FlagValue::kNone) {
      if (next_is_value()) take();
    } else if (next_is_value() && truth(words[i + 1].text) && words[i + 1].text.size() > 1) {
      take();  // --enable-chunked-prefill False, as releases of 2024 take it
    }
    if (of_file) argument.written += " in " + all.file;
    out.push_back(std::move(argument));
  }
  return out;
}

class ArgumentReader {
 public:
  ArgumentReader(const EngineCall& call, Draft& draft) : call_(call), draft_(draft) {}

  ServedModel read() {
    const ConfiguredWords words = configured_words(call_);
    config_file_ = words.file;
    for (const Argument& argument : split(words)) take(argument);
    pool();
    offload();
    environment();
    return std::move(out_);
  }

 private:
  SourceRef where(const Argument& argument) const {
    SourceRef out = call_.where;
    out.field = argument.flag;
    return out;
  }
  [[noreturn]] void fail(const Argument& argument, const std::string& expected) const {
    throw InputError(
        Fault::kUsage, where(argument),
        fmt::format("expected {}, found {}", expected,
                    argument.values.empty() ? std::string("none")
                                            : fmt::format("\"{}\"", argument.values.front())));
  }
  void used(const Argument& argument, const std::string& key) {
    draft_.remark(Standing::kUsed, argument.written, key);
  }
  void put(const Argument& argument, const std::string& key, Json value) {
    draft_.set(key, std::move(value), argument.written);
    used(argument, key);
  }

  void take(const Argument& argument) {
    if (argument.row == nullptr && argument.flag.empty()) return positional(argument);
    if (argument.row == nullptr) {
      return draft_.remark(Standing::kUnknown, argument.written, unknown(argument.flag));
    }
    if (!argument.open.empty() && argument.row->use != FlagUse::kNoEffect &&
        argument.flag != "--model") {
      return draft_.remark(
          Standing::kNotModelled, argument.written,
          fmt::format("holds {}: write the value out", fmt::join(argument.open, ", ")));
    }
    switch (argument.row->use) {
      case FlagUse::kKey:
        return key(argument);
      case FlagUse::kHandled:
        return handled(argument);
      case FlagUse::kNoEffect:
        return draft_.remark(Standing::kNoEffect, argument.written,
                             std::string(argument.row->note));
      case FlagUse::kNotModelled:
        if (argument.off) {
          return draft_.remark(Standing::kNoEffect, argument.written, "as it is here");
        }
        return draft_.remark(Standing::kNotModelled, argument.written,
                             std::string(argument.row->note));
    }
  }

  /// vLLM lets blocks decide before bytes, and bytes before the share.
  void pool() {
    const auto decides = [&](const std::string& key, const std::string& other) {
      if (!draft_.has(key) || !draft_.has(other)) return;
      draft_.erase(other);
      draft_.remark(Standing::kNoEffect, other, fmt::format("{} decides the pool", key));
    };
    decides("engine.num_gpu_blocks", "engine.kv_cache_memory");
    decides("engine.kv_cache_memory", "engine.gpu_memory_utilization");
  }

  static std::string unknown(const std::string& flag) {
    std::vector<std::string_view> names;
    for (const FlagRow& row : vllm_flags()) names.push_back(row.name);
    const std::string_view near = nearest_name(flag, names);
    return near.empty() ? std::string("no flag of vLLM that is known")
                        : fmt::format("no flag of vLLM that is known; did you mean {}?", near);
  }

  void positional(const Argument& argument) {
    if (out_.model.empty()) {
      out_.model = argument.values.front();
    } else {
      draft_.remark(Standing::kUnknown, argument.written,
                    "no flag, and the model is given already");
    }
  }

  std::string text(const Argument& argument) const {
    if (argument.values.empty()) fail(argument, "a value");
    return argument.values.front();
  }

  double gib(const Argument& argument) const {
    const std::string value = text(argument);
    const double out = parse_real(value).value_or(-1);
    if (!(out >= 0 && out < 1e6)) fail(argument, "a number of GiB");
    return out;
  }

  void key(const Argument& argument) {
    const std::string key(argument.row->key);
    if (argument.row->value == FlagValue::kNone) {
      bool on = !argument.off;
      if (!argument.values.empty()) {
        const auto value = truth(argument.values.front());
        if (!value) fail(argument, "true or false");
        on = on == *value;
      }
      return put(argument, key, on);
    }
    const std::string value = text(argument);
    if (key == "engine.scheduling_policy") return put(argument, key, value);
    if (key == "engine.gpu_memory_utilization" || key == "engine.watermark") {
      const std::optional<double> number = parse_real(value);
      if (!number) fail(argument, "a number");
      return put(argument, key, *number);
    }
    if (key == "engine.max_model_len" && (value == "auto" || value == "-1")) {
      return draft_.remark(Standing::kUsed, argument.written, "the largest that fits the pool");
    }
    const auto number = human_integer(value);
    if (!number) fail(argument, "a whole number");
    if (key == "engine.tensor_parallel_size") out_.ranks = true;
    if (*number == 1 && key.ends_with("parallel_size")) {  // the default, which v0 has no key for
      draft_.erase(key);
      return used(argument, key);
    }
    put(argument, key, *number);
  }

  void handled(const Argument& argument) {
    const std::string& flag = argument.flag;
    if (flag == "--model" || flag == "--model-tag" || flag == "--model-id") {
      if (out_.model.empty()) out_.model = text(argument);
      if (flag != "--model") used(argument, "model.name");
    } else if (flag == "--config") {
      config_file(argument);
    } else if (flag == "--quantization") {
      out_.quantization = text(argument);
      used(argument, "model.weight_dtype");
    } else if (flag == "--dtype") {
      dtype(argument);
    } else if (flag == "--kv-cache-dtype") {
      kv_dtype(argument);
    } else if (flag == "--kv-transfer-config") {
      merge(argument, transfer_);
      transfer_text_ = argument.written;
      if (transfer_text_.size() > 60) transfer_text_ = "--kv-transfer-config";
    } else if (flag == "--connector") {
      dynamo_connector(argument);
    } else if (flag == "--kv-offloading-size") {
      offload_gib_ = gib(argument);
      offload_text_ = argument.written;
    } else if (flag == "--kv-offloading-backend") {
      backend_ = text(argument);
      if (backend_ == "native") used(argument, "tiers.0");
    } else if (flag == "--swap-space") {
      draft_.set("engine.swap_space",
                 bytes_text(static_cast<std::int64_t>(gib(argument) * 1073741824.0)),
                 argument.written);
    } else if (flag == "--preemption-mode") {
      put(argument, "engine.preemption_mode", text(argument));
    } else if (flag == "--served-model-name" || flag == "--model-name") {
      if (!argument.values.empty()) {
        draft_.set("name", argument.values.front(), argument.written);
      }
      used(argument, "name");
    } else if (flag == "--disable-hybrid-kv-cache-manager") {
      put(argument, "engine.hybrid_kv_cache", argument.off);
    } else if (flag == "--headless") {
      out_.headless = true;
      draft_.remark(Standing::kNoEffect, argument.written, "a further node of the same engine");
    } else if (flag == "--hf-overrides" || flag == "--rope-scaling") {
      draft_.remark(Standing::kNotModelled, argument.written,
                    "the context length follows --max-model-len alone");
    } else if (flag == "--compilation-config") {
      compilation(argument);
    } else if (flag == "--optimization-level") {
      draft_.remark(Standing::kNotModelled, argument.written,
                    "steps are those of compiled kernels with CUDA graphs");
    } else if (flag == "--kv-cache-memory-bytes") {
      const auto bytes = human_integer(text(argument));
      if (!bytes || *bytes < 1) fail(argument, "a number of bytes");
      put(argument, "engine.kv_cache_memory", bytes_text(*bytes));
    } else if (flag == "--cuda-graph-sizes" || flag == "--cudagraph-capture-sizes") {
      std::int64_t most = 0;
      for (const std::string& value : argument.values) {
        most = std::max(most, human_integer(value).value_or(0));
      }
      if (most < 1) fail(argument, "batch sizes");
      put(argument, "engine.max_cudagraph_capture_size", most);
    } else {
      draft_.remark(Standing::kNotModelled, argument.written, "left out");
    }
  }

  /// JSON, or one member of it behind a dot.
  void merge(const Argument& argument, Json& into) const {
    const std::string value = text(argument);
    if (argument.path.empty()) {
      into = Json::parse(value, nullptr, false);
      if (!into.is_object()) fail(argument, "a JSON object");
      return;
    }
    std::string pointer;
    std::string path = argument.path;
    const bool append = path.ends_with('+');
    if (append) path.pop_back();
    std::size_t at = 0;
    while (at <= path.size()) {
      const std::size_t dot = std::min(path.find('.', at), path.size());
      pointer += "/" + escaped_key(path.substr(at, dot - at));
      at = dot + 1;
    }
    Json parsed = Json::parse(value, nullptr, false);
    if (parsed.is_discarded()) parsed = value;
    Json& place = into[Json::json_pointer(pointer)];
    if (append) {
      place.push_back(parsed);
    } else {
      place = std::move(parsed);
    }
  }

  void compilation(const Argument& argument) {
    Json config = Json::object();
    const bool level = argument.path.empty() && human_integer(text(argument)).has_value();
    if (!level) merge(argument, config);
    const Json& mode = config.contains("cudagraph_mode") ? config["cudagraph_mode"] : Json();
    if (mode.is_string() && mode == "NONE") {
      draft_.set("engine.enforce_eager", true, argument.written);
    }
    draft_.remark(Standing::kNotModelled, argument.written,
                  "steps are those of compiled kernels with CUDA graphs");
  }

  void config_file(const Argument& argument) {
    if (!config_file_.empty()) return used(argument, "its settings; flags go before them");
    out_.config_file = text(argument);
    draft_.remark(Standing::kNotModelled, argument.written,
                  "the file was not read; give its settings as flags");
  }

  /// Releases of Dynamo before 1.0: a name in place of --kv-transfer-config.
  void dynamo_connector(const Argument& argument) {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"kvbm", "DynamoConnector"}, {"lmcache", "LMCacheConnectorV1"}, {"nixl", "NixlConnector"}};
    for (const std::string& value : argument.values) {
      for (const auto& [name, connector] : kNames) {
        if (value != name) continue;
        transfer_ = {{"kv_connector", connector}, {"kv_role", "kv_both"}};
        transfer_text_ = argument.written;
        return;
      }
    }
    draft_.remark(Standing::kNoEffect, argument.written, "no connector");
  }

  void dtype(const Argument& argument) {
    const std::string value = text(argument);
    const bool wide = value == "float32" || value == "float";
    draft_.remark(wide ? Standing::kNotModelled : Standing::kUsed, argument.written,
                  wide ? "16 bits are simulated, which is half of it" : "16 bits, as here");
  }

  void kv_dtype(const Argument& argument) {
    const std::string value = text(argument);
    if (value == "auto" || value == "bfloat16" || value == "float16" || value == "bf16") {
      return used(argument, "model.kv_dtype");
    }
    if (value.starts_with("fp8") || value == "int8") {
      return put(argument, "model.kv_dtype", "fp8");
    }
    draft_.remark(Standing::kNotModelled, argument.written,
                  "the KV cache is simulated in 16 bits: it holds fewer tokens than yours");
  }

  /// vllm/config/vllm.py, _post_init_kv_transfer_config: the size makes a connector of its own.
  void offload() {
    if (!transfer_.is_null() && offload_gib_ > 0) {
      SourceRef where = call_.where;
      where.field = "--kv-offloading-size";
      throw InputError(Fault::kUsage, where,
                       "contradicts --kv-transfer-config; expected one of them");
    }
    if (!transfer_.is_null()) return read_connector(call_, transfer_, transfer_text_, draft_);
    if (offload_gib_ <= 0) return;
    if (backend_ == "lmcache") return lmcache_offload();
    if (!backend_.empty() && backend_ != "native") {
      return draft_.remark(Standing::kNotModelled, offload_text_,
                           fmt::format("the backend {} is left out: no tier below HBM", backend_));
    }
    set_dram_tier(static_cast<std::int64_t>(offload_gib_ * 1073741824.0), offload_text_, draft_);
    draft_.remark(Standing::kUsed, offload_text_, "tiers.0.capacity");
  }

  /// The size is of all ranks together; LMCache's own is of one.
  void lmcache_offload() {
    EngineCall call = call_;
    call.environment["LMCACHE_MAX_LOCAL_CPU_SIZE"] =
        fmt::format("{}", offload_gib_ / static_cast<double>(ranks_of(draft_)));
    draft_.remark(Standing::kUsed, offload_text_, "tiers.0.capacity");
    draft_.remark(Standing::kUsed, "--kv-offloading-backend lmcache", "engine.offload_connector");
    read_lmcache_settings(call, ranks_of(draft_), draft_);
  }

  void environment() {
    const auto set = [&](const char* name) {
      const auto found = call_.environment.find(name);
      return found == call_.environment.end() ? std::string() : found->second;
    };
    if (set("VLLM_USE_SIMPLE_KV_OFFLOAD") == "1" && draft_.has("tiers.0")) {
      draft_.set("engine.offload_connector", "simple", "VLLM_USE_SIMPLE_KV_OFFLOAD=1");
    }
    for (const auto& [name, value] : call_.environment) {
      if (draft_.at("engine.offload_connector") == "lmcache") continue;  // told with its tiers
      if (name.starts_with("LMCACHE_") || name.starts_with("lmcacheConfig")) {
        draft_.remark(Standing::kNotModelled, name + "=" + value, "LMCache's tiers are left out");
      }
    }
  }

  const EngineCall& call_;
  Draft& draft_;
  ServedModel out_;
  std::string config_file_;  ///< that was read
  Json transfer_;
  std::string transfer_text_;
  double offload_gib_ = 0;
  std::string offload_text_;
  std::string backend_;
};

}  // namespace

std::optional<std::int64_t> human_integer(std::string text) {
  double scale = 1;
  bool binary = false;
  if (!text.empty()) {
    constexpr std::string_view kSmall = "kmgt";
    constexpr std::string_view kLarge = "KMGT";
    const std::size_t small = kSmall.find(text.back());
    const std::size_t large = kLarge.find(text.back());
    constexpr std::array<double, 4> kThousands = {1e3, 1e6, 1e9, 1e12};
    constexpr std::array<double, 4> kBinary = {0x1p10, 0x1p20, 0x1p30, 0x1p40};
    if (small != std::string_view::npos) scale = kThousands[small];
    if (large != std::string_view::npos) scale = kBinary[large];
    binary = large != std::string_view::npos;
    if (scale > 1) text.pop_back();
  }
  const std::optional<double> value = parse_real(text);
  if (!value || (binary && *value != std::floor(*value))) return std::nullopt;
  const double out = *value * scale;
  if (!(std::abs(out) < 9e15) || out != std::floor(out)) return std::nullopt;
  return static_cast<std::int64_t>(out);
}

ServedModel read_vllm_arguments(const EngineCall& call, Draft& draft) {
  return ArgumentReader(call, draft).read();
}

}  // namespace spillway

#include "scenarios/scenario/intake/sglang_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "models/releases/host_sizes.hpp"
#include "models/releases/sglang_config.hpp"
#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/mooncake_settings.hpp"
#include "scenarios/scenario/intake/store_setting.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"
#include "sim/catalogue.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kNone = FlagValue::kNone;
constexpr auto kOne = FlagValue::kOne;
constexpr auto kKey = FlagUse::kKey;
constexpr auto kHandled = FlagUse::kHandled;
constexpr auto kNoEffect = FlagUse::kNoEffect;
constexpr auto kNotModelled = FlagUse::kNotModelled;

constexpr std::string_view kServing = "serving, not the engine";
constexpr FlagRow kSglangFlags[] = {
    {"--page-size", "", kOne, kKey, "engine.page_size", ""},
    {"--max-total-tokens", "", kOne, kKey, "engine.max_total_tokens", ""},
    {"--mem-fraction-static", "", kOne, kKey, "engine.mem_fraction_static", ""},
    {"--max-running-requests", "", kOne, kKey, "engine.max_running_requests", ""},
    {"--chunked-prefill-size", "", kOne, kKey, "engine.chunked_prefill_size", ""},
    {"--max-prefill-tokens", "", kOne, kKey, "engine.max_prefill_tokens", ""},
    {"--schedule-conservativeness", "", kOne, kKey, "engine.schedule_conservativeness", ""},
    {"--context-length", "", kOne, kKey, "engine.max_model_len", ""},
    {"--cuda-graph-max-bs", "", kOne, kKey, "engine.max_cudagraph_capture_size", ""},
    {"--hicache-write-policy", "", kOne, kHandled, "", ""},
    {"--model-path", "--model", kOne, kHandled, "", ""},
    {"--served-model-name", "", kOne, kHandled, "", ""},
    {"--tp-size", "--tp", kOne, kHandled, "", ""},
    {"--tensor-parallel-size", "", kOne, kHandled, "", ""},
    {"--quantization", "", kOne, kHandled, "", ""},
    {"--kv-cache-dtype", "", kOne, kHandled, "", ""},
    {"--schedule-policy", "", kOne, kHandled, "", ""},
    {"--radix-eviction-policy", "", kOne, kHandled, "", ""},
    {"--enable-mixed-chunk", "", kNone, kHandled, "", ""},
    {"--disable-overlap-schedule", "", kNone, kHandled, "", ""},
    {"--disable-cuda-graph", "", kNone, kHandled, "", ""},
    {"--enable-hierarchical-cache", "", kNone, kHandled, "", ""},
    {"--hicache-ratio", "", kOne, kHandled, "", ""},
    {"--hicache-size", "", kOne, kHandled, "", ""},
    {"--hicache-io-backend", "", kOne, kNoEffect, "", "links[] has the rate of the copies"},
    {"--hicache-mem-layout", "", kOne, kNoEffect, "", "links[] has the rate of the copies"},
    {"--hicache-storage-backend", "", kOne, kHandled, "", ""},
    {"--hicache-storage-prefetch-policy", "", kOne, kHandled, "", ""},
    {"--hicache-storage-backend-extra-config", "", kOne, kHandled, "", ""},
    {"--enable-priority-scheduling", "", kNone, kNotModelled, "",
     "requests are taken as they come"},
    {"--disable-radix-cache", "", kNone, kHandled, "", ""},
    {"--config", "", kOne, kHandled, "", ""},
    {"--skip-tokenizer-init", "", kNone, kNoEffect, "", kServing},
    {"--disaggregation-transfer-backend", "", kOne, kNotModelled, "",
     "prefill and decode run in one engine"},
    {"--disaggregation-bootstrap-port", "", kOne, kNoEffect, "", kServing},
    {"--disaggregation-ib-device", "", kOne, kNoEffect, "", kServing},
    {"--base-gpu-id", "", kOne, kNoEffect, "", kServing},
    {"--kv-events-config", "", kOne, kNoEffect, "", kServing},
    {"--endpoint", "", kOne, kNoEffect, "", kServing},
    {"--dp-size", "--dp", kOne, kNotModelled, "", "one engine of these: fleet.replicas has more"},
    {"--data-parallel-size", "", kOne, kNotModelled, "",
     "one engine of these: fleet.replicas has more"},
    {"--pp-size", "", kOne, kNotModelled, "", "a pipeline of SGLang is not modelled"},
    {"--enable-dp-attention", "", kNone, kNotModelled, "", "attention is spread over all ranks"},
    {"--ep-size", "--ep", kOne, kNotModelled, "", "experts are spread as --tp-size says"},
    {"--disaggregation-mode", "", kOne, kNotModelled, "", "prefill and decode run in one engine"},
    {"--speculative-algorithm", "", kOne, kNotModelled, "", "a decode makes one token"},
    {"--speculative-num-steps", "", kOne, kNotModelled, "", "a decode makes one token"},
    {"--speculative-eagle-topk", "", kOne, kNotModelled, "", "a decode makes one token"},
    {"--speculative-num-draft-tokens", "", kOne, kNotModelled, "", "a decode makes one token"},
    {"--dtype", "", kOne, kNoEffect, "", "16 bits, unless --quantization says otherwise"},
    {"--attention-backend", "", kOne, kNoEffect, "", "compute has the step times"},
    {"--host", "", kOne, kNoEffect, "", kServing},
    {"--port", "", kOne, kNoEffect, "", kServing},
    {"--api-key", "", kOne, kNoEffect, "", kServing},
    {"--log-level", "", kOne, kNoEffect, "", kServing},
    {"--enable-metrics", "", kNone, kNoEffect, "", kServing},
    {"--enable-cache-report", "", kNone, kNoEffect, "", kServing},
    {"--trust-remote-code", "", kNone, kNoEffect, "", kServing},
    {"--tokenizer-path", "", kOne, kNoEffect, "", kServing},
    {"--chat-template", "", kOne, kNoEffect, "", kServing},
    {"--reasoning-parser", "", kOne, kNoEffect, "", kServing},
    {"--tool-call-parser", "", kOne, kNoEffect, "", kServing},
    {"--random-seed", "", kOne, kNoEffect, "", kServing},
    {"--dist-init-addr", "", kOne, kNoEffect, "", kServing},
    {"--nnodes", "", kOne, kNoEffect, "", kServing},
    {"--node-rank", "", kOne, kNoEffect, "", kServing},
};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const FlagRow* row_of(std::string_view flag) {
  const auto* const found =
      std::find_if(std::begin(kSglangFlags), std::end(kSglangFlags), [&](const FlagRow& row) {
        return row.name == flag || (!row.alias.empty() && row.alias == flag);
      });
  return found == std::end(kSglangFlags) ? nullptr : found;
}

class SglangArguments {
 public:
  SglangArguments(const EngineCall& call, Draft& draft) : call_(call), draft_(draft) {}

  ServedModel read() {
    draft_.set("engine.preset", "sglang", "SGLang");
    const ConfiguredWords words = configured_words(call_);
    words_ = words.words;
    config_file_ = words.file;
    for (std::size_t i = 0; i < words_.size(); ++i) take(i);
    check_contradictions();
    pool();
    host_memory();
    return std::move(out_);
  }

 private:
  struct Argument {
    std::string flag;
    std::string value;
    std::string written;
  };

  [[noreturn]] void fail(const Argument& argument, std::string_view expected) const {
    SourceRef where = call_.where;
    where.field = argument.flag;
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected {}, found \"{}\"", expected, argument.value));
  }
  void put(const Argument& argument, const std::string& key, Json value) {
    draft_.set(key, std::move(value), argument.written);
    draft_.remark(Standing::kUsed, argument.written, key);
  }
  double number(const Argument& argument) const {
    const auto value = parse_real(argument.value);
    if (!value) fail(argument, "a number");
    return *value;
  }
  std::int64_t whole(const Argument& argument) const {
    const auto value = parse_whole<std::int64_t>(argument.value);
    if (!value) fail(argument, "a whole number");
    return *value;
  }

  void take(std::size_t& i) {
    Argument argument;
    argument.flag = argument.written = words_[i].text;
    if (!argument.flag.starts_with("--")) {
      if (out_.model.empty()) out_.model = argument.flag;
      return;
    }
    const std::size_t equals = argument.flag.find('=');
    if (equals != std::string::npos) {
      argument.value = argument.flag.substr(equals + 1);
      argument.flag.resize(equals);
    }
    std::replace(argument.flag.begin(), argument.flag.end(), '_', '-');
    const FlagRow* row = row_of(argument.flag);
    const bool takes = row == nullptr || row->value != kNone;
    const bool negative = i + 1 < words_.size() && words_[i + 1].text == "-1";
    if (equals == std::string::npos && takes && i + 1 < words_.size() &&
        (negative || !words_[i + 1].text.starts_with("-"))) {
      argument.value = words_[++i].text;
      argument.written += " " + argument.value;
    }
    if (row == nullptr) {
      std::vector<std::string_view> names;
      for (const FlagRow& known : kSglangFlags) names.push_back(known.name);
      const std::string_view near = nearest_name(argument.flag, names);
      return draft_.remark(Standing::kUnknown, argument.written,
                           near.empty() ? std::string("no flag of SGLang that is known")
                                        : fmt::format("no flag of SGLang that is known; did you "
                                                      "mean {}?",
                                                      near));
    }
    argument.flag = row->name;
    switch (row->use) {
      case kKey:
        return key(argument, std::string(row->key));
      case kHandled:
        return handled(argument);
      case kNoEffect:
        return draft_.remark(Standing::kNoEffect, argument.written, std::string(row->note));
      case kNotModelled:
        return draft_.remark(Standing::kNotModelled, argument.written, std::string(row->note));
    }
  }

  void key(const Argument& argument, const std::string& key) {
    if (key == "engine.mem_fraction_static" || key == "engine.schedule_conservativeness") {
      return put(argument, key, number(argument));
    }
    put(argument, key, whole(argument));
  }

  void handled(const Argument& argument) {
    const std::string& flag = argument.flag;
    if (flag == "--model-path") {
      out_.model = argument.value;
    } else if (flag == "--served-model-name") {
      put(argument, "name", argument.value);
    } else if (flag == "--tp-size" || flag == "--tensor-parallel-size") {
      out_.ranks = true;
      ranks_ = whole(argument);
      if (ranks_ < 1) fail(argument, "1 or more");
      if (ranks_ > 1) put(argument, "engine.tensor_parallel_size", ranks_);
    } else if (flag == "--quantization") {
      out_.quantization = argument.value;
      draft_.remark(Standing::kUsed, argument.written, "model.weight_dtype");
    } else if (flag == "--kv-cache-dtype") {
      if (argument.value.starts_with("fp8")) put(argument, "model.kv_dtype", "fp8");
    } else if (flag == "--schedule-policy") {
      if (is_one_of(argument.value, kQueuePolicyNames))
        return put(argument, "engine.schedule_policy", argument.value);
      draft_.remark(Standing::kNotModelled, argument.written, "requests are taken as they come");
    } else if (flag == "--radix-eviction-policy") {
      if (is_one_of(argument.value, kRadixEvictionNames))
        return put(argument, "engine.radix_eviction_policy", argument.value);
      draft_.remark(Standing::kNotModelled, argument.written, "the least recently used leaves");
    } else if (flag == "--enable-mixed-chunk") {
      put(argument, "engine.enable_mixed_chunk", true);
    } else if (flag == "--disable-overlap-schedule") {
      put(argument, "engine.async_scheduling", false);
    } else if (flag == "--disable-cuda-graph") {
      put(argument, "engine.enforce_eager", true);
    } else if (flag == "--disable-radix-cache") {
      no_radix_ = true;
      draft_.remark(Standing::kNotModelled, argument.written, "prefixes are cached all the same");
    } else if (flag == "--config") {
      draft_.remark(config_file_.empty() ? Standing::kNotModelled : Standing::kUsed,
                    argument.written,
                    config_file_.empty() ? "the file was not found; give its settings as flags"
                                         : "its settings; flags go before them");
    } else if (flag == "--enable-hierarchical-cache") {
      hicache_ = argument;
    } else if (flag == "--hicache-write-policy") {
      policy_ = argument;
    } else if (flag == "--hicache-ratio") {
      ratio_ = argument;
    } else if (flag == "--hicache-storage-backend") {
      storage_ = argument;
    } else if (flag == "--hicache-storage-prefetch-policy") {
      prefetch_ = argument;
    } else if (flag == "--hicache-storage-backend-extra-config") {
      extra_ = argument;
    } else {
      size_ = argument;
    }
  }

  /// server_args.py refuses them together as well.
  void check_contradictions() const {
    if (!hicache_ || !no_radix_) return;
    SourceRef where = call_.where;
    where.field = "--disable-radix-cache";
    throw InputError(Fault::kUsage, where,
                     "contradicts --enable-hierarchical-cache; expected one of them");
  }

  void pool() {
    if (draft_.has("engine.max_total_tokens")) {
      if (!draft_.has("engine.mem_fraction_static")) return;
      draft_.erase("engine.mem_fraction_static");
      draft_.remark(Standing::kNoEffect, "--mem-fraction-static",
                    "--max-total-tokens is taken for the pool");
    }
    if (draft_.has("engine.mem_fraction_static") || draft_.has("engine.max_total_tokens")) return;
    draft_.remark(Standing::kAssumed, "--mem-fraction-static",
                  "as SGLang chooses by GPU, chunks and graphs. Its log says max_total_num_tokens, "
                  "which is engine.max_total_tokens");
  }

  /// A size is of each rank, in GB of 10^9 bytes, and goes before a ratio.
  void host_memory() {
    if (!hicache_) {
      for (const auto* unused : {&policy_, &ratio_, &size_, &storage_, &prefetch_, &extra_}) {
        no_effect(*unused, "only with --enable-hierarchical-cache");
      }
      return;
    }
    if (policy_) put(*policy_, "engine.hicache_write_policy", policy_->value);
    draft_.set("tiers.0.name", "dram", hicache_->written);
    draft_.set("tiers.0.kind", "dram", "");
    draft_.remark(Standing::kUsed, hicache_->written, "tiers.0");
    storage();
    if (size_ && whole(*size_) > 0) {
      const HostSize& unit = host_size_of("sglang");
      const auto ranks = static_cast<std::uint32_t>(ranks_);
      draft_.set("tiers.0.capacity", fmt::format("{}B", unit.bytes(whole(*size_), ranks)),
                 fmt::format("{}, of each of {} {}", size_->written, ranks_,
                             ranks_ == 1 ? "rank" : "ranks"));
      draft_.remark(Standing::kUsed, size_->written, "tiers.0.capacity");
      return no_effect(ratio_, "--hicache-size goes before it");
    }
    no_effect(size_, "0: --hicache-ratio decides");
    if (ratio_) put(*ratio_, "engine.hicache_ratio", number(*ratio_));
  }

  /// What a backend is made of, and where, is not in the command line.
  void storage() {
    if (!storage_) {
      for (const auto* unused : {&prefetch_, &extra_}) {
        no_effect(*unused, "only with --hicache-storage-backend");
      }
      return;
    }
    const auto* const backend =
        std::find_if(std::begin(kStorageBackends), std::end(kStorageBackends),
                     [&](const StorageBackend& row) { return row.name == storage_->value; });
    if (backend == std::end(kStorageBackends)) {
      return draft_.remark(Standing::kNotModelled, storage_->written,
                           "no storage that is known: its hits are computed again");
    }
    draft_.set("tiers.1.name", std::string(backend->name), storage_->written);
    draft_.set("tiers.1.kind", std::string(backend->kind), "");
    if (backend->scope != "instance") draft_.set("tiers.1.scope", std::string(backend->scope), "");
    draft_.remark(Standing::kUsed, storage_->written, "tiers.1");
    const bool mooncake = backend->name == "mooncake";
    draft_.remark(Standing::kAssumed, "tiers.1.device",
                  fmt::format("published figures of kind {}{}", backend->kind,
                              mooncake ? ": set tiers.1.device to yours"
                                       : ", without a capacity: set tiers.1.device and "
                                         "tiers.1.capacity to yours"));
    if (prefetch_) put(*prefetch_, "engine.hicache_storage_prefetch_policy", prefetch_->value);
    const Json config = extra_ ? extra(mooncake) : Json();
    if (mooncake) read_mooncake_store(call_, config, ranks_, draft_);
  }

  /// Its keys of HiCache; those of Mooncake Store are left to whoever reads them.
  Json extra(bool mooncake) {
    std::string text = extra_->value;
    if (text.starts_with("@")) {
      const std::optional<CallFile> file = file_of_call(call_, text.substr(1));
      text = file ? file->text : "";
    }
    Json config = Json::parse(text, nullptr, false);
    if (!config.is_object()) {
      draft_.remark(Standing::kNotModelled, extra_->written,
                    "no JSON, and no file of JSON that lies here: its settings are left out");
      return nullptr;
    }
    constexpr std::string_view kPrefetchKeys[] = {"prefetch_threshold", "prefetch_timeout_base",
                                                  "prefetch_timeout_per_ki_token",
                                                  "prefetch_timeout_max"};
    for (const auto& [key, value] : config.items()) {
      const std::string written = "--hicache-storage-backend-extra-config " + key;
      if (is_one_of(key, kPrefetchKeys)) {
        draft_.set("engine." + key, value, written);
        draft_.remark(Standing::kUsed, written, "engine." + key);
      } else if (key.starts_with("prefetch_")) {
        draft_.remark(Standing::kUnknown, written,
                      did_you_mean(key, kPrefetchKeys, "") +
                          "HiCache does not know it and ignores it");
      } else if (!mooncake) {
        draft_.remark(Standing::kNoEffect, written, "belongs to the storage");
      }
    }
    return config;
  }

  void no_effect(const std::optional<Argument>& argument, const char* why) {
    if (argument) draft_.remark(Standing::kNoEffect, argument->written, why);
  }

  const EngineCall& call_;
  Draft& draft_;
  ServedModel out_;
  std::vector<ShellWord> words_;
  std::string config_file_;  ///< that was read
  bool no_radix_ = false;
  std::int64_t ranks_ = 1;
  std::optional<Argument> hicache_;
  std::optional<Argument> policy_;
  std::optional<Argument> ratio_;
  std::optional<Argument> size_;
  std::optional<Argument> storage_;
  std::optional<Argument> prefetch_;
  std::optional<Argument> extra_;
};

}  // namespace

ServedModel read_sglang_arguments(const EngineCall& call, Draft& draft) {
  return SglangArguments(call, draft).read();
}

}  // namespace spillway

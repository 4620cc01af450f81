// A small scenario with a store that a preset attaches to vLLM: HBM of 64 blocks, host memory, and
// what a test adds.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {

struct AttachedText {
  std::string preset{};  ///< empty: the store's own
  std::string engine{};  ///< further keys of the engine
  std::string dram = R"("capacity": "64blocks")";
  std::string more{};   ///< further tiers
  std::string links{};  ///< of these
  std::string top{};    ///< further sections
  int block = 16;
};

/// Scenarios of one store.
class AttachedStore {
 public:
  explicit AttachedStore(std::string preset) : preset_(std::move(preset)) {}

  Scenario scenario(const AttachedText& t) const {
    const std::string text = fmt::format(
        R"({{"model": {{"kv_bytes_per_token": 131072}},
 "engine": {{"preset": "{}", "block_tokens": {}, "num_gpu_blocks": 65, "max_num_seqs": 8,
            "max_num_batched_tokens": 2048{}}},
 "compute": {{"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 0}},
 "tiers": [{{"name": "dram", "kind": "dram", {}}}{}],
 "links": [{{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}},
           {{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}}{}],
 "workload": {{"trace": "x.jsonl"}}, "seed": 1{}}})",
        t.preset.empty() ? preset_ : t.preset, t.block, t.engine, t.dram, t.more, t.links, t.top);
    return load_scenario(JsonSource::from_text("s.json", text));
  }

  /// Refused, with these words.
  void refused(const AttachedText& text, const std::string& words) const {
    try {
      scenario(text);
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      return;
    }
    FAIL("accepted: " << words);
  }

  EngineFlags flags(const AttachedText& text) const {
    const Scenario s = scenario(text);
    return flags_of(s, s.tier->capacity, find_preset(s.preset, {}));
  }

 private:
  std::string preset_;
};

inline bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace spillway::test

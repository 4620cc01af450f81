// Engine presets, the names of models and GPUs, and the reference scenario of the contract.
#include "models/releases/presets.hpp"

#include "models/compute/step_cost.hpp"
#include "models/kv_geometry.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

EngineConfig defaults_of(std::string_view preset, const char* gpu = nullptr) {
  return engine_defaults(find_preset(preset, {}), gpu == nullptr ? nullptr : &find_gpu(gpu, {}));
}

/// gpu_lines() with this model.
Scenario scenario_with_model(std::string_view model) {
  return scenario_of(with_line(gpu_lines(), kModelLine, fmt::format("\"model\": \"{}\",", model)));
}

TEST_CASE("vllm@0.19 is before the offload changes of mid-2026", "[scenarios]") {
  const EngineConfig c = defaults_of("vllm@0.19");
  CHECK_FALSE(c.offload_prompt_only);     // d63108fb18, 2026-05-29
  CHECK_FALSE(c.async_load_reservation);  // 3b3d5287fa, 2026-06-06
  CHECK_FALSE(c.unhashed_front);          // 520828789c, 2026-06-16
  CHECK(c.async_scheduling);
  CHECK(find_preset("vllm@0.19", {}).gpu_memory_utilization == 0.90);
}

TEST_CASE("vllm@0.23 and later have every switch on", "[scenarios]") {
  for (const char* name : {"vllm@0.23", "vllm@0.25", "vllm"}) {
    INFO("preset: " << name);
    const EngineConfig c = defaults_of(name);
    for (const EngineSwitch& s : engine_switches()) {
      INFO("switch: " << s.name);
      const bool later = s.name == "defer_block_free" && name == std::string_view("vllm@0.23");
      CHECK(c.*s.member == !later);
    }
    CHECK(find_preset(name, {}).gpu_memory_utilization == 0.92);
  }
}

TEST_CASE("releases gain switches and lose none", "[scenarios]") {
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    bool had = false;
    for (const EnginePreset& release : engine_presets()) {
      if (release.vllm > 0) continue;  // what stands on a release is none
      CHECK(s.on(release) >= had);
      had = s.on(release);
    }
  }
  // The convoy came with 7013e9ac8: absent from 0.17.1, there in 0.19.1 (issue 44294).
  CHECK_FALSE(defaults_of("vllm@0.14").convoy);
  CHECK(defaults_of("vllm@0.19").convoy);
}

TEST_CASE("kvbm is the newest vLLM without asynchronous scheduling", "[scenarios]") {
  const EngineConfig c = defaults_of("kvbm");
  CHECK(c.is_kvbm());
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    const bool off = s.name == "async_scheduling" || s.name == "defer_block_free";
    CHECK(c.*s.member == !off);
  }
  CHECK(nearest_preset(EngineFamily::kVllmV1, 25).name == "vllm@0.25");
}

TEST_CASE("vllm@0.6 is the v0 engine with its watermark", "[scenarios]") {
  const EngineConfig c = defaults_of("vllm@0.6", "H100");
  CHECK(c.family == EngineFamily::kVllmV0);
  CHECK(c.watermark == 0.01);
  CHECK_FALSE(c.enable_prefix_caching);
  CHECK_FALSE(c.async_scheduling);
  CHECK(c.max_num_seqs == 256);  // whatever the GPU
}

/// The cells of a Markdown table's row, trimmed.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> out;
  std::size_t from = row.find('|') + 1;
  for (std::size_t to = row.find('|', from); to != std::string::npos;
       from = to + 1, to = row.find('|', from)) {
    const std::size_t first = row.find_first_not_of(' ', from);
    const std::size_t last = row.find_last_not_of(' ', to - 1);
    out.push_back(row.substr(first, last + 1 - first));
  }
  return out;
}

TEST_CASE("the README's table of releases and switches is the program's", "[scenarios]") {
  const std::string text = read_file(source_path("models/releases/README.md"));
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    const std::size_t begin = text.find(fmt::format("| `{}` |", s.name));
    REQUIRE(begin != std::string::npos);
    const std::vector<std::string> cells =
        cells_of(text.substr(begin, text.find('\n', begin) - begin));
    REQUIRE(cells.size() == 3);
    CHECK_THAT(cells[1], ContainsSubstring(std::string(s.change)));
    CHECK(minor_version(cells[2].substr(0, cells[2].find_first_of(", "))) == s.first);
  }
}

TEST_CASE("a watermark before vLLM had one is taken, with a note", "[scenarios]") {
  const auto notes_with = [](const char* preset) {
    return scenario_of(
               with_line(reference_lines(), kEngineLine,
                         fmt::format("\"engine\": {{\"preset\": \"{}\", \"block_tokens\": 16, "
                                     "\"num_gpu_blocks\": 2048, \"watermark\": 0.05}},",
                                     preset)))
        .notes;
  };
  REQUIRE(notes_with("vllm@0.19").size() == 1);
  CHECK_THAT(notes_with("vllm@0.19")[0].text, ContainsSubstring("vllm@0.19 has no watermark yet"));
  CHECK(notes_with("vllm@0.23").empty());
}

TEST_CASE("vllm without a version is the newest", "[scenarios]") {
  CHECK(find_preset("vllm", {}).name == "vllm@0.25");
  CHECK(scenario_of(joined(gpu_lines())).preset == "vllm@0.25");
}

TEST_CASE("an unknown preset lists the known ones", "[scenarios]") {
  CHECK(std::string(error_of([] {
                      find_preset("vlm@0.23", {"s.json", 3, "engine.preset"});
                    }).what()) ==
        "s.json:3: engine.preset: unknown engine preset \"vlm@0.23\"; did you mean "
        "\"vllm@0.23\"? known: " +
            known_presets());
}

TEST_CASE("batch sizes follow the GPU's memory as in vLLM's API server", "[scenarios]") {
  // From 70 GiB on: 1024 sequences and 8192 tokens; from 160 GiB: 16384 tokens. A100 is excepted.
  struct Row {
    const char* gpu;
    std::uint32_t seqs;
    std::uint32_t tokens;
  };
  for (const Row& row : {Row{nullptr, 256, 2048}, Row{"L40S", 256, 2048}, Row{"H100", 1024, 8192},
                         Row{"A100-80GB", 256, 2048}, Row{"H200", 1024, 8192},
                         Row{"B200", 1024, 16384}, Row{"MI300X", 1024, 16384}}) {
    INFO("gpu: " << (row.gpu == nullptr ? "none" : row.gpu));
    const EngineConfig c = defaults_of("vllm", row.gpu);
    CHECK(c.max_num_seqs == row.seqs);
    CHECK(c.max_num_batched_tokens == row.tokens);
  }
}

TEST_CASE("every switch of a preset can be set by its name", "[scenarios]") {
  for (const EngineSwitch& set : engine_switches()) {
    for (const bool value : {true, false}) {
      INFO("switch: " << set.name << ", value: " << value);
      const Scenario s = scenario_of(with_line(
          gpu_lines(), kEngineLine,
          fmt::format("\"engine\": {{\"preset\": \"vllm\", \"{}\": {}}},", set.name, value)));
      for (const EngineSwitch& other : engine_switches()) {
        INFO("then: " << other.name);
        // Nothing is in flight without asynchronous scheduling, so that nothing is deferred.
        const bool idle = other.name == "defer_block_free" && !s.engine.async_scheduling;
        CHECK(s.engine.*other.member == (&other == &set ? value : !idle));
      }
    }
  }
}

TEST_CASE("the reference scenario of the contract is read as written", "[scenarios]") {
  const Scenario s = scenario_of(joined(reference_lines()));
  CHECK(s.model->kv_bytes_per_token == Bytes(131072));
  CHECK(s.engine.num_gpu_blocks == 2048);
  CHECK(s.engine.block_bytes == Bytes(16 * 131072));
  CHECK(s.engine.max_num_seqs == 256);
  CHECK(s.engine.max_num_batched_tokens == 2048);
  CHECK(s.engine.max_model_len == 0);
  CHECK_FALSE(s.engine.async_scheduling);
  CHECK(s.tier_blocks(s.tier->capacity) == 2048);  // 4 GiB / 2 MiB
  CHECK(s.down->latency == Duration(10'000));
  CHECK(s.down->bytes_per_second == 25'000'000'000);
  CHECK(s.up->bytes_per_second == 25'000'000'000);
  CHECK(s.notes.empty());
  // Two requests of 100 new tokens each behind 50: 2 ms + 20 us x 200 + 5 ns x 300.
  const std::vector<PrefillChunk> chunks = {{100, 50}, {100, 50}};
  StepShape shape;
  shape.prefills = chunks;
  CHECK(s.make_cost()->step_time(shape) == Duration(2'000'000 + 20'000 * 200 + 5 * 300));
}

TEST_CASE("the contract's example page holds the scenario that is tested here", "[scenarios]") {
  const std::string text = read_file(material("cli.md").path);
  const std::size_t heading = text.find("## The reference scenario");
  REQUIRE(heading != std::string::npos);
  const std::size_t begin = text.find("```json\n", heading) + 8;
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  const Scenario s = load_scenario(JsonSource::from_text("cli.md", example));
  CHECK(s.name == "reference");
  CHECK(s.engine.num_gpu_blocks == 2048);
  CHECK(s.tier->capacity.count == std::int64_t{4} << 30);
}

TEST_CASE("a trace is looked up beside the scenario", "[scenarios]") {
  const auto trace_of = [](const std::string& file, const std::string& trace) {
    const std::string text = with_line(reference_lines(), kWorkloadLine,
                                       fmt::format("\"workload\": {{\"trace\": \"{}\"}},", trace));
    return load_scenario(JsonSource::from_text(file, text)).workload->trace;
  };
  CHECK(trace_of("a/b/s.json", "t.jsonl") == "a/b/t.jsonl");
  CHECK(trace_of("s.json", "t.jsonl") == "t.jsonl");
  CHECK(trace_of("a/s.json", "/t.jsonl") == "/t.jsonl");
  CHECK(trace_of("a/s.json", "-") == "-");
}

TEST_CASE("a scenario without a name takes its file's", "[scenarios]") {
  const std::string text = with_line(reference_lines(), kNameLine, "");
  CHECK(load_scenario(JsonSource::from_text("dir/chat.json", text)).name == "chat");
}

TEST_CASE("models are found by suffix whatever the case, spaces and dashes",
          "[scenarios][measured]") {
  for (const char* name : {"meta-llama/Meta-Llama-3.1-8B", "Llama-3.1-8B", "llama-3.1-8b",
                           "LLAMA 3.1 8B", "llama_3.1_8b", "meta-llama/Llama-3.1-8B",
                           "meta-llama/Llama-3.1-8B-Instruct", "/srv/weights/Meta-Llama-3.1-8B"}) {
    INFO("name: " << name);
    CHECK(scenario_with_model(name).model->spec->name == "meta-llama/Meta-Llama-3.1-8B");
  }
}

TEST_CASE("a suffix of several models lists them", "[scenarios]") {
  const std::string message = error_of([] { scenario_with_model("8B"); }).what();
  CHECK_THAT(message, ContainsSubstring("s.json:4: model: model \"8B\" could mean any of: "));
  CHECK_THAT(message, ContainsSubstring("meta-llama/Meta-Llama-3.1-8B"));
  CHECK_THAT(message, ContainsSubstring("Qwen/Qwen3-8B"));
}

TEST_CASE("a model's KV width follows kv_dtype, and a given one wins", "[scenarios]") {
  // Llama-3.1-8B: 2 x 8 heads x 128 x 32 layers = 65,536 elements a token.
  const auto bytes = [](const char* fields) {
    const std::string line = fmt::format("\"model\": {{\"name\": \"Llama-3.1-8B\"{}}},", fields);
    return scenario_of(with_line(gpu_lines(), kModelLine, line)).model->kv_bytes_per_token.count();
  };
  CHECK(bytes("") == 131'072);
  CHECK(bytes(", \"kv_dtype\": \"fp8\"") == 65'536);
  CHECK(bytes(", \"kv_dtype\": \"fp4\"") == 32'768);
  CHECK(bytes(", \"kv_bytes_per_token\": 70000") == 70'000);
}

}  // namespace
}  // namespace spillway::test

// Ranks, engines and the host under them, as scenarios say it.
#include <fmt/ranges.h>

#include "models/releases/presets.hpp"
#include "scenarios/planner/consequences/what_if.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Keeps what it is told of transfers.
struct Transfers final : Observer {
  std::vector<TransferRecord> list;
  void on_transfer(const TransferRecord& r) override { list.push_back(r); }
};

/// Prompts that repeat behind a small HBM, so that both directions are used.
SimulationOutcome run_of(const Scenario& scenario, Transfers* transfers = nullptr) {
  SimulationOptions options;
  if (transfers != nullptr) options.observers.push_back(transfers);
  return simulate(scenario, repeating(200, 20, 20, 8), options);
}

template <class Action>
std::string text_of(Action&& action) {
  return error_of(action).what();
}

std::string refusal(const std::vector<std::string>& assignments) {
  return text_of([&] { reference_with(assignments); });
}

/// The reference scenario with links given by rank, two of each of `ranks` less the `missing` last.
JsonSource by_rank(std::uint32_t ranks, const std::string& penalty_of_last = "1",
                   std::uint32_t missing = 0) {
  std::vector<std::string> lines = reference_lines();
  std::vector<std::string> links;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (const bool up : {false, true}) {
      links.push_back(fmt::format(
          R"({{"name": "{}{}", "from": "{}", "to": "{}", "kind": "affine", "latency_us": 10,)"
          R"( "bandwidth": "25GB/s", "rank": {}, "numa_penalty": {}}})",
          up ? "h2d" : "d2h", r, up ? "dram" : "hbm", up ? "hbm" : "dram", r,
          r + 1 == ranks ? penalty_of_last : "1"));
    }
  }
  links.resize(links.size() - missing);
  lines[kDownLine - 1] = fmt::format("{}", fmt::join(links, ","));
  lines[kUpLine - 1] = "],";
  JsonSource source = JsonSource::from_text("s.json", joined(lines));
  source.set(fmt::format("engine.tensor_parallel_size={}", ranks));
  source.set("engine.num_gpu_blocks=128");
  return source;
}

TEST_CASE("two ranks halve what each copies, and keep what the engine holds", "[scenarios]") {
  const Scenario one = reference_with({"engine.num_gpu_blocks=128"});
  const Scenario two =
      reference_with({"engine.num_gpu_blocks=128", "engine.tensor_parallel_size=2"});
  CHECK(one.rank_block_bytes() == Bytes(16 * 131072));
  CHECK(two.rank_block_bytes() == Bytes(8 * 131072));
  CHECK(two.pool_block_bytes() == one.pool_block_bytes());
  // 4 GiB of the instance hold as many blocks of 2 MiB over both ranks.
  CHECK(one.tier_blocks(one.tier->capacity) == 2048);
  CHECK(two.tier_blocks(two.tier->capacity) == 2048);
  Transfers at_one;
  Transfers at_two;
  const RunResult alone = run_of(one, &at_one).result;
  const RunResult both = run_of(two, &at_two).result;
  REQUIRE(!at_one.list.empty());
  // The first job is the first prompt's, 32 blocks: 10 us + bytes / 25 GB/s.
  CHECK((at_one.list[0].ended - at_one.list[0].started).count() == 10'000 + (67'108'864 + 24) / 25);
  CHECK((at_two.list[0].ended - at_two.list[0].started).count() == 10'000 + (33'554'432 + 24) / 25);
  REQUIRE(both.links.size() == 2);
  CHECK(both.links[0].ranks == 2);
  CHECK(both.links[0].capacity_bytes_per_s == 50e9);
  CHECK(both.links[0].bytes == static_cast<std::int64_t>(both.tiers[1].stores) * 2'097'152);
  CHECK(both.links[0].busy_fraction <= 1);
  CHECK(both.tiers[0].capacity_bytes == alone.tiers[0].capacity_bytes);
  CHECK_FALSE(both.collective_s);  // a linear step speaks of the whole instance
  CHECK(run_from_json(to_json(both)).links[1].ranks == 2);
  CHECK(run_from_json(to_json(both)).links[1].bytes == both.links[1].bytes);
}

TEST_CASE("a tier's size is the instance's, or each rank's where it says so", "[scenarios]") {
  const std::string scope =
      R"("name": "dram", "kind": "dram", "capacity": "4GiB", "scope": "rank")";
  JsonSource source = JsonSource::from_text(
      "s.json", with_line(reference_lines(), kTierLine, R"("tiers": [{)" + scope + "}],"));
  source.set("engine.tensor_parallel_size=4");
  const Scenario s = load_scenario(source);
  CHECK(s.tier_blocks(s.tier->capacity) == 4 * 2048);
}

TEST_CASE("ranks beyond the KV heads repeat them, and an MLA latent is whole on each",
          "[scenarios]") {
  const ModelSpec& llama = find_model("Llama-3.1-70B", {});  // 8 KV heads of 128, 80 layers
  const Bytes token = kv_bytes_per_token(llama, KvDtype::kBf16);
  const auto rank = [&](std::uint32_t t, std::uint32_t p = 1) {
    return rank_kv_bytes(token, &llama, 80, {t, p}).count();
  };
  CHECK(rank(1) == 327'680);
  CHECK(rank(4) == 2 * 2 * 128 * 80 * 2);
  CHECK(rank(8) == 2 * 1 * 128 * 80 * 2);
  CHECK(rank(16) == rank(8));  // one head each, twice over
  CHECK(rank(4, 2) == rank(4) / 2);
  CHECK(rank(1, 3) == 2 * 8 * 128 * 27 * 2);  // 80 layers over three stages: 27 in the fullest
  const ModelSpec& mla = find_model("DeepSeek-V3", {});
  const Bytes latent = kv_bytes_per_token(mla, KvDtype::kBf16);
  CHECK(rank_kv_bytes(latent, &mla, mla.kv_layers, {8, 1}) == latent);
}

Scenario on_gpu(const std::vector<std::string>& assignments) {
  JsonSource source = JsonSource::from_text("s.json", joined(gpu_lines()));
  for (const std::string& assignment : assignments) source.set(assignment);
  return load_scenario(source);
}

TEST_CASE("a 70B model needs four GPUs of 80 GB, and gets the pool of one rank", "[scenarios]") {
  const std::string model = "model=Llama-3.1-70B";
  const std::string one = text_of([&] { on_gpu({model}); });
  CHECK(one.find("no room for KV") != std::string::npos);
  CHECK(one.find("more tensor_parallel_size (one GPU)") != std::string::npos);
  const Scenario four = on_gpu({model, "engine.tensor_parallel_size=4"});
  REQUIRE(four.budget);
  CHECK(four.budget->weights.count() == (four.model->spec->weight_bytes + 3) / 4);
  CHECK(four.engine.num_gpu_blocks == four.budget->kv / four.rank_block_bytes());
  CHECK(says(four.notes, "Collectives of 4 ranks: vLLM 0.20 all-reduce of 4 H100 over NVLink"));
}

TEST_CASE("steps on four ranks are shorter, and spend part of it in all-reduces", "[scenarios]") {
  StepShape shape;
  const PrefillChunk chunk{2048, 0};
  shape.prefills = std::span(&chunk, 1);
  shape.sampled = 1;
  const auto one = on_gpu({}).make_cost();
  const auto four = on_gpu({"engine.tensor_parallel_size=4"}).make_cost();
  CHECK(one->collective_time(shape, {&shape, 1}) == Duration(0));
  // Llama-3.1-8B: 2 all-reduces in each of 32 layers and one behind the embedding, of
  // 2,048 x 4,096 x 2 bytes, 16 MiB: 98.41 us, without a captured graph x 1.16. And the logits of
  // one row, 256 KB: 4.91 us and half of what an all-reduce takes beyond it.
  const Collectives ranks(find_gpu("H100", {}), 4);
  const double logits = ranks.seconds(Collective::kAllGather, 128256 * 2.0) * 1e6;
  CHECK(seconds_of(four->collective_time(shape, {&shape, 1})) * 1e6 ==
        Approx(65 * 98.41 * 1.16 + logits));
  CHECK(four->step_time(shape) < one->step_time(shape));
  CHECK(four->step_time(shape) > four->collective_time(shape, {&shape, 1}));
  const RunResult run = run_of(on_gpu({"engine.tensor_parallel_size=4"})).result;
  REQUIRE(run.collective_s);
  CHECK(*run.collective_s > 0);
  CHECK(*run_from_json(to_json(run)).collective_s == *run.collective_s);
}

TEST_CASE("a rank on the far socket holds every job up", "[scenarios]") {
  // Two ranks move 1 MiB a block. The second has half the rate: 12.5 GB/s.
  Transfers transfers;
  const RunResult run = run_of(load_scenario(by_rank(2, "0.5")), &transfers).result;
  REQUIRE(run.links.size() == 4);
  CHECK(run.links[0].name == "d2h0");
  CHECK(run.links[3].name == "h2d1");
  CHECK(run.links[0].bytes == run.links[2].bytes);
  CHECK(run.links[3].busy_fraction > run.links[1].busy_fraction);
  std::size_t slow = 0;
  for (const TransferRecord& t : transfers.list) {
    if (t.link != 3) continue;
    ++slow;
    CHECK((t.ended - t.started).count() == 10'000 + ceil_div(t.payload.count() * 2, 25));
  }
  CHECK(slow > 0);
}

TEST_CASE("more ranks than links is refused with the rank that has none", "[scenarios]") {
  const std::string text = text_of([] { load_scenario(by_rank(4, "1", 1)); });
  CHECK(text.find("rank 3 has no link dram to hbm") != std::string::npos);
  CHECK(text.find("each of 4 ranks") != std::string::npos);
  JsonSource beyond = by_rank(4);
  beyond.set("engine.tensor_parallel_size=2");
  CHECK(text_of([&] { load_scenario(beyond); }).find("expected a rank below 2") !=
        std::string::npos);
}

TEST_CASE("two engines have twice the pools, and rows of their own", "[scenarios]") {
  const Scenario s = reference_with({"engine.num_gpu_blocks=128", "engine.data_parallel_size=2"});
  const SimulationOutcome out = run_of(s);
  const RunResult& run = out.result;
  CHECK(run.completed == 200);
  REQUIRE(run.engines.size() == 2);
  CHECK(run.engines[0].requests + run.engines[1].requests == 200);
  CHECK(run.engines[0].steps + run.engines[1].steps == run.engine_steps);
  CHECK(run.tiers[0].capacity_blocks == 2 * 127);
  CHECK(run.tiers[1].capacity_blocks == 2 * 2048);
  REQUIRE(run.links.size() == 4);
  CHECK(run.links[0].name == "d2h/engine0");
  CHECK(run.links[3].name == "h2d/engine1");
  CHECK(run.links[0].bytes + run.links[2].bytes ==
        static_cast<std::int64_t>(run.tiers[1].stores) * 2'097'152);
  const RunResult again = run_from_json(to_json(run));
  REQUIRE(again.engines.size() == 2);
  CHECK(again.engines[1].busy_fraction == run.engines[1].busy_fraction);
}

TEST_CASE("a pipeline runs, and its steps overlap in order", "[scenarios]") {
  const RunResult run =
      run_of(reference_with({"engine.num_gpu_blocks=128", "engine.pipeline_parallel_size=2"}))
          .result;
  CHECK(run.completed == 200);
  CHECK(refusal({"engine.pipeline_parallel_size=2", "engine.async_scheduling=true"})
            .find("scheduling ahead in a pipeline is not modelled") != std::string::npos);
}

TEST_CASE("issue 53042: pools that exceed the host's memory are refused with the sum",
          "[scenarios]") {
  // Four engines of 128 GiB and 32 GiB reserved: 544 GiB on a host of 512 GiB.
  const auto host = [](const std::string& capacity, const std::string& memory) {
    return std::vector<std::string>{
        "tiers.0.capacity=" + capacity, "plan=null",
        R"(host={"memory": ")" + memory + R"(", "reserved": "32GiB", "instances": 4})"};
  };
  const std::string text = refusal(host("128GiB", "512GiB"));
  CHECK(text.find("128.00 GiB x 4 engines + 32.00 GiB reserved = 544.00 GiB") != std::string::npos);
  CHECK(text.find("the host has 512.00 GiB") != std::string::npos);
  // 100 x 4 + 32 = 432: fits. 110 x 4 + 32 = 472: within 10%.
  CHECK(reference_with(host("100GiB", "512GiB")).notes.empty());
  const Scenario tight = reference_with(host("110GiB", "512GiB"));
  REQUIRE(tight.notes.size() == 1);
  CHECK(tight.notes[0].code == "host-memory-tight");
}

TEST_CASE("what ranks cannot be combined with is refused", "[scenarios]") {
  CHECK(refusal({"engine.tensor_parallel_size=2", "engine.residency=streaming"})
            .find("residency streaming over several ranks is not modelled") != std::string::npos);
  CHECK(text_of([] {
          on_gpu({"engine.tensor_parallel_size=3"});
        }).find("32 attention heads of meta-llama/Meta-Llama-3.1-8B do not divide by 3") !=
        std::string::npos);
  CHECK(refusal({"engine.pipeline_parallel_size=2", "engine.load=barrier"})
            .find("steps of a pipeline that wait for loads are not modelled") != std::string::npos);
}

Scenario mixture_with(const std::string& engine) {
  return scenario_of(fmt::format(R"({{"name": "s", "model": "Qwen3-30B-A3B", "gpu": "H100",
    "engine": {{"preset": "vllm@0.19"{}}}, "front_end": {{"kind": "none"}},
    "workload": {{"trace": "unused.jsonl"}}}})",
                                 engine));
}

/// Sums up what steps last.
struct StepSum final : Observer {
  Duration lasted{};
  void on_step(const StepRecord& r) override { lasted += r.end - r.start; }
};

TEST_CASE("data-parallel engines of a mixture share its experts", "[scenarios]") {
  const Scenario one = mixture_with("");
  const Scenario two = mixture_with(R"(, "data_parallel_size": 2, "enable_expert_parallel": true)");
  CHECK_FALSE(one.lockstep());
  CHECK(two.lockstep());
  CHECK(two.shards().expert_ranks() == 2);
  CHECK(two.shards().whole_experts);
  REQUIRE(one.budget);
  REQUIRE(two.budget);
  // 48 layers x 128 experts x 3 x 2048 x 768 weights of 2 bytes, of which each GPU has half.
  const double half = 48.0 * 128 * 3 * 2048 * 768;
  const auto weights = [](const Scenario& s) {
    return static_cast<double>(s.budget->weights.count());
  };
  CHECK(weights(one) - weights(two) == Approx(half).epsilon(0.001));
  // Without whole experts each GPU has half of every one: as many bytes.
  CHECK(weights(mixture_with(R"(, "data_parallel_size": 2)")) == weights(two));
  // Stages of a pipeline do not step together.
  const Scenario staged = mixture_with(R"(, "data_parallel_size": 2, "pipeline_parallel_size": 2)");
  CHECK_FALSE(staged.lockstep());
  CHECK(find_note(staged.notes, "experts-in-lockstep") != nullptr);
}

TEST_CASE("the exchange of experts counts the tokens of all engines", "[scenarios]") {
  const Scenario two = mixture_with(R"(, "data_parallel_size": 2, "enable_expert_parallel": true)");
  // In each of 48 layers: hidden states of 2,048 x 2 bytes and the choice of 8 experts are
  // gathered, hidden states are scattered; without a captured graph beyond 512 tokens.
  const Collectives engines(find_gpu("H100", {}), 2);
  const auto exchange = [&](double tokens) {
    return 48 * (engines.seconds(Collective::kAllGather, tokens * (4096 + 8 * 8), false) +
                 engines.seconds(Collective::kReduceScatter, tokens * 4096, false));
  };
  const PrefillChunk chunk{640, 0};
  StepShape prompt;
  prompt.prefills = std::span(&chunk, 1);
  StepShape decodes;
  decodes.decodes = 64;
  decodes.decode_context = 64;
  const StepShape group[] = {prompt, decodes};
  const auto cost = two.make_cost();
  for (const StepShape& shape : group) {
    CHECK(seconds_of(cost->collective_time(shape, group)) == Approx(exchange(640 + 64)));
  }
  // An idle engine has a dummy batch of one token.
  const StepShape alone[] = {prompt, {}};
  CHECK(seconds_of(cost->collective_time(prompt, alone)) == Approx(exchange(641)));

  // In a run that asks what twice as slow steps would do, the exchange stays.
  const Duration together = cost->group_time(group);
  CHECK(make_scaled_cost(two.make_cost(), 2)->group_time(group) == 2 * together);

  // A prompt for each engine, of one token to answer: one step of both, and each counts.
  StepSum steps;
  SimulationOptions options;
  options.observers.push_back(&steps);
  const Workload workload =
      workload_of({{0, 64, 1, {1}}, {0, 640, 1, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}, 64);
  const RunResult run = simulate(two, workload, options).result;
  REQUIRE(run.completed == 2);
  REQUIRE(run.collective_s);
  CHECK(*run.collective_s == Approx(2 * exchange(640 + 64)));
  REQUIRE(run.collective_share);
  CHECK(*run.collective_share == Approx(*run.collective_s / seconds_of(steps.lasted)));
  CHECK(*run_from_json(to_json(run)).collective_share == *run.collective_share);
  // Ranks of one engine do so, too; one GPU has nobody to wait for.
  CHECK_FALSE(simulate(mixture_with(""), workload).result.collective_share);
}

TEST_CASE("experts over ranks are refused where there are none", "[scenarios]") {
  CHECK_THAT(text_of([] {
               scenario_of(R"({"name": "s", "model": "Llama-3.1-8B", "gpu": "H100",
                 "engine": {"preset": "vllm@0.19", "enable_expert_parallel": true},
                 "workload": {"trace": "unused.jsonl"}})");
             }),
             ContainsSubstring("has no experts; expected false, or a mixture of experts"));
}

}  // namespace
}  // namespace spillway::test

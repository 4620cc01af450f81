// Compute profiles as documents, and scenarios that use them.
#include <filesystem>

#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/profiles/compute_profile_fields.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

/// Something in every member.
ComputeProfile full_profile() {
  ComputeProfile p;
  p.name = "box";
  p.gpu = "H100-SXM5-80GB";
  p.model = "meta-llama/Meta-Llama-3.1-8B";
  p.created = "2026-11-21T12:00:00Z";
  p.source = "two tables, MIT";
  p.tensor_parallel = 2;
  p.products.push_back({"bf16", 3.5, 0.8, 0.9, 2.5, {{4096, 6144, {1, 64, 4096}, {1.5, 1, 0.9}}}});
  p.products.push_back({"fp8", 2.5, 0.7, 0.8, 2, {}});
  AttentionKernels heads;
  heads.kv_dtype = "bf16";
  heads.prefill_us = 8;
  heads.prefill_key_ns = 6.5;
  heads.prefill_lead_keys = 500;
  heads.decode_us = 12;
  heads.decode_efficiency = 0.8;
  heads.decode_sequence_us = 0.125;
  heads.mixed_factor = 0.4;
  heads.mixed_measured = true;
  heads.prefill = {{{32, 64}, {16, 512}, {1}}, {1, 1.25, 0.5, 2}};
  heads.prefill_mha = {{{32}, {16}, {1, 64}}, {1, 1.125}};
  heads.decode = {{{8, 64}, {128}, {8}}, {1.5, 1}};
  heads.decode_mha = {{{8}, {128}, {8}}, {1.75}};
  heads.mixed = {{{8}, {128}, {16, 512}}, {1.5, 1}};
  p.attention.push_back(heads);
  p.elementwise_us = 2.5;
  p.elementwise_efficiency = 1.5;
  p.elementwise = {{{1, 1024}}, {2, 1}};
  p.host_overhead_us = 600;
  p.eager_overhead_us = 900;
  p.overhead_fitted = true;
  p.sequence_us = 2;
  p.sampler_us = 30;
  FitScore score;
  score.part = "products/bf16";
  score.parameters["overhead_us"] = {3.5, 3, 4, true};
  score.points = 100;
  score.held_out = 30;
  score.mape = 2;
  score.form_mape = 6;
  score.held_out_mape = 3.25;
  score.held_out_p95 = 9;
  score.bias = -0.5;
  p.scores.push_back(score);
  p.warnings = {"one thing"};
  return p;
}

std::string text_of(const ComputeProfile& profile) {
  return render_compute_profile(compute_profile_document(profile));
}

ComputeProfile read_back(const std::string& text, std::vector<std::string>& warnings) {
  return read_compute_profile(JsonSource::from_text("p.json", text), warnings);
}

TEST_CASE("a compute profile comes back as it was written", "[scenarios][compute]") {
  const std::string text = text_of(full_profile());
  std::vector<std::string> warnings;
  const ComputeProfile back = read_back(text, warnings);
  CHECK(warnings.empty());
  CHECK(back.warnings == full_profile().warnings);
  CHECK(text_of(back) == text);
  const json document = json::parse(text);
  CHECK(document["kind"] == "compute-profile");
  CHECK(document["profile_version"] == 1);
  CHECK(document == json::parse(render_document(compute_profile_document(full_profile()))));
  // Rows of numbers stand on one line each.
  CHECK_THAT(text, Contains("\"ratios\": [1.5,1.0,0.9]") && Contains("[32.0,64.0],"));
  const json& r = document["results"];
  CHECK(r["products"][0]["curves"][0]["outputs"] == 6144);
  CHECK(r["attention"][0]["mixed"]["axes"][2][1] == 512);
  CHECK(r["scores"][0]["parameters"]["overhead_us"]["on_bound"] == true);
  CHECK_FALSE(document["results"]["attention"][0].contains("nothing"));
}

TEST_CASE("an empty compute profile comes back too", "[scenarios][compute]") {
  ComputeProfile p;
  p.gpu = "H100-SXM5-80GB";
  std::vector<std::string> warnings;
  const ComputeProfile back = read_back(text_of(p), warnings);
  CHECK(warnings.empty());
  CHECK(back.elementwise.empty());
  CHECK(back.products.empty());
}

/// What reading says of the full document with the value at `pointer` replaced (null: removed).
std::string error_with(const std::string& pointer, const json& value) {
  json document = json::parse(text_of(full_profile()));
  const json::json_pointer at(pointer);
  if (value.is_null()) {
    document[at.parent_pointer()].erase(at.back());
  } else {
    document[at] = value;
  }
  std::vector<std::string> warnings;
  const InputError error = error_of([&] { read_back(document.dump(1), warnings); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("what no GPU can do is refused with its place", "[scenarios][compute]") {
  const std::string products = "/results/products/0/";
  const std::string heads = "/results/attention/0/";
  CHECK_THAT(error_with("/kind", "run"), Contains("expected \"compute-profile\", found \"run\""));
  CHECK_THAT(error_with("/kind", "hardware-profile"), Contains("spillway fit"));
  CHECK_THAT(error_with("/profile_version", 7), Contains("unknown version 7; expected 1"));
  CHECK_THAT(error_with("/results", nullptr), Contains("results: missing"));
  CHECK_THAT(error_with("/results/gpu", nullptr), Contains("results.gpu: missing"));
  CHECK_THAT(error_with(products + "flop_efficiency", 1.01),
             Contains("products.0.flop_efficiency: expected a number from 1e-06 to 1, found 1.01"));
  CHECK_THAT(error_with(products + "byte_efficiency", 0), Contains("byte_efficiency"));
  CHECK_THAT(error_with(products + "dtype", "fp88"), Contains("did you mean \"fp8\""));
  CHECK_THAT(error_with(products + "curves/0/ratios/1", 0), Contains("curves.0.ratios"));
  CHECK_THAT(error_with(products + "curves/0/ratios", json::array({1.0})),
             Contains("expected 3 numbers, one for each of rows, found 1"));
  CHECK_THAT(error_with(products + "curves/0/rows/1", 9000),
             Contains("curves.0.rows: expected ascending numbers"));
  CHECK_THAT(error_with(heads + "decode_efficiency", 2), Contains("decode_efficiency"));
  CHECK_THAT(error_with(heads + "prefill/axes/0/1", 32),
             Contains("prefill.axes: expected numbers that ascend on each axis"));
  CHECK_THAT(error_with(heads + "prefill/axes/0", "x"),
             Contains("expected an array, each item an array of numbers"));
  CHECK_THAT(error_with(heads + "prefill/axes/0/1", -1),
             Contains("prefill.axes: expected numbers"));
  CHECK_THAT(error_with(heads + "prefill/ratios/2", -1), Contains("prefill.ratios"));
  CHECK_THAT(error_with(heads + "decode/ratios", json::array({1.0})),
             Contains("expected 2 numbers, one for each crossing of the axes, found 1"));
  CHECK_THAT(error_with(heads + "mixed", {{"axes", {{1.0, 2.0}}}, {"ratios", {1.0, 1.0}}}),
             Contains("mixed: expected a grid over 3 axes, found 1"));
  CHECK_THAT(error_with("/results/elementwise/axes", json::array()), Contains("1 to 4 axes"));
  CHECK_THAT(error_with("/results/products/1/dtype", "bf16"),
             Contains("products: expected each type once, found items 0 and 1 of the same"));
  CHECK_THAT(error_with("/results/host_overhead_us", -10001), Contains("host_overhead_us"));
}

TEST_CASE("what a newer version wrote is left out with a warning", "[scenarios][compute]") {
  json document = json::parse(text_of(full_profile()));
  document["results"]["attention"][0]["colour"] = "blue";
  std::vector<std::string> warnings;
  read_back(document.dump(), warnings);
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Contains("left out: attention[].colour"));
  CHECK_THAT(warnings[1], Contains("do not match their digest"));
}

// ---- scenarios

/// Llama-3.1-8B on an H100 with the given lines, beside box.json.
Scenario scenario_with(const Scratch& scratch, const std::string& compute,
                       const std::string& engine = "",
                       const std::string& model = R"("Llama-3.1-8B")",
                       const std::string& gpu = "H100") {
  std::vector<std::string> lines = gpu_lines();
  lines[kModelLine - 1] = "\"model\": " + model + ",";
  lines[kEngineLine - 1] = R"("engine": {"preset": "vllm")" + engine + "},";
  lines[kComputeLine - 1] = "\"compute\": {" + compute + "},";
  lines[kGpuLine - 1] = ", \"gpu\": \"" + gpu + "\"";
  return load_scenario(JsonSource::from_text(scratch.path("s.json"), joined(lines)));
}

bool noted(const Scenario& s, const std::string& text) {
  return says(s.notes, text);
}

constexpr const char* kProfile = R"("kind": "profile", "profile": "box")";

TEST_CASE("a scenario takes its profile's overheads unless it gives its own",
          "[scenarios][compute]") {
  const Scratch scratch;
  scratch.file("box.json", text_of(full_profile()));
  const Scenario s = scenario_with(scratch, kProfile);
  REQUIRE(s.compute->profile);
  CHECK(s.compute->kind == ComputeChoice::Kind::kProfile);
  CHECK(s.compute->host_overhead_us == 600);
  CHECK(s.compute->eager_overhead_us == 900);
  CHECK(s.compute->sequence_us == 2);
  CHECK(s.compute->graph_tokens == 512);
  CHECK(noted(s, "was fitted from two tables, MIT. Held-out error: products/bf16 3.2%"));
  CHECK(noted(s, "is of tensor_parallel_size 2. The engine has 1."));
  CHECK(noted(s, "has products of up to 4,096 rows. Batches have up to 8,192 tokens"));
  CHECK(noted(s, "came with 1 warning of its fit. The first: one thing."));
  CHECK_FALSE(noted(s, "Host overhead"));  // it was fitted

  const Scenario given = scenario_with(
      scratch, std::string(kProfile) + R"(, "host_overhead_us": 5, "eager_overhead_us": 0)");
  CHECK(given.compute->host_overhead_us == 5);
  CHECK(given.compute->eager_overhead_us == 0);
  CHECK(given.compute->sequence_us == 2);

  const json resolved = resolved_configuration(s)["compute"];
  CHECK(resolved["kind"] == "profile");
  CHECK(resolved["profile"] == "box");
  CHECK(resolved["content_hash"] == json::parse(text_of(full_profile()))["digest"]);
  CHECK(resolved["graph_tokens"] == 512);
  // The same by path.
  const Scenario by_path = scenario_with(scratch, R"("kind": "profile", "profile": "box.json")");
  CHECK(by_path.compute->digest == s.compute->digest);
}

TEST_CASE("a scenario outside what was measured is told so", "[scenarios][compute]") {
  const Scratch scratch;
  scratch.file("box.json", text_of(full_profile()));
  const Scenario other = scenario_with(scratch, kProfile, "",
                                       R"({"name": "Llama-3.2-1B", "kv_dtype": "fp8"})", "A100");
  CHECK(noted(other, "was measured on H100-SXM5-80GB, not on A100-SXM4-80GB."));
  CHECK(noted(other, "has kernels of meta-llama/Meta-Llama-3.1-8B only."));
  CHECK(noted(other, "has no attention over a KV cache of 8 bits. That over bf16"));
  CHECK(noted(other, "has no attention of heads of width 64. That of 128 is scaled."));

  ComputeProfile bare;
  bare.gpu = "H100-SXM5-80GB";
  scratch.file("bare.json", text_of(bare));
  const Scenario s = scenario_with(scratch, R"("kind": "profile", "profile": "bare")");
  CHECK(noted(s, "Held-out error: no scores."));
  CHECK(noted(s, "has no matrix products"));
  CHECK(noted(s, "has no attention. "));
  CHECK(noted(s, "Host overhead is 700 us per step by default"));
  bare.host_overhead_us = 650;
  scratch.file("bare.json", text_of(bare));
  CHECK(noted(scenario_with(scratch, R"("kind": "profile", "profile": "bare")"),
              "Host overhead is 650 us per step, from the compute profile."));
  CHECK(s.make_cost() != nullptr);

  ComputeProfile narrow = full_profile();
  narrow.products.pop_back();
  scratch.file("narrow.json", text_of(narrow));
  const Scenario fp8 = scenario_with(scratch, R"("kind": "profile", "profile": "narrow")", "",
                                     R"({"name": "Llama-3.1-8B", "weight_dtype": "fp8"})");
  CHECK(noted(fp8, "has no products with fp8 weights. Efficiencies of bf16"));
  const Scenario moe = scenario_with(scratch, kProfile, "", R"("Qwen3-30B-A3B")");
  CHECK(noted(moe, "are not checked against measurements yet"));
}

TEST_CASE("FP8 weights leave room for KV", "[scenarios][compute]") {
  const Scratch scratch;
  const std::string components = R"("kind": "components")";
  const Scenario bf16 = scenario_with(scratch, components);
  const Scenario fp8 =
      scenario_with(scratch, components, "", R"({"name": "Llama-3.1-8B", "weight_dtype": "fp8"})");
  // The layers' matrices, 32 x 218.1 M weights, shrink by a byte each.
  const double matrices = 32 * (4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336);
  CHECK(double((bf16.budget->weights - fp8.budget->weights).count()) ==
        Approx(matrices).epsilon(1e-4));
  CHECK(fp8.engine.num_gpu_blocks > bf16.engine.num_gpu_blocks);
  CHECK(resolved_configuration(fp8)["model"]["weight_dtype"] == "fp8");
  // As published is nothing new.
  const Scenario same =
      scenario_with(scratch, components, "", R"({"name": "Llama-3.1-8B", "weight_dtype": "bf16"})");
  CHECK_FALSE(same.model->weights);
  CHECK(configuration_identity(same) == configuration_identity(bf16));
}

TEST_CASE("graphs follow the engine's keys", "[scenarios][compute]") {
  const Scratch scratch;
  const std::string eager = R"("kind": "components", "eager_overhead_us": 300)";
  const auto tokens = [&](const std::string& engine) {
    return scenario_with(scratch, eager, engine).compute->graph_tokens;
  };
  CHECK(tokens("") == 512);
  CHECK(tokens(R"(, "max_num_seqs": 50)") == 96);  // 2 x 50, down to a captured size
  CHECK(tokens(R"(, "enforce_eager": true)") == 0);
  CHECK(tokens(R"(, "max_cudagraph_capture_size": 1000)") == 992);
  CHECK(tokens(R"(, "max_cudagraph_capture_size": 0)") == 0);
  CHECK(tokens(R"(, "enforce_eager": true, "max_cudagraph_capture_size": 64)") == 0);
  const Scenario idle = scenario_with(scratch, R"("kind": "components", "launch_us": 0)",
                                      R"(, "enforce_eager": true)");
  CHECK(find_note(idle.notes, "graphs-without-effect"));
  const json resolved = resolved_configuration(scenario_with(scratch, eager))["compute"];
  CHECK(resolved["eager_overhead_us"] == 300);
  CHECK(resolved["launch_us"] == 786);
}

TEST_CASE("malformed compute of kind profile", "[scenarios][compute]") {
  const auto compute = [](const std::string& fields) {
    return fmt::format(R"("compute": {{"kind": {}}},)", fields);
  };
  refused(gpu_lines(),
          {{kComputeLine, compute(R"("profile")"),
            "compute.profile: missing; expected a compute profile's name or path"},
           {kComputeLine, compute(R"("profile", "profile": "no-such-box")"),
            "compute.profile: unknown compute profile \"no-such-box\""},
           {kComputeLine, compute(R"("components", "profile": "box")"),
            "compute.profile: expected only with kind profile"},
           {kModelLine, R"("model": {"name": "Llama-3.1-8B", "weight_dtype": "int3"},)",
            "model.weight_dtype: unknown weight_dtype \"int3\"; did you mean"},
           {kEngineLine, R"("engine": {"preset": "vllm", "enforce_eager": 1},)",
            "engine.enforce_eager: expected true or false"}});
  refused(reference_lines(),
          {{kModelLine, R"("model": {"kv_bytes_per_token": 131072, "weight_dtype": "fp8"},)",
            "model.weight_dtype: expected only with a named model"},
           {kComputeLine, compute(R"("profile", "profile": "box")"),
            "compute.kind: profile needs a named model and a gpu"},
           {kComputeLine,
            compute(R"("linear", "step_us": 1, "token_ns": 1, "kv_token_ns": 1, )"
                    R"("eager_overhead_us": 1)"),
            "compute.eager_overhead_us: expected only with kind components"}});
}

}  // namespace
}  // namespace spillway::test

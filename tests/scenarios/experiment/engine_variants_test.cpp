// One scenario as several engines are told it: what is equal, and what cannot be compared.
#include "scenarios/experiment/engine_variants.hpp"

#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

JsonSource reference(const std::vector<std::string>& assignments = {}) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set("model.layers=4");
  for (const std::string& assignment : assignments) source.set(assignment);
  return source;
}
std::string refusal(const JsonSource& source, const std::vector<std::string>& names) {
  return error_of([&] { make_engine_variants(source, names); }).what();
}

TEST_CASE("engines that are compared have the same device pool and host memory", "[scenarios]") {
  // 2,047 blocks of 16 tokens beside the null block; 4 GiB below.
  const std::vector<std::string> names = {"vllm", "sglang"};
  const VariantSet set = make_engine_variants(reference(), names);
  REQUIRE(set.variants.size() == 2);
  const Scenario& vllm = set.variants[0].scenario;
  const Scenario& sglang = set.variants[1].scenario;
  CHECK(vllm.preset == "vllm@0.23");  // as it was
  CHECK(vllm.engine.usable_blocks() * vllm.engine.block_tokens == 32752);
  // Pages of 64 tokens: 511 of them, 32,704 tokens.
  CHECK(sglang.engine.usable_blocks() * sglang.engine.block_tokens == 32704);
  CHECK(sglang.engine.sglang.max_running_requests == 256);
  CHECK(sglang.engine.sglang.chunked_prefill_size == 2048);
  for (const Scenario* s : {&vllm, &sglang}) {
    CHECK(s->tier->capacity.count == std::int64_t{4} << 30);
  }
}

TEST_CASE("connectors and attached stores are compared on the same pool", "[scenarios]") {
  const std::vector<std::string> names = {"vllm",   "simple", "lmcache", "kvbm",
                                          "aibrix", "flexkv", "mooncake"};
  const VariantSet set = make_engine_variants(reference(), names);
  REQUIRE(set.variants.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Scenario& s = set.variants[i].scenario;
    CHECK(kConnectorNames[static_cast<std::size_t>(s.engine.connector)] ==
          (i == 0 ? "native" : names[i]));
    CHECK(s.engine.usable_blocks() * s.engine.block_tokens == 32752);
    CHECK(s.tier->capacity.count == std::int64_t{4} << 30);
  }
}

TEST_CASE("what only one engine has is not compared", "[scenarios]") {
  CHECK(refusal(reference(), {"vllm"}).find("expected two engines or more") != std::string::npos);
  CHECK(refusal(reference(), {"vllm", "vllm"}).find("vllm is given twice") != std::string::npos);
  CHECK(refusal(reference(), {"vllm", "sglan"}).find("unknown engine \"sglan\"") !=
        std::string::npos);
  CHECK(refusal(reference({"engine.offload_connector=simple"}), {"vllm", "sglang"})
            .find("has what only its engine knows") != std::string::npos);
  CHECK(refusal(reference(), {"vllm", "mooncake-client"}).find("has no pool of HBM") !=
        std::string::npos);
  CHECK(refusal(reference({"tiers=null", "links=null", "plan=null"}), {"vllm", "kvbm"})
            .find("kvbm needs host memory") != std::string::npos);
}

}  // namespace
}  // namespace spillway::test

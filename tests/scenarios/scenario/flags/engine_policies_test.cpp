// Which policies of a scenario its engine has itself.
#include "scenarios/scenario/flags/engine_policies.hpp"

#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

TEST_CASE("vLLM evicts by lru and its arc below HBM, and by lru in HBM", "[scenarios]") {
  const auto lacks = [](const std::string& key, const std::string& policy) {
    return engine_lacks(reference_with({key + "=" + policy}));
  };
  CHECK(lacks("tiers.0.eviction", "lru").empty());
  CHECK(lacks("tiers.0.eviction", "arc").empty());  // read as vLLM's own
  CHECK(lacks("tiers.0.eviction", "s3fifo") == "s3fifo");
  CHECK(lacks("tiers.0.eviction", "lfu") == "lfu");
  CHECK(lacks("engine.eviction", "lru").empty());
  CHECK(lacks("engine.eviction", "s3fifo") == "s3fifo in HBM");
}

TEST_CASE("an engine is named by its release", "[scenarios]") {
  CHECK(engine_name(reference_with()) == "vLLM 0.23");
}

TEST_CASE("a policy alone is known by some engine or by none", "[scenarios]") {
  CHECK(some_engine_has("lru"));
  CHECK(some_engine_has("arc"));
  CHECK_FALSE(some_engine_has("s3fifo"));
  CHECK_FALSE(some_engine_has("belady"));
}

}  // namespace
}  // namespace spillway::test

// Dynamo KVBM, as a user runs it: what results tell, what settings are refused, what flags say.
#include <array>

#include "tests/scenarios/run/attached_text.hpp"

namespace spillway::test {
namespace {

const AttachedStore kStore("kvbm@1.0");
const AttachedStore kSecond("kvbm@2.0");

const char* const kDisk = R"(, {"name": "disk", "kind": "nvme", "capacity": "1000blocks"})";
const char* const kDiskLinks =
    R"(, {"name": "put", "from": "dram", "to": "disk", "kind": "affine", "latency_us": 100,)"
    R"( "bandwidth": "1GiB/s"}, {"name": "get", "from": "disk", "to": "hbm", "kind": "affine",)"
    R"( "latency_us": 100, "bandwidth": "1GiB/s"})";

TEST_CASE("KVBM's tiers and links are told in blocks and batches", "[scenarios]") {
  // HBM holds two documents of 32 blocks, host memory too, the disk all of three. Each of six
  // requests finds its document below, less the block that is computed again.
  const Scenario scenario =
      kStore.scenario({.engine = R"(, "kvbm": {"disk_offload_filter": false})",
                       .more = kDisk,
                       .links = kDiskLinks});
  const RunResult r = simulate(scenario, repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  CHECK(r.tiers[2].stores == 96);
  CHECK(r.tiers[1].stores - r.tiers[1].evictions <= 64);
  CHECK(r.tiers[1].hits + r.tiers[2].hits == 3 * 31);
  REQUIRE(r.links.size() == 4);
  CHECK(r.links[2].name == "put");
  CHECK(r.links[2].from == "dram");
  CHECK(r.links[2].to == "disk");
  CHECK(r.links[2].transfers == 96);  // one block each
  CHECK(r.links[3].name == "get");
  CHECK(r.links[3].from == "disk");
  CHECK(r.links[3].to == "hbm");
  CHECK(r.links[0].transfers >= 6);  // two batches of 16 blocks for each of three documents
}

TEST_CASE("settings that KVBM cannot have are refused by name", "[scenarios]") {
  kStore.refused({.engine = R"(, "async_scheduling": true)"}, "async_scheduling");
  kStore.refused({.engine = R"(, "load": "barrier")"}, "engine.load");
  kStore.refused({.engine = R"(, "residency": "streaming")"}, "residency");
  kStore.refused({.engine = R"(, "pipeline_parallel_size": 2)"}, "pipeline_parallel_size");
  kStore.refused({.engine = R"(, "offload_connector": "lmcache")"}, "offload_connector");
  kStore.refused({.engine = R"(, "offload_prompt_only": true)"}, "offload_prompt_only");
  kStore.refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  kStore.refused({.engine = R"(, "kvbm": {"max_transfer_batch_size": 0})"},
                 "max_transfer_batch_size");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "kvbm": {})"},
                 "expected only with preset kvbm");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "offload_connector": "kvbm")"}, "preset");
  kStore.refused({.dram = R"("capacity": "1MiB")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "inf")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "1GiB", "eviction": "arc")"}, "tiers.0.eviction");
  kStore.refused({.dram = R"("capacity": "1GiB", "write_admission": "second-hit")"},
                 "tiers.0.write_admission");
  kStore.refused({.dram = R"("capacity": "1GiB", "scope": "cluster")"}, "tiers.0.scope");
  kStore.refused({.more = R"(, {"name": "b", "kind": "fs", "capacity": "1GiB"})"}, "tiers.1.kind");
  kStore.refused({.more = kDisk + std::string(R"(, {"name": "b", "kind": "nvme"})")},
                 "tiers.2.kind");
  kStore.refused({.more = R"(, {"name": "dram", "kind": "nvme"})"}, "tiers.1.name");
  kStore.refused(
      {.more = kDisk, .links = R"(, {"name": "get", "from": "disk", "to": "dram", "kind": "affine",
           "latency_us": 1, "bandwidth": "1GB/s"})"},
      "expected hbm");
  kStore.refused({.top = R"(, "media": [{"name": "root", "bandwidth": "50GB/s"}])"}, "media");
}

TEST_CASE("KVBM's sizes are flags in GB, or in blocks where they are no whole GB", "[scenarios]") {
  // A block of 16 tokens has 2,097,152 bytes: 4 GB are 1,907 of them, 1 GiB is 512.
  const EngineFlags whole = kStore.flags({.dram = R"("capacity": "4GB")",
                                          .more = R"(, {"name": "disk", "kind": "nvme",
                                              "capacity": "1GiB"})",
                                          .links = kDiskLinks});
  CHECK(has(whole.environment, "DYN_KVBM_CPU_CACHE_GB=4"));
  CHECK(has(whole.environment, "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS=512"));
  CHECK(has(whole.comments,
            "DYN_KVBM_CPU_CACHE_GB is in GB (10^9 bytes): 4000000000 bytes / 2097152 a block = "
            "1907 blocks"));
  const EngineFlags set = kStore.flags({.engine = R"(, "kvbm": {"max_concurrent_transfers": 2,
                                             "max_transfer_batch_size": 8,
                                             "disk_offload_filter": false})",
                                        .more = kDisk,
                                        .links = kDiskLinks});
  CHECK(has(set.environment, "DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS=64"));
  CHECK(has(set.environment, "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=true"));
  CHECK(has(set.environment, "DYN_KVBM_MAX_CONCURRENT_TRANSFERS=2"));
  CHECK(has(set.environment, "DYN_KVBM_MAX_TRANSFER_BATCH_SIZE=8"));
}

TEST_CASE("keys of KVBM v1 and v2 are refused with the other one", "[scenarios]") {
  const auto refused = [&](const std::string& keys, const std::string& words) {
    kSecond.refused({.engine = R"(, "kvbm": {)" + keys + "}"}, words);
  };
  for (const char* key : {"max_transfer_batch_size", "max_concurrent_transfers", "disk_filter_min",
                          "disk_filter_decay_s", "disk_filter_entries"}) {
    refused(fmt::format(R"("{}": 3)", key),
            fmt::format("{}: expected only with preset kvbm@1.0", key));
  }
  refused(R"("disk_offload_filter": false)", "kvbm@2.0 has disk_policies");
  refused(R"("host_policies": ["presense"])", "expected each of pass_all, presence, presence_lfu");
  refused(R"("disk_policies": "presence")", "engine.kvbm.disk_policies");
  refused(R"("min_lfu_count": 0)", "min_lfu_count");
  refused(R"("max_batch_size": 0)", "max_batch_size");
  refused(R"("inactive_pool": "arc")", "inactive_pool");
  for (const char* levels : {"[3, 8]", "[3, 3, 8]", "[1, 2, 16]", "[0, 2, 3]", "[1.5, 2, 3]"}) {
    refused(fmt::format(R"("multi_lru_thresholds": {})", levels), "multi_lru_thresholds");
  }
  for (const char* key : {"host_policies", "disk_policies"}) {
    kStore.refused({.engine = fmt::format(R"(, "kvbm": {{"{}": ["presence"]}})", key)},
                   "expected only with preset kvbm@2.0");
  }
  for (const char* key : {"min_lfu_count", "lfu_entries", "max_batch_size"}) {
    kStore.refused({.engine = fmt::format(R"(, "kvbm": {{"{}": 8}})", key)},
                   "expected only with preset kvbm@2.0");
  }
  kStore.refused({.engine = R"(, "kvbm": {"inactive_pool": "lru"})"}, "kvbm@2.0");
  kStore.refused({.engine = R"(, "kvbm": {"multi_lru_thresholds": [1, 2, 3]})"}, "kvbm@2.0");
}

TEST_CASE("policies of KVBM v2 are all asked, and an empty list is the usual one", "[scenarios]") {
  const auto rules = [](const std::string& keys) {
    return kSecond.scenario({.engine = R"(, "kvbm": {)" + keys + "}"}).engine.kvbm;
  };
  const KvbmConfig usual = rules("");
  CHECK(usual.v2);
  CHECK((usual.host.presence && !usual.host.frequent));
  CHECK((usual.disk.presence && usual.disk.frequent));
  CHECK(usual.inactive == InactivePool::kLineage);
  const KvbmConfig set = rules(R"("host_policies": ["pass_all"], "disk_policies": [],
      "inactive_pool": "multi_lru", "multi_lru_thresholds": [2, 4, 9], "max_batch_size": 7,
      "min_lfu_count": 3, "lfu_entries": 10)");
  CHECK_FALSE(set.host.presence);
  CHECK(set.disk.frequent);
  CHECK(set.inactive == InactivePool::kMultiLru);
  CHECK(set.levels == std::array<std::uint32_t, 3>{2, 4, 9});
  CHECK((set.max_batch == 7 && set.min_uses == 3 && set.use_entries == 10));
  CHECK(rules(R"("host_policies": ["pass_all", "presence"])").host.presence);
  CHECK(kStore.scenario({}).engine.kvbm.inactive == InactivePool::kLru);
}

TEST_CASE("a run with KVBM v2 tells its jobs", "[scenarios]") {
  // As above: a document is one job of 32 blocks, and the disk has each of them once.
  const Scenario scenario =
      kSecond.scenario({.engine = R"(, "kvbm": {"disk_policies": ["presence"]})",
                        .more = kDisk,
                        .links = kDiskLinks});
  const RunResult r = simulate(scenario, repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  CHECK(r.tiers[2].stores == 96);
  CHECK(r.links[2].transfers == 3);
  CHECK(r.tiers[1].hits + r.tiers[2].hits == 3 * 31);
}

TEST_CASE("flags of KVBM v2 are variables and the connector's own settings", "[scenarios]") {
  const EngineFlags flags = kSecond.flags({.engine = R"(, "kvbm": {"min_lfu_count": 3,
                                               "inactive_pool": "lru"})",
                                           .dram = R"("capacity": "4GB")",
                                           .more = kDisk,
                                           .links = kDiskLinks});
  CHECK(has(flags.environment, "KVBM_CACHE_HOST_CACHE_SIZE_GB=4"));
  CHECK(has(flags.environment, "KVBM_CACHE_DISK_NUM_BLOCKS=1000"));
  CHECK(has(flags.arguments, R"(--kv-transfer-config '{"kv_connector":"DynamoConnector",)"
                             R"("kv_connector_module_path":"kvbm.v2.vllm.connector",)"
                             R"("kv_role":"kv_both","kv_connector_extra_config":{"leader":)"
                             R"({"offload":{"g1_to_g2":{"policies":["presence"],)"
                             R"("max_batch_size":64},"g2_to_g3":{"policies":["presence_lfu"],)"
                             R"("max_batch_size":64,"presence_lfu":{"min_lfu_count":3}}}}}}')"));
  CHECK(has(flags.not_covered,
            "inactive_pool, multi_lru_thresholds, lfu_entries: KVBM has lineage and 2,097,152, and "
            "no setting for them"));
  // Of two ranks: 4 GB are 2 GB of each.
  const EngineFlags two =
      kSecond.flags({.engine = R"(, "tensor_parallel_size": 2)", .dram = R"("capacity": "4GB")"});
  CHECK(has(two.environment, "KVBM_CACHE_HOST_CACHE_SIZE_GB=2"));
}

}  // namespace
}  // namespace spillway::test

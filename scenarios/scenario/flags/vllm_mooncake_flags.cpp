// The connector's argument, its file, and the command line of the store's master (vllm-project/vllm
// @ 01529cf1: docs/features/mooncake_store_connector_usage.md; store/worker.py @ 003df296:
// MooncakeStoreConfig).
#include "scenarios/scenario/flags/vllm_mooncake_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/scenario/flags/mooncake_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::string_view kMooncakeFile = "mooncake_config.json";

/// Without an SSD every rank of every instance lends a part of the memory.
std::int64_t segment_of_rank(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const bool blocks = capacity.kind == Capacity::Kind::kBlocks;
  const std::int64_t all = blocks ? capacity.count * s.tier_block_bytes().count() : capacity.count;
  const bool cluster = s.tier->scope == Scope::kCluster;
  const std::int64_t ranks =
      std::int64_t{s.world()} * s.engine.data_parallel * (cluster ? s.fleet->replicas : 1);
  const std::int64_t each = (all + ranks - 1) / ranks;
  out.comments.push_back(
      fmt::format("global_segment_size: bytes that each of {} ranks lends the store: {} / {} = {}",
                  ranks, all, ranks, each));
  if (ranks != std::int64_t{s.engine.mooncake.segments}) {
    out.comments.push_back(
        fmt::format("the scenario has {} segments; the store has one for each rank that lends "
                    "memory, here {}",
                    s.engine.mooncake.segments, ranks));
  }
  return each;
}

/// With an SSD a process owns the memory, and the SSD behind it.
void add_owner(const EngineFlags& store, EngineFlags& out) {
  constexpr std::string_view kSegment = "MOONCAKE_GLOBAL_SEGMENT_SIZE=";
  std::string command;
  EngineProcess owner;
  for (const std::string& variable : store.environment) {
    if (variable.starts_with(kSegment)) {
      owner.arguments.push_back("--global_segment_size=" + variable.substr(kSegment.size()));
    } else {
      command += variable + " ";
    }
  }
  owner.command = command + "MOONCAKE_OFFLOAD_FILE_STORAGE_PATH=DIRECTORY mooncake_client";
  owner.arguments.emplace_back("--enable_offload=true");
  out.processes.push_back(std::move(owner));
  out.comments.insert(out.comments.end(), store.comments.begin(), store.comments.end());
  out.not_covered.emplace_back("where the SSD lies: put its directory for DIRECTORY");
}

}  // namespace

void add_vllm_mooncake_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const EngineFlags store = mooncake_flags(s, capacity, find_preset(s.preset, {}));
  const MooncakeConfig& c = s.engine.mooncake;
  out.processes.push_back({"mooncake_master", store.arguments});
  for (const std::string& what : store.not_covered) {
    const bool of_segments = what.starts_with("segments") || what.starts_with("the size");
    if (what.starts_with("what clients ask for") || (of_segments && !c.offload)) continue;
    out.not_covered.push_back(what);
  }
  std::int64_t segment = 0;
  if (c.offload) {
    add_owner(store, out);
  } else {
    segment = segment_of_rank(s, capacity, out);
  }
  out.environment.push_back(fmt::format("MOONCAKE_CONFIG_PATH={}", kMooncakeFile));
  out.files.push_back(
      {std::string(kMooncakeFile),
       {"{", fmt::format(R"(  "mode": "{}",)", c.offload ? "standalone-store" : "embedded"),
        R"(  "metadata_server": "P2PHANDSHAKE",)", R"(  "master_server_address": "MASTER:50051",)",
        fmt::format(R"(  "global_segment_size": {},)", segment), R"(  "protocol": "rdma",)",
        R"(  "device_name": "",)", fmt::format(R"(  "enable_offload": {})", c.offload), "}"}});
  out.not_covered.push_back(
      fmt::format("where the master runs: put its host for MASTER in {}", kMooncakeFile));
  // Rule V1 of tests/oracle/AMBIGUITIES_VLLM_MOONCAKE.md: the simulated scheduler is synchronous.
  out.arguments.emplace_back("--no-async-scheduling");
  out.arguments.push_back(fmt::format(
      R"(--kv-transfer-config '{{"kv_connector":"MooncakeStoreConnector","kv_role":"kv_both"{}}}')",
      s.engine.recompute_failed ? R"(,"kv_load_failure_policy":"recompute")" : ""));
}

}  // namespace spillway

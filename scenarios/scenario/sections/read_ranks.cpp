// An engine spread over GPUs, several engines behind one endpoint, and the host under them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/compute/copy_interference.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr std::int64_t kMostInstances = 1024;
constexpr Key kHostKeys[] = {
    size_key("memory", "Memory of the machine. The pools of all instances must fit.",
             "from the hardware profile"),
    size_key("reserved", "Memory for everything but KV pools.", "0GiB"),
    integer_key("instances", 1, kMostInstances, "Engines like this one on the machine.",
                "fleet.replicas, all of them"),
    integer_key("numa_nodes", 1, 64, "NUMA nodes. Recorded only.", "1"),
    rate_key("memory_bandwidth",
             "Rate of the host's memory, over all GPU copies and storage traffic.", "no bound")};

std::string size(Bytes bytes) {
  return format_bytes(static_cast<double>(bytes.count()));
}

/// vLLM starts only where heads divide evenly, or KV heads are repeated evenly
/// (vllm/config/model.py, verify_with_parallel_config; model_executor/layers/linear.py).
void check_heads(const ObjectReader& engine, const Scenario& s) {
  const ModelSpec& model = *s.model->spec;
  const auto ranks = static_cast<std::int32_t>(s.engine.tensor_parallel);
  if (model.q_heads % ranks != 0) {
    engine.fail("tensor_parallel_size",
                fmt::format("{} attention heads of {} do not divide by {}; expected a divisor",
                            model.q_heads, model.name, ranks));
  }
  if (model.is_mla()) return;
  if (model.kv_heads % ranks == 0 || ranks % model.kv_heads == 0) return;
  engine.fail("tensor_parallel_size",
              fmt::format("{} KV heads of {} neither divide by {} nor divide it; expected a "
                          "divisor or a multiple",
                          model.kv_heads, model.name, ranks));
}

/// Those of a mixture, over the ranks that share them.
void check_experts(const ObjectReader& engine, Scenario& s) {
  const ModelSpec& model = *s.model->spec;
  const EngineConfig& c = s.engine;
  if (!model.is_moe()) {
    if (!c.expert_parallel) return;
    engine.fail(
        "enable_expert_parallel",
        fmt::format("{} has no experts; expected false, or a mixture of experts", model.name));
  }
  if (c.data_parallel > 1 && c.pipeline_parallel > 1) {
    s.notes.push_back(scenario_note("experts-in-lockstep"));
  }
  const std::uint32_t ranks = s.shards().expert_ranks();
  if (!c.expert_parallel || ranks <= static_cast<std::uint32_t>(model.experts)) return;
  engine.fail("enable_expert_parallel",
              fmt::format("{} ranks for {} experts of {}; expected an expert for each", ranks,
                          model.experts, model.name));
}

}  // namespace

const KeyTable ScenarioKeys::kHost = kHostKeys;

void read_ranks(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  assign(c.tensor_parallel, engine.integer("tensor_parallel_size"));
  assign(c.pipeline_parallel, engine.integer("pipeline_parallel_size"));
  assign(c.data_parallel, engine.integer("data_parallel_size"));
  assign(c.expert_parallel, engine.boolean("enable_expert_parallel"));
  if (c.pipeline_parallel > 1) {
    if (s.model->layers > 0 && c.pipeline_parallel > s.model->layers) {
      engine.fail("pipeline_parallel_size",
                  fmt::format("{} stages for {} layers; expected a layer for each",
                              c.pipeline_parallel, s.model->layers));
    }
    if (engine.boolean("async_scheduling").value_or(false)) {
      engine.fail("async_scheduling",
                  "scheduling ahead in a pipeline is not modelled; expected false, or "
                  "pipeline_parallel_size 1");
    }
    s.notes.push_back(scenario_note("pipeline", {{"stages", c.pipeline_parallel}}));
  }
  if (s.model->spec != nullptr) {
    check_heads(engine, s);
    check_experts(engine, s);
  } else if (s.world() > 1) {
    s.notes.push_back(scenario_note("heads-unknown"));
  }
}

void check_ranks(const ObjectReader& top, const Scenario& s) {
  const EngineConfig& c = s.engine;
  const auto refuse = [&](bool wrong, std::string_view what, std::string_view expected) {
    if (wrong) top.fail("engine", fmt::format("{} not modelled; expected {}", what, expected));
  };
  const bool several = s.world() > 1 || c.data_parallel > 1;
  if (!several) return;
  constexpr std::string_view kOne =
      "tensor_parallel_size, pipeline_parallel_size and data_parallel_size of 1";
  refuse(c.family == EngineFamily::kVllmV0, "ranks of a v0 engine are", kOne);
  refuse(c.residency == Residency::kStreaming, "residency streaming over several ranks is", kOne);
  refuse(c.pipeline_parallel > 1 && c.load != LoadSemantics::kAsync,
         "steps of a pipeline that wait for loads are", "\"load\": \"async\"");
  refuse(c.pipeline_parallel > 1 && s.copy_interference().any(),
         "what copies take from the steps of a pipeline is", "neither interference nor sm_share");
  for (const Boxed<LinkChoice>* link : {&s.down, &s.up}) {
    refuse(*link && (*link)->shared_by > 1, "shared_by beside several ranks or engines is",
           "media that their links go through");
  }
}

// ---- the host
// ------------------------------------------------------------------------------------

namespace {

/// Host memory that one engine pins: the tier's pool, and v0's swap space of every GPU.
Bytes pinned_by_engine(const Scenario& s, const Capacity& capacity) {
  const Bytes swap = s.pool_block_bytes() * std::int64_t{s.engine.swap.cpu_blocks};
  if (capacity.kind == Capacity::Kind::kBlocks) return s.tier_block_bytes() * capacity.count + swap;
  return Bytes(capacity.count) + swap;
}

std::int64_t engines_on(const Scenario& s, const HostChoice& h) {
  return std::int64_t{h.instances} * s.engine.data_parallel;
}

/// Of the pools of all engines on the machine.
Bytes needed_on(const Scenario& s, const HostChoice& h, Bytes pool) {
  const std::int64_t engines = engines_on(s, h);
  return Bytes(static_cast<std::int64_t>(
      std::min(static_cast<double>(pool.count()) * static_cast<double>(engines) +
                   static_cast<double>(h.reserved.count()),
               0x1p62)));
}

/// What is wrong with these pools, if anything, with the sum written out.
std::optional<std::string> memory_fault(const Scenario& s, const HostChoice& h, Bytes pool) {
  const Bytes needed = needed_on(s, h, pool);
  if (needed <= h.memory) return std::nullopt;
  const std::int64_t engines = engines_on(s, h);
  const std::string sum =
      fmt::format("{} x {} {} + {} reserved = {}", size(pool), engines,
                  engines == 1 ? "engine" : "engines", size(h.reserved), size(needed));
  return fmt::format("host pools need {}, but the host has {}", sum, size(h.memory));
}

/// The size that a run asks for.
std::optional<Capacity> tier_in_memory(const Scenario& s) {
  if (s.tier && !s.tier->storage) return s.tier->capacity;
  if (s.engine.swap.cpu_blocks > 0) return Capacity{Capacity::Kind::kBytes, 0};
  return std::nullopt;
}

}  // namespace

namespace {

/// What crosses the host's memory: copies to and from GPUs, and storage that they do not reach
/// themselves.
/// Model: a device reads or writes memory once for each byte that it moves, so that a store to
/// storage by way of the host pays twice: as the GPU's copy, and as the drive's. Copies by the CPU
/// (a page cache, say) and caches in front of the memory are left out.
void bound_host_memory(const ObjectReader& host, Scenario& s, std::int64_t rate) {
  const std::string name(HostChoice::kMemoryMedium);
  if (s.engine.family == EngineFamily::kVllmV0) {
    host.fail("memory_bandwidth",
              "media are not modelled with vllm@0.6, the v0 engine; expected none");
  }
  for (const MediumChoice& medium : s.media) {
    if (medium.name != name) continue;
    host.fail("memory_bandwidth",
              fmt::format("a medium is called \"{}\"; expected that medium or this key", name));
  }
  if (!s.tier) return;
  MediumChoice memory;
  memory.name = name;
  memory.bytes_per_second = rate;
  memory.scope = Scope::kNode;
  s.media.push_back(std::move(memory));
  if (!s.tier->storage || !s.tier->storage->direct) {
    for (Boxed<LinkChoice>* link : {&s.down, &s.up}) (*link)->through.push_back(name);
    for (LinkChoice& link : s.rank_links) link.through.push_back(name);
  }
  const auto cross = [&](TierChoice& tier) {
    if (tier.storage && !tier.storage->direct) tier.storage->through.push_back(name);
  };
  cross(*s.tier);
  for (TierChoice& tier : s.behind) cross(tier);
}

}  // namespace

void read_host(const ObjectReader& top, Scenario& s) {
  const auto host = top.object("host", ScenarioKeys::kHost);
  HostChoice out;
  out.instances = s.fleet->replicas;  // a machine that is not said to hold fewer holds them all
  if (s.hardware) out.memory = Bytes(s.hardware->machine.memory_bytes);
  if (host) {
    const auto bytes = [&](std::string_view key, Bytes& target) {
      const auto text = host->text(key, ObjectReader::kSize);
      if (text) target = parse_bytes(*text, host->where(key));
    };
    bytes("memory", out.memory);
    bytes("reserved", out.reserved);
    if (out.memory <= Bytes(0)) {
      host->missing(
          "memory",
          "the machine's memory, which a host always needs, or a hardware profile that knows it");
    }
    assign(out.instances, host->integer("instances"));
    assign(out.numa_nodes, host->integer("numa_nodes"));
    if (const auto rate = host->text("memory_bandwidth", ObjectReader::kRate)) {
      out.memory_rate = parse_bandwidth(*rate, host->where("memory_bandwidth"));
      bound_host_memory(*host, s, out.memory_rate);
      if (out.instances > s.fleet->replicas) {
        s.notes.push_back(
            scenario_note("host-memory-unloaded",
                          {{"instances", out.instances}, {"simulated", s.fleet->replicas}}));
      }
    }
    out.where = host->where("memory");
    s.host = out;
  }
  const std::optional<Capacity> most = tier_in_memory(s);
  if (!most || out.memory <= Bytes(0)) return;
  if (most->kind == Capacity::Kind::kUnbounded) {
    if (host) s.notes.push_back(scenario_note("host-memory-unchecked"));
    return;
  }
  const Bytes pool = pinned_by_engine(s, *most);
  const std::int64_t needed = needed_on(s, out, pool).count();
  const NoteFigures figures = {{"pool_bytes", pool.count()},
                               {"engines", engines_on(s, out)},
                               {"reserved_bytes", out.reserved.count()},
                               {"needed_bytes", needed},
                               {"host_bytes", out.memory.count()}};
  if (needed > out.memory.count() - out.memory.count() / 10 && needed <= out.memory.count()) {
    s.notes.push_back(scenario_note("host-memory-tight", figures));
  }
  const auto fault = memory_fault(s, out, pool);
  if (!fault) return;
  if (host) {
    host->fail("memory", *fault +
                             "; expected smaller tiers, fewer instances or more memory (a "
                             "pool is pinned whole at the start: vLLM 53042, LMCache 3767)");
  }
  s.notes.push_back(scenario_note("host-memory-short", figures));
}

void check_plan_on_host(const Scenario& s) {
  if (!s.host || !s.plan || (s.tier && s.tier->storage)) return;
  for (std::size_t i = 0; i < s.plan->capacities.size(); ++i) {
    if (s.plan->capacities[i].kind == Capacity::Kind::kUnbounded) continue;
    const auto fault = memory_fault(s, *s.host, pinned_by_engine(s, s.plan->capacities[i]));
    if (!fault) continue;
    throw InputError(
        Fault::kUsage, s.host->where,
        fmt::format("{}, for the size {} of plan.sizes; expected sizes that fit, fewer "
                    "instances or more memory",
                    *fault, s.plan->sizes[i]));
  }
}

}  // namespace spillway

#include "tests/support/engine_run.hpp"

#include "models/engine/engine_parts.hpp"
#include "traces/workload_builder.hpp"

namespace spillway::test {

Workload workload_of(const std::vector<Row>& rows, std::uint32_t block_tokens) {
  WorkloadBuilder builder("test", block_tokens);
  TraceRow out;
  for (const Row& row : rows) {
    ++out.line;
    out.arrival_ns = row.arrival_ms * 1'000'000;
    out.input_tokens = row.input_tokens;
    out.output_tokens = row.output_tokens;
    out.blocks = row.blocks;
    out.tenant = row.tenant;
    builder.add(out);
  }
  return builder.build({"test", "test", {}});
}

Setup::Setup() {
  config.block_tokens = 16;
  config.num_gpu_blocks = 1001;
  config.max_num_seqs = 64;
  config.max_num_batched_tokens = 2048;
  config.block_bytes = Bytes(16 * 131072);
}

EngineParts parts_of(const Setup& setup) {
  EngineParts parts;
  parts.config = setup.config;
  parts.assemble = assembler_of(setup.config);
  parts.classes = setup.classes;
  parts.cost = make_linear_cost({decimal_of(2000), decimal_of(20000), decimal_of(5)});
  parts.eviction = parse_eviction(setup.hbm_eviction, {});
  parts.admission = parse_admission(setup.admission, {});
  if (setup.dram_blocks > 0) {
    parts.lower = std::make_unique<LowerTierConfig>();
    parts.lower->capacity_blocks = setup.dram_blocks;
    parts.lower->eviction = parse_eviction(setup.eviction, {});
    parts.lower->write_admission = parse_write_admission(setup.write_admission, {});
    const Duration latency = std::chrono::microseconds(10);
    parts.lower->lanes.down = {0, make_affine_link(latency, setup.bytes_per_second), 1};
    parts.lower->lanes.up = {1, make_affine_link(latency, setup.bytes_per_second), 1};
    parts.lower->interference = setup.interference;
    if (setup.load_at_break_even) {
      parts.lower->load_estimate = make_affine_link(latency, setup.bytes_per_second);
    }
  }
  if (setup.config.swap.cpu_blocks > 0) {
    const Duration latency = std::chrono::microseconds(10);
    parts.swap = std::make_unique<SwapLanes>();
    parts.swap->down = {0, make_affine_link(latency, setup.bytes_per_second), 1};
    parts.swap->up = {1, make_affine_link(latency, setup.bytes_per_second), 1};
  }
  return parts;
}

EngineRun run_parts(const Workload& workload, EngineParts parts, const NetworkSpec& spec,
                    const ArrivalConfig& arrival, Observer* observer) {
  EngineRun run;
  Observer& told = observer != nullptr ? *observer : run.journal;
  EventQueue queue;
  Network network(queue, spec, told);
  const ChainMap chains(workload, parts.config.block_tokens);
  std::optional<RequestFacts> facts;
  if (parts.need_facts()) parts.facts = &facts.emplace(request_facts(workload));
  Engine engine(queue, network, chains, std::move(parts), told);
  Arrivals arrivals(queue, workload, arrival, engine);
  engine.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  run.stuck = engine.finish_run();
  run.standstill = engine.standstill();
  static_cast<EngineStats&>(run) = engine.stats();
  run.end = queue.now();
  return run;
}

EngineRun run_engine(const Workload& workload, const Setup& setup, const ArrivalConfig& arrival,
                     Observer* observer) {
  return run_parts(workload, parts_of(setup), {}, arrival, observer);
}

std::vector<std::int64_t> ends_of(const EngineRun& run, std::uint32_t link) {
  std::vector<std::int64_t> out;
  for (const TransferRecord& t : run.journal.transfers) {
    if (t.link == link) out.push_back(nanoseconds_of(t.ended));
  }
  return out;
}

std::uint64_t stored_in(const EngineRun& run, std::uint32_t tier) {
  std::uint64_t out = 0;
  for (const TierChange& c : run.journal.tier_changes) out += c.tier == tier ? c.stored : 0;
  return out;
}

}  // namespace spillway::test

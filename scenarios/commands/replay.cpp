// `spillway replay`: cache-only replay, no clock: hit counts per policy and capacity.
#include <fmt/format.h>

#include <algorithm>

#include "models/cache_replay.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/config/quantities.hpp"
#include "scenarios/parallel.hpp"
#include "scenarios/resolved.hpp"
#include "traces/request_stream.hpp"

namespace spillway {

namespace {

struct ReplayOptions {
  TraceInput trace;
  std::vector<std::string> policies = {"lru"};
  std::vector<std::string> capacities;
  std::string semantics = "block";
  std::string touch_order = "rev";
  std::string atomic = "request";
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

struct Cell {
  const EvictionChoice* policy;
  std::uint64_t capacity;
  CacheReplay cache;
};

/// What is left of a trace when it has been replayed.
struct Replayed {
  nlohmann::json trace;
  std::uint32_t unique_blocks = 0;
  std::vector<std::string> notes;
  std::vector<Cell> cells;
};

std::uint64_t parse_blocks(const std::string& text) {
  const SourceRef where{"--capacity", 0, ""};
  const Capacity capacity = parse_capacity(text, where);
  if (capacity.kind == Capacity::Kind::kUnbounded) return kUnboundedCache;
  if (capacity.kind == Capacity::Kind::kBytes) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("a replay counts trace blocks; expected e.g. 1000blocks or inf, "
                                 "found \"{}\"",
                                 text));
  }
  if (capacity.count < 1) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected at least one block, found \"{}\"", text));
  }
  return static_cast<std::uint64_t>(capacity.count);
}

/// Without --capacity: shares of the trace's unique blocks.
std::vector<std::uint64_t> default_capacities(const Workload& workload) {
  std::vector<std::uint64_t> out;
  for (const std::uint64_t part : {100u, 20u, 10u, 4u, 2u}) {
    const std::uint64_t blocks = std::max<std::uint64_t>(1, workload.unique_blocks() / part);
    if (out.empty() || blocks > out.back()) out.push_back(blocks);
  }
  out.push_back(kUnboundedCache);
  return out;
}

nlohmann::json row_json(const Cell& cell, const ReplayOptions& options,
                        std::uint32_t unique_blocks) {
  const ReplayCounts& counts = cell.cache.counts();
  const std::uint64_t hits = options.semantics == "prefix" ? counts.prefix_hits : counts.block_hits;
  nlohmann::json row = {
      {"policy", cell.policy->text()},
      {"semantics", options.semantics},
      {"references", counts.references},
      {"hits", hits},
      {"hit_ratio", counts.references == 0
                        ? 0.0
                        : static_cast<double>(hits) / static_cast<double>(counts.references)},
      {"evictions", counts.evictions},
      {"unique_blocks", unique_blocks}};
  row["capacity_blocks"] =
      cell.capacity == kUnboundedCache ? nlohmann::json("inf") : nlohmann::json(cell.capacity);
  return row;
}

Report replay_report(const nlohmann::json& rows, const ReplayOptions& options) {
  Report report;
  report.title = fmt::format("{} hits, touch order {}, {} at a time", options.semantics,
                             options.touch_order, options.atomic);
  Table table;
  table.header = {"policy", "capacity", "hits", "hit ratio", "evictions"};
  for (const auto& row : rows) {
    const auto& capacity = row["capacity_blocks"];
    table.rows.push_back(
        {row["policy"], capacity.is_string() ? "inf" : format_count(capacity.get<std::uint64_t>()),
         format_count(row["hits"]), fmt::format("{:.6f}", row["hit_ratio"].get<double>()),
         format_count(row["evictions"])});
  }
  Section section;
  section.tables.push_back(std::move(table));
  report.sections.push_back(std::move(section));
  return report;
}

Atomicity atomicity_of(const ReplayOptions& options) {
  return options.atomic == "reference" ? Atomicity::kReference : Atomicity::kRequest;
}

std::vector<Cell> make_cells(const ReplayOptions& options,
                             const std::vector<EvictionChoice>& policies,
                             const std::vector<std::uint64_t>& capacities, const ReplayFacts& facts,
                             std::uint32_t block_tokens) {
  ReplaySetup setup;
  setup.order = options.touch_order == "fwd" ? TouchOrder::kForward : TouchOrder::kReverse;
  setup.atomicity = atomicity_of(options);
  setup.block_tokens = block_tokens;
  setup.facts = &facts;
  std::vector<Cell> cells;
  for (const EvictionChoice& policy : policies) {
    for (const std::uint64_t capacity : capacities) {
      setup.capacity_blocks = capacity;
      cells.push_back({&policy, capacity, CacheReplay(policy, setup)});
    }
  }
  return cells;
}

/// A trace in order of time passes by in batches; any other is gathered first, and so is one whose
/// unique blocks have to be counted before there are capacities.
Replayed replay(const ReplayOptions& options, const std::vector<EvictionChoice>& policies,
                std::vector<std::uint64_t> capacities) {
  const CommonOptions& common = *options.common;
  Replayed out;
  const auto run = [&](const RequestBatch& batch) {
    parallel_for(out.cells.size(), common.thread_count(),
                 [&](std::size_t i) { out.cells[i].cache.run(batch); });
  };
  Progress reading("reading", "MB", !common.quiet);
  TraceFile trace = open_trace_file(options.trace, reading);
  PolicyNeeds needs;
  for (const EvictionChoice& policy : policies) {
    needs.requests = needs.requests || policy.needs().requests;
    needs.future = needs.future || policy.needs().future;
  }
  const bool whole = needs.requests || needs.future || options.trace.infer_sessions;
  if (trace.streams() && !capacities.empty() && !whole) {
    out.cells = make_cells(options, policies, capacities, {}, trace.reader().block_tokens());
    const StreamedTrace all = stream_requests(trace, run);
    out.trace = trace_inputs(all.source, all.block_tokens, all.requests_hash);
    out.unique_blocks = all.unique_blocks;
    out.notes = all.source.notes;
    return out;
  }
  const Workload workload = gather(trace, options.trace);
  reading.finish();
  if (capacities.empty()) capacities = default_capacities(workload);
  const ReplayFacts facts(workload, needs, atomicity_of(options));
  out.cells = make_cells(options, policies, capacities, facts, workload.block_tokens());
  run(workload.all());
  out.trace = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
  out.unique_blocks = workload.unique_blocks();
  out.notes = workload.source().notes;
  return out;
}

int run(const ReplayOptions& options) {
  const CommonOptions& common = *options.common;
  check_writable(common);
  refuse_own_inputs(common, {options.trace.path});
  std::vector<EvictionChoice> policies;
  for (const std::string& text : options.policies) {
    policies.push_back(parse_eviction(text, {"--policy", 0, ""}));
  }
  std::vector<std::uint64_t> capacities;
  for (const std::string& text : options.capacities) capacities.push_back(parse_blocks(text));
  const Replayed replayed = replay(options, policies, std::move(capacities));

  Document document;
  document.kind = "replay";
  document.inputs = {
      {"trace", replayed.trace}, {"touch_order", options.touch_order}, {"atomic", options.atomic}};
  document.results = nlohmann::json::array();
  for (const Cell& cell : replayed.cells) {
    document.results.push_back(row_json(cell, options, replayed.unique_blocks));
  }
  document.warnings = replayed.notes;
  write_document(document, common, "replay");
  print_report(replay_report(document.results, options), common);
  print_notes(document.warnings, common);
  return 0;
}

}  // namespace

void add_replay(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = add_command(
      app, commands, "replay", "Count cache hits per policy and capacity, without a clock",
      "  spillway replay --trace traces/samples/chat.jsonl.gz --policy lru,fifo\n"
      "  spillway replay --trace t.jsonl.gz --capacity 1000blocks,30000blocks,inf --semantics "
      "prefix\n",
      options->common, [options] { return run(*options); });
  command->add_option("--trace", options->trace.path, "Trace file (see `spillway list formats`)")
      ->required();
  command
      ->add_option("--policy", options->policies,
                   "Eviction policies (see `spillway list policies`)")
      ->delimiter(',');
  command
      ->add_option("--capacity", options->capacities,
                   "Capacities, e.g. 1000blocks,inf (default: shares of the unique blocks)")
      ->delimiter(',');
  command
      ->add_option("--semantics", options->semantics,
                   "block: every resident block is a hit; prefix: only the leading run")
      ->check(CLI::IsMember({"block", "prefix"}));
  command
      ->add_option("--touch-order", options->touch_order,
                   "rev: a chain's last block first, as vLLM frees them; fwd: first block first")
      ->check(CLI::IsMember({"rev", "fwd"}));
  command
      ->add_option("--atomic", options->atomic,
                   "request: look up a whole request, then insert it; reference: block by block")
      ->check(CLI::IsMember({"request", "reference"}));
  add_trace_options(*command, options->trace);
}

}  // namespace spillway

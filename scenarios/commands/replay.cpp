// `spillway replay`: cache-only replay, no clock: hit counts per policy and capacity.
#include <fmt/format.h>

#include <algorithm>

#include "reports/fields/write.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/provenance.hpp"
#include "reports/trace/trace_report.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/replay_options.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/replay/bounds.hpp"
#include "scenarios/replay/rows.hpp"
#include "scenarios/replay/stream_replay.hpp"
#include "scenarios/replay/tier_list.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "traces/request_stream.hpp"

namespace spillway {

namespace {

constexpr ValueKind kTiers{"TIER=BLOCKS", "a tier's name and its size in blocks: dram=10000blocks"};

/// Bounds need the whole trace in memory and one replay or two more at each capacity. Up to so many
/// references (and requests) that is a matter of milliseconds, and comes without being asked for.
constexpr std::size_t kBoundedReferences = std::size_t{1} << 21;

/// So that the bytes of a thousand million blocks are still counted in 64 bits.
constexpr std::int64_t kMostBytesPerBlock = std::int64_t{1} << 34;

struct ReplayOptions {
  TraceInput trace;
  std::vector<std::string> policies;
  std::vector<std::string> capacities;
  std::vector<std::string> tiers;
  std::string inclusion = "inclusive";
  std::string kv_bytes_per_block;
  ReplayChoice choice;
  std::string bounds = "auto";
  std::vector<std::string> outputs;
  CommonOptions common;
};

/// What the options say, understood.
struct Replaying {
  std::vector<EvictionChoice> policies;
  std::vector<std::uint64_t> capacities;
  std::vector<std::vector<ReplayTierSetup>> stacks;  ///< by policy, where there are tiers
  Inclusion inclusion = Inclusion::kInclusive;
  TouchOrder order = TouchOrder::kReverse;
  Atomicity atomicity = Atomicity::kRequest;
  PolicyNeeds needs;
};

/// What is left of a trace when it has been replayed.
struct Replayed {
  nlohmann::json trace;
  Notes notes;
  ReplayRowFacts facts;
  std::vector<ReplayCell> cells;
  std::vector<std::optional<ReplayBounds>> bounds;  ///< by cell
};

Replaying understood(const ReplayOptions& options, ReplayRowFacts& facts) {
  Replaying out;
  out.inclusion = options.inclusion == "exclusive" ? Inclusion::kExclusive : Inclusion::kInclusive;
  out.order = options.choice.order();
  out.atomicity = options.choice.atomicity();
  for (const std::string& text : options.policies) {
    out.policies.push_back(parse_eviction(text, {"--policy", 0, ""}));
  }
  for (const std::string& text : options.capacities) {
    out.capacities.push_back(parse_block_count(text, {"--capacity", 0, ""}));
  }
  facts.tiers = parse_replay_tiers(options.tiers);
  const bool all_own = !facts.tiers.empty() && std::all_of(facts.tiers.begin(), facts.tiers.end(),
                                                           [](const ReplayTierSpec& tier) {
                                                             return tier.policy.has_value();
                                                           });
  if (all_own && !out.policies.empty()) {
    throw InputError(Fault::kUsage, {"--policy", 0, ""},
                     "every tier of --tiers names a policy of its own; expected one of the two");
  }
  if (out.policies.empty()) {
    out.policies.push_back(all_own ? *facts.tiers.front().policy : EvictionChoice());
  }
  const auto add_needs = [&](const EvictionChoice& policy) {
    out.needs.requests = out.needs.requests || policy.needs().requests;
    out.needs.future = out.needs.future || policy.needs().future;
  };
  for (const EvictionChoice& policy : out.policies) {
    add_needs(policy);
    if (facts.tiers.empty()) continue;
    out.stacks.push_back(tiers_with(facts.tiers, policy, out.inclusion));
    for (const ReplayTierSetup& tier : out.stacks.back()) add_needs(tier.policy);
  }
  if (!options.kv_bytes_per_block.empty()) {
    const SourceRef where{"--kv-bytes-per-block", 0, ""};
    const std::int64_t bytes = parse_bytes(options.kv_bytes_per_block, where).count();
    if (bytes < 1 || bytes > kMostBytesPerBlock) {
      throw InputError(
          Fault::kUsage, where,
          fmt::format("expected 1 byte to 16 GiB, found \"{}\"", options.kv_bytes_per_block));
    }
    facts.kv_bytes_a_block = static_cast<std::uint64_t>(bytes);
  }
  facts.prefix = options.choice.prefix();
  return out;
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

ReplaySetup setup_of(const Replaying& replaying, const ReplayFacts& facts,
                     std::uint32_t block_tokens) {
  ReplaySetup setup;
  setup.order = replaying.order;
  setup.atomicity = replaying.atomicity;
  setup.block_tokens = block_tokens;
  setup.facts = &facts;
  return setup;
}

std::vector<ReplayCell> make_cells(const Replaying& replaying,
                                   const std::vector<std::uint64_t>& capacities,
                                   ReplaySetup setup) {
  std::vector<ReplayCell> cells;
  for (std::size_t i = 0; i < replaying.policies.size(); ++i) {
    const EvictionChoice& policy = replaying.policies[i];
    if (!replaying.stacks.empty()) {
      cells.emplace_back(policy.text(), replaying.stacks[i],
                         TieredReplaySetup{replaying.inclusion, setup.order, setup.atomicity,
                                           setup.block_tokens, setup.facts});
      continue;
    }
    for (const std::uint64_t capacity : capacities) {
      setup.capacity_blocks = capacity;
      cells.emplace_back(policy, setup);
    }
  }
  return cells;
}

std::vector<ReplayCell*> pointers(std::vector<ReplayCell>& cells) {
  std::vector<ReplayCell*> out;
  for (ReplayCell& cell : cells) out.push_back(&cell);
  return out;
}

/// All rows over a trace in memory, with their bounds where these are wanted. The cells are there
/// already where a stream turned out to be short.
void replay_whole(const Workload& workload, const ReplayOptions& options,
                  const Replaying& replaying, Replayed& out) {
  const CommonOptions& common = options.common;
  const bool bounded =
      options.bounds != "never" &&
      (options.bounds == "always" || workload.references() + workload.size() < kBoundedReferences);
  PolicyNeeds needs = replaying.needs;
  needs.future = needs.future || bounded;
  const ReplayFacts facts(workload, needs, replaying.atomicity);
  const ReplaySetup setup = setup_of(replaying, facts, workload.block_tokens());
  if (out.cells.empty()) {
    const std::vector<std::uint64_t> capacities =
        replaying.capacities.empty() ? default_capacities(workload) : replaying.capacities;
    out.cells = make_cells(replaying, capacities, setup);
  }
  out.bounds.resize(out.cells.size());
  std::vector<ReplayCell*> cells = pointers(out.cells);
  std::optional<BoundCells> bounds;
  if (bounded) {
    bounds.emplace(workload, cells, setup);
    for (ReplayCell* cell : bounds->cells()) cells.push_back(cell);
  }
  Progress progress("replaying", "references", !common.quiet);
  CellRun(std::move(cells))
      .all(workload.all(), common.thread_count(),
           [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
  if (!bounds) return;
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    out.bounds[i] = bounds->at(out.cells[i].capacity(), out.facts.prefix);
  }
}

/// What the policies would have liked to know.
void note_missing_sessions(const Workload& workload, const Replaying& replaying, Notes& notes) {
  if (!replaying.needs.requests || workload.has_sessions()) return;
  notes.push_back(study_note("sessions-unknown"));
}

/// What a bound does not know of.
void note_bounds(const Replaying& replaying, const Replayed& replayed, Notes& notes) {
  if (!replayed.bounds.front()) return;
  if (!replaying.stacks.empty() && replaying.inclusion == Inclusion::kInclusive) {
    notes.push_back(study_note("bounds-of-one-cache"));
  }
  if (replaying.atomicity == Atomicity::kReference) {
    notes.push_back(study_note("bounds-by-request"));
  }
}

void note_missing_bounds(const ReplayOptions& options, const Replayed& replayed, Notes& notes) {
  if (options.bounds != "auto" || replayed.bounds.front()) return;
  notes.push_back(study_note("bounds-left-out", {{"most_references", kBoundedReferences}}));
}

/// A trace in order of time passes by in pieces, unless it is short; any other is gathered first,
/// and so is one whose unique blocks have to be counted before there are capacities.
Replayed replay(const ReplayOptions& options) {
  const CommonOptions& common = options.common;
  Replayed out;
  const Replaying replaying = understood(options, out.facts);
  Progress reading("reading", "MB", !common.quiet);
  TraceFile trace = open_trace_file(options.trace, reading);
  const bool whole = replaying.needs.requests || replaying.needs.future ||
                     options.trace.infer_sessions || options.bounds == "always" ||
                     (replaying.capacities.empty() && replaying.stacks.empty());
  if (trace.streams() && !whole) {
    const ReplayFacts nothing;
    out.cells = make_cells(replaying, replaying.capacities,
                           setup_of(replaying, nothing, trace.reader().block_tokens()));
    StreamReplay stream(pointers(out.cells), common.thread_count(),
                        options.bounds == "never" ? 0 : kBoundedReferences);
    const StreamedTrace all =
        stream_requests(trace, [&](const RequestBatch& batch) { stream.add(batch); });
    std::unique_ptr<KeptRequests> kept = stream.finish();
    reading.finish();
    out.bounds.resize(out.cells.size());
    if (kept != nullptr) {
      const WorkloadColumns columns = kept->columns(all.block_tokens);
      replay_whole(Workload(std::move(kept), columns, all.source), options, replaying, out);
    }
    out.trace = trace_inputs(all.source, all.block_tokens, all.requests_hash);
    out.facts.unique_blocks = all.unique_blocks;
    out.notes = plain_notes(all.source.notes);
  } else {
    const Workload workload = gather(trace, options.trace);
    reading.finish();
    replay_whole(workload, options, replaying, out);
    out.trace = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
    out.facts.unique_blocks = workload.unique_blocks();
    out.notes = plain_notes(workload.source().notes);
    note_missing_sessions(workload, replaying, out.notes);
  }
  note_missing_bounds(options, out, out.notes);
  note_bounds(replaying, out, out.notes);
  return out;
}

int run(const ReplayOptions& options) {
  const CommonOptions& common = options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "replay", {}, common);
  check_writable(common, paths_of(outputs));
  refuse_own_inputs(common, {options.trace.path}, paths_of(outputs));
  const Replayed replayed = replay(options);

  Document document;
  document.kind = "replay";
  document.inputs = {{"trace", replayed.trace},
                     {"touch_order", options.choice.touch_order},
                     {"atomic", options.choice.atomic}};
  if (!options.tiers.empty()) document.inputs["inclusion"] = options.inclusion;
  std::vector<ReplayRow> rows;
  for (std::size_t i = 0; i < replayed.cells.size(); ++i) {
    rows.push_back(replay_row(replayed.cells[i], replayed.facts, replayed.bounds[i]));
  }
  document.results = to_document(rows);
  document.warnings = replayed.notes;
  const Provenance provenance = provenance_of(document, "");
  write_results(document, replay_report(document.results, provenance),
                replay_summary(document.results, provenance), outputs, common);
  return 0;
}

}  // namespace

void add_replay(Verb& program) {
  auto [command, options] = add_command<ReplayOptions>(
      program, "replay", "Count cache hits per policy and capacity, without a clock",
      "  spillway replay --trace traces/samples/chat.jsonl.gz --policy lru,fifo\n"
      "  spillway replay --trace t.jsonl.gz --capacity 1000blocks,30000blocks,inf --semantics "
      "prefix\n"
      "  spillway replay --trace t.jsonl.gz --tiers hbm=1000blocks,dram=10000blocks --inclusion "
      "exclusive\n"
      "  spillway replay --trace t.jsonl.gz --policy lru,arc --output kind=html,path=replay.html\n",
      run);
  command
      .add("--trace", options.trace.path, kinds::kFile, "Trace file (see `spillway list formats`)")
      .require();
  command
      .add("--policy", options.policies, kinds::kPolicy,
           "Eviction policies, NAME or NAME:KEY=VALUE:... (see `spillway list policies`, "
           "`list parameters`; default: lru)")
      .commas();
  Option& capacity =
      command
          .add("--capacity", options.capacities, kinds::kBlocks,
               "Capacities, e.g. 1000blocks,inf (default: shares of the unique blocks)")
          .commas();
  Option& tiers = command
                      .add("--tiers", options.tiers, kTiers,
                           "Tiers instead, near to far: hbm=1000blocks,dram=10000blocks[/POLICY]")
                      .commas()
                      .excludes(capacity);
  command
      .add("--inclusion", options.inclusion, kinds::kChoice,
           "inclusive: stored in all tiers at once; exclusive: in one, victims move down")
      .one_of({"inclusive", "exclusive"})
      .needs(tiers);
  command
      .add("--kv-bytes-per-block", options.kv_bytes_per_block, kinds::kSize,
           "KV bytes of a trace block, e.g. 64MiB: adds the bytes of blocks that came into a "
           "tier and left it, dropped ones included")
      .needs(tiers);
  add_replay_options(command, options.choice);
  command
      .add("--bounds", options.bounds, kinds::kChoice,
           "Offline optimum beside each row: auto (up to 2^21 references), always, never")
      .one_of({"auto", "always", "never"});
  add_output(command, options.outputs, "replay");
  add_trace_options(command, options.trace);
}

}  // namespace spillway

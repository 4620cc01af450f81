// `spillway mrc`: an LRU cache's hits at every capacity, in one pass over a trace.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "reports/fields/write.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/provenance.hpp"
#include "reports/trace/trace_report.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/mrc_fields.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/replay_options.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "sim/digest.hpp"
#include "sim/numbers.hpp"
#include "traces/request_stream.hpp"
#include "traces/row_sequence.hpp"
#include "traces/stats/sampled_curve.hpp"

namespace spillway {

namespace {

struct MrcOptions {
  TraceInput trace;
  ReplayChoice choice;
  std::vector<std::string> at;
  std::uint32_t points = 1000;
  double sample = 0;  ///< 0: all blocks
  std::vector<std::string> outputs;
  CommonOptions common;
};

/// What a pass over the trace leaves, exact or sampled.
struct Measured {
  nlohmann::json trace;
  Notes notes;
  std::uint64_t references = 0;
  std::uint64_t unique_blocks = 0;
  std::vector<CurvePoint> changes;  ///< at every capacity where the hits change
  std::optional<SampledCurve> sampled;

  std::uint64_t hits_at(std::uint64_t capacity) const {
    const auto above = std::upper_bound(
        changes.begin(), changes.end(), capacity,
        [](std::uint64_t c, const CurvePoint& point) { return c < point.capacity_blocks; });
    return above == changes.begin() ? 0 : std::prev(above)->hits;
  }
  std::uint64_t infinite_hits() const { return changes.empty() ? 0 : changes.back().hits; }
  /// Of a sample's hit ratio.
  double error_at(std::uint64_t capacity) const {
    double out = sampled->errors.empty() ? 1 : 0;
    for (const CurveError& step : sampled->errors) {
      if (step.capacity_blocks > capacity) break;
      out = step.error;
    }
    return out;
  }
  double ratio(std::uint64_t hits) const {
    return references == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(references);
  }
};

/// "5000" or "5000blocks".
std::uint64_t parse_at(const std::string& text) {
  const SourceRef where{"--at", 0, ""};
  auto plain = parse_whole<std::uint64_t>(text);
  if (!plain) {
    const Capacity capacity = parse_capacity(text, where);
    if (capacity.kind != Capacity::Kind::kBlocks) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("expected blocks of the trace, e.g. 1000 or 1000blocks, found "
                                   "\"{}\"",
                                   text));
    }
    plain = static_cast<std::uint64_t>(std::max<std::int64_t>(0, capacity.count));
  }
  if (*plain < 1) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected at least one block, found \"{}\"", text));
  }
  return *plain;
}

std::vector<CurvePoint> changes_of(const HitCurve& curve) {
  std::vector<CurvePoint> out;
  std::uint64_t last = 0;
  for (std::uint64_t c = 1; c <= curve.last_capacity(); ++c) {
    if (curve.hits(c) == last) continue;
    last = curve.hits(c);
    out.push_back({c, last});
  }
  return out;
}

/// A trace in order of time passes by in batches; any other is gathered first.
bool streams(const TraceFile& trace, const MrcOptions& options) {
  return trace.streams() && !options.trace.infer_sessions;
}

Measured measure(const MrcOptions& options) {
  Progress reading("reading", "MB", !options.common.quiet);
  TraceFile trace = open_trace_file(options.trace, reading);
  const ReplayChoice& choice = options.choice;
  const auto counter = [&](std::uint64_t references) {
    return ReuseCounter(choice.order(), choice.atomicity(),
                        choice.prefix() ? CountedHits::kPrefix : CountedHits::kBlock, references);
  };
  Measured out;
  const auto finish = [&](ReuseCounter&& counted) {
    const ReuseCurve curve = std::move(counted).curve();
    out.references = curve.references;
    out.unique_blocks = curve.unique_blocks;
    out.changes = changes_of(choice.prefix() ? curve.prefix : curve.block);
  };
  if (streams(trace, options)) {
    ReuseCounter counted = counter(0);
    const StreamedTrace all =
        stream_requests(trace, [&](const RequestBatch& batch) { counted.add(batch); });
    out.trace = trace_inputs(all.source, all.block_tokens, all.requests_hash);
    out.notes = plain_notes(all.source.notes);
    finish(std::move(counted));
    return out;
  }
  const Workload workload = gather(trace, options.trace);
  ReuseCounter counted = counter(workload.references());
  counted.add(workload.all());
  out.trace = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
  out.notes = plain_notes(workload.source().notes);
  finish(std::move(counted));
  return out;
}

/// Reads names alone: nothing is kept of a block that is not sampled.
SampledCounter sample_names(TraceFile& trace, SampledCounter counter, Measured& out) {
  RowSequence sequence(trace.path(), RowOrder::kFile);
  Digest digest;
  const WorkloadSource source = trace.read([&](const TraceRow& row) {
    sequence.add(row);
    counter.add(row.blocks);
    digest.number(static_cast<std::uint64_t>(row.arrival_ns));
    digest.number(static_cast<std::uint64_t>(row.input_tokens));
    digest.number(recorded_output_tokens(row));
    digest.column(std::span<const std::uint64_t>(row.blocks));
  });
  const std::uint32_t block_tokens = trace.reader().block_tokens();
  digest.number(block_tokens);
  out.trace = trace_inputs(source, block_tokens, 0);
  out.trace.erase("content_hash");  // numbers blocks by first appearance, which is not known here
  out.trace["names_hash"] = digest.hex();
  out.notes = plain_notes(source.notes);
  return counter;
}

Measured measure_sample(const MrcOptions& options) {
  Progress reading("reading", "MB", !options.common.quiet);
  TraceInput input = options.trace;
  std::vector<std::uint64_t> names;
  input.block_names = &names;
  TraceFile trace = open_trace_file(input, reading);
  SampledCounter counter(options.sample, seed_of(options.common).value_or(1),
                         options.choice.order(), options.choice.atomicity());
  Measured out;
  if (streams(trace, options)) {
    counter = sample_names(trace, std::move(counter), out);
  } else {
    const Workload workload = gather(trace, input);
    for (std::uint32_t i = 0; i < workload.size(); ++i) {
      counter.add(workload.chain(RequestId{i}), names);
    }
    out.trace = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
    out.notes = plain_notes(workload.source().notes);
  }
  out.sampled = std::move(counter).curve();
  out.references = out.sampled->references;
  out.unique_blocks = static_cast<std::uint64_t>(std::llround(out.sampled->unique_blocks));
  out.changes = std::move(out.sampled->changes);
  return out;
}

/// A sampled block's place in the leading run depends on all blocks before it, of which the sample
/// has few. Where chains are prefixes and their last block is touched first, none of them can be
/// farther away than it is, and a prefix hit is a hit; nothing like that holds elsewhere.
void require_prefix_order(const ReplayChoice& choice) {
  if (!choice.prefix()) return;
  if (choice.order() == TouchOrder::kReverse && choice.atomicity() == Atomicity::kRequest) return;
  throw InputError(Fault::kUsage, {"--sample", 0, ""},
                   "prefix hits can be estimated from a sample with --touch-order rev and --atomic "
                   "request only, where a block is never farther away than the one behind it; "
                   "expected these, --semantics block, or no --sample");
}

void require_prefix_chains(const ReplayChoice& choice, const Measured& measured) {
  if (!choice.prefix() || measured.sampled->inconsistent_blocks == 0) return;
  throw InputError(
      Fault::kUsage, {"--sample", 0, ""},
      fmt::format("{} of {} sampled blocks stand behind different blocks in different requests, so "
                  "that prefix hits cannot be estimated from a sample; expected --semantics block, "
                  "or no --sample",
                  measured.sampled->inconsistent_blocks, measured.sampled->sampled_blocks));
}

/// 1, 2, 5, 10, ... from the first change up to the last.
std::vector<std::uint64_t> round_capacities(const Measured& measured) {
  std::vector<std::uint64_t> out;
  if (measured.changes.empty()) return out;
  const std::uint64_t first = measured.changes.front().capacity_blocks;
  const std::uint64_t last = measured.changes.back().capacity_blocks;
  for (std::uint64_t decade = 1; decade <= last; decade *= 10) {
    for (const std::uint64_t step : {1U, 2U, 5U}) {
      if (decade * step >= first && decade * step <= last) out.push_back(decade * step);
    }
  }
  return out;
}

/// The changes to show. Of more than `points`, those are left out that hit hardly more, and are
/// hardly larger, than the one before them that is shown.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& changes, std::uint64_t points) {
  if (points == 0 || changes.size() <= points) return changes;
  // Half of the points may be steps in hits, half of them steps in capacity.
  const std::uint64_t half = std::max<std::uint64_t>(1, points / 2);
  const std::uint64_t step = changes.back().hits / half + 1;
  const auto doublings = static_cast<std::uint64_t>(std::bit_width(changes.back().capacity_blocks));
  const std::uint64_t part = std::max<std::uint64_t>(1, half / doublings);
  std::vector<CurvePoint> out;
  for (const CurvePoint& point : changes) {
    const bool shown =
        out.empty() || point.hits - out.back().hits >= step ||
        (point.capacity_blocks - out.back().capacity_blocks) * part >= out.back().capacity_blocks ||
        &point == &changes.back();
    if (shown) out.push_back(point);
  }
  return out;
}

MrcPoint point_of(const Measured& measured, const CurvePoint& point) {
  MrcPoint out{point.capacity_blocks, point.hits, measured.ratio(point.hits), {}};
  if (measured.sampled) out.error = measured.error_at(point.capacity_blocks);
  return out;
}

std::vector<MrcPoint> curve_of(const Measured& measured, const MrcOptions& options,
                               const std::vector<std::uint64_t>& at) {
  std::vector<CurvePoint> points = thinned(measured.changes, options.points);
  for (const std::uint64_t capacity : at) points.push_back({capacity, measured.hits_at(capacity)});
  for (const std::uint64_t capacity : round_capacities(measured)) {
    points.push_back({capacity, measured.hits_at(capacity)});
  }
  const auto less = [](const CurvePoint& a, const CurvePoint& b) {
    return a.capacity_blocks < b.capacity_blocks;
  };
  const auto same = [](const CurvePoint& a, const CurvePoint& b) {
    return a.capacity_blocks == b.capacity_blocks;
  };
  std::sort(points.begin(), points.end(), less);
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  std::vector<MrcPoint> out;
  for (const CurvePoint& point : points) out.push_back(point_of(measured, point));
  return out;
}

/// Where the curve is farthest above the straight line to its end (Satopaa et al., "Finding a
/// Kneedle in a Haystack", 2011).
const CurvePoint& knee_of(const std::vector<CurvePoint>& changes) {
  const auto last_capacity = static_cast<double>(changes.back().capacity_blocks);
  const auto last_hits = static_cast<double>(changes.back().hits);
  const auto height = [&](const CurvePoint& point) {
    return static_cast<double>(point.hits) / last_hits -
           static_cast<double>(point.capacity_blocks) / last_capacity;
  };
  return *std::max_element(
      changes.begin(), changes.end(),
      [&](const CurvePoint& a, const CurvePoint& b) { return height(a) < height(b); });
}

MrcResults results_of(const Measured& measured, const MrcOptions& options,
                      const std::vector<std::uint64_t>& at) {
  MrcResults out;
  out.prefix = options.choice.prefix();
  out.references = measured.references;
  out.unique_blocks = measured.unique_blocks;
  out.infinite_hits = measured.infinite_hits();
  out.infinite_hit_ratio = measured.ratio(out.infinite_hits);
  out.changes = measured.changes.size();
  out.curve = curve_of(measured, options, at);
  if (!measured.changes.empty()) out.knee = point_of(measured, knee_of(measured.changes));
  if (const auto& sampled = measured.sampled) {
    out.sampled = MrcSample{options.sample, sampled->sampled_blocks, sampled->sampled_references,
                            sampled->held_blocks, sampled->error};
  }
  return out;
}

void add_notes(Measured& measured) {
  if (measured.references == 0) {
    measured.notes.push_back(study_note("no-block-ids"));
  } else if (measured.sampled && measured.sampled->error >= 1) {
    measured.notes.push_back(
        study_note("sample-too-small", {{"blocks", measured.sampled->sampled_blocks}}));
  }
}

int run(const MrcOptions& options) {
  const CommonOptions& common = options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "mrc", {}, common);
  check_writable(common, paths_of(outputs));
  refuse_own_inputs(common, {options.trace.path}, paths_of(outputs));
  std::vector<std::uint64_t> at;
  for (const std::string& text : options.at) at.push_back(parse_at(text));
  const bool sample = options.sample > 0;
  if (sample) require_prefix_order(options.choice);
  Measured measured = sample ? measure_sample(options) : measure(options);
  if (sample) require_prefix_chains(options.choice, measured);
  add_notes(measured);

  Document document;
  document.kind = "mrc";
  document.inputs = {{"trace", measured.trace},
                     {"touch_order", options.choice.touch_order},
                     {"atomic", options.choice.atomic},
                     {"at", at}};
  if (sample) document.inputs["seed"] = seed_of(common).value_or(1);
  document.results = to_document(results_of(measured, options, at));
  document.warnings = measured.notes;

  const Provenance provenance = provenance_of(document, "");
  write_results(document, mrc_report(document.results, provenance),
                mrc_summary(document.results, provenance), outputs, common);
  return 0;
}

}  // namespace

void add_mrc(Verb& program) {
  auto [command, options] = add_command<MrcOptions>(
      program, "mrc", "Hits of an LRU cache at every capacity, in one pass over a trace",
      "  spillway mrc --trace traces/samples/chat.jsonl.gz\n"
      "  spillway mrc --trace t.jsonl.gz --semantics prefix --at 5000,20000 --json -\n"
      "  spillway mrc --trace huge.jsonl.zst --sample 0.01\n",
      run);
  command
      .add("--trace", options.trace.path, kinds::kFile, "Trace file (see `spillway list formats`)")
      .require();
  add_replay_options(command, options.choice);
  command
      .add("--at", options.at, kinds::kBlocks,
           "Capacities to list in any case, e.g. 1000,5000blocks")
      .commas();
  command.add("--points", options.points, kinds::kCount,
              "About how many points of the curve to list (default: 1000; 0: every change)");
  command
      .add("--sample", options.sample, kinds::kShare,
           "Estimate from this share of the blocks, 0.001 to 1 (SHARDS)")
      .range<double>(0.001, 1);
  add_output(command, options.outputs, "mrc");
  add_trace_options(command, options.trace);
}

}  // namespace spillway

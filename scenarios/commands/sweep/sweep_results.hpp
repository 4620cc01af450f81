// What the verbs of `spillway sweep` write as results, and the names of its members.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/cell_summary.hpp"
#include "sim/fields.hpp"

namespace spillway {

struct SweepCounts {
  std::uint64_t runs = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t missing = 0;
};

struct SweepPlanCell {
  std::string name;
  ColumnValues values;
  std::vector<std::string> keys;
  std::string recording_key;  ///< empty: the recording itself is not run
};

struct SweepPlanResults {
  std::uint64_t runs = 0;
  std::uint32_t replications = 1;
  std::vector<std::string> replicates;
  std::vector<SweepPlanCell> cells;
  // The estimate makes a run or two; that it did is no result.
  std::uint64_t done = 0;
  std::uint64_t missing = 0;
  double run_s = 0;
  double core_hours = 0;
};

struct SweepRunResults {
  SweepCounts counts;
  bool slurm = false;
  std::vector<std::string> slurm_jobs;
};

struct SweepWorkerResults {
  std::string shard;
  std::uint64_t runs = 0;
  std::uint64_t done = 0;
  std::uint64_t made = 0;
  std::uint64_t failed = 0;
};

struct SweepStatusCell {
  std::string name;
  std::uint64_t done = 0;
  std::uint32_t runs = 0;
};

struct SweepStatusResults {
  SweepCounts counts;
  std::vector<SweepStatusCell> cells;
  double run_s = 0;
};

struct SweepMergeResults {
  SweepCounts counts;
  std::uint32_t replications = 1;
  std::vector<std::string> replicates;
  std::vector<CellSummary> cells;
  std::string campaign_digest;
  std::uint64_t repeated = 0;
};

struct SweepEmitResults {
  std::string engine;
  std::string path;
  std::uint32_t shards = 1;
};

inline constexpr std::array<std::string_view, 3> kSchedulers = {"k8s", "parallel", "slurm"};
inline constexpr std::string_view kRunKeyForm = "^[0-9a-f]{64}$";
inline constexpr FieldRule kReplications = says("Replicates of each configuration.", 1);
inline constexpr FieldRule kReplicates =
    says("How replicates are made, for each group of configurations with the same workloads.");
inline constexpr FieldRule kSweepName = says("Name of the configuration, made of its values.");
inline constexpr FieldRule kSweepValues =
    says("Values as written; numbers as numbers, sizes and rates also in bytes.");
inline constexpr FieldRule kSweepSim = says("What differs from machine to machine.");
inline constexpr FieldRule kRunSeconds = says("Mean time of a run on one core.");

template <>
struct Fields<SweepCounts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("runs", r.runs, says("Runs of the campaign."));
    f("done", r.done, says("Runs that are done, with failed ones."));
    f("failed", r.failed, says("Runs that ended in an error."));
    f("missing", r.missing, says("Runs still to make."));
  }
};

template <>
struct Fields<SweepPlanCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kSweepName);
    f("values", r.values, kSweepValues);
    f("keys", r.keys, text_like(kRunKeyForm, "SHA-256 of what decides the run of each replicate."));
    f("recording_key", r.recording_key,
      FieldRule{.help = "SHA-256 of what decides the run on the recording itself.",
                .sparse = true,
                .pattern = kRunKeyForm});
  }
};

template <>
struct Fields<SweepPlanResults> {
  static constexpr std::string_view kName = "sweep_plan";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("runs", r.runs, says("Runs of the campaign."));
    f("replications", r.replications, kReplications);
    f("replicates", r.replicates, kReplicates);
    f("cells", r.cells, says("Each configuration."));
    f("sim", group([&](auto&& g) {
        g("done", r.done, says("Runs that are done."));
        g("missing", r.missing, says("Runs still to make."));
        g("run_s", r.run_s, kRunSeconds);
        g("core_hours", r.core_hours, says("Core time of the missing runs, estimated."));
      }),
      kSweepSim);
  }
};

template <>
struct Fields<SweepRunResults> {
  static constexpr std::string_view kName = "sweep_run";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<SweepCounts>::visit(r.counts, f);
    const auto sim = group([&](auto&& g) {
      g("slurm_jobs", r.slurm_jobs, says("Numbers of the submitted job arrays."));
    });
    f("sim", only_if(r.slurm, sim), kSweepSim);
  }
};

template <>
struct Fields<SweepWorkerResults> {
  static constexpr std::string_view kName = "sweep_worker";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("shard", r.shard, text_like("^[0-9]+/[0-9]+$", "Part of the campaign, and number of parts."));
    f("runs", r.runs, says("Runs of the shard."));
    f("done", r.done, says("Runs of the shard that are done."));
    f("sim", group([&](auto&& g) {
        g("made", r.made, says("Runs that this worker made."));
        g("failed", r.failed, says("Runs of this worker that ended in an error."));
      }),
      kSweepSim);
  }
};

template <>
struct Fields<SweepStatusCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kSweepName);
    f("done", r.done, says("Runs that are done."));
    f("runs", r.runs, says("Runs of the configuration."));
  }
};

template <>
struct Fields<SweepStatusResults> {
  static constexpr std::string_view kName = "sweep_status";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<SweepCounts>::visit(r.counts, f);
    f("cells", r.cells, says("Each configuration."));
    f("sim", group([&](auto&& g) { g("run_s", r.run_s, kRunSeconds); }), kSweepSim);
  }
};

template <>
struct Fields<CellFigure> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    const auto end = [&](auto which) {
      return r.interval ? std::optional((*r.interval).*which) : std::nullopt;
    };
    using Interval = std::pair<double, double>;
    f("runs", r.runs, says("Replicates that have the figure; latencies need a completed request."));
    f("mean", r.mean, signed_figure("Mean over these replicates."));
    f("low", end(&Interval::first),
      signed_figure("Low end of the 95% interval of the mean, from 5 replicates on."));
    f("high", end(&Interval::second), signed_figure("High end of that interval."));
    f("recording", r.recording, signed_figure("Figure of the run on the recording itself."));
  }
};

template <>
struct Fields<CellTarget> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Key of a run's results, e.g. p99_ttft_ms."));
    f("tenant", r.tenant, if_any("Tenant whose requests the target is about."));
    f("bound", either(r.at_least, "min", "max"), says("Whether the target is a minimum."));
    f("target", r.target, signed_figure("The limit."));
    f("met", r.met, says("Replicates that keep the limit."));
    f("share", r.share, says("Share of the replicates that keep it.", 0, 1));
  }
};

template <>
struct Fields<CellSummary> {
  static constexpr std::string_view kName = "sweep_cell";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kSweepName);
    f("values", r.values, kSweepValues);
    f("replicates", r.done, says("Replicates that ran, without the recording itself."));
    f("failed", r.failed, says("Replicates that ended in an error."));
    f("missing", r.missing, says("Replicates still to make."));
    f("verdict", r.verdict,
      if_any("Count of replicates that meet the SLO, for example met in 3 of 5."));
    f("figures", keyed(r.figures, &CellFigure::name), says("Each figure, by its name."));
    const auto slo = group([&](auto&& g) {
      g("met", r.met, says("Replicates that meet every target and finish every request."));
      g("of", r.judged(), says("Replicates that ran or failed.", 1));
      g("share", r.share(), says("Share of them that meet the SLO.", 0, 1));
      g("recording_met", r.recording, says("Whether the run on the recording itself meets it."));
      g("targets", r.targets, says("Each target."));
    });
    f("slo", only_if(!r.targets.empty(), slo), says("The SLO over the replicates."));
  }
};

template <>
struct Fields<SweepMergeResults> {
  static constexpr std::string_view kName = "sweep_merge";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<SweepCounts>::visit(r.counts, f);
    f("replications", r.replications, kReplications);
    f("replicates", r.replicates, kReplicates);
    f("cells", r.cells, says("Each configuration, over its replicates."));
    f("campaign_digest", r.campaign_digest,
      text_like(kDigestForm, "Digest of all runs that are done."));
    f("sim", group([&](auto&& g) {
        g("repeated", r.repeated, says("Runs that were made more than once."));
      }),
      kSweepSim);
  }
};

template <>
struct Fields<SweepEmitResults> {
  static constexpr std::string_view kName = "sweep_emit";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("engine", r.engine, one_of(kSchedulers, "Scheduler that the file is for."));
    f("path", r.path, says("The file; - is standard output."));
    f("shards", r.shards, says("Parts of the campaign.", 1));
  }
};

}  // namespace spillway

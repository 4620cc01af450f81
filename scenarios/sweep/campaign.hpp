// A campaign: an experiment divided into runs, as a folder that any number of workers, on any
// number of machines, share and only add to.
//
//   campaign.json    the runs and their keys, written last: where it is, the folder is complete
//   experiment.json  the experiment file as given
//   traces/          its traces as binary, named by content, mapped read-only by every worker
//   segments/        finished runs (scenarios/experiment/segments.hpp)
//   locks/           who works on which shard
//
// There is no record of what has been done but the finished runs themselves, so there is none that
// a kill could leave wrong: resuming is the plan minus what the segments hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/scenario/scenario.hpp"
#include "sim/paired_difference.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

inline constexpr std::size_t kMostCells = 10'000;
inline constexpr std::uint64_t kMostSweepRuns = 1'000'000;
/// What is stored under a key, and in which form.
inline constexpr std::string_view kSweepForm = "sweep-run/2";
/// The recording itself, in the place of a replicate's number.
inline constexpr std::uint32_t kRecordingItself = ~std::uint32_t{0};

/// One combination of the values of `sweep.vary`.
struct SweepCell {
  std::string name;  ///< its values, joined
  std::vector<std::pair<std::string, std::string>> values;
  std::uint32_t group = 0;            ///< cells of one group have the same workloads
  std::vector<std::uint32_t> traces;  ///< of Campaign::traces: the trace and further days
  std::vector<std::string> keys;      ///< by replicate
  std::string recording;              ///< key of the run on the recording itself; empty: none
};

struct SweepTrace {
  std::string name;  ///< as the experiment names it
  std::uint64_t hash = 0;
  std::string file() const;  ///< within the campaign
};

/// How the replicates of a group's workload come about, and what their number is worth.
struct SweepWorkload {
  Replication replication = Replication::kIndependent;
  double length = 1;  ///< of a replicate, in recordings: see Replicates::length()
  std::string method;
};

struct SweepRun {
  std::uint32_t cell = 0;
  std::uint32_t replicate = 0;  ///< or kRecordingItself
};

/// "replicate 3", "the recording itself".
std::string replicate_name(const SweepRun& run);

struct Campaign {
  std::string folder;
  std::string id;    ///< SHA-256 of its runs' keys
  std::string name;  ///< of the experiment's scenario
  std::string path;  ///< of the experiment, absolute: what it names stands beside it
  std::string text;  ///< of the experiment
  std::vector<std::string> settings;  ///< --set and --seed of `sweep plan`
  std::uint32_t replications = 1;     ///< 1: the workload itself
  std::vector<SweepTrace> traces;
  std::vector<SweepWorkload> workloads;  ///< by group; known once the folder is there
  std::vector<SweepCell> cells;
  std::vector<SweepRun> runs;  ///< those of one group together, replicate by replicate

  const std::string& key(const SweepRun& run) const {
    const SweepCell& cell = cells[run.cell];
    return run.replicate == kRecordingItself ? cell.recording : cell.keys[run.replicate];
  }
  /// Of a cell, with that on the recording.
  std::uint32_t runs_of(const SweepCell& cell) const {
    return replications + (cell.recording.empty() ? 0 : 1);
  }
  std::string segments() const { return folder + "/segments"; }
  std::string locks() const { return folder + "/locks"; }

  /// The scenario of a cell as the experiment has it. Throws InputError as load_scenario() does.
  Scenario scenario(std::uint32_t cell) const;
  /// The same, reading the campaign's own traces.
  Scenario runnable(std::uint32_t cell) const;
  /// Of a scenario() of this campaign, now: it differs from key() where a file that the experiment
  /// names has changed since.
  std::string key_now(const Scenario& scenario, const SweepRun& run) const;
};

/// A part of a campaign's runs: neighbours, which mostly share their workload.
struct Shard {
  std::uint32_t index = 1;  ///< of 1 to `of`
  std::uint32_t of = 1;

  /// "017of200".
  std::string name() const;
  /// Its first run, and the first one behind it, of `total`.
  std::uint64_t begin(std::uint64_t total) const { return total * (index - 1) / of; }
  std::uint64_t end(std::uint64_t total) const { return total * index / of; }
};

/// Reads "17/200". Throws InputError (exit 2).
Shard parse_shard(const std::string& text);

/// Reads a campaign. Throws InputError: exit 2 where there is none, or one that was altered.
Campaign open_campaign(const std::string& folder);

/// A campaign that no folder holds yet, with its traces as they were opened.
struct PlannedCampaign {
  Campaign campaign;
  std::vector<Workload> workloads;  ///< as Campaign::traces
};

/// Divides the experiment file at `path` into runs; its traces are opened to know their content.
/// `settings` are assignments as for --set. Nothing is written. Throws InputError.
PlannedCampaign plan_campaign(const std::string& path, const std::vector<std::string>& settings,
                              const ReadProgress& reading);

/// Makes `folder` hold the campaign: all of it or, after a failure, nothing. Returns false where
/// that very campaign was there already. Throws InputError: exit 2 where the folder holds another
/// one or something else, 7 where it cannot be written.
bool create_campaign(PlannedCampaign& planned, const std::string& folder);

}  // namespace spillway

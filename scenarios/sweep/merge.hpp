// The runs of a campaign as one table: a SQLite database, and CSV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/sweep/campaign.hpp"
#include "sim/note.hpp"

namespace spillway {

struct MergedRun {
  std::string payload;  ///< empty: not done
  std::string digest;   ///< of the run's results; empty where it failed
};

struct Merged {
  std::vector<MergedRun> runs;  ///< as Campaign::runs
  std::uint64_t done = 0;
  std::uint64_t failed = 0;    ///< of these
  std::uint64_t repeated = 0;  ///< lines that said again what was known
  std::string digest;          ///< over the keys and payloads of all that is done, sorted
  Notes notes;
};

/// Gathers the segments; of equal runs the first valid one counts. Throws InternalError where two
/// runs of one key differ, naming both places: the simulator is not deterministic then, and nothing
/// that it says of this campaign should be trusted.
Merged merge_runs(const Campaign& campaign);

struct CellSummary;

/// Tables `runs` (key, cell, replicate, status, columns of the varied keys and of each metric,
/// digest, payload), `cells` (one row each, what its replicates say together) and `meta` (name,
/// value). Rows lie in the order of cells; the run on the recording itself is replicate -1.
void write_database(const Campaign& campaign, const Merged& merged,
                    const std::vector<CellSummary>& cells, const std::string& path);
/// The rows of `runs` without payloads; a run that is not done has none.
void write_csv(const Campaign& campaign, const Merged& merged, const std::string& path);

}  // namespace spillway

#include "scenarios/sweep/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/experiment/run_key.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "scenarios/sweep/campaign_file.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kMostShards = 1'000'000;

}  // namespace

std::string SweepTrace::file() const {
  return fmt::format("traces/{}.bin", hex16(hash));
}

std::string replicate_name(const SweepRun& run) {
  if (run.replicate == kRecordingItself) return "the recording itself";
  return fmt::format("replicate {}", run.replicate);
}

JsonSource cell_source(const Campaign& campaign, const SweepCell& cell) {
  JsonSource source = JsonSource::from_text(campaign.path, campaign.text);
  for (const std::string& setting : campaign.settings) source.set(setting);
  for (const auto& [key, value] : cell.values) {
    source.set(fmt::format("{}={}", key, value), vary_place(campaign.path));
  }
  return source;
}

std::string vary_place(const std::string& path) {
  return path + ": sweep.vary";
}

Scenario Campaign::scenario(std::uint32_t cell) const {
  return load_scenario(cell_source(*this, cells[cell]));
}

Scenario Campaign::runnable(std::uint32_t cell) const {
  Scenario out = scenario(cell);
  if (cells[cell].traces.empty()) return out;
  // The binary is what was left after reading: limits and forms of files lie behind it.
  WorkloadChoice& w = *out.workload;
  const auto own = [&](std::uint32_t trace) { return folder + "/" + traces[trace].file(); };
  w.trace = own(cells[cell].traces.front());
  w.days.clear();
  for (std::size_t i = 1; i < cells[cell].traces.size(); ++i) {
    w.days.push_back(own(cells[cell].traces[i]));
  }
  w.reader = {};
  w.lenient = false;
  w.limit = 0;
  return out;
}

std::string Campaign::key_now(const Scenario& scenario, const SweepRun& run) const {
  std::vector<std::uint64_t> hashes;
  for (const std::uint32_t trace : cells[run.cell].traces) hashes.push_back(traces[trace].hash);
  RunIdentity identity{kSweepForm, hashes, {}};
  if (replications > 1 && run.replicate != kRecordingItself) identity.replicate = run.replicate;
  return run_key(scenario, identity);
}

std::string Shard::name() const {
  return fmt::format("{:0{}}of{}", index, fmt::format("{}", of).size(), of);
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view all = text;
  Shard out;
  out.index = parse_whole<std::uint32_t>(all.substr(0, slash)).value_or(0);
  out.of = slash == all.npos ? 0 : parse_whole<std::uint32_t>(all.substr(slash + 1)).value_or(0);
  if (out.index < 1 || out.of < out.index || out.of > kMostShards) {
    throw InputError(
        Fault::kUsage, {"--shard", 0, ""},
        fmt::format("expected a shard and their number, e.g. 17/200, found \"{}\"", text));
  }
  return out;
}

void number_runs(Campaign& campaign) {
  campaign.runs.clear();
  for (std::uint32_t cell = 0; cell < campaign.cells.size(); ++cell) {
    for (std::uint32_t r = 0; r < campaign.replications; ++r) campaign.runs.push_back({cell, r});
    if (!campaign.cells[cell].recording.empty()) campaign.runs.push_back({cell, kRecordingItself});
  }
  std::sort(campaign.runs.begin(), campaign.runs.end(), [&](const SweepRun& a, const SweepRun& b) {
    const std::uint32_t group_a = campaign.cells[a.cell].group;
    const std::uint32_t group_b = campaign.cells[b.cell].group;
    return std::tie(group_a, a.replicate, a.cell) < std::tie(group_b, b.replicate, b.cell);
  });
}

}  // namespace spillway

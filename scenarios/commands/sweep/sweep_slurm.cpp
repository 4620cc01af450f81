#include "scenarios/commands/sweep/sweep_slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "reports/format.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/terminal.hpp"

namespace spillway {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostShards = 100'000;
constexpr std::uint32_t kUsualShards = 200;
constexpr ValueKind kMemory{"MEMORY", "as Slurm writes it: 4G is 4 GiB"};
constexpr ValueKind kWallTime{"HH:MM:SS", "as Slurm writes it: 00:30:00 is half an hour"};
constexpr ValueKind kOption{"OPTION"};
constexpr auto kBetweenLines = std::chrono::seconds(10);

/// What an option of sbatch may be: anything that cannot be taken for its script.
std::string not_an_option(const std::string& text) {
  if (text.size() > 2 && text.starts_with("--")) return "";
  return fmt::format("expected an option of sbatch such as --account=team, found \"{}\"", text);
}

/// Tells how the array does where that changes, at most every ten seconds.
class ArrayLines {
 public:
  explicit ArrayLines(bool enabled) : enabled_(enabled) {}

  void tell(const std::string& text, Progress& progress) {
    if (!enabled_ || text == said_) return;
    const auto now = Clock::now();
    if (!said_.empty() && now - at_ < kBetweenLines) return;
    progress.finish();
    say(fmt::format("{}\n", printable(text)));
    said_ = text;
    at_ = now;
  }

 private:
  bool enabled_;
  std::string said_;
  Clock::time_point at_;
};

}  // namespace

void add_array_options(Verb& command, SlurmFlags& flags) {
  command
      .add("--shards", flags.shards, kinds::kCount,
           "Parts that the runs are divided into (default: one for each run, at most 200)")
      .range(1U, kMostShards);
  command
      .add("--max-running", flags.max_running, kinds::kCount,
           "Shards that run at a time (default: all)")
      .range(1U, kMostShards);
  command.add("--partition", flags.partition, kinds::kName, "Slurm's partition (default: Slurm's)");
  command.add("--mem", flags.memory, kMemory, "Memory of a shard, as Slurm writes it, e.g. 4G");
  command.add("--time", flags.time, kWallTime,
              "Most time of a shard, as Slurm writes it, e.g. 00:30:00");
  command
      .add("--sbatch", flags.sbatch, kOption,
           "A further option of sbatch, e.g. --sbatch=--account=team (repeatable)")
      .check(not_an_option);
}

void add_slurm_options(Verb& command, SlurmFlags& flags) {
  add_array_options(command, flags);
  command.add_flag("--submit-only", flags.submit_only,
                   "Submit the array to Slurm and do not wait for it");
  command
      .add("--arrays", flags.arrays, kinds::kCount,
           "Arrays submitted at most, each for what the one before did not bring (default "
           "5)")
      .range(1U, 100U);
}

void refuse_slurm_options(const Verb& command) {
  for (const char* name : {"--shards", "--max-running", "--partition", "--mem", "--time",
                           "--sbatch", "--submit-only", "--arrays"}) {
    if (!command.given(name)) continue;
    throw InputError(Fault::kUsage, {name, 0, ""}, "expected only with --runner slurm");
  }
}

std::uint32_t default_shards(std::uint64_t runs) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(runs, 1, kUsualShards));
}

SlurmEnd sweep_on_slurm(const Campaign& campaign, CampaignSurvey& survey, const SlurmFlags& flags,
                        bool quiet, const std::function<bool()>& stop) {
  SlurmCampaign work;
  work.folder = std::filesystem::canonical(campaign.folder).string();
  work.identity = campaign.id;
  work.shards = flags.shards > 0 ? flags.shards : default_shards(campaign.runs.size());
  work.survey = [&] {
    survey.look();
    return ShardSurvey{survey.done(), survey.total(), survey.lacking(work.shards)};
  };
  SlurmOptions options;
  options.request = flags.request();
  options.max_running = flags.max_running;
  options.arrays = flags.arrays;
  options.submit_only = flags.submit_only;
  options.stop = stop;
  Progress progress("sweep", "runs", !quiet);
  ArrayLines lines(!quiet);
  SlurmEnd end = run_on_slurm(work, options, [&](const SlurmNews& news) {
    lines.tell(news.text, progress);
    progress.update(news.done, news.total);
  });
  progress.finish();
  return end;
}

}  // namespace spillway

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

void add_array_options(CLI::App& app, SlurmFlags& flags) {
  app.add_option("--shards", flags.shards,
                 "Parts that the runs are divided into (default: one for each run, at most 200)")
      ->check(CLI::Range(1U, kMostShards));
  app.add_option("--max-running", flags.max_running, "Shards that run at a time (default: all)")
      ->check(CLI::Range(1U, kMostShards));
  app.add_option("--partition", flags.partition, "Slurm's partition (default: Slurm's)");
  app.add_option("--mem", flags.memory, "Memory of a shard, as Slurm writes it, e.g. 4G");
  app.add_option("--time", flags.time, "Most time of a shard, as Slurm writes it, e.g. 00:30:00");
  app.add_option("--sbatch", flags.sbatch,
                 "A further option of sbatch, e.g. --sbatch=--account=team (repeatable)")
      ->check(CLI::Validator(not_an_option, "OPTION"));
}

void add_slurm_options(CLI::App& app, SlurmFlags& flags) {
  add_array_options(app, flags);
  app.add_flag("--submit-only", flags.submit_only,
               "Submit the array to Slurm and do not wait for it");
  app.add_option("--arrays", flags.arrays,
                 "Arrays submitted at most, each for what the one before did not bring (default "
                 "5)")
      ->check(CLI::Range(1U, 100U));
}

void refuse_slurm_options(const CLI::App& app) {
  for (const char* name : {"--shards", "--max-running", "--partition", "--mem", "--time",
                           "--sbatch", "--submit-only", "--arrays"}) {
    if (app.get_option(name)->count() == 0) continue;
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

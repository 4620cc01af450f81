// `spillway sweep worker`: one process's part of a campaign, as tasks of a job array call it.
#include <fmt/format.h>

#include <csignal>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/worker.hpp"

namespace spillway {

namespace {

constexpr ValueKind kShard{"I/N", "the I-th of N parts: 17/200"};

struct SweepWorkerOptions {
  std::string folder;
  std::string shard;
  bool steal = false;
  CommonOptions common;
};

int run(const SweepWorkerOptions& options) {
  const CommonOptions& common = options.common;
  check_writable(common);
  // A file that may not grow is then an error of the write, and no death.
  std::signal(SIGXFSZ, SIG_IGN);
  const Campaign campaign = open_campaign(options.folder);
  Interrupt interrupt;
  Progress progress("worker", "runs", !common.quiet && !options.steal);
  WorkerOptions choice;
  choice.shard = parse_shard(options.shard);
  choice.steal = options.steal;
  choice.stop = [&] { return interrupt.raised(); };
  choice.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const WorkerOutcome outcome = work(campaign, choice);
  progress.finish();

  const Shard& shard = choice.shard;
  const std::uint64_t total = campaign.runs.size();
  CampaignSurvey survey(campaign);
  survey.look();
  std::uint64_t done = 0;
  for (std::uint64_t i = shard.begin(total); i < shard.end(total); ++i) done += survey.done(i);
  const std::uint64_t runs = shard.end(total) - shard.begin(total);

  Document document;
  document.kind = "sweep-worker";
  document.inputs = campaign_inputs(campaign);
  document.results =
      to_document(SweepWorkerResults{options.shard, runs, done, outcome.made, outcome.failed});
  note_settings(common, document.warnings);
  append(document.warnings, outcome.notes);
  if (outcome.taken) {
    document.warnings.push_back(study_note("shard-taken", {{"shard", options.shard}}));
  }
  Report report;
  report.title = fmt::format("shard {}: {}", options.shard, counts_text(done, runs));
  write_document(document, common, document.kind);
  print_report(report, common);
  print_notes(document.warnings, common);
  if (outcome.broken > 0) return static_cast<int>(Fault::kInternal);
  if (outcome.stopped) return 128 + interrupt.signal();
  return done == runs ? 0 : kPartial;
}

}  // namespace

void add_sweep_worker(Verb& sweep) {
  auto [command, o] =
      add_command<SweepWorkerOptions>(sweep, "worker", "Make the runs of one shard of a campaign",
                                      "  spillway sweep worker camp/ --shard 1/2\n"
                                      "  spillway sweep worker camp/ --shard 2/2 --steal\n",
                                      run);
  o.common.takes_set = true;
  add_campaign_argument(command, o.folder);
  command.add("--shard", o.shard, kShard, "Which part of how many, e.g. 17/200").require();
  command.add_flag("--steal", o.steal, "When its shard is done, take others that no worker has");
}

}  // namespace spillway

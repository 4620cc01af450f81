// `spillway sweep emit`: a campaign as a file for another scheduler.
#include "scenarios/sweep/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/sweep/sweep_slurm.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/program.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

constexpr ValueKind kScheduler{"SCHEDULER", "", Offer::kWords, listed<kSchedulers>};

struct SweepEmitOptions {
  std::string campaign;
  std::string scheduler;
  std::string file = "-";
  std::string program;
  std::string image = "spillway:latest";
  std::string claim = "spillway";
  std::string claim_path;
  SlurmFlags array;
  const Verb* command = nullptr;
  CommonOptions common;
};

/// Where a pod finds the program: in its image. Elsewhere it is this one.
std::string program_of(const SweepEmitOptions& options) {
  if (!options.program.empty()) return options.program;
  return options.scheduler == "k8s" ? "spillway" : own_program();
}

/// SweepEmitOptions that say nothing to this engine are refused, not ignored.
void refuse_strangers(const Verb& command, const std::string& engine) {
  struct Only {
    const char* option;
    std::vector<std::string_view> engines;
  };
  for (const Only& only :
       {Only{"--image", {"k8s"}}, Only{"--claim", {"k8s"}}, Only{"--claim-path", {"k8s"}},
        Only{"--mem", {"k8s", "slurm"}}, Only{"--partition", {"slurm"}}, Only{"--time", {"slurm"}},
        Only{"--sbatch", {"slurm"}}}) {
    if (!command.given(only.option)) continue;
    if (std::find(only.engines.begin(), only.engines.end(), engine) != only.engines.end()) continue;
    throw InputError(Fault::kUsage, {only.option, 0, ""},
                     fmt::format("expected only with --scheduler {}, found --scheduler {}",
                                 only.engines.front(), engine));
  }
}

std::string text_of(const EmitOptions& options, const std::string& engine) {
  if (engine == "k8s") return kubernetes_job(options);
  return engine == "parallel" ? parallel_script(options) : slurm_script(options);
}

int emit(const SweepEmitOptions& options) {
  const CommonOptions& common = options.common;
  if (options.scheduler.empty())
    throw InputError(Fault::kUsage, {"", 0, ""}, "--scheduler is required");
  if (std::ranges::find(kSchedulers, options.scheduler) == kSchedulers.end()) {
    throw InputError(Fault::kUsage, {"--scheduler", 0, ""},
                     unknown_name("scheduler", options.scheduler, kSchedulers));
  }
  refuse_strangers(*options.command, options.scheduler);
  if (options.file == "-" && common.json_only()) {
    throw InputError(Fault::kUsage, {"--json", 0, ""},
                     "the file goes to standard output; expected -o with a file");
  }
  const Campaign campaign = open_campaign(options.campaign);
  EmitOptions out;
  out.folder = std::filesystem::canonical(campaign.folder).string();
  out.identity = campaign.id;
  out.shards =
      options.array.shards > 0 ? options.array.shards : default_shards(campaign.runs.size());
  out.max_running = options.array.max_running;
  out.program = program_of(options);
  out.request = options.array.request();
  out.image = options.image;
  out.claim = options.claim;
  out.claim_path = options.claim_path;
  const std::string text = text_of(out, options.scheduler);
  refuse_own_inputs(common, {out.folder + "/campaign.json"}, {options.file});
  check_writable(common, {options.file});
  write_file(options.file, text);

  Document document;
  document.kind = "sweep-emit";
  document.inputs = campaign_inputs(campaign);
  document.results = to_document(SweepEmitResults{options.scheduler, options.file, out.shards});
  note_settings(common, document.warnings);
  write_document(document, common, "sweep-emit");
  if (options.file != "-" && !common.json_only()) {
    print(fmt::format("{}: {} shards for {}\n", printable(options.file), out.shards,
                      options.scheduler));
  }
  return 0;
}

}  // namespace

void add_sweep_emit(Verb& sweep) {
  auto [command, s] = add_command<SweepEmitOptions>(
      sweep, "emit", "Write a campaign as a file for another scheduler",
      "  spillway sweep emit camp --scheduler k8s --image registry/spillway:1 --claim data -o "
      "job.yaml\n"
      "  spillway sweep emit camp --scheduler parallel -o shards.sh && sh shards.sh\n"
      "  spillway sweep emit camp --scheduler slurm --partition cpu --time 01:00:00 -o job.sh\n"
      "Text only: nothing is started. The campaign has to lie on a folder that every node sees.\n",
      emit);
  s.common.takes_set = true;
  s.command = &command;
  add_campaign_argument(command, s.campaign);
  command.add("--scheduler", s.scheduler, kScheduler,
              "For which scheduler: k8s, parallel or slurm (required)");
  command.add("--engine", s.scheduler, kScheduler, "").hide();  // its name in earlier releases
  command.add("-o,--file", s.file, kinds::kFile, "File to write (default: standard output)");
  command.add("--program", s.program, kinds::kFile,
              "spillway, where the shards run (default: this one; in a pod, from PATH)");
  command.add("--image", s.image, kinds::kName,
              "Image of Kubernetes' container (default: spillway:latest)");
  command.add("--claim", s.claim, kinds::kName,
              "PersistentVolumeClaim that holds the campaign (default: spillway)");
  command.add("--claim-path", s.claim_path, kinds::kText,
              "The campaign's folder below the claim's root (default: the root itself)");
  add_array_options(command, s.array);
}

}  // namespace spillway

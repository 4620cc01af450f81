#include "scenarios/sweep/emit.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/shell_word.hpp"
#include "scenarios/sweep/program.hpp"
#include "scenarios/sweep/slurm_sweep.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kUsualTasks = 1000;  // Slurm's default MaxArraySize - 1
constexpr std::string_view kMountedAt = "/campaign";

[[noreturn]] void refuse(const char* option, const std::string& message) {
  throw InputError(Fault::kUsage, {option, 0, ""}, message);
}

/// What goes into a file of lines has to be one.
const std::string& one_line(const char* what, const std::string& text) {
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; })) {
    refuse(what, "expected no control characters, which the file could not carry");
  }
  return text;
}

/// A string of YAML, which reads JSON's.
std::string yaml(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// A word of a container's command, in which Kubernetes replaces $(NAME).
std::string command_word(std::string text) {
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 2)) {
    text.insert(at, 1, '$');
  }
  return yaml(text);
}

void check_claim(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const auto ends = [](char c) { return c != '-' && c != '.'; };
  if (!name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), fits) &&
      ends(name.front()) && ends(name.back())) {
    return;
  }
  refuse("--claim",
         fmt::format("expected the name of a PersistentVolumeClaim (small letters, digits, - and "
                     ".), found \"{}\"",
                     name));
}

std::string short_name(const EmitOptions& options) {
  return slurm_job_name({options.folder, options.identity, options.shards, {}});
}

std::uint32_t at_a_time(const EmitOptions& options) {
  return options.max_running == 0 ? options.shards : std::min(options.max_running, options.shards);
}

/// A value of an #SBATCH line.
std::string sbatch_value(const char* what, const std::string& text) {
  one_line(what, text);
  if (text.find('"') != std::string::npos || text.find('\\') != std::string::npos) {
    refuse(what, "expected neither \" nor \\, which an #SBATCH line cannot carry");
  }
  return text.find_first_of(" '#") == std::string::npos ? text : '"' + text + '"';
}

}  // namespace

std::string kubernetes_memory(std::string_view slurm) {
  std::string_view digits = slurm;
  std::string_view unit = "Mi";
  if (!digits.empty()) {
    const auto known = [&](std::string_view letters, std::string_view name) {
      if (letters.find(digits.back()) == std::string_view::npos) return false;
      unit = name;
      digits.remove_suffix(1);
      return true;
    };
    if (!known("kK", "Ki") && !known("mM", "Mi") && !known("gG", "Gi")) known("tT", "Ti");
  }
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse("--mem", fmt::format("expected a whole number and K, M, G or T, found \"{}\"", slurm));
  }
  return fmt::format("{}{}", digits, unit);
}

std::string kubernetes_job(const EmitOptions& options) {
  check_claim(options.claim);
  one_line("--image", options.image);
  one_line("--claim-path", options.claim_path);
  std::string resources = "          requests:\n            cpu: \"1\"\n";
  if (!options.request.memory.empty()) {
    const std::string memory = yaml(kubernetes_memory(options.request.memory));
    resources += fmt::format("            memory: {}\n          limits:\n            memory: {}\n",
                             memory, memory);
  }
  const std::string below = options.claim_path.empty()
                                ? ""
                                : fmt::format("          subPath: {}\n", yaml(options.claim_path));
  return fmt::format(
      R"yaml(# Written by `spillway sweep emit --scheduler k8s`: {shards} shards as an Indexed Job.
#
#   kubectl apply -f FILE
#   kubectl wait --for=condition=complete --timeout=24h job/{name}
#   spillway sweep status CAMPAIGN; spillway sweep merge CAMPAIGN -o results.sqlite
#
# Expects the campaign's folder on the claim (ReadWriteMany), and spillway in the image. To go on
# after a failed Job, delete it and apply it again: runs that are there are not run twice.
# backoffLimitPerIndex is on by default since Kubernetes 1.29.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: spillway
    app.kubernetes.io/component: sweep
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {running}
  backoffLimitPerIndex: 3
  maxFailedIndexes: {shards}
  podFailurePolicy:
    rules:
    # Usage (2) and trace content (3) fail again however often they are tried.
    - action: FailIndex
      onExitCodes:
        containerName: worker
        operator: In
        values: [2, 3]
    # An eviction or a drained node is nobody's failure.
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
  template:
    metadata:
      labels:
        app.kubernetes.io/name: spillway
        app.kubernetes.io/component: sweep
    spec:
      restartPolicy: Never
      containers:
      - name: worker
        image: {image}
        command:
        - sh
        - -c
        # Indices count from 0, shards from 1; $$ is how Kubernetes writes $.
        - 'exec "$$0" sweep worker "$$1" --shard "$$((JOB_COMPLETION_INDEX + 1))/$$2" --quiet'
        - {program}
        - {mount}
        - "{shards}"
        resources:
{resources}        volumeMounts:
        - name: campaign
          mountPath: {mount}
{below}      volumes:
      - name: campaign
        persistentVolumeClaim:
          claimName: {claim}
)yaml",
      fmt::arg("shards", options.shards), fmt::arg("name", short_name(options)),
      fmt::arg("running", at_a_time(options)), fmt::arg("image", yaml(options.image)),
      fmt::arg("program", command_word(one_line("--program", options.program))),
      fmt::arg("mount", kMountedAt), fmt::arg("resources", resources), fmt::arg("below", below),
      fmt::arg("claim", yaml(options.claim)));
}

std::string parallel_script(const EmitOptions& options) {
  const std::string program = shell_quoted(one_line("--program", options.program));
  const std::string folder = shell_quoted(one_line("CAMPAIGN", options.folder));
  std::string out =
      fmt::format(R"sh(#!/bin/sh
# Written by `spillway sweep emit --scheduler parallel`: {} shards for GNU parallel.
#
#   sh FILE                        here, one shard for each core at a time
#   sh FILE --sshloginfile hosts   there, where the campaign lies under the same path
#
# Started again, it goes on where it ended: the job log knows what is done, and the campaign too.
campaign={}
exec parallel --jobs {} --retries 3 \
  --joblog "$campaign/parallel.joblog" --resume-failed "$@" <<'SHARDS'
)sh",
                  options.shards, folder,
                  options.max_running == 0 ? "100%" : fmt::format("{}", options.max_running));
  for (std::uint32_t shard = 1; shard <= options.shards; ++shard) {
    out += fmt::format("{} sweep worker {} --shard {}/{} --quiet\n", program, folder, shard,
                       options.shards);
  }
  return out + "SHARDS\n";
}

std::string slurm_script(const EmitOptions& options) {
  const std::uint32_t tasks = std::min(options.shards, kUsualTasks);
  std::string out = "#!/bin/sh\n";
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    out += fmt::format("#SBATCH {}={}\n", option, sbatch_value(option, value));
  };
  add("--job-name", short_name(options));
  add("--array",
      fmt::format("1-{}{}", tasks,
                  options.max_running == 0 ? "" : fmt::format("%{}", options.max_running)));
  out +=
      "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=1\n#SBATCH --output=spillway-%A_%a.log\n";
  add("--partition", options.request.partition);
  add("--mem", options.request.memory);
  add("--time", options.request.time);
  for (const std::string& more : options.request.more) {
    out += "#SBATCH " + sbatch_value("--sbatch", more) + "\n";
  }
  out += fmt::format("set -- {} {} {} {}\n", shell_quoted(one_line("--program", options.program)),
                     shell_quoted(one_line("CAMPAIGN", options.folder)), options.shards, tasks);
  const std::string script = slurm_task_script();
  return out + script.substr(script.find('\n') + 1);
}

}  // namespace spillway

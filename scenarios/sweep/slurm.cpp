#include "scenarios/sweep/slurm.hpp"

#include <array>

#include "scenarios/machine/child_process.hpp"
#include "scenarios/sweep/program.hpp"
#include "sim/error.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr std::string_view kDefaultsOfSqueue = "SQUEUE_";  // they would filter what it tells

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// What a command of Slurm said, in one line and without its own name.
std::string words_of(const ProgramEnd& end) {
  std::string out;
  for (std::string_view line : split(end.err.empty() ? end.out : end.err, '\n')) {
    for (const std::string_view prefix : {"sbatch: ", "scontrol: ", "squeue: ", "error: "}) {
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    }
    line = trimmed(line);
    if (line.empty()) continue;
    out += (out.empty() ? "" : "; ") + std::string(line);
  }
  return out.empty() ? fmt::format("exit code {} and no word", end.code) : out;
}

/// Slurm's words where its controller, and not what was asked of it, is the trouble.
bool unanswered(const std::string& words) {
  for (const std::string_view sign :
       {"nable to contact", "onnection refused", "onnect failure", "imed out", "timeout",
        "Communication", "communication", "rotocol authentication", "credential", "in standby mode",
        "temporarily"}) {
    if (words.find(sign) != std::string::npos) return true;
  }
  return false;
}

/// Asks a command of Slurm that has to answer.
std::string answer(const std::vector<std::string>& arguments) {
  const ProgramEnd end = run_program(arguments, kDefaultsOfSqueue);
  if (end.code == 0) return end.out;
  throw InputError(
      Fault::kIo, {arguments.front(), 0, ""},
      fmt::format("Slurm does not answer: {}; --runner local and sweep emit do without it",
                  words_of(end)));
}

void name_cluster(std::vector<std::string>& arguments, const SlurmJobId& job) {
  if (!job.cluster.empty()) arguments.push_back("--clusters=" + job.cluster);
}

std::vector<std::string> sbatch_arguments(const SlurmArray& array) {
  std::string indices = "--array=" + index_ranges(array.tasks);
  if (array.max_running > 0) indices += fmt::format("%{}", array.max_running);
  std::vector<std::string> out = {"sbatch", "--parsable", "--requeue", "--open-mode=append",
                                  "--ntasks=1", "--cpus-per-task=1", "--job-name=" + array.name,
                                  "--chdir=" + array.folder,
                                  // Relative, because sbatch replaces % in it, and only there.
                                  "--output=logs/%A_%a.log", indices};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) out.push_back(fmt::format("{}={}", option, value));
  };
  add("--partition", array.request.partition);
  add("--mem", array.request.memory);
  add("--time", array.request.time);
  out.insert(out.end(), array.request.more.begin(), array.request.more.end());
  out.push_back(array.script);
  out.insert(out.end(), array.arguments.begin(), array.arguments.end());
  return out;
}

}  // namespace

bool SlurmTask::ended() const {
  for (const std::string_view last :
       {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY",
        "DEADLINE", "BOOT_FAIL", "REVOKED"}) {
    if (state.starts_with(last)) return true;
  }
  return false;
}

Slurm::Slurm() {
  for (const char* command : {"sbatch", "squeue", "scontrol", "scancel"}) {
    if (!find_program(command).empty()) continue;
    throw InputError(Fault::kUsage, {"--runner", 0, ""},
                     fmt::format("{} is not in PATH: expected a machine that submits to Slurm; "
                                 "--runner local runs here, sweep emit --scheduler slurm writes a "
                                 "script to submit elsewhere",
                                 command));
  }
}

std::uint32_t Slurm::max_array_size() const {
  const std::string told = answer({"scontrol", "show", "config"});
  for (const std::string_view line : split(told, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto size = parse_whole<std::uint32_t>(trimmed(line.substr(equals + 1)));
    if (size > 1) return *size;
  }
  throw InputError(Fault::kUsage, {"--runner", 0, ""},
                   "this Slurm has no job arrays: scontrol show config tells no MaxArraySize "
                   "above 1");
}

SlurmJobId Slurm::submit(const SlurmArray& array) const {
  const ProgramEnd end = run_program(sbatch_arguments(array));
  if (end.code != 0) {
    const std::string words = words_of(end);
    if (unanswered(words)) {
      throw InputError(Fault::kIo, {"sbatch", 0, ""},
                       fmt::format("Slurm does not answer, nothing is submitted: {}", words));
    }
    throw InputError(Fault::kUsage, {"sbatch", 0, ""},
                     fmt::format("Slurm rejects the array, nothing is submitted: {}", words));
  }
  const std::vector<std::string_view> lines = split(end.out, '\n');
  const std::string_view last = lines.empty() ? "" : trimmed(lines.back());
  const std::size_t semicolon = std::min(last.find(';'), last.size());
  SlurmJobId job{std::string(last.substr(0, semicolon)),
                 std::string(last.substr(std::min(semicolon + 1, last.size())))};
  if (!parse_whole<std::uint32_t>(job.number)) {
    throw InputError(Fault::kIo, {"sbatch", 0, ""},
                     fmt::format("expected a job's number, found \"{}\"; squeue --name={} shows "
                                 "what was submitted",
                                 last, array.name));
  }
  return job;
}

std::optional<std::vector<SlurmTask>> Slurm::tasks(const SlurmJobId& job) const {
  std::vector<std::string> arguments = {
      "squeue",       "--noheader",           "--array",
      "--states=all", "--jobs=" + job.number, "--format=%K|%T|%r"};
  name_cluster(arguments, job);
  const ProgramEnd end = run_program(arguments, kDefaultsOfSqueue);
  std::vector<SlurmTask> out;
  if (end.code != 0) {
    if (end.err.find("Invalid job id") != std::string::npos) return out;
    return std::nullopt;
  }
  for (const std::string_view line : split(end.out, '\n')) {
    const std::vector<std::string_view> parts = split(line, '|');
    if (parts.size() < 2) continue;
    const auto index = parse_whole<std::uint32_t>(trimmed(parts[0]));
    if (!index) continue;
    SlurmTask task;
    task.index = *index;
    task.state = trimmed(parts[1]);
    if (parts.size() > 2) task.reason = trimmed(parts[2]);
    out.push_back(std::move(task));
  }
  return out;
}

std::vector<std::string> Slurm::active(const std::string& name) const {
  const std::string told = answer({"squeue", "--noheader", "--name=" + name, "--format=%F"});
  std::vector<std::string> out;
  for (std::string_view line : split(told, '\n')) {
    line = trimmed(line);
    if (!line.empty() && (out.empty() || out.back() != line)) out.emplace_back(line);
  }
  return out;
}

void Slurm::cancel(const SlurmJobId& job) const {
  std::vector<std::string> arguments = {"scancel", job.number};
  name_cluster(arguments, job);
  const ProgramEnd end = run_program(arguments);
  const std::string words = words_of(end);
  if (end.code == 0 || words.find("already complet") != std::string::npos) return;
  throw InputError(Fault::kIo, {"scancel", 0, ""},
                   fmt::format("job {} may still run: {}", job.number, words));
}

std::string_view slurm_advice(std::string_view state) {
  if (state == "TIMEOUT" || state == "DEADLINE") return "raise --time, or --shards";
  if (state == "OUT_OF_MEMORY") return "raise --mem";
  if (state == "NODE_FAIL" || state == "BOOT_FAIL") return "a node was lost";
  if (state.starts_with("CANCELLED")) return "somebody cancelled it";
  return "its log says why";
}

std::string index_ranges(const std::vector<std::uint32_t>& ascending) {
  std::string out;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!out.empty()) out += ",";
    out += fmt::format("{}", ascending[i]);
    if (last > i) out += fmt::format("-{}", ascending[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace spillway

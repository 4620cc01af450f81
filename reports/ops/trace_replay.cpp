#include "reports/ops/trace_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/provenance.hpp"
#include "reports/shell_word.hpp"

namespace spillway {

namespace {

using nlohmann::json;

// Options and rows as in ai-dynamo/aiperf: docs/benchmark-modes/trace-replay.md and
// timing-modes-reference.md, src/aiperf/dataset/loader/models.py (MooncakeTrace: times in ms,
// session ids that are strings), base_trace_loader.py (blocks, and that prompts of one session are
// joined, which is why the file has no sessions).
constexpr std::uint64_t kAiperfBlock = 512;

double number_at(const json& from, const char* key, double otherwise) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : otherwise;
}

std::string joined_text(const json& value) {
  if (!value.is_array()) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  std::string out;
  for (const json& item : value) out += (out.empty() ? "" : ",") + item.dump();
  return out;
}

/// "--sessions-per-s" for sessions_per_s.
std::string flag_of(std::string_view key) {
  std::string out = "--" + std::string(key);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string generate_command(const json& synthetic, const json& inputs) {
  std::string out = "spillway trace generate --out trace.jsonl.gz";
  out += fmt::format(" --seed {}", text_at(inputs, "seed").empty() ? "1" : text_at(inputs, "seed"));
  for (const auto& [key, value] : synthetic.items()) {
    const std::string word = shell_word(flag_of(key)) + " " + shell_word(joined_text(value));
    const std::size_t line = out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n');
    out += (out.size() - line + word.size() > 95 ? " \\\n  " : " ") + word;
  }
  return out + "\n";
}

bool is_generated(const json& workload) {
  return workload.contains("synthetic") || workload.contains("benchmark");
}

/// As a file's name is written where it begins no option and ends no line.
std::string trace_word(const json& workload, const json& inputs) {
  if (is_generated(workload)) return "trace.jsonl.gz";
  const std::string name = text_at(object_at(inputs, "trace"), "name");
  const bool odd = name.empty() || name.front() == '-' || printable(name) != name ||
                   name.find_first_of("\n\r") != std::string::npos;
  return odd ? "\"$TRACE\"" : shell_word(std::filesystem::path(name).lexically_normal().string());
}

std::string convert_command(const json& workload, const json& inputs, bool recorded_times) {
  std::string out = fmt::format("spillway trace convert {} replay.jsonl --to aiperf",
                                trace_word(workload, inputs));
  const auto add = [&](const std::string& option) { out += " \\\n  " + option; };
  const double speed = number_at(workload, "speed", 1);
  if (recorded_times && speed != 1) add(fmt::format("--speed {}", speed));
  if (const std::string limit = text_at(workload, "limit"); !limit.empty()) {
    add("--limit " + shell_word(limit));
  }
  if (const std::string block = text_at(workload, "block_tokens"); !block.empty()) {
    add("--block-tokens " + shell_word(block));
  }
  const std::string reuse = text_at(workload, "reuse");
  if (!reuse.empty() && reuse != "none") add("--reuse " + shell_word(reuse));
  if (const std::string seconds = text_at(workload, "session_interval_s"); !seconds.empty()) {
    add("--session-interval " + shell_word(seconds));
  }
  if (workload.value("lenient", json()) == true) add("--lenient");
  return out + "\n";
}

/// When AIPerf sends.
std::string schedule(const json& workload) {
  const std::string arrival = text_at(workload, "arrival");
  const double concurrency = number_at(workload, "concurrency", 0);
  const double horizon = number_at(workload, "horizon_s", 0);
  const std::string most = concurrency > 0 ? fmt::format(" --concurrency {:.0f}", concurrency) : "";
  if (arrival != "poisson" && arrival != "closed-loop") {
    const std::string until =
        horizon > 0 ? fmt::format(" --fixed-schedule-end-offset {:.0f}", std::floor(horizon * 1000))
                    : "";
    return "--fixed-schedule" + until + most;
  }
  const std::string until =
      horizon > 0 ? fmt::format(" --benchmark-duration {}", horizon) : std::string();
  std::string out =
      "--no-fixed-schedule --request-count \"$(wc -l < replay.jsonl)\"" + until + most;
  if (arrival == "poisson") {
    out += fmt::format(" \\\n  --request-rate {} --arrival-pattern poisson",
                       number_at(workload, "rate_per_s", 1) * number_at(workload, "speed", 1));
  }
  return out;
}

std::vector<std::string> differences(const json& workload, const OpsFigures& figures) {
  std::vector<std::string> out = {
      "Text: prompts are random words of the planned lengths, alike where the trace's blocks are; "
      "a chat template adds a few tokens to each",
      "Answers: the engine writes its own, so that a later prompt that repeats a recorded answer "
      "does not find it; expect somewhat fewer hits than planned where chats go on"};
  const std::string arrival = text_at(workload, "arrival");
  const std::string sessions = text_at(workload, "sessions");
  if (sessions == "wait") {
    out.push_back(
        "Turns: the plan sends a turn when its answer has come and the pause is over "
        "(workload.sessions: wait); here every request goes by the clock, whatever was answered");
  }
  if (arrival == "poisson") {
    out.push_back(sessions == "wait"
                      ? "Arrivals: the planned rate counts sessions, here it counts requests; the "
                        "gaps are drawn anew"
                      : "Arrivals: the gaps are drawn anew, at the planned rate");
  }
  if (const json growth = object_at(workload, "growth"); !growth.empty()) {
    out.push_back("Growth: the plan played " + growth.dump() +
                  " times the trace (workload.growth); here it plays as it was recorded");
  }
  if (workload.contains("classes")) {
    out.push_back(
        "Classes: priorities and offload limits of tenants (workload.classes) are not sent");
  }
  if (const double warmup = number_at(workload, "warmup_s", 0); warmup > 0) {
    out.push_back(
        fmt::format("Warm-up: the planned figures leave out the first {} s (workload.warmup_s), "
                    "AIPerf's do not",
                    warmup));
  }
  if (figures.engines > 1) {
    out.push_back(
        fmt::format("Engines: the plan has {} of them; send to the router before them, not to one",
                    figures.engines));
  }
  if (figures.plan != nullptr && figures.plan->confidence) {
    out.push_back(
        "Replicates: the verdict comes from resampled traffic too; this is the trace itself, as "
        "are the planned figures");
  }
  return out;
}

}  // namespace

json planned_workload(const OpsFigures& figures, const Provenance& provenance) {
  json out = object_at(object_at(provenance.inputs, "configuration"), "workload");
  if (figures.point == nullptr) return out;
  constexpr std::string_view kUnder = "workload.";
  for (const auto& [key, text] : figures.point->values) {
    if (!key.starts_with(kUnder)) continue;
    const json value = json::parse(text, nullptr, false);
    const std::string name = key.substr(kUnder.size());
    if (name.find('.') == std::string::npos) out[name] = value.is_discarded() ? json(text) : value;
  }
  return out;
}

TraceReplay trace_replay(const OpsFigures& figures, const Provenance& provenance,
                         const std::string& goodput) {
  const json inputs = provenance.inputs.is_object() ? provenance.inputs : json::object();
  const json workload = planned_workload(figures, provenance);
  const std::string arrival = text_at(workload, "arrival");
  const bool recorded_times = arrival != "poisson" && arrival != "closed-loop";
  std::string text;
  if (const json synthetic = object_at(workload, "synthetic"); !synthetic.empty()) {
    text += generate_command(synthetic, inputs);
  }
  if (const json benchmark = object_at(workload, "benchmark"); !benchmark.empty()) {
    text += "spillway trace generate --out trace.jsonl.gz \\\n  --benchmark " +
            shell_word(benchmark.dump()) + "\n";
  }
  text += convert_command(workload, inputs, recorded_times);
  text +=
      "aiperf profile -m \"$MODEL\" --url http://127.0.0.1:8000 --endpoint-type chat --streaming "
      "\\\n  --input-file replay.jsonl --custom-dataset-type mooncake_trace";
  const double block = number_at(object_at(inputs, "trace"), "block_tokens", kAiperfBlock);
  if (block != kAiperfBlock) text += fmt::format(" --isl-block-size {:.0f}", block);
  text += " \\\n  " + schedule(workload) + " --extra-inputs ignore_eos:true";
  if (!goodput.empty()) text += fmt::format(" \\\n  --goodput \"{}\"", goodput);
  std::string title = "The planned trace itself, request by request, by AIPerf";
  if (!is_generated(workload)) title += ", in the folder where the plan was made";
  return {{std::move(title), text + "\n"}, differences(workload, figures)};
}

}  // namespace spillway

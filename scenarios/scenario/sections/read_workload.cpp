#include "scenarios/scenario/sections/scenario_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr std::string_view kArrivals[] = {"trace", "poisson", "closed-loop"};
constexpr std::string_view kSessionModes[] = {"wait", "ignore"};
constexpr Key kWorkloadKeys[] = {
    aside(text_key("trace", "Path of the trace, relative to the scenario.")),
    object_key("synthetic", ScenarioKeys::kSynthetic, "A generated workload in place of a trace."),
    object_key("benchmark", ScenarioKeys::kBenchmark,
               "The requests of a benchmark tool in place of a trace."),
    integer_key("block_tokens", 1, 65536, "Tokens of a block id in the trace.", "from the format"),
    choice_key("arrival", kArrivals,
               "trace: as recorded. poisson: random. closed-loop: when an answer ends.", "trace"),
    number_key("speed", 1e-6, 1e6, "Factor on the arrival rate.", "1"),
    number_key("rate_per_s", 1e-6, 1e6,
               "Rate of Poisson arrivals: requests, or session starts where sessions wait."),
    integer_key("concurrency", 1, 1 << 30,
                "Most requests in flight: clients of a closed loop, or a limit at the client."),
    number_key("turnaround_ms", 0, 1e9,
               "Time of a client from the end of an answer to its next request.", "0"),
    number_key("network_ms", 0, 1e9, "Time between clients and server, one way.", "0"),
    choice_key("sessions", kSessionModes,
               "wait: a turn follows the answers it waited for, after the recorded think time.",
               "ignore"),
    number_key("warmup_s", 0, kMostSeconds,
               "Requests that arrive earlier run, but no figure counts them.", "0"),
    number_key("horizon_s", 1e-9, kMostSeconds, "Requests due later are not sent."),
    integer_key("limit", 1, kMostCount, "Only the first requests of the trace."),
    list_of(object_key("classes", ScenarioKeys::kClass, "What the requests of a tenant ask for.")),
    rows_key("retention",
             "trtllm: [first token, token behind the last or null, priority, ms or null] of "
             "prompts whose rows say nothing."),
    rows_key("decode_retention",
             "trtllm: [priority, ms or null] of answers whose rows say nothing.", "[35, null]"),
    flag_key("lenient", "Whether to leave faulty rows out, up to 1% of the trace."),
    text_key("reuse",
             "What requests share in a trace without block ids: none, session-prefix, or "
             "shared-prefix:N."),
    number_key("session_interval_s", 0, kMostSessionIntervalS,
               "Time between session starts in a trace without a clock."),
    aside(list_of(text_key(
        "days", "Further recordings of the same service. Each is a replicate of the trace."))),
    object_key("growth", ScenarioKeys::kGrowth, "Factors on the recorded workload."),
    object_key("replication", ScenarioKeys::kReplication, "What a replicate of the workload is.")};

// -------------------------------------------------------------------------

/// The table of the generator as rows, with the defaults of its configuration.
std::vector<Key> synthetic_rows() {
  static std::deque<std::string> defaults;  // which the rows point to
  const auto row = [](const SyntheticKey& key) -> Key {
    const auto least = static_cast<std::int64_t>(key.least);
    const auto most = static_cast<std::int64_t>(key.most);
    const auto as_row = [&](const auto& value) -> Key {
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::vector<double>>) {
        return list_of(number_key(key.name, key.least, key.most, key.help));
      } else {
        const std::string_view otherwise = defaults.emplace_back(fmt::format("{}", value));
        if constexpr (std::is_same_v<Value, double>) {
          return number_key(key.name, key.least, key.most, key.help, otherwise);
        } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
          return integer_key(key.name, least, most, key.help, otherwise);
        } else {
          if (key.choices.empty()) return aside(text_key(key.name, key.help, otherwise));
          return choice_key(key.name, key.choices, key.help, otherwise);
        }
      }
    };
    return std::visit([&](auto member) { return as_row(SyntheticConfig().*member); }, key.target);
  };
  std::vector<Key> out;
  for (const SyntheticKey& key : synthetic_keys()) out.push_back(row(key));
  return out;
}

std::string folder_of(const Scenario& s) {
  return std::filesystem::path(s.path).parent_path().string();
}

/// Reads one key of a synthetic workload, whatever its type.
struct SyntheticReader {
  const Scenario& scenario;
  const ObjectReader& o;
  const SyntheticKey& key;
  SyntheticConfig& config;

  void operator()(std::uint32_t SyntheticConfig::*member) const {
    assign(config.*member, o.integer(key.name));
  }
  void operator()(double SyntheticConfig::*member) const {
    config.*member = o.number(key.name).value_or(config.*member);
  }
  void operator()(std::vector<double> SyntheticConfig::*member) const {
    config.*member = o.numbers(key.name).value_or(config.*member);
  }
  void operator()(std::string SyntheticConfig::*member) const {
    const auto text = o.text(key.name);
    if (!text) return;
    config.*member =
        key.choices.empty() ? path_beside(folder_of(scenario), o.where(key.name), *text) : *text;
  }
};

SyntheticConfig read_synthetic(const Scenario& s, const ObjectReader& o) {
  SyntheticConfig config;
  for (const SyntheticKey& key : synthetic_keys()) {
    std::visit(SyntheticReader{s, o, key, config}, key.target);
  }
  if (const auto fault = fault_of(config)) o.fail(fault->key, fault->message);
  return config;
}

/// Who waits for whom, and which part of the run is measured.
void read_measured(const ObjectReader& workload, WorkloadChoice& w) {
  w.arrival.wait = workload.text("sessions") == "wait";
  const auto seconds = [&](std::string_view key) -> std::optional<Time> {
    const auto value = workload.number(key);
    if (!value) return std::nullopt;
    return time_at(floor_scaled(decimal_of(*value), 9));
  };
  w.warmup = seconds("warmup_s").value_or(Time{});
  w.arrival.horizon = seconds("horizon_s").value_or(Time::max());
  if (w.arrival.horizon <= w.warmup) {
    workload.fail("horizon_s", "expected more than warmup_s: nothing would be measured");
  }
}

}  // namespace

const KeyTable ScenarioKeys::kWorkload = kWorkloadKeys;
const std::vector<Key> kSyntheticKeys = synthetic_rows();
const KeyTable ScenarioKeys::kSynthetic = kSyntheticKeys;

void read_workload(const ObjectReader& top, Scenario& s) {
  const auto workload = top.object("workload", ScenarioKeys::kWorkload);
  if (!workload) {
    top.missing("workload", "an object with a trace, a synthetic workload or a benchmark");
  }
  WorkloadChoice& w = *s.workload;
  w.where = workload->where();
  const auto trace = workload->text("trace");
  if (const auto synthetic = workload->object("synthetic", ScenarioKeys::kSynthetic)) {
    w.synthetic = read_synthetic(s, *synthetic);
  }
  if (const auto benchmark = workload->object("benchmark", ScenarioKeys::kBenchmark)) {
    w.benchmark = read_benchmark(*benchmark, s);
    workload->refuse({"arrival", "speed", "rate_per_s", "concurrency", "sessions", "horizon_s"},
                     "expected not with benchmark, which has arrivals of its own");
  }
  if (int{trace.has_value()} + int{w.synthetic.has_value()} + int{w.benchmark.has_value()} != 1) {
    workload->fail("", "expected one of trace, synthetic and benchmark");
  }
  if (trace) w.trace = path_beside(folder_of(s), workload->where("trace"), *trace);
  assign(w.reader.block_tokens, workload->integer("block_tokens"));
  w.reader.session_interval_s = workload->number("session_interval_s");
  w.lenient = workload->boolean("lenient").value_or(false);
  if (const auto reuse = workload->text("reuse")) {
    w.reader.reuse = parse_reuse_model(*reuse, workload->where("reuse"));
  }
  assign(w.limit, workload->integer("limit"));
  w.arrival.seed = s.seed;
  const double speed = workload->number("speed").value_or(1);
  w.arrival.speed = decimal_of(speed);
  const std::string arrival = workload->text("arrival").value_or("trace");
  if (w.generated())
    workload->refuse({"block_tokens", "lenient", "reuse", "session_interval_s"},
                     "expected only with a trace; synthetic and benchmark have their own");
  if (arrival != "poisson") {
    workload->refuse({"rate_per_s"}, "expected only with \"arrival\": \"poisson\"");
  }
  if (arrival == "closed-loop" && speed != 1) {
    workload->refuse({"speed"}, "expected only with recorded or random arrivals");
  }
  if (arrival == "trace") {
    w.arrival.kind = ArrivalConfig::Kind::kTrace;
  } else if (arrival == "poisson") {
    w.arrival.kind = ArrivalConfig::Kind::kPoisson;
    w.arrival.rate_per_s = workload->require_number("rate_per_s");
  } else if (arrival == "closed-loop") {
    w.arrival.kind = ArrivalConfig::Kind::kClosedLoop;
    workload->require_integer("concurrency");
  } else {
    workload->fail(
        "arrival",
        unknown_name("arrival", arrival, std::array<Names, 3>{"trace", "poisson", "closed-loop"}));
  }
  assign(w.arrival.concurrency, workload->integer("concurrency"));
  read_measured(*workload, w);
  if (w.benchmark) apply_benchmark(*workload, w);
  const auto ms = [&](std::string_view key) {
    return Duration(floor_scaled(decimal_of(workload->number(key).value_or(0)), 6));
  };
  if (w.arrival.concurrency == 0) {
    workload->refuse({"turnaround_ms"}, "expected only with concurrency");
  }
  w.network = ms("network_ms");
  // The end of an answer reaches the client, and its next request the server.
  w.arrival.turnaround = ms("turnaround_ms") + 2 * w.network;
  read_classes(*workload, s);
  read_retention(*workload, s);
  read_replication(*workload, s);
}

}  // namespace spillway

#include "scenarios/scenario/sections/scenario_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Names kWorkloadKeys[] = {"trace",
                                   "synthetic",
                                   "block_tokens",
                                   "arrival",
                                   "speed",
                                   "rate_per_s",
                                   "concurrency",
                                   "limit",
                                   "lenient",
                                   "reuse",
                                   "session_interval_s",
                                   "sessions",
                                   "warmup_s",
                                   "horizon_s",
                                   "classes",
                                   "days",
                                   "growth",
                                   "replication"};

// -------------------------------------------------------------------------

std::vector<Names> synthetic_names() {
  std::vector<Names> out;
  for (const SyntheticKey& key : synthetic_keys()) out.push_back(key.name);
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
    assign(config.*member, o.integer(key.name, static_cast<std::int64_t>(key.least),
                                     static_cast<std::int64_t>(key.most)));
  }
  void operator()(double SyntheticConfig::*member) const {
    config.*member = o.number(key.name, key.least, key.most).value_or(config.*member);
  }
  void operator()(std::vector<double> SyntheticConfig::*member) const {
    config.*member = o.numbers(key.name, key.least, key.most).value_or(config.*member);
  }
  void operator()(std::string SyntheticConfig::*member) const {
    const auto text = o.text(key.name);
    if (!text) return;
    const bool known =
        std::find(key.choices.begin(), key.choices.end(), *text) != key.choices.end();
    if (!key.choices.empty() && !known) {
      o.fail(key.name, unknown_name(key.name, *text, key.choices));
    }
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
  const std::string sessions = workload.text("sessions").value_or("ignore");
  if (sessions != "wait" && sessions != "ignore") {
    workload.fail("sessions", unknown_name("way to treat sessions", sessions,
                                           std::array<Names, 2>{"wait", "ignore"}));
  }
  w.arrival.wait = sessions == "wait";
  const auto seconds = [&](std::string_view key, double least) -> std::optional<Time> {
    const auto value = workload.number(key, least, kMostSeconds);
    if (!value) return std::nullopt;
    return time_at(floor_scaled(decimal_of(*value), 9));
  };
  w.warmup = seconds("warmup_s", 0).value_or(Time{});
  w.arrival.horizon = seconds("horizon_s", 1e-9).value_or(Time::max());
  if (w.arrival.horizon <= w.warmup) {
    workload.fail("horizon_s", "expected more than warmup_s: nothing would be measured");
  }
}

}  // namespace

const KeyTable ScenarioKeys::kWorkload = kWorkloadKeys;
const std::vector<Names> kSyntheticNames = synthetic_names();
const KeyTable ScenarioKeys::kSynthetic = kSyntheticNames;

void read_workload(const ObjectReader& top, Scenario& s) {
  const auto workload = top.object("workload", ScenarioKeys::kWorkload);
  if (!workload) top.missing("workload", "an object with a trace or a synthetic workload");
  WorkloadChoice& w = s.workload;
  w.where = workload->where();
  const auto trace = workload->text("trace");
  if (const auto synthetic = workload->object("synthetic", ScenarioKeys::kSynthetic)) {
    w.synthetic = read_synthetic(s, *synthetic);
  }
  if (trace.has_value() == w.synthetic.has_value()) {
    workload->fail("", "expected either trace or synthetic, not both or neither");
  }
  if (trace) w.trace = path_beside(folder_of(s), workload->where("trace"), *trace);
  assign(w.reader.block_tokens, workload->integer("block_tokens", 1, 65536));
  w.reader.session_interval_s = workload->number("session_interval_s", 0, kMostSessionIntervalS);
  w.lenient = workload->boolean("lenient").value_or(false);
  if (const auto reuse = workload->text("reuse")) {
    w.reader.reuse = parse_reuse_model(*reuse, workload->where("reuse"));
  }
  assign(w.limit, workload->integer("limit", 1));
  w.arrival.seed = s.seed;
  const double speed = workload->number("speed", 1e-6, 1e6).value_or(1);
  w.arrival.speed = decimal_of(speed);
  const std::string arrival = workload->text("arrival").value_or("trace");
  if (w.synthetic)
    workload->refuse({"block_tokens", "lenient", "reuse", "session_interval_s"},
                     "expected only with a trace; synthetic has its own");
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
    w.arrival.rate_per_s = workload->require_number("rate_per_s", 1e-6, 1e6);
  } else if (arrival == "closed-loop") {
    w.arrival.kind = ArrivalConfig::Kind::kClosedLoop;
    workload->require_integer("concurrency", 1, 1 << 30);
  } else {
    workload->fail(
        "arrival",
        unknown_name("arrival", arrival, std::array<Names, 3>{"trace", "poisson", "closed-loop"}));
  }
  assign(w.arrival.concurrency, workload->integer("concurrency", 1, 1 << 30));
  read_measured(*workload, w);
  read_classes(*workload, s);
  read_replication(*workload, s);
}

}  // namespace spillway

#include "scenarios/fidelity/validate/validation_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/fidelity/validate/run_errors.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr std::string_view kKinds[] = {"run", "points", "pairs"};

constexpr Key kCaseKeys[] = {
    text_key("$schema", "Where this schema lies, for editors. No command reads it."),
    text_key("name", "Name of the case.", "the file name"),
    text_key("description", "One sentence for the report."),
    choice_key("kind", kKinds, "What was measured.", "run"),
    required(list_of(text_key("measured", "Files of the measured run."))),
    text_key("scenario", "The simulated system: a scenario, or the path of one."),
    list_of(text_key("metrics", "Metrics to compare.", "all that both have")),
    any_object_key("tolerance", "Largest error, in percent, by metric or group."),
    any_object_key("bar", "Error aimed at, in percent, by metric or group."),
    list_of(
        object_key("parameters", ValidationCase::kParameter, "Values and where they come from.")),
    list_of(text_key("fitted", "Parameters that were fitted to this run.")),
    object_key("evaluate", ValidationCase::kEvaluate, "The part of the run that is compared."),
    text_key("repeats", "Files of further measured runs of the same system."),
    object_key("source", ValidationCase::kSource, "Where the measured run comes from."),
    list_of(text_key("hides", "What the comparison cannot show.")),
    object_key("points", ValidationCase::kPoints, "Which serving points are compared."),
    object_key("pairs", ValidationCase::kPairs, "Which servers without and with a tier.")};
constexpr Key kEvaluateKeys[] = {
    integer_key("from_request", 0, kMostCount, "First request that is compared.", "0"),
    integer_key("first", 1, kMostCount, "Earliest requests that are compared.", "all")};
constexpr Key kParameterKeys[] = {required(text_key("name", "Name of the parameter.")),
                                  text_key("value", "Its value."),
                                  required(text_key("from", "Where the value comes from."))};
constexpr Key kSourceKeys[] = {
    text_key("measured", "Who measured what."), text_key("origin", "Where it is published."),
    text_key("commit", "Commit of the publication."), text_key("licence", "Licence of the data.")};
constexpr Key kPointKeys[] = {required(text_key("backend", "Serving engine of the points.")),
                              required(text_key("precision", "Data types of the points."))};

constexpr Key kPairKeys[] = {required(text_key("release", "Release of the study."))};

constexpr std::string_view kGroups[] = {"means", "percentiles", "counters", "step_times"};
constexpr double kMostPercent = 1000;

std::vector<std::string_view> known_limits() {
  std::vector<std::string_view> out(std::begin(kGroups), std::end(kGroups));
  for (const std::string& name : comparable_metrics()) out.push_back(name);
  for (const char* counter : {"running", "waiting", "kv_usage"}) out.push_back(counter);
  for (const char* mape : {"tpot_mape", "tpot_mape_held_out", "ttft_mape", "ttft_mape_held_out"}) {
    out.push_back(mape);
  }
  for (const char* pairs : {"without", "change", "wrong_sides", "harms_missed"}) {
    out.push_back(pairs);
  }
  return out;
}

std::map<std::string, double> read_limits(const ObjectReader& o, std::string_view key) {
  std::map<std::string, double> out;
  const auto limits = o.open_object(key);
  if (!limits) return out;
  const std::vector<std::string_view> known = known_limits();
  for (const std::string& name : limits->keys()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      limits->fail(name, unknown_name("metric or group", name, known));
    }
    out[name] = limits->require_number(name, 0, kMostPercent);
  }
  return out;
}

std::vector<std::string> read_metrics(const ObjectReader& o) {
  const auto metrics = o.texts("metrics");
  if (!metrics) return {};
  const std::vector<std::string>& all = comparable_metrics();
  const std::vector<std::string_view> known(all.begin(), all.end());
  for (const std::string& name : *metrics) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      o.fail("metrics", unknown_name("metric", name, known));
    }
  }
  return *metrics;
}

/// A list of lists of files; object_reader has none of these.
std::vector<std::vector<std::string>> read_repeats(const ObjectReader& o) {
  std::vector<std::vector<std::string>> out;
  if (!o.has("repeats")) return out;
  const nlohmann::json& value = o.value("repeats");
  const auto is_list = [](const nlohmann::json& list) {
    return list.is_array() && !list.empty() &&
           std::all_of(list.begin(), list.end(), [](const auto& file) { return file.is_string(); });
  };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_list)) {
    o.fail("repeats", "expected a list of runs, each a list of files, e.g. [[\"again.csv\"]]");
  }
  for (const nlohmann::json& list : value) out.push_back(list.get<std::vector<std::string>>());
  return out;
}

/// One file may stand without its list.
std::vector<std::string> read_measured_files(const ObjectReader& top) {
  if (top.has("measured") && top.value("measured").is_string()) {
    return {top.value("measured").get<std::string>()};
  }
  const auto measured = top.texts("measured", "the file of a measured run, or a list of its files");
  if (!measured || measured->empty()) top.missing("measured", "the files of a measured run");
  return *measured;
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void read_scenario_of(const ObjectReader& top, ValidationCase& c) {
  if (!top.has("scenario")) top.missing("scenario", "a scenario, or the path of one");
  const nlohmann::json& value = top.value("scenario");
  if (value.is_object()) {
    c.inline_scenario = top.source().part("/scenario");
  } else {
    c.scenario_path = top.require_text("scenario", "a scenario (object) or the path of one");
    const std::filesystem::path folder = std::filesystem::path(c.path).parent_path();
    c.scenario_path = (folder / c.scenario_path).string();
  }
}

void read_points(const ObjectReader& top, ValidationCase& c) {
  const auto points = top.object("points", ValidationCase::kPoints);
  if (!points) return;
  c.backend = points->require_text("backend");
  c.precision = points->require_text("precision");
}

CaseKind kind_of(const ObjectReader& top) {
  const std::string name = top.text("kind").value_or("run");
  return name == "points" ? CaseKind::kPoints : name == "pairs" ? CaseKind::kPairs : CaseKind::kRun;
}

JsonSource source_with(const ValidationCase& c, const std::vector<std::string>& set,
                       const MeasuredFacts* facts) {
  JsonSource source =
      c.inline_scenario ? *c.inline_scenario : JsonSource::from_file(c.scenario_path);
  const nlohmann::json& root = source.root();
  const bool own = root.is_object() && root.contains("workload");
  const bool own_front_end = root.is_object() && root.contains("front_end");
  if (!own) source.set("workload.trace=measured", "measured");
  if (facts != nullptr && !own && facts->concurrency) {
    source.set("workload.arrival=closed-loop", "measured");
    source.set(fmt::format("workload.concurrency={}", *facts->concurrency), "measured");
  }
  if (facts != nullptr && !own_front_end) {
    source.set(facts->of_client() ? "front_end.kind=vllm" : "front_end.kind=none", "measured");
  }
  for (const std::string& assignment : set) source.set(assignment);
  return source;
}

void add_leaves(const nlohmann::json& value, const std::string& name,
                std::vector<CaseParameter>& out) {
  if (!value.is_structured()) {
    out.push_back({name, text_of(value), ""});
    return;
  }
  for (const auto& [key, part] : value.items()) {
    add_leaves(part, name.empty() ? key : name + "." + key, out);
  }
}

}  // namespace

const KeyTable ValidationCase::kKeys = kCaseKeys;
const KeyTable ValidationCase::kEvaluate = kEvaluateKeys;
const KeyTable ValidationCase::kParameter = kParameterKeys;
const KeyTable ValidationCase::kSource = kSourceKeys;
const KeyTable ValidationCase::kPoints = kPointKeys;
const KeyTable ValidationCase::kPairs = kPairKeys;

ValidationCase read_case(const std::string& path) {
  const JsonSource source = JsonSource::from_file(path);
  const ObjectReader top(source, "", "the case", ValidationCase::kKeys);
  top.text("$schema");  // for editors; here only its type matters
  ValidationCase c;
  c.path = path;
  c.where = top.where();
  c.name = top.text("name").value_or(std::filesystem::path(path).stem().string());
  c.description = top.text("description").value_or("");
  c.kind = kind_of(top);
  c.measured = read_measured_files(top);
  c.repeats = read_repeats(top);
  c.metrics = read_metrics(top);
  c.tolerance = read_limits(top, "tolerance");
  c.bar = read_limits(top, "bar");
  if (const auto evaluate = top.object("evaluate", ValidationCase::kEvaluate)) {
    c.from_request = static_cast<std::uint32_t>(evaluate->integer("from_request").value_or(0));
    c.first = static_cast<std::uint32_t>(evaluate->integer("first").value_or(0));
  }
  for (const ObjectReader& p : top.objects("parameters", ValidationCase::kParameter)) {
    const std::string value = p.has("value") ? text_of(p.value("value")) : "";
    c.parameters.push_back({p.require_text("name"), value, p.require_text("from")});
  }
  if (const auto s = top.object("source", ValidationCase::kSource)) {
    c.source = {s->text("measured").value_or(""), s->text("origin").value_or(""),
                s->text("commit").value_or(""), s->text("licence").value_or("")};
  }
  c.fitted = top.texts("fitted").value_or(std::vector<std::string>{});
  c.hides = top.texts("hides").value_or(std::vector<std::string>{});
  read_scenario_of(top, c);
  read_points(top, c);
  if (c.kind == CaseKind::kPoints && c.backend.empty()) {
    top.missing("points", "an object with backend and precision, for a case of kind points");
  }
  if (const auto pairs = top.object("pairs", ValidationCase::kPairs)) {
    c.release = pairs->require_text("release");
  }
  if (c.kind == CaseKind::kPairs && c.release.empty()) {
    top.missing("pairs", "an object with release, for a case of kind pairs");
  }
  return c;
}

std::optional<double> limit_of(const std::map<std::string, double>& limits,
                               std::string_view metric) {
  const auto entry = [&](std::string_view name) -> std::optional<double> {
    const auto at = limits.find(std::string(name));
    return at == limits.end() ? std::optional<double>() : at->second;
  };
  if (const auto own = entry(metric)) return own;
  if (metric == "running" || metric == "waiting" || metric == "kv_usage") return entry("counters");
  if (metric.starts_with("step_ms_")) return entry("step_times");
  const bool latency =
      metric.ends_with("_ttft_ms") || metric.ends_with("_tpot_ms") || metric.ends_with("_e2el_ms");
  if (!latency) return {};
  return entry(metric.starts_with("mean_") ? "means" : "percentiles");
}

JsonSource scenario_source(const ValidationCase& c, const std::vector<std::string>& set) {
  return source_with(c, set, nullptr);
}

JsonSource scenario_source(const ValidationCase& c, const std::vector<std::string>& set,
                           const MeasuredFacts& facts) {
  return source_with(c, set, &facts);
}

std::vector<CaseParameter> leaves_of(const nlohmann::json& scenario) {
  std::vector<CaseParameter> out;
  if (!scenario.is_object()) return out;
  for (const auto& [key, value] : scenario.items()) {
    if (key == "name" || key == "description" || key == "seed" || key == "workload") continue;
    add_leaves(value, key, out);
  }
  return out;
}

const CaseParameter* explanation_of(const std::string& leaf,
                                    const std::vector<CaseParameter>& parameters) {
  const CaseParameter* best = nullptr;
  for (const CaseParameter& p : parameters) {
    const bool covers =
        leaf.starts_with(p.name) && (leaf.size() == p.name.size() || leaf[p.name.size()] == '.');
    if (covers && (best == nullptr || p.name.size() > best->name.size())) best = &p;
  }
  return best;
}

std::vector<std::string> unexplained(const std::vector<CaseParameter>& leaves,
                                     const std::vector<CaseParameter>& parameters) {
  std::vector<std::string> out;
  for (const CaseParameter& leaf : leaves) {
    if (explanation_of(leaf.name, parameters) == nullptr) out.push_back(leaf.name);
  }
  return out;
}

}  // namespace spillway

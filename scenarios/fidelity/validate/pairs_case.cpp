#include "scenarios/fidelity/validate/pairs_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "scenarios/machine/parallel.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"
#include "sim/input_file.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr double kDirection = 1;     // %; a smaller simulated change has no direction
constexpr double kBlockTokens = 16;  // of "10k": blocks of the tier
constexpr double kSpareAnswers = 4;  // times what was measured
constexpr const char* kStudy = "l40s";
constexpr const char* kStages = "llmd";

/// Changes to the case's scenario that make one server at one number of clients.
using Setting = std::vector<std::string>;

/// Each setting once, and which cells it counts for.
struct PairRuns {
  struct Use {
    std::size_t cell;
    bool with;
    std::size_t run;
  };
  std::vector<Setting> settings;
  std::vector<Use> uses;

  void add(std::size_t cell, bool with, Setting setting) {
    const auto known = std::find(settings.begin(), settings.end(), setting);
    uses.push_back({cell, with, static_cast<std::size_t>(known - settings.begin())});
    if (known == settings.end()) settings.push_back(std::move(setting));
  }
};

class Study {
 public:
  Study(const std::string& path, const std::string& release) : path_(path), root_(read(path)) {
    for (const char* key : {"clients", "models", "blocks", "releases", "kv_bytes_per_token"}) {
      at(root_.at(kStudy), key);
    }
    const json& releases = root_.at(kStudy).at("releases");
    if (!releases.contains(release)) {
      std::string known;
      for (const auto& [name, value] : releases.items())
        known += (known.empty() ? "" : ", ") + name;
      fail(fmt::format("no release \"{}\"; known: {}", release, known));
    }
    release_ = &releases.at(release);
  }

  /// All cells in which both sides were measured, and the runs that they take.
  void list(std::vector<PairCell>& cells, PairRuns& runs) const {
    const json& study = root_.at(kStudy);
    for (const auto& [memory, sides] : at(*release_, "runs").items()) {
      for (const auto& [tier, figures] : sides.items()) {
        if (tier == "none") continue;
        for (std::size_t m = 0; m < study.at("models").size(); ++m) {
          const json& without = at(at(sides, "none"), "tok").at(m);
          const json& with = at(figures, "tok").at(m);
          if (!without.is_number() || !with.is_number()) continue;
          PairCell cell;
          cell.model = study.at("models").at(m).get<std::string>();
          cell.memory = memory;
          cell.tier = tier;
          cell.band = at(*release_, "band").get<double>();
          cell.measured_without = without.get<double>();
          cell.measured_with = with.get<double>();
          add_runs(cells.size(), cell, m, runs);
          cells.push_back(std::move(cell));
        }
      }
    }
  }

 private:
  json read(const std::string& path) const {
    json out = json::parse(read_text_file(path, Fault::kTrace), nullptr, false);
    if (out.is_discarded() || !out.is_object() || !out.contains(kStudy)) {
      fail("expected a JSON object with the study \"l40s\"");
    }
    return out;
  }

  const json& at(const json& object, const std::string& key) const {
    if (!object.is_object() || !object.contains(key)) fail("expected \"" + key + "\"");
    return object.at(key);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(Fault::kTrace, {path_, 0, kStudy}, what);
  }

  /// Bytes of "10k" blocks; "native" has its own size.
  std::int64_t tier_bytes(const std::string& tier, std::size_t model) const {
    const json& study = root_.at(kStudy);
    if (!tier.ends_with('k')) return at(study, "cpu_bytes").at(model).get<std::int64_t>();
    double thousands = 0;
    const auto read = std::from_chars(tier.data(), tier.data() + tier.size(), thousands);
    if (read.ptr + 1 != tier.data() + tier.size()) {
      fail(fmt::format("expected \"native\" or thousands of blocks as in \"10k\", found \"{}\"",
                       tier));
    }
    return std::llround(1e3 * thousands * kBlockTokens *
                        study.at("kv_bytes_per_token").at(model).get<double>());
  }

  void add_runs(std::size_t index, const PairCell& cell, std::size_t model, PairRuns& runs) const {
    const json& study = root_.at(kStudy);
    const std::string pool = at(*release_, "blocks").get<std::string>();
    const auto blocks =
        at(at(at(study, "blocks"), cell.memory), pool).at(model).get<std::uint32_t>();
    // Far more than either side answers: those behind are never sent, and need not be made.
    const double answers = std::max(cell.measured_without, cell.measured_with) *
                           at(study, "seconds").get<double>() /
                           at(study, "answer_tokens").get<double>();
    for (const json& clients : study.at("clients")) {
      const auto count = clients.get<std::uint32_t>();
      const double requests = std::ceil(kSpareAnswers * answers) + count;
      for (const bool with : {false, true}) {
        Setting set = {"model.name=" + cell.model, fmt::format("engine.num_gpu_blocks={}", blocks),
                       fmt::format("workload.benchmark.concurrency={}", count),
                       fmt::format("workload.benchmark.requests={}", requests),
                       fmt::format("workload.benchmark.prefix_count={}", 2 * count)};
        if (with) {
          set.push_back(fmt::format(R"(tiers=[{{"name": "dram", "kind": "dram",)"
                                    R"( "capacity": "{}B"}}])",
                                    tier_bytes(cell.tier, model)));
        }
        runs.add(index, with, std::move(set));
      }
    }
  }

  const std::string& path_;
  json root_;
  const json* release_ = nullptr;
};

/// Prompt and answer tokens/s of the stages of one run, each from its first arrival to its last
/// answer.
class StageTotals final : public Observer {
 public:
  explicit StageTotals(std::vector<std::uint32_t> ends)
      : ends_(std::move(ends)), stages_(ends_.size()) {}

  void on_request(const RequestRecord& r) override {
    const auto stage = std::upper_bound(ends_.begin(), ends_.end(), raw(r.request));
    Stage& of = stages_[static_cast<std::size_t>(stage - ends_.begin())];
    of.from = std::min(of.from, r.arrival);
    of.to = std::max(of.to, r.finish);
    of.tokens += std::uint64_t{r.input_tokens} + r.output_tokens;
  }
  double per_s(std::size_t stage) const {
    const Stage& of = stages_[stage];
    return static_cast<double>(of.tokens) / seconds_of(of.to - of.from);
  }

 private:
  struct Stage {
    Time from = Time::max();
    Time to{};
    std::uint64_t tokens = 0;
  };
  std::vector<std::uint32_t> ends_;  ///< one past the last request of each
  std::vector<Stage> stages_;
};

/// The guide of llm-d: stages of rising rates over eight servers, of which one is simulated with an
/// eighth of prompts and rates. A cell for each stage.
PairsResult validate_stages(const std::string& path, const JsonSource& scenario) {
  constexpr double kServers = 8;
  const json root = json::parse(read_text_file(path, Fault::kTrace), nullptr, false);
  const json& study = root.at(kStages).at(0);
  const std::string tier = study.at("tier").get<std::string>();
  std::vector<double> rates;
  std::vector<std::uint32_t> ends;
  const double seconds = study.at("stage_s").get<double>();
  for (const json& rate : study.at("rates")) {
    rates.push_back(rate.get<double>() / kServers);
    const auto count = static_cast<std::uint32_t>(rates.back() * seconds);
    ends.push_back(count + (ends.empty() ? 0 : ends.back()));
  }
  PairsResult out;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    PairCell& cell = out.cells.emplace_back();
    cell.memory = fmt::format("{:g} requests/s", kServers * rates[i]);
    cell.tier = tier;
    cell.band = study.at("band").get<double>();
    cell.measured_without = study.at("none").at("total").at(i).get<double>();
    cell.measured_with = study.at("cpu").at("total").at(i).get<double>();
  }
  for (const bool with : {false, true}) {
    JsonSource source = scenario;
    for (const std::string& change :
         {fmt::format("workload.benchmark.rates_per_s=[{}]", fmt::join(rates, ",")),
          fmt::format("workload.benchmark.seconds={}", seconds),
          fmt::format("workload.benchmark.prefix_count={}",
                      std::floor(study.at("groups").get<double>() / kServers)),
          fmt::format("workload.benchmark.prompts_per_prefix={}", study.at("per_group").dump()),
          fmt::format("workload.benchmark.prefix_tokens={}", study.at("prefix").dump()),
          fmt::format("workload.benchmark.prompt_tokens={}", study.at("question").dump()),
          fmt::format("workload.benchmark.output_tokens={}", study.at("answer").dump())}) {
      source.set(change);
    }
    if (with) {
      source.set(
          fmt::format(R"(tiers=[{{"name": "dram", "kind": "dram", "capacity": "{}"}}])", tier));
    }
    const Scenario server = load_scenario(source);
    StageTotals totals(ends);
    SimulationOptions options;
    options.observers.push_back(&totals);
    simulate(server, open_workload(server, {}), options);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      PairCell& cell = out.cells[i];
      cell.model = server.model->spec == nullptr ? "" : std::string(server.model->spec->name);
      (with ? cell.simulated_with : cell.simulated_without) = kServers * totals.per_s(i);
    }
  }
  return out;
}

/// Answer tokens/s of what ended within the benchmark's time.
double throughput_of(JsonSource source, const Setting& set) {
  for (const std::string& change : set) source.set(change);
  const Scenario scenario = load_scenario(source);
  const Workload workload = open_workload(scenario, {});
  const RunResult run = simulate(scenario, workload, {}).result;
  return static_cast<double>(run.output_tokens) / seconds_of(scenario.workload->end);
}

}  // namespace

bool PairCell::right_side() const {
  const double change = simulated_change();
  switch (measured_side()) {
    case PairSide::kHelps:
      return change >= kDirection;
    case PairSide::kHurts:
      return change <= -kDirection;
    case PairSide::kNeither:
      break;
  }
  return std::abs(change) <= band;
}

std::uint32_t PairsResult::right_sides() const {
  return static_cast<std::uint32_t>(
      std::count_if(cells.begin(), cells.end(), [](const PairCell& c) { return c.right_side(); }));
}

std::uint32_t PairsResult::harms() const {
  return static_cast<std::uint32_t>(
      std::count_if(cells.begin(), cells.end(),
                    [](const PairCell& c) { return c.measured_side() == PairSide::kHurts; }));
}

std::uint32_t PairsResult::harms_found() const {
  return static_cast<std::uint32_t>(std::count_if(
      cells.begin(), cells.end(),
      [](const PairCell& c) { return c.measured_side() == PairSide::kHurts && c.right_side(); }));
}

double PairsResult::median_change_error() const {
  std::vector<double> off;
  for (const PairCell& c : cells) {
    off.push_back(std::abs(c.simulated_change() - c.measured_change()));
  }
  return off.empty() ? 0 : median(std::move(off));
}

double PairsResult::worst_without() const {
  double out = 0;
  for (const PairCell& c : cells) out = std::max(out, std::abs(c.error_without()));
  return out;
}

std::vector<PairsFigure> PairsResult::figures() const {
  const auto missing = [](std::uint32_t of, std::uint32_t found) {
    return of == 0 ? 0 : 100.0 * (of - found) / of;
  };
  return {{"without", worst_without()},
          {"change", median_change_error()},
          {"wrong_sides", missing(static_cast<std::uint32_t>(cells.size()), right_sides())},
          {"harms_missed", missing(harms(), harms_found())}};
}

PairsResult validate_pairs(const std::string& path, const std::string& release,
                           const JsonSource& scenario) {
  if (release == kStages) {
    try {
      return validate_stages(path, scenario);
    } catch (const json::exception&) {
      throw InputError(Fault::kTrace, {path, 0, kStages},
                       "expected the study \"llmd\": rates, and totals of each without and with a "
                       "tier");
    }
  }
  PairsResult out;
  PairRuns runs;
  try {
    Study(path, release).list(out.cells, runs);
  } catch (const json::exception&) {
    throw InputError(Fault::kTrace, {path, 0, kStudy},
                     "expected one figure for each model, in the order of \"models\"");
  }
  std::vector<double> tokens(runs.settings.size());
  parallel_for(tokens.size(), std::max(1U, std::thread::hardware_concurrency()),
               [&](std::size_t i) { tokens[i] = throughput_of(scenario, runs.settings[i]); });
  for (const PairRuns::Use& use : runs.uses) {
    PairCell& cell = out.cells[use.cell];
    double& best = use.with ? cell.simulated_with : cell.simulated_without;
    best = std::max(best, tokens[use.run]);
  }
  return out;
}

}  // namespace spillway

// Each measured span of time (fit/log_spans.hpp) is laid on the steps of a simulation, which keeps
// what the connector did in each: so every span is a sum that the costs enter, and these follow by
// least squares; then both runs are simulated again, until costs and schedules agree.
#include "scenarios/fidelity/fit/pair_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "scenarios/fidelity/fit/connector_trail.hpp"
#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/log_spans.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr int kMostPairRounds = 12;
constexpr int kAllSpansRounds = 6;  // before what costs explain and other schedules are told apart
constexpr int kPairFreeRounds = 6;
constexpr double kPairSettled = 1e-4;    // of a parameter's range
constexpr double kOtherSchedule = 0.25;  // spans off by more than what is usual are left out
constexpr std::size_t kLeastSpans = 30;
constexpr double kOffScale = 0.03;
constexpr double kOtherSpan = 0.02;   // arrivals over a longer or shorter time are others
constexpr double kOtherServer = 10;   // %; answers off by more are of another server
constexpr double kFasterWith = 0.97;  // of the time per token without the tier

Scenario without_tier(const Scenario& scenario) {
  Scenario out = scenario;
  out.tier->capacity = Capacity{};
  return out;
}

/// One of the two runs: its log, its scenario, and its spans on a simulation.
class Side {
 public:
  Side(const MeasuredRun& run, Scenario scenario, const Workload& workload, bool tier)
      : run_(run), scenario_(std::move(scenario)), workload_(workload), tier_(tier) {
    for (std::uint32_t i = 0; i < run.requests.size(); ++i) {
      if (!run.requests[i].completed) continue;
      used_.push_back(run.requests[i]);
      place_.push_back(i);
    }
    spans_ = log_spans(used_, {});
    if (spans_.size() < kLeastSpans) {
      throw InputError(Fault::kTrace, where(),
                       fmt::format("holds {} spans of time of completed requests; expected at "
                                   "least {} to tell what a connector costs",
                                   spans_.size(), kLeastSpans));
    }
  }

  void simulate_under(const CostValues& values) {
    trail_.emplace(scenario_, workload_, values, tier_);
    check_workload();
    placed_.clear();
    for (const LogSpan& s : spans_) {
      const RequestRecord& r = trail_->requests()[place_[s.request]];
      const bool known = r.status == RequestStatus::kCompleted;
      const Time from = s.first ? r.scheduled : r.first_token;
      const Time to = s.first ? r.first_token : r.finish;
      placed_.push_back({known && to > from ? seconds_of(to - from) : 0,
                         known ? trail_->instant(from) : StepInstant{},
                         known ? trail_->instant(to) : StepInstant{}});
    }
  }

  const std::vector<LogSpan>& spans() const { return spans_; }
  double simulated_s(std::size_t span) const { return placed_[span].simulated_s; }
  const ConnectorTrail& trail() const { return *trail_; }

  /// Spans whose requests ran beside the same others, as far as their times tell.
  std::vector<std::size_t> told(bool all) const {
    std::vector<std::size_t> known;
    std::vector<double> of_kind[2] = {{0}, {0}};
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (placed_[i].simulated_s <= 0) continue;
      known.push_back(i);
      of_kind[spans_[i].first ? 0 : 1].push_back(off(i));
    }
    if (all) return known;
    const double usual[2] = {median(of_kind[0]), median(of_kind[1])};
    std::vector<std::size_t> out;
    std::copy_if(known.begin(), known.end(), std::back_inserter(out), [&](std::size_t i) {
      return std::abs(off(i) - usual[spans_[i].first ? 0 : 1]) <= kOtherSchedule;
    });
    return 2 * out.size() >= known.size() ? out : known;
  }

  void predict(const CostValues& values, const std::vector<std::size_t>& which,
               std::vector<double>& out) const {
    const std::vector<double> shifts = trail_->shifts(values);
    for (const std::size_t i : which) {
      const Placed& p = placed_[i];
      out.push_back(
          std::max(1e-9, p.simulated_s + shift_at(shifts, p.to) - shift_at(shifts, p.from)));
    }
  }

  PairScore score(const char* run, bool first) const {
    PairScore out;
    out.part = fmt::format("{}: {}", run, first ? "first tokens" : "answers");
    std::vector<double> measured;
    std::vector<double> simulated;
    for (const std::size_t i : told(true)) {
      if (spans_[i].first != first) continue;
      measured.push_back(spans_[i].measured_s);
      simulated.push_back(placed_[i].simulated_s);
    }
    const SpanErrors errors = span_errors(measured, simulated);
    out.points = static_cast<std::uint32_t>(measured.size());
    out.mape = errors.mape;
    out.bias = errors.bias;
    return out;
  }

  /// Mean time per output token of the answers, ms: measured and simulated.
  std::pair<double, double> tpot_ms() const {
    double sums[2] = {0, 0};
    std::size_t count = 0;
    for (const std::size_t i : told(true)) {
      if (spans_[i].first) continue;
      const double gaps = used_[spans_[i].request].output_tokens - 1.0;
      sums[0] += 1e3 * spans_[i].measured_s / gaps;
      sums[1] += 1e3 * placed_[i].simulated_s / gaps;
      ++count;
    }
    const double n = std::max<double>(1, static_cast<double>(count));
    return {sums[0] / n, sums[1] / n};
  }

  std::size_t requests() const { return run_.requests.size(); }
  std::size_t sent() const { return workload_.size(); }

  SourceRef where() const { return {run_.files.empty() ? run_.name : run_.files.front(), 0, {}}; }

 private:
  struct Placed {
    double simulated_s;  ///< 0: not known
    StepInstant from;
    StepInstant to;
  };

  double off(std::size_t i) const { return det::ln(placed_[i].simulated_s / spans_[i].measured_s); }

  /// Requests that nobody waits for come when the workload says.
  void check_arrivals() const {
    const auto& sent = trail_->requests();
    const ArrivalConfig& arrival = scenario_.workload->arrival;
    if (arrival.kind != ArrivalConfig::Kind::kTrace || arrival.wait || arrival.concurrency > 0) {
      return;
    }
    const auto& all = run_.requests;
    const double logged = all.back().arrival_s - all.front().arrival_s;
    const double simulated = seconds_of(sent[all.size() - 1].arrival - sent.front().arrival);
    if (std::abs(logged - simulated) <= kOtherSpan * simulated) return;
    throw InputError(Fault::kTrace, where(),
                     fmt::format("its {} requests come within {:.4g} s, those of the scenario's "
                                 "workload within {:.4g} s; expected a log of that workload "
                                 "(workload.speed sets how fast it comes)",
                                 all.size(), logged, simulated));
  }

  /// The n-th request of the log is the n-th that the workload sends.
  void check_workload() const {
    const auto& sent = trail_->requests();
    if (run_.requests.size() > sent.size()) {
      throw InputError(Fault::kTrace, where(),
                       fmt::format("holds {} requests, the scenario's workload {}; expected a log "
                                   "of that workload",
                                   run_.requests.size(), sent.size()));
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const MeasuredRequest& r = used_[i];
      const RequestRecord& s = sent[place_[i]];
      if (r.input_tokens == s.input_tokens && r.output_tokens == s.output_tokens) continue;
      SourceRef at = where();
      at.line = r.line;
      throw InputError(
          Fault::kTrace, at,
          fmt::format("request {} has {} + {} tokens, that of the scenario's workload {} + {}; "
                      "expected two logs of that workload, in the order in which requests came",
                      place_[i] + 1, r.input_tokens, r.output_tokens, s.input_tokens,
                      s.output_tokens));
    }
    check_arrivals();
  }

  const MeasuredRun& run_;
  Scenario scenario_;
  const Workload& workload_;
  bool tier_;
  std::vector<MeasuredRequest> used_;  ///< completed
  std::vector<std::uint32_t> place_;   ///< of these among all
  std::vector<LogSpan> spans_;
  std::optional<ConnectorTrail> trail_;
  std::vector<Placed> placed_;
};

void check_pair(const MeasuredRun& without, const MeasuredRun& with) {
  const auto same = [&](const char* what, const std::optional<std::string>& a,
                        const std::optional<std::string>& b) {
    if (!a || !b || *a == *b) return;
    throw InputError(
        Fault::kTrace, {with.files.empty() ? with.name : with.files.front(), 0, {}},
        fmt::format("is of {} {}, the run without the tier of {}; expected two runs of "
                    "one server",
                    what, *b, *a));
  };
  same("release", without.facts.version, with.facts.version);
  same("model", without.facts.model, with.facts.model);
  same("GPU", without.facts.gpu, with.facts.gpu);
}

void check_scenario(const Scenario& s) {
  const auto refuse = [&](std::string_view what) {
    throw InputError(Fault::kUsage, {s.path, 0, ""}, std::string(what));
  };
  if (!s.tier || s.tier_blocks(s.tier->capacity) == 0) {
    refuse("has no tier below HBM; expected the scenario of the run with it");
  }
  if (s.engine.pipeline_parallel > 1 || s.engines() > 1) {
    refuse("has several engines or stages, whose steps overlap; expected one");
  }
}

double answers_off(const PairFit& fit) {
  double out = 0;
  for (const PairScore& score : fit.scores) {
    if (score.part.ends_with("answers")) out = std::max(out, score.mape);
  }
  return out;
}

class PairFitter {
 public:
  PairFitter(const MeasuredRun& without, const MeasuredRun& with, const Scenario& scenario)
      : workload_(open_workload(scenario, {})),
        without_(without, without_tier(scenario), workload_, false),
        with_(with, scenario, workload_, true) {}

  PairFit fit() {
    simulate_under(kFreeConnector);
    const std::vector<PairScore> free = scores();
    choose_parameters();
    CostValues values = kFreeConnector;
    CostValues best = values;
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < kMostPairRounds; ++round) {
      if (round > 0) simulate_under(values);
      choose_spans(round < kAllSpansRounds);
      if (const double off = misfit(); off < least) {
        least = off;
        best = values;
      }
      const IntervalFit next = fit_intervals(form(), measured_, kinds_, predictor(), {});
      const CostValues found = values_of(next.values);
      double moved = 0;
      for (std::size_t k = 0; k < kCosts; ++k) {
        moved = std::max(moved, std::abs(found[k] - values[k]) / kCostRows[k].most);
        values[k] = round < kPairFreeRounds ? found[k] : (values[k] + found[k]) / 2;
      }
      if (moved < kPairSettled) break;
    }
    simulate_under(best);
    choose_spans(false);
    // What the spans say under these schedules need not be these values: intervals hold both.
    const std::vector<double> told = fit_intervals(form(), measured_, kinds_, predictor()).near;
    const IntervalFit judged =
        judge_intervals(form(), picked(best), told, measured_, kinds_, predictor());
    return result(best, judged, free);
  }

 private:
  void simulate_under(const CostValues& values) {
    without_.simulate_under(values);
    with_.simulate_under(values);
  }

  /// Those on which the time of some step depends.
  void choose_parameters() {
    varied_.clear();
    const std::vector<double> here = with_.trail().shifts(kFreeConnector);
    for (std::size_t k = 0; k < kCosts; ++k) {
      CostValues moved = kFreeConnector;
      moved[k] += kCostRows[k].prior;
      const bool tells = with_.trail().shifts(moved).back() - here.back() > 0;
      (tells ? varied_ : hidden_).push_back(k);
    }
  }

  FitForm form() const {
    std::vector<Parameter> parameters;
    std::vector<double> priors;
    for (const std::size_t k : varied_) {
      const CostRow& row = kCostRows[k];
      const double low = k == 0 ? 0.3 : 0;
      parameters.push_back({row.name, kFreeConnector[k], low, row.most - row.least});
      priors.push_back(row.prior);
    }
    return {parameters, priors, 0};
  }

  std::vector<double> picked(const CostValues& values) const {
    std::vector<double> out;
    for (const std::size_t k : varied_) out.push_back(values[k]);
    return out;
  }
  CostValues values_of(std::span<const double> picked) const {
    CostValues out = kFreeConnector;
    for (std::size_t j = 0; j < varied_.size(); ++j) out[varied_[j]] = picked[j];
    return out;
  }

  /// Four kinds: first tokens and answers of both runs, which share no instant.
  void choose_spans(bool all) {
    measured_.clear();
    kinds_ = {};
    kinds_.overlap.clear();
    kinds_.kept.clear();
    double origin = 0;
    std::size_t first_kind = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      const Side& run = side == 0 ? without_ : with_;
      which_[side] = run.told(all);
      std::vector<TimeSpan> times[2];
      double end = 0;
      for (const std::size_t i : which_[side]) {
        const LogSpan& s = run.spans()[i];
        measured_.push_back(s.measured_s);
        kinds_.kind.push_back(first_kind + (s.first ? 0 : 1));
        kinds_.times.emplace_back(origin + s.from_s, origin + s.from_s + s.measured_s);
        times[s.first ? 0 : 1].push_back(kinds_.times.back());
        end = std::max(end, s.from_s + s.measured_s);
      }
      for (std::size_t kind = 0; kind < 2; ++kind) {
        const auto whole = static_cast<double>(
            std::count_if(run.spans().begin(), run.spans().end(),
                          [&](const LogSpan& s) { return s.first == (kind == 0); }));
        kinds_.overlap.push_back(overlap_of(times[kind]));
        kinds_.kept.push_back(std::max(1.0, static_cast<double>(times[kind].size())) /
                              std::max(1.0, whole));
      }
      origin += end + 1;
      first_kind += 2;
    }
  }

  PredictSpans predictor() const {
    return [this](std::span<const double> picked) {
      const CostValues values = values_of(picked);
      std::vector<double> out;
      without_.predict(values, which_[0], out);
      with_.predict(values, which_[1], out);
      return out;
    };
  }

  double misfit() const {
    double out = 0;
    std::size_t count = 0;
    for (const Side* side : {&without_, &with_}) {
      for (const std::size_t i : side->told(true)) {
        const double measured = side->spans()[i].measured_s;
        out += std::min(kOtherSchedule, std::abs(side->simulated_s(i) - measured) / measured);
        ++count;
      }
    }
    return out / static_cast<double>(std::max<std::size_t>(1, count));
  }

  std::vector<PairScore> scores() const {
    std::vector<PairScore> out;
    for (const bool first : {false, true}) {
      out.push_back(without_.score("without the tier", first));
      out.push_back(with_.score("with the tier", first));
    }
    std::erase_if(out, [](const PairScore& s) { return s.points == 0; });
    return out;
  }

  PairFit result(const CostValues& values, const IntervalFit& judged,
                 const std::vector<PairScore>& free) const {
    PairFit out;
    out.costs = costs_of(values);
    out.time_scale = values[0];
    for (const std::size_t k : varied_) {
      FittedParameter p = judged.confidence.at(std::string(kCostRows[k].name));
      for (double* each : {&p.value, &p.low, &p.high}) *each += kCostRows[k].least;
      out.parameters[std::string(kCostRows[k].name)] = p;
    }
    for (const std::size_t k : hidden_) out.hidden.emplace_back(kCostRows[k].name);
    out.scores = scores();
    for (PairScore& score : out.scores) {
      const auto same = std::find_if(free.begin(), free.end(), [&](const PairScore& other) {
        return other.part == score.part;
      });
      if (same != free.end()) score.free_mape = same->mape;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      const auto [measured, simulated] = (side == 0 ? without_ : with_).tpot_ms();
      out.measured_tpot_ms[side] = measured;
      out.simulated_tpot_ms[side] = simulated;
    }
    add_warnings(out);
    return out;
  }

  void add_warnings(PairFit& out) const {
    std::vector<std::string> untold;
    for (const auto& [name, p] : out.parameters) {
      if (!p.identified && name != kCostRows[0].name) untold.push_back(name);
    }
    if (!untold.empty()) {
      out.warnings.push_back(
          fmt::format("the two runs do not tell {} apart from the other costs: their intervals say "
                      "how far each may go",
                      fmt::join(untold, ", ")));
    }
    if (!out.hidden.empty()) {
      out.warnings.push_back(
          fmt::format("no step of these runs depends on {}: forwards hide it, or nothing was moved",
                      fmt::join(out.hidden, ", ")));
    }
    if (std::abs(out.time_scale - 1) > kOffScale) {
      out.warnings.push_back(fmt::format(
          "steps without the tier last {:.2f} times as long as the scenario's; fit its compute to "
          "that log first (spillway fit LOG --scenario FILE), or costs hold for this load alone",
          out.time_scale));
    }
    for (const Side* side : {&without_, &with_}) {
      if (side->requests() == side->sent()) continue;
      out.warnings.push_back(fmt::format("{} holds the first {} of the {} requests of the workload",
                                         side->where().file, side->requests(), side->sent()));
    }
    const double off = answers_off(out);
    if (off > kOtherServer) {
      out.warnings.insert(
          out.warnings.begin(),
          fmt::format("do not use these costs: with them simulated answers are still {:.0f}% off. "
                      "Are engine.async_scheduling, which hides time of the host, the other "
                      "engine settings, and compute those of the server?",
                      off));
    }
    if ((!usable(out) || !out.costs.any()) &&
        out.measured_tpot_ms[1] < kFasterWith * out.measured_tpot_ms[0]) {
      out.warnings.insert(out.warnings.begin(),
                          "the run with the tier is faster than the one without: were the two logs "
                          "swapped? Expected the log without the tier first");
    }
  }

  Workload workload_;
  Side without_;
  Side with_;
  std::vector<std::size_t> varied_;
  std::vector<std::size_t> hidden_;
  std::array<std::vector<std::size_t>, 2> which_;
  std::vector<double> measured_;
  SpanKinds kinds_;
};

}  // namespace

bool usable(const PairFit& fit) {
  return answers_off(fit) <= kOtherServer;
}

PairFit fit_pair(const MeasuredRun& without, const MeasuredRun& with, const Scenario& scenario) {
  check_scenario(scenario);
  check_pair(without, with);
  return PairFitter(without, with, scenario).fit();
}

}  // namespace spillway

// Request logs: the log's requests are simulated under the scenario's engine; with that schedule
// kept, each measured span is the sum of the times of its steps, and the parameters follow by least
// squares; then the simulation is repeated under these, until both agree.
//
#include "scenarios/fidelity/fit/log_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/log_spans.hpp"
#include "scenarios/fidelity/fit/placed_spans.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr int kMostLogRounds = 12;
constexpr int kRobustRounds = 2;  // before spans of other schedules are told apart
constexpr int kFreeRounds = 4;
constexpr double kLogSettled = 1e-3;  // of a parameter's range
constexpr std::size_t kSpansPerParameter = 8;
constexpr double kDiffers = 0.25;         // spans off by more: their schedules disagree
constexpr double kDifferentEngine = 1.5;  // concurrency off by more: refused
constexpr double kDoubtfulEngine = 1.15;  // off by more: warned
constexpr std::size_t kMostWorst = 10;
constexpr double kThrashes = 0.1;  // preemptions per request; validate calls such a run thrashing
constexpr const char* kAnswers = "requests/answers";
constexpr const char* kFirstTokens = "requests/first tokens";

std::vector<double> pick(const std::vector<double>& of, const std::vector<std::size_t>& which) {
  std::vector<double> out;
  for (const std::size_t i : which) out.push_back(of[i]);
  return out;
}

/// The engine that ran without whatever lies below HBM: a log names no shared prefixes.
Scenario without_tiers(const Scenario& scenario) {
  Scenario out = scenario;
  out.tier.reset();
  out.behind.clear();
  out.down.reset();
  out.up.reset();
  out.rank_links.clear();
  out.media.clear();
  out.interference.reset();
  out.workload->arrival = {};
  out.workload->warmup = {};
  out.workload->classes.clear();
  return out;
}

class LogFit {
 public:
  LogFit(const MeasuredRun& run, const Scenario& scenario, const LogFitOptions& options)
      : run_(run),
        options_(options),
        engine_(without_tiers(scenario)),
        used_(logged_requests(run)),
        spans_(log_spans(used_, options)) {
    require_enough(4);
    places_.resize(used_.size());
    std::iota(places_.begin(), places_.end(), 0U);
    workload_.emplace(workload_of(run, engine_.engine.block_tokens));
    std::optional<StepTrail> trail = simulated_before();
    preempts_ = preempts(*trail);
    if (!preempts_) {
      workload_.emplace(
          workload_of(come_when_scheduled(run, places_), engine_.engine.block_tokens));
      trail.emplace(simulated_before());
    }
    model_.emplace(engine_, varied(*trail), kernels());
    for (const LogSpan& s : spans_) measured_.push_back(s.measured_s);
  }

  FitResult fit() {
    values_ = model_->start();
    std::vector<double> best;
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < kMostLogRounds; ++round) {
      const StepTrail trail(engine_, *workload_, *model_->cost(values_));
      place(trail);
      classify(trail);
      if (round == 0) refuse_scale(where(), measured_, simulated());
      if (const double off = misfit(trail); off < least) {
        least = off;
        best = values_;
      }
      const IntervalFit next = fit_of(agreeing(round), predictor(trail), near_, trail);
      near_ = next.near;
      double moved = 0;
      for (std::size_t k = 0; k < values_.size(); ++k) {
        const Parameter& p = model_->parameters()[k];
        moved = std::max(moved, std::abs(next.values[k] - values_[k]) / (p.high - p.low));
        // Two schedules may lead to each other: meet in between.
        values_[k] = round < kFreeRounds ? next.values[k] : (values_[k] + next.values[k]) / 2;
      }
      if (moved < kLogSettled) break;
    }
    // A simulation answers to small changes with other schedules, so that rounds need not settle:
    // of all of them, the values whose own simulation is nearest to the log.
    values_ = best;
    const StepTrail trail(engine_, *workload_, *model_->cost(values_));
    place(trail);
    classify(trail);
    near_ = fit_of(agreeing(kMostLogRounds), predictor(trail), near_, trail).near;
    return result(trail);
  }

 private:
  /// Under what is believed beforehand.
  StepTrail simulated_before() const {
    return {engine_, *workload_, *StepModel(engine_, {}, kernels()).cost({})};
  }

  /// Which requests enter then follows from the blocks that ran out, and measured admissions do not
  /// go with the simulation's pool.
  bool preempts(const StepTrail& trail) const {
    double preemptions = 0;
    for (const RequestRecord& r : trail.requests()) preemptions += r.preemptions;
    return preemptions >= kThrashes * static_cast<double>(used_.size());
  }

  /// Both kinds of steps are counted.
  std::vector<StepParameter> varied(const StepTrail& trail) {
    place(trail);
    const std::uint32_t graphs = StepModel(engine_, {}, kernels()).graph_tokens();
    StepKinds kinds;
    for (const std::size_t i : steps_of(placed_)) {
      ++(trail.shape(i).tokens() <= graphs ? kinds.replayed : kinds.eager);
    }
    return varied_parameters(kernels() != nullptr, engine_.engine.tensor_parallel, kinds);
  }

  void classify(const StepTrail& trail) {
    shares_ = class_shares(trail, placed_, classes_);
    if (!near_.empty()) near_.resize(model_->parameters().size() + classes_.size(), 0);
  }

  const ComputeProfile* kernels() const { return options_.kernels ? &*options_.kernels : nullptr; }

  SourceRef where() const { return {run_.files.empty() ? run_.name : run_.files.front(), 0, {}}; }

  void require_enough(std::size_t parameters) const {
    const std::size_t needed = kSpansPerParameter * parameters;
    if (spans_.size() >= needed) return;
    throw InputError(
        Fault::kTrace, where(),
        fmt::format("{} requests hold {} spans of time (scheduled to first token, first to last "
                    "token, all before the last request was scheduled), too few to fit {} "
                    "parameters; expected at least {}, which some {} requests hold",
                    used_.size(), spans_.size(), parameters, needed, needed));
  }

  /// Puts each span on the simulation's steps.
  void place(const StepTrail& trail) {
    placed_.clear();
    for (const LogSpan& s : spans_) {
      const RequestRecord& r = trail.requests()[places_[s.request]];
      if (r.status != RequestStatus::kCompleted) refuse_unable(r, s.request);
      const Time from = s.first ? r.scheduled : r.first_token;
      const Time to = s.first ? r.first_token : r.finish;
      placed_.push_back({seconds_of(to - from), trail.instant(from), trail.instant(to)});
    }
  }

  [[noreturn]] void refuse_unable(const RequestRecord& r, std::uint32_t request) const {
    SourceRef at = where();
    at.line = used_[request].line;
    throw InputError(
        Fault::kTrace, at,
        fmt::format("the scenario's engine does not complete this request of {} + {} tokens ({}), "
                    "which the log says was served: the scenario's engine is not the one that was "
                    "logged",
                    r.input_tokens, r.output_tokens, name_of(r.reason)));
  }

  double simulated_s(std::size_t span) const { return std::max(1e-9, placed_[span].simulated_s); }
  std::vector<double> simulated() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < placed_.size(); ++i) out.push_back(simulated_s(i));
    return out;
  }

  PredictSpans predictor(const StepTrail& trail) const {
    return [this, &trail](std::span<const double> values) {
      const std::vector<double> shifts = trail.shifts(*model_->cost(values));
      std::vector<double> out;
      for (const PlacedSpan& p : placed_) {
        const double moved = shift_at(shifts, p.to) - shift_at(shifts, p.from);
        out.push_back(std::max(1e-9, p.simulated_s + moved));
      }
      return out;
    };
  }

  /// Mean error of the simulated spans, of which none counts for more than one of another schedule.
  /// That of the level, where spans say little.
  double misfit(const StepTrail& trail) const {
    if (const auto whole = whole_of(trail)) {
      return std::abs(det::ln(whole->simulated_s / whole->measured_s));
    }
    double out = 0;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const double off = std::abs(simulated_s(i) - measured_[i]);
      out += std::min(off, kDiffers * measured_[i]);
    }
    return out / static_cast<double>(spans_.size());
  }

  /// Spans that tell something: once parameters are roughly right, those whose schedules agree. One
  /// that is far from what is usual of its kind was batched with others than in the simulation, or
  /// held an engine's first steps. From the usual, not from right: else spans that are too long
  /// would leave until the rest fits.
  std::vector<std::size_t> agreeing(int round) const {
    std::vector<std::size_t> all(spans_.size());
    std::iota(all.begin(), all.end(), 0);
    if (round < kRobustRounds) return all;
    const auto off = [&](std::size_t i) { return det::ln(simulated_s(i) / measured_[i]); };
    std::vector<double> of_kind[2] = {{0}, {0}};
    for (const std::size_t i : all) of_kind[spans_[i].first ? 0 : 1].push_back(off(i));
    const double usual[2] = {median(of_kind[0]), median(of_kind[1])};
    std::vector<std::size_t> out;
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](std::size_t i) {
      return std::abs(off(i) - usual[spans_[i].first ? 0 : 1]) <= kDiffers;
    });
    return 2 * out.size() >= all.size() ? out : all;
  }

  IntervalFit fit_of(const std::vector<std::size_t>& which, const PredictSpans& predict,
                     const std::vector<double>& from, const StepTrail& trail) const {
    const std::optional<WholeSpan> whole = whole_of(trail);
    return fit_intervals(
        *model_, pick(measured_, which), kinds_of(which),
        [&](std::span<const double> values) { return pick(predict(values), which); }, from,
        whole ? &*whole : nullptr);
  }

  /// Where blocks run out, one request waits in the place of another, so that spans of requests
  /// say little of how fast the engine is. When the n-th answer ends, whosever it is, does.
  std::optional<WholeSpan> whole_of(const StepTrail& trail) const {
    if (!preempts_) return std::nullopt;
    const std::size_t known =
        options_.first > 0 ? std::min<std::size_t>(options_.first, used_.size()) : used_.size();
    const double begin = options_.within ? options_.within->first : 0;
    const double end =
        std::min(evidence_end(used_), options_.within ? options_.within->second : 1e300);
    std::vector<double> measured;
    std::vector<Time> simulated;
    for (std::size_t i = 0; i < known; ++i) {
      measured.push_back(used_[i].last_token_s);
      simulated.push_back(trail.requests()[places_[i]].finish);
    }
    const auto placed = answers_in_order(trail, measured, simulated, {begin, end});
    if (!placed) return std::nullopt;
    WholeSpan out{placed->measured_s, placed->simulated_s, {}};
    out.predict = [this, &trail, p = *placed](std::span<const double> values) {
      const std::vector<double> shifts = trail.shifts(*model_->cost(values));
      double sum = p.simulated_s;
      for (const auto& [weight, at] : p.ends) sum += weight * shift_at(shifts, at);
      return std::max(1e-9, sum);
    };
    return out;
  }

  /// First tokens and answers.
  SpanKinds kinds_of(const std::vector<std::size_t>& which) const {
    SpanKinds out;
    out.kept = {1, 1};
    std::vector<TimeSpan> times[2];
    for (const std::size_t i : which) {
      const LogSpan& s = spans_[i];
      out.kind.push_back(s.first ? 0 : 1);
      out.times.emplace_back(s.from_s, s.from_s + s.measured_s);
      out.steps.push_back(shares_[i]);
      times[out.kind.back()].push_back(out.times.back());
    }
    out.classes = classes_.size();
    out.overlap = {overlap_of(times[0]), overlap_of(times[1])};
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const auto all = static_cast<double>(std::count_if(
          spans_.begin(), spans_.end(), [&](const LogSpan& s) { return s.first == (kind == 0); }));
      out.kept[kind] = std::max(1.0, static_cast<double>(times[kind].size())) / std::max(1.0, all);
    }
    return out;
  }

  FitResult result(const StepTrail& trail) const {
    const PredictSpans predict = predictor(trail);
    const std::vector<std::size_t> told = agreeing(kMostLogRounds);
    const IntervalFit fit = judge_intervals(
        *model_, values_, near_, pick(measured_, told), kinds_of(told),
        [&](std::span<const double> values) { return pick(predict(values), told); });
    FitResult out;
    out.profile = model_->profile(values_);
    out.profile.warnings = fit.warnings;
    out.profile.range = {};  // of this fit alone
    for (const std::size_t i : steps_of(placed_)) out.profile.range.add(trail.shape(i));
    warn_unidentified(fit.confidence, *model_, out.profile.warnings);
    if (preempts_) {
      out.profile.warnings.push_back(
          "blocks run out in this log, so that requests wait in each other's place: single spans "
          "may be far off, the order of the answers tells how fast the engine is");
    }
    judge_engine(out);
    add_scores(fit, trail, out);
    warn_biased(log_score(out), *model_, out.profile.warnings);
    explain(trail, simulated(), out);
    return out;
  }

  /// Of answers and of first tokens apart, over all spans. A second fit sees every other request.
  void add_scores(const IntervalFit& fit, const StepTrail& trail, FitResult& out) const {
    const PredictSpans predict = predictor(trail);
    std::vector<std::size_t> seen = agreeing(kMostLogRounds);
    std::erase_if(seen, [&](std::size_t i) { return spans_[i].request % 2 != 0; });
    const std::vector<double> half = predict(fit_of(seen, predict, {}, trail).values);
    const std::vector<double> whole = simulated();
    for (const bool first : {false, true}) {
      std::vector<std::size_t> all;
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < spans_.size(); ++i) {
        if (spans_[i].first != first) continue;
        all.push_back(i);
        if (spans_[i].request % 2 != 0) kept.push_back(i);
      }
      FitScore score;
      score.part = first ? kFirstTokens : kAnswers;
      if (!first) score.parameters = fit.confidence;
      score.points = static_cast<std::uint32_t>(all.size());
      const SpanErrors fitted = span_errors(pick(measured_, all), pick(whole, all));
      score.mape = score.form_mape = fitted.mape;
      score.bias = fitted.bias;
      score.held_out = static_cast<std::uint32_t>(kept.size());
      const SpanErrors apart = span_errors(pick(measured_, kept), pick(half, kept));
      score.held_out_mape = apart.mape;
      score.held_out_p95 = apart.p95;
      out.profile.scores.push_back(score);
    }
  }

  /// Requests in the engine at once, over the time of the evidence: by the clock and simulated.
  void judge_engine(FitResult& out) const {
    // With the waiting that the log's arrivals lead to.
    const Workload arrivals = workload_of(run_, engine_.engine.block_tokens);
    const StepTrail trail(engine_, arrivals, *model_->cost(values_));
    double measured = 0;
    double simulated = 0;
    double from = 1e300;
    const double end = evidence_end(used_);
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const MeasuredRequest& r = used_[i];
      const RequestRecord& s = trail.requests()[i];
      const double begin = begin_s(r);
      if (begin < 0 || r.last_token_s < 0) continue;
      const Time at = r.scheduled_s >= 0 ? s.scheduled : s.first_token;
      from = std::min(from, begin);
      measured += std::max(0.0, std::min(end, r.last_token_s) - begin);
      simulated += std::max(0.0, std::min(end, seconds_of(s.finish)) - seconds_of(at));
    }
    if (measured <= 0 || end <= from) return;
    const double ratio = simulated / measured;
    const std::string both = fmt::format(
        "{:.1f} requests were in the engine at once by the log, {:.1f} are in the "
        "simulation",
        measured / (end - from), simulated / (end - from));
    if (ratio > kDifferentEngine || ratio * kDifferentEngine < 1) {
      throw InputError(Fault::kTrace, where(),
                       both +
                           ": the scenario's engine is not the one that was logged "
                           "(num_gpu_blocks, max_num_seqs, preset)");
    }
    if (ratio > kDoubtfulEngine || ratio * kDoubtfulEngine < 1) {
      out.profile.warnings.push_back(both + ": is the scenario's engine the one that was logged?");
    }
  }

  void explain(const StepTrail& trail, const std::vector<double>& predicted, FitResult& out) const {
    std::size_t apart = 0;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const LogSpan& s = spans_[i];
      const MeasuredRequest& r = used_[s.request];
      FitPoint point;
      point.part = s.first ? kFirstTokens : kAnswers;
      point.what = fmt::format("{}:{}: {} of a request of {} + {} tokens", where().file, r.line,
                               s.first ? "scheduled to first token" : "first to last token",
                               r.input_tokens, r.output_tokens);
      point.measured = 1e6 * s.measured_s;
      point.predicted = 1e6 * predicted[i];
      const bool off = std::abs(det::ln(predicted[i] / s.measured_s)) > kDiffers;
      apart += off ? 1 : 0;
      if (trail.requests()[places_[s.request]].preemptions > 0) {
        point.why = "preempted in the simulation";
      } else if (off) {
        point.why = s.first ? "batched with other prompts than in the simulation"
                            : "ran beside other requests than in the simulation";
      }
      out.worst.push_back(std::move(point));
    }
    if (apart > 0) {
      out.profile.warnings.push_back(fmt::format(
          "{} of {} spans are off by more than {:.0f}%: measured and simulated schedules disagree "
          "there, and they were left out",
          apart, spans_.size(), 100 * kDiffers));
    }
    // Answers, whose score stands first: first tokens hold what is batched with them.
    warn_unusable(log_score(out), apart, spans_.size(), out.profile.warnings);
    std::stable_sort(out.worst.begin(), out.worst.end(), [](const FitPoint& a, const FitPoint& b) {
      return std::abs(det::ln(a.predicted / a.measured)) >
             std::abs(det::ln(b.predicted / b.measured));
    });
    if (out.worst.size() > kMostWorst) out.worst.resize(kMostWorst);
  }

  const MeasuredRun& run_;
  const LogFitOptions& options_;
  Scenario engine_;
  std::vector<MeasuredRequest> used_;
  std::vector<LogSpan> spans_;
  bool preempts_ = false;              ///< preempts(), under what is believed beforehand
  std::vector<std::uint32_t> places_;  ///< of the requests in the workload
  std::optional<Workload> workload_;
  std::optional<StepModel> model_;
  std::vector<double> measured_;                ///< seconds, by span
  std::vector<PlacedSpan> placed_;              ///< by span
  std::vector<std::vector<StepShare>> shares_;  ///< by span
  StepClasses classes_;                         ///< of all rounds
  std::vector<double> values_;
  std::vector<double> near_;  ///< IntervalFit::near of the last fit; empty: none yet
};

}  // namespace

const FitScore& log_score(const FitResult& fit) {
  const auto& scores = fit.profile.scores;
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [](const FitScore& score) { return score.part == kAnswers; });
  KV_ASSERT(found != scores.end(), "a fit of no log");
  return *found;
}

FitResult fit_log(const MeasuredRun& run, const Scenario& scenario, const LogFitOptions& options) {
  return LogFit(run, scenario, options).fit();
}

}  // namespace spillway

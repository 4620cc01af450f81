#include "scenarios/planner/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/experiment/doubts/input_doubts.hpp"
#include "scenarios/experiment/doubts/slo_doubts.hpp"
#include "scenarios/experiment/target_bound.hpp"
#include "scenarios/experiment/target_meaning.hpp"
#include "scenarios/planner/answer/idle_axes.hpp"
#include "scenarios/planner/beyond_engine.hpp"
#include "scenarios/planner/cell_trials.hpp"
#include "scenarios/planner/cells/grid_bracket.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/planner/consequences/consequences.hpp"
#include "scenarios/planner/judgement/judgement.hpp"
#include "scenarios/planner/judgement/plan_facts.hpp"
#include "scenarios/planner/plan_workload.hpp"
#include "scenarios/planner/selection/longer_runs.hpp"
#include "scenarios/planner/selection/selection.hpp"
#include "scenarios/planner/too_short.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/assignments.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/reasons.hpp"

namespace spillway {

namespace {

// A cold cache explains no miss as far as this.
constexpr double kOrders = 10;     // times the limit
constexpr double kMostMiss = 0.5;  // of the requests, those that find something among them

/// Whether no warmer cache would mend a trial: requests that no server takes are too many by
/// themselves, or it misses by too much.
bool is_beyond_caches(const Trial& trial, const std::vector<SloTarget>& slo) {
  for (std::size_t t = 0; t < slo.size(); ++t) {
    const TargetSample& sample = trial.targets[t];
    if (slo[t].at_least || !is_share(slo[t]) || slo[t].target <= 0) continue;
    if (slo[t].tenant.empty() && trial.not_admitted > sample.limit) return true;
    if (sample.x >= kMostMiss && (trial.cut || sample.value >= kOrders * slo[t].target))
      return true;
  }
  return false;
}

// Of a workload in memory with what the simulator keeps beside it, about.
constexpr double kBytesPerRequest = 200;
constexpr double kBytesPerBlock = 40;
constexpr double kMostReplicateBytes = 1e9;

class Planner {
 public:
  /// `known`: runs of the workload itself that were made already. `source`: what the cells were
  /// read from; null: they cannot be changed by key.
  Planner(SearchSpace space, KnownTrials known, TrialRunner& runner, bool other_recordings,
          const JsonSource* source)
      : space_(std::move(space)),
        known_(std::move(known)),
        source_(source),
        choice_(*space_.variants.front().scenario.plan),
        prices_(prices_of(choice_)),
        runner_(runner),
        other_recordings_(other_recordings) {
    for (std::uint32_t i = 0; i < cells(); ++i) {
      if (space_.cells[i].candidate) candidates_.push_back(i);
    }
  }

  PlanOutcome plan() {
    PlanResult& result = out_.result;
    result.tier = choice_.tier;
    result.objective = name_of(choice_.objective);
    result.notes = space_.notes;
    check_budget();
    const std::uint64_t runs = usual_runs() + (source_ != nullptr ? 1 : 0);  // the floor's
    consequence_runs_ = consequence_runs(space_, runs);
    runner_.expect(runs - known_.size() + consequence_runs_);
    run_workload_itself();
    if (choice_.replications > 1) {
      decide_by_replicates();
    } else {
      decide_by_itself();
    }
    settle_what_no_run_can_change();
    add_notes_of_the_grid();
    if (result.recommended >= 0) {
      name_size();
      result.recommended_total_bytes =
          result.recommended_bytes *
          instances_of(space_.cells[static_cast<std::size_t>(result.recommended)].scenario);
    }
    add_consequences(result, space_, trials_, prices_, replication(), runner_, source_);
    judge(result, space_, runner_.workload(first()), trials_, replication());
    result.workload = plan_workload(first(), runner_.workload(first()));
    if (says_how_selection_ended()) result.verdict = undecided_verdict();
    append(out_.warnings, runner_.notes());
    return std::move(out_);
  }

 private:
  const Scenario& first() const { return space_.variants.front().scenario; }
  std::uint64_t cells() const { return space_.cells.size(); }

  /// Values that do not act are no answer, and what is out of reach or overloaded at every size is
  /// missed, however short the workload is.
  void settle_what_no_run_can_change() {
    PlanResult& result = out_.result;
    find_plan_floor(result, space_, runner_, source_);
    const int answer = result.recommended >= 0 ? result.recommended : result.provisional;
    result.answer.idle = find_idle_axes(result, space_, answer);
    if (result.answer.rests_on_idle_axis()) {
      result.provisional = answer;
      result.recommended = -1;
      result.undecided = true;
      result.would_decide = "a key that acts on the run";
      return;
    }
    if (!result.undecided) return;
    const bool hopeless = result.floor && !result.floor->met;
    if (hopeless || overloaded_everywhere() || too_many_turned_away()) result.undecided = false;
  }

  /// Requests that no server takes, beyond what chance brings, in every cell.
  bool too_many_turned_away() const {
    const std::vector<PlanPoint>& points = out_.result.points;
    return std::all_of(points.begin(), points.end(), [&](const PlanPoint& point) {
      const auto requests = static_cast<double>(point.run.requests);
      const double count = std::round(not_admitted_share(point.run) * requests);
      const double least = poisson_lower(static_cast<std::uint32_t>(count), 1 - choice_.confidence);
      return requests > 0 && broken_by(point, least / requests) != nullptr;
    });
  }

  bool overloaded_everywhere() const {
    const std::vector<PlanPoint>& points = out_.result.points;
    return std::all_of(points.begin(), points.end(), [&](const PlanPoint& point) {
      const auto at = static_cast<std::size_t>(&point - points.data());
      const Scenario& s = space_.cells[at].scenario;
      return !point.looks_met() &&
             is_overloaded(point.run, offered_span_s(*s.workload, runner_.workload(s)));
    });
  }

  bool says_how_selection_ended() const {
    const AnswerCause cause = out_.result.answer.cause;
    return out_.result.undecided && (cause == AnswerCause::kShortTrace ||
                                     cause == AnswerCause::kClose || cause == AnswerCause::kBudget);
  }

  /// Of a plan that ends well.
  std::uint64_t usual_runs() const {
    if (choice_.replications == 1) return cells();
    return cells() + kScreening * candidates_.size() + kUsualFinalRuns;
  }

  /// Where it stops without the answer inside, and what the engine cannot run would bring.
  void add_notes_of_the_grid() {
    PlanResult& result = out_.result;
    for (const GridEnd& end : space_.ends) {
      if (end.met == (result.recommended >= 0) && !result.undecided) {
        result.notes.push_back(end.note);
      }
    }
    append(result.notes, beyond_engine(result, space_));
  }

  void check_budget() const {
    if (choice_.max_runs == 0 || choice_.max_runs >= cells()) return;
    SourceRef where = choice_.where;
    where.field = "plan.max_runs";
    throw InputError(Fault::kInconclusive, where,
                     fmt::format("{} runs do not reach each of {} cells once, and nothing was run; "
                                 "expected about {}, or fewer cells",
                                 choice_.max_runs, cells(), usual_runs()));
  }

  void run_workload_itself() {
    runner_.begin("every size once");
    std::vector<TrialRequest> requests;
    for (std::uint32_t i = 0; i < cells(); ++i) {
      if (!known_.contains(i)) requests.push_back({&space_.cells[i].scenario});
    }
    std::vector<Trial> trials = runner_.run_all(requests);
    for (auto& [cell, trial] : known_) {  // by cell, so that each finds its place
      trials.insert(trials.begin() + cell, std::move(trial));
    }
    std::vector<Notes> warnings;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      warnings.push_back(trials[i].warnings);
      out_.result.points.push_back(point_of(space_.cells[i], trials[i]));
    }
    out_.warnings = folded(warnings);  // most are the same in every cell but for figures
  }

  /// What the run of the workload itself says of a cell, without an interval.
  PlanPoint point_of(const PlanCell& cell, Trial& trial) const {
    PlanPoint out;
    out.name = cell.name;
    out.values = space_.variants[cell.variant].values;
    out.combination = space_.variants[cell.variant].name;
    out.gpus = total_gpus(cell.scenario);
    out.replicas = cell.scenario.fleet->replicas;
    out.capacity = cell.capacity;
    out.capacity_bytes = cell.capacity_bytes;
    out.unbounded = cell.unbounded;
    out.feasible = trial.met;
    out.verdict = trial.met ? CellVerdict::kLooksMet : CellVerdict::kLooksMissed;
    if (!trial.met) out.reason = "slo";
    out.attainment = out.attainment_low = trial.attainment;
    out.cold_limited = trial.cold_limited && !is_beyond_caches(trial, cell.scenario.slo);
    for (std::size_t t = 0; t < trial.targets.size(); ++t) {
      const TargetSample& sample = trial.targets[t];
      const SloTarget& slo = cell.scenario.slo[t];
      TargetEstimate estimate;
      estimate.name = slo.name;
      estimate.tenant = slo.tenant;
      estimate.at_least = slo.at_least;
      estimate.share = is_share(slo);
      estimate.target = slo.target;
      estimate.value = sample.value;
      estimate.x = sample.x;
      estimate.limit = sample.limit;
      // Of one run its own figure decides, as it does for the run itself.
      const bool by_figure = choice_.replications == 1 && estimate.share && !trial.cut;
      const auto judged = static_cast<double>(sample.judged);
      estimate.met = estimate.within(sample.x) || (by_figure && sample.value <= slo.target &&
                                                   sample.x * judged <= sample.limit * judged + 1);
      out.targets.push_back(std::move(estimate));
    }
    out.engine_lacks = cell.engine_lacks;
    if (!cell.candidate) {
      out.feasible = false;
      out.reason = "not-in-engine";
    }
    out.digest = std::move(trial.digest);
    out.run = std::move(trial.run);
    return out;
  }

  /// Of the candidates.
  std::vector<std::uint32_t> preference() const {
    std::vector<std::uint32_t> out = preference_of(space_, scores_of(out_.result, space_, prices_));
    std::erase_if(out, [this](std::uint32_t cell) { return !space_.cells[cell].candidate; });
    return out;
  }

  void decide_by_itself() {
    for (const std::uint32_t cell : preference()) {
      if (!out_.result.points[cell].feasible) continue;
      out_.result.recommended = static_cast<int>(cell);
      return;
    }
  }

  /// How sure it is that the best cell meets the SLO.
  void decide_by_replicates() {
    PlanResult& result = out_.result;
    const SelectionProblem problem = problem_of();
    PlanConfidence& confidence = result.confidence.emplace();
    confidence.level = choice_.confidence;
    confidence.method = replicates().method();
    if (replicates().resampled()) {
      confidence.method += other_recordings_
                               ? ". Confidence is about " + replicates().wider_claim()
                               : ". Confidence is about such traffic; --other-recordings widens it";
    }
    trials_.resize(cells());
    take(problem,
         select_cell(problem, [this](std::span<const RunRequest> batch) { return run(batch); }));
    confidence.runs = runner_.done();
    confidence.reused = runner_.reused();
  }

  /// What more time would have been needed, by the time that runs took so far.
  std::string time_needed() const {
    const std::uint64_t made = runner_.done() - runner_.reused();
    const std::uint64_t left = runner_.expected() - std::min(runner_.expected(), runner_.done());
    std::string out = fmt::format("a larger --budget ({} runs were made", made);
    if (runner_.reused() > 0) out += fmt::format(", {} found in the cache", runner_.reused());
    out += fmt::format(", about {} are left", left);
    if (made > 0) {
      const double each = runner_.seconds() / static_cast<double>(made);
      out += fmt::format(": some {:.0f} s more", std::ceil(each * static_cast<double>(left)));
    }
    return out + "), or --cache, with which the next plan goes on";
  }

  SelectionProblem problem_of() const {
    SelectionProblem problem;
    // Cells of the problem are the candidates.
    problem.cells = static_cast<std::uint32_t>(candidates_.size());
    std::vector<std::uint32_t> number(cells(), 0);
    for (std::uint32_t i = 0; i < problem.cells; ++i) number[candidates_[i]] = i;
    for (const std::uint32_t cell : preference()) problem.preference.push_back(number[cell]);
    for (const std::vector<std::uint32_t>& line : space_.lines) {
      if (!space_.cells[line.front()].candidate) continue;  // as all of its sizes
      problem.lines.emplace_back();
      for (const std::uint32_t cell : line) problem.lines.back().push_back(number[cell]);
    }
    for (const std::uint32_t cell : candidates_) problem.names.push_back(space_.cells[cell].name);
    for (const TargetEstimate& target : out_.result.points.front().targets) {
      problem.targets.push_back(
          {metric_words(target.name, target.tenant), target.limit, target.at_least, target.share});
    }
    problem.confidence = choice_.confidence;
    problem.most_replications = choice_.replications;
    problem.max_runs = choice_.max_runs;
    problem.runs_before = cells();
    problem.replication = replication();
    problem.length = replicates().length();
    if (problem.replication == Replication::kIndependent && replicates().may_be_longer()) {
      problem.work_for_longer = kWorkForLonger;
      problem.longest = longest_replicates();
    }
    problem.requests = runner_.replicate(first(), 0).size();
    problem.expects = [this](std::uint64_t runs) { runner_.expect(runs + consequence_runs_); };
    return problem;
  }

  /// Times as long as usual, as far as the memory of a machine goes.
  std::uint32_t longest_replicates() const {
    const Workload& usual = runner_.replicate(first(), 0);
    const double bytes = kBytesPerRequest * static_cast<double>(usual.size()) +
                         kBytesPerBlock * static_cast<double>(usual.columns().chain.size());
    return static_cast<std::uint32_t>(std::max(1.0, kMostReplicateBytes / bytes));
  }

  std::vector<CellSample> run(std::span<const RunRequest> batch) {
    const bool screening = !batch.empty() && batch.front().replicate < kScreening;
    runner_.begin(screening ? "screening" : "verifying");
    std::vector<TrialRequest> requests;
    for (const RunRequest& one : batch) {
      TrialRequest& request = requests.emplace_back();
      request.scenario = &space_.cells[candidates_[one.cell]].scenario;
      request.replicate = one.replicate;
      request.may_cut = one.may_cut;
      request.length = one.length;
    }
    const std::vector<Trial> trials = runner_.run(requests);
    std::vector<CellSample> out;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const Trial& trial = trials[i];
      CellSample sample;
      for (const TargetSample& target : trial.targets) {
        sample.x.push_back(target.x);
        sample.weight.push_back(static_cast<double>(target.judged));
        sample.ladder.push_back(target.ladder);
      }
      sample.work = static_cast<double>(trial.work);
      out_.work += trial.work;
      sample.cut = trial.cut;
      sample.excluded =
          trial.cold_limited &&
          !is_beyond_caches(trial, space_.cells[candidates_[batch[i].cell]].scenario.slo);
      out.push_back(std::move(sample));
      std::vector<CellTrial>& of_cell = trials_[candidates_[batch[i].cell]];
      of_cell.push_back({batch[i].replicate, trial.targets, trial.attainment, trial.cut,
                         batch[i].length, trial.standstill});
      for (TargetSample& target : of_cell.back().targets) target.ladder = {};
    }
    return out;
  }

  void take(const SelectionProblem& problem, const Selection& selection) {
    PlanResult& result = out_.result;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      const std::uint32_t i = candidates_[k];
      const SelectedCell& cell = selection.cells[k];
      PlanPoint& point = result.points[i];
      point.feasible = false;
      point.reason = cell.reason;
      // What never ran on a replicate keeps what the run of the workload itself says.
      if (cell.replications == 0 && cell.state != SelectionState::kExcluded) continue;
      point.verdict = static_cast<CellVerdict>(cell.state);
      point.feasible = cell.state == SelectionState::kMet;
      point.cold_limited = cell.state == SelectionState::kExcluded;
      point.replications = cell.replications;
      point.cut = static_cast<std::uint32_t>(std::count_if(
          trials_[i].begin(), trials_[i].end(), [](const CellTrial& t) { return t.cut; }));
      point.standstill = standstills_of(trials_[i], point.targets);
      if (cell.replications > 0) estimate_from(trials_[i], problem, cell, point);
      for (std::size_t t = 0; t < cell.mean.size(); ++t) {
        TargetEstimate& target = point.targets[t];
        target.x = cell.mean[t];
        if (t < cell.bound.size()) target.bound = cell.bound[t];
        target.met = target.within(target.x);
        target.backed = target.bound && target.within(*target.bound);
      }
    }
    result.recommended = selection.undecided ? -1 : cell_of(selection.recommended);
    result.undecided = selection.undecided;
    result.would_decide =
        selection.undecided && selection.out_of_time ? time_needed() : selection.would_decide;
    if (selection.cut_short) {
      out_.warnings.push_back(plan_note("budget-ended", {{"so_far", selection.stop_reason}}));
    }
    if (selection.undecided) {
      const bool ended = selection.out_of_time || selection.out_of_runs;
      result.answer.cause = ended ? AnswerCause::kBudget : AnswerCause::kClose;
      result.provisional = provisional(selection);
      if (auto found = too_short(result, space_, runner_.replicate(first(), 0))) {
        result.would_decide = std::move(found->would_decide);
        too_short_ = std::move(found->why);
        result.answer.cause = AnswerCause::kShortTrace;
      }
    }
    std::uint32_t longest = 1;
    for (const SelectedCell& cell : selection.cells) longest = std::max(longest, cell.length);
    if (longest > 1) {
      result.confidence->method +=
          fmt::format("; then others, {} times as long", format_count(longest));
    }
    result.confidence->stages = selection.stages;
    result.confidence->stop_reason = selection.stop_reason;
    result.confidence->boundary = selection.boundary;
  }

  /// The cell of a candidate; -1: none.
  int cell_of(int candidate) const {
    return candidate < 0 ? -1 : static_cast<int>(candidates_[static_cast<std::size_t>(candidate)]);
  }

  /// Before any replicate the runs of the workload itself are all that is known.
  int provisional(const Selection& selection) const {
    if (selection.provisional >= 0) return cell_of(selection.provisional);
    for (const std::uint32_t cell : preference()) {
      if (out_.result.points[cell].verdict == CellVerdict::kLooksMet) return static_cast<int>(cell);
    }
    return -1;
  }

  const Replicates& replicates() const { return runner_.replicates(first()); }
  Replication replication() const {
    return other_recordings_ ? replicates().replication() : Replication::kIndependent;
  }

  /// Of the recommended cell, rounded up to what can be bought or set.
  void name_size() {
    PlanResult& result = out_.result;
    const PlanPoint& point = result.points[static_cast<std::size_t>(result.recommended)];
    result.recommended_size = point.capacity;
    result.recommended_bytes = point.capacity_bytes;
    if (choice_.round_to.empty() || point.unbounded) return;
    SourceRef where = choice_.where;
    where.field = "plan.round_to";
    const std::int64_t step = parse_bytes(choice_.round_to, where).count();
    const std::int64_t over = point.capacity_bytes % step;
    if (over == 0) return;
    result.recommended_bytes += step - over;
    result.recommended_size = bytes_text(result.recommended_bytes);
    result.notes.push_back(
        plan_note("size-rounded", {{"size", spaced(point.capacity)},
                                   {"step", spaced(choice_.round_to)},
                                   {"rounded", spaced(result.recommended_size)}}));
  }

  /// An undecided plan says what it knows, and that nothing backs it.
  std::string undecided_verdict() const {
    const PlanResult& result = out_.result;
    const std::string decides = fmt::format("What would decide: {}.", result.would_decide);
    if (!too_short_.empty()) return fmt::format("Not decided: {}. {}", too_short_, decides);
    std::string so_far;
    if (result.provisional >= 0) {
      const PlanPoint& point = result.points[static_cast<std::size_t>(result.provisional)];
      const std::string on = point.replications > 0
                                 ? fmt::format("{} replicate{}", point.replications,
                                               point.replications == 1 ? "" : "s")
                                 : "one run";
      so_far = point.verdict == CellVerdict::kLooksMet
                   ? fmt::format("{} meets every target in {}", spaced(point.name), on)
                   : fmt::format("{} comes nearest in {}: {}", spaced(point.name), on,
                                 miss_words(point));
      so_far += fmt::format(", and {} confidence needs more. ", format_percent(choice_.confidence));
    }
    const bool budget = result.answer.cause == AnswerCause::kBudget;
    return fmt::format("Not decided{}: {}{}", budget ? " within the budget" : "",
                       so_far.empty() ? "nothing has run on replicates. " : so_far, decides);
  }

  SearchSpace space_;
  KnownTrials known_;
  const JsonSource* source_;
  std::vector<std::uint32_t> candidates_;  ///< cells that may be recommended
  PlanChoice choice_;
  std::optional<Prices> prices_;
  TrialRunner& runner_;
  bool other_recordings_;
  PlanOutcome out_;
  CellTrials trials_;
  std::uint64_t consequence_runs_ = 0;  // expected behind the decision
  std::string too_short_;               ///< why nothing could be judged
};

TrialRunnerOptions runner_options(const Scenario& scenario, const PlanOptions& options) {
  TrialRunnerOptions out;
  out.threads = options.threads;
  out.replicates = scenario.plan->replications > 1 ? kScreening + scenario.plan->replications : 1;
  out.cache = options.cache;
  out.budget_s = options.budget_s;
  out.reading = options.reading;
  out.progress = options.progress;
  out.phase = options.phase;
  return out;
}

/// What is probably not meant, told before anything runs. Throws InputError for an SLO that is
/// about no request.
Notes told_doubts(const Scenario& asked, const SearchSpace& space, TrialRunner& runner,
                  const PlanOptions& options) {
  for (const Variant& variant : space.variants) {
    check_slo_applies(variant.scenario, runner.workload(variant.scenario));
  }
  const Scenario& first = space.variants.front().scenario;
  Notes out;
  Notes units;  // worth ending the plan for
  for (Note& doubt : input_doubts(first, runner.workload(first))) {
    if (doubt.code != kFewForPercentile) units.push_back(doubt);
    out.push_back(std::move(doubt));
  }
  if (options.doubts && !units.empty()) options.doubts(units);
  if (auto note = concurrency_note(asked)) out.push_back(*std::move(note));
  return out;
}

}  // namespace

PlanOutcome make_plan(const JsonSource& source, const PlanOptions& options) {
  std::vector<Variant> variants = plan_variants(source);
  for (Variant& variant : variants) {
    if (options.check) options.check(variant.scenario);
  }
  const Scenario asked = load_scenario(source);
  TrialRunner runner(runner_options(asked, options));
  SearchSpace space =
      make_search_space(std::move(variants),
                        [&](const Scenario& s) -> const Workload& { return runner.workload(s); });
  const Notes doubts = told_doubts(asked, space, runner, options);
  check_prices(space);
  BracketedGrid grid = bracket_grid(source, std::move(space), runner, options.check);
  const Scenario base = load_scenario(grid.source);
  nlohmann::json inputs =
      scenario_inputs(base, runner.workload(grid.space.variants.front().scenario));
  if (const auto changes = assignments_of(grid.source); !changes.empty()) {
    inputs["scenario"]["set"] = changes;
  }
  PlanOutcome out = Planner(std::move(grid.space), std::move(grid.known), runner,
                            options.other_recordings, &grid.source)
                        .plan();
  out.warnings.insert(out.warnings.begin(), doubts.begin(), doubts.end());
  out.inputs = std::move(inputs);
  return out;
}

PlanOutcome plan_sizes(const Scenario& scenario, const Workload& workload, unsigned threads,
                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  check_plan(scenario);
  PlanOptions options;
  options.threads = threads;
  options.progress = progress;
  TrialRunner runner(runner_options(scenario, options));
  runner.give(scenario, workload);
  std::vector<Variant> one(1);
  one.front().scenario = scenario;
  SearchSpace space = make_search_space(
      std::move(one), [&](const Scenario&) -> const Workload& { return workload; });
  PlanOutcome out = Planner(std::move(space), {}, runner, false, nullptr).plan();
  out.inputs = scenario_inputs(scenario, workload);
  return out;
}

}  // namespace spillway

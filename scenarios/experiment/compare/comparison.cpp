#include "scenarios/experiment/compare/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include "reports/document.hpp"
#include "reports/format.hpp"
#include "reports/metric_words.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/run/run_json.hpp"
#include "scenarios/experiment/compare/account.hpp"
#include "scenarios/experiment/replicates.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/catalogue.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

constexpr std::string_view kTested[] = {"p99_ttft_ms",        "median_ttft_ms", "p99_tpot_ms",
                                        "median_tpot_ms",     "p99_e2el_ms",    "median_e2el_ms",
                                        "request_throughput", "goodput",        "cached_share",
                                        "preemptions",        "rejected"};
constexpr double kShift = 0.1;          // of a level: a larger one is told
constexpr double kBeyondQuantile = 20;  // requests that a tail percentile should rest on

struct RunOutcome {
  std::vector<double> metrics;
  std::vector<RunQuantity> account;
  std::string digest;
  std::uint64_t completed = 0;
  std::uint64_t events = 0;
  Notes warnings;
};

/// Of each replicate the variants with most events run first, as far as they have run before, so
/// that threads do not wait for one long run at the end. Safe from several threads.
class LongestFirst {
 public:
  LongestFirst(std::size_t variants, std::size_t replicates)
      : events_(variants), left_(replicates, std::vector<std::size_t>(variants)) {
    for (std::vector<std::size_t>& all : left_) std::iota(all.begin(), all.end(), std::size_t{0});
  }
  std::size_t next(std::size_t replicate) {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t>& left = left_[replicate];
    const auto longest =
        std::max_element(left.begin(), left.end(),
                         [&](std::size_t a, std::size_t b) { return events_[a] < events_[b]; });
    const std::size_t variant = *longest;
    left.erase(longest);
    return variant;
  }
  void ran(std::size_t variant, std::uint64_t events) {
    const std::lock_guard lock(mutex_);
    events_[variant] = events;
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> events_;
  std::vector<std::vector<std::size_t>> left_;
};

/// "mean p99 TTFT", of replicates; "mean TTFT".
std::string mean_words(std::string_view metric) {
  const std::string words = metric_words(metric);
  return words.starts_with("mean ") ? words : "mean " + words;
}

class Comparison {
 public:
  Comparison(const VariantSet& set, const CompareOptions& options) : set_(set), options_(options) {
    for (const std::string_view name : kTested)
      metrics_.push_back(find_metric(run_metrics(), name));
    const RunMetric* ranked = find_metric(run_metrics(), options.metric);
    const auto at = std::find(metrics_.begin(), metrics_.end(), ranked);
    if (at == metrics_.end()) metrics_.insert(metrics_.begin(), ranked);
    ranked_ = static_cast<std::size_t>(std::find(metrics_.begin(), metrics_.end(), ranked) -
                                       metrics_.begin());
  }

  CompareOutcome compare() {
    open_workloads();
    run_all();
    gather();
    test();
    rank();
    explain();
    note();
    return std::move(out_);
  }

 private:
  std::size_t variants() const { return set_.variants.size(); }
  const RunOutcome& run(std::size_t variant, std::uint32_t replicate) const {
    return runs_[replicate * variants() + variant];
  }

  /// Variants whose workloads are described alike share them.
  void open_workloads() {
    std::map<std::string, std::size_t> groups;
    for (std::size_t v = 0; v < variants(); ++v) {
      const std::string described = workload_identity(set_.variants[v].scenario);
      const auto [at, fresh] = groups.emplace(described, out_.workloads.size());
      if (fresh) out_.workloads.emplace_back();
      out_.workloads[at->second].variants.push_back(v);
      group_.push_back(at->second);
    }
    for (const SharedWorkload& group : out_.workloads) {
      replicates_.push_back(std::make_unique<Replicates>(
          set_.variants[group.variants.front()].scenario, options_.replications,
          static_cast<std::uint32_t>(group.variants.size()), options_.reading));
    }
    Replicates& first = *replicates_[group_[set_.baseline]];
    out_.inputs = scenario_inputs(set_.variants[set_.baseline].scenario, first.original());
    const bool resampled = std::any_of(replicates_.begin(), replicates_.end(),
                                       [](const auto& one) { return one->resampled(); });
    out_.result.replication = resampled ? Replication::kResampled : Replication::kIndependent;
    out_.result.replicates = first.method();
    if (const std::string claim = first.wider_claim(); !claim.empty()) {
      out_.result.replicates += "; intervals are for " + claim;
    }
  }

  /// Replicate by replicate, so that few are held at once; a recording itself comes last.
  void run_all() {
    std::atomic<std::uint64_t> done{0};
    recorded_ = std::all_of(replicates_.begin(), replicates_.end(),
                            [](const auto& one) { return one->resampled(); });
    runs_.resize(variants() * (options_.replications + (recorded_ ? 1 : 0)));
    LongestFirst order(variants(), runs_.size() / variants());
    parallel_for(runs_.size(), options_.threads, [&](std::size_t i) {
      const auto replicate = static_cast<std::uint32_t>(i / variants());
      const std::size_t variant = order.next(replicate);
      RunOutcome& outcome = runs_[replicate * variants() + variant];
      outcome = run_one(variant, replicate);
      order.ran(variant, outcome.events);
      const std::uint64_t finished = ++done;
      if (options_.progress) options_.progress(finished, runs_.size());
    });
    for (std::size_t g = 0; g < replicates_.size(); ++g) {
      for (std::uint32_t r = 0; r < options_.replications; ++r) {
        out_.workloads[g].hashes.push_back(replicates_[g]->hash(r));
      }
    }
  }

  RunOutcome run_one(std::size_t variant, std::uint32_t replicate) {
    Replicates& replicates = *replicates_[group_[variant]];
    const Workload& workload = replicates.get(replicate);
    Scenario scenario = set_.variants[variant].scenario;
    scenario.seed = scenario.workload->arrival.seed = replicates.seed(replicate);
    TurnClasses turns(workload);
    SimulationOptions simulation;
    simulation.observers.push_back(&turns);
    SimulationOutcome outcome = simulate(scenario, workload, simulation);
    replicates.done(replicate);
    RunOutcome out;
    for (const RunMetric* metric : metrics_) out.metrics.push_back(metric->value(outcome.result));
    out.account = account_of(outcome.result, &turns);
    out.digest = digest_of(to_json(outcome.result));
    out.completed = outcome.result.completed;
    out.events = outcome.result.sim.events;
    if (replicate == 0) out.warnings = std::move(outcome.warnings);
    return out;
  }

  void gather() {
    CompareResult& result = out_.result;
    result.metric = options_.metric;
    result.replications = options_.replications;
    result.baseline = set_.baseline;
    for (std::size_t v = 0; v < variants(); ++v) {
      ComparedVariant variant;
      variant.name = set_.variants[v].name;
      variant.values = set_.variants[v].values;
      variant.engine_lacks = engine_lacks(set_.variants[v].scenario);
      for (std::size_t m = 0; m < metrics_.size(); ++m) {
        ComparedMetric metric;
        metric.name = metrics_[m]->name;
        metric.lower_is_better = metrics_[m]->lower_is_better;
        for (std::uint32_t r = 0; r < options_.replications; ++r) {
          metric.values.push_back(run(v, r).metrics[m]);
        }
        metric.mean = mean_of(metric.values);
        if (recorded_) metric.recorded = run(v, options_.replications).metrics[m];
        variant.metrics.push_back(std::move(metric));
      }
      for (std::uint32_t r = 0; r < options_.replications; ++r) {
        variant.digests.push_back(run(v, r).digest);
      }
      result.variants.push_back(std::move(variant));
    }
  }

  void test() {
    CompareResult& result = out_.result;
    const ComparedVariant& base = result.variants[result.baseline];
    std::vector<ComparedMetric*> tested;
    std::vector<double> p;
    for (std::size_t v = 0; v < variants(); ++v) {
      if (v == result.baseline) continue;
      for (std::size_t m = 0; m < metrics_.size(); ++m) {
        ComparedMetric& metric = result.variants[v].metrics[m];
        metric.difference =
            paired_difference(metric.values, base.metrics[m].values, result.replication);
        metric.verdict = metric.difference.any ? Verdict::kNotTested : Verdict::kEqual;
        if (!metric.difference.interval) continue;
        tested.push_back(&metric);
        p.push_back(metric.difference.interval->p);
      }
    }
    result.tests = tested.size();
    const std::vector<double> adjusted = holm_adjusted(p);
    for (std::size_t i = 0; i < tested.size(); ++i) {
      ComparedMetric& metric = *tested[i];
      metric.adjusted_p = adjusted[i];
      if (!metric.difference.any) continue;
      const bool lower = metric.difference.mean < 0;
      metric.verdict = adjusted[i] >= kAlpha             ? Verdict::kUndecided
                       : lower == metric.lower_is_better ? Verdict::kBetter
                                                         : Verdict::kWorse;
    }
  }

  const ComparedMetric& ranked(std::size_t variant) const {
    return out_.result.variants[variant].metrics[ranked_];
  }

  /// Latencies are of completed requests: a variant that completes none has no figure to rank by.
  bool serves(std::size_t variant) const {
    for (std::uint32_t r = 0; r < options_.replications; ++r) {
      if (run(variant, r).completed == 0) return false;
    }
    return true;
  }
  bool runs_in_engine(std::size_t variant) const {
    return out_.result.variants[variant].engine_lacks.empty();
  }
  const ComparedMetric& rejected(std::size_t variant) const {
    const auto& metrics = out_.result.variants[variant].metrics;
    return *std::find_if(metrics.begin(), metrics.end(),
                         [](const ComparedMetric& metric) { return metric.name == "rejected"; });
  }

  void rank() {
    CompareResult& result = out_.result;
    result.ranking.resize(variants());
    std::iota(result.ranking.begin(), result.ranking.end(), std::size_t{0});
    std::stable_sort(result.ranking.begin(), result.ranking.end(),
                     [&](std::size_t a, std::size_t b) {
                       if (runs_in_engine(a) != runs_in_engine(b)) return runs_in_engine(a);
                       if (serves(a) != serves(b)) return serves(a);
                       const double difference = ranked(a).mean - ranked(b).mean;
                       return ranked(a).lower_is_better ? difference < 0 : difference > 0;
                     });
    const std::size_t best = result.ranking.front();
    const std::string& base = result.variants[result.baseline].name;
    std::map<Verdict, int> counts;
    for (std::size_t v = 0; v < variants(); ++v) ++counts[ranked(v).verdict];
    if (best == result.baseline) {
      result.verdict =
          fmt::format("No variant{} has a better {} than the baseline {}",
                      runs_in_engine(result.ranking.back()) ? "" : " that the engine runs",
                      mean_words(result.metric), base);
    } else {
      const ComparedMetric& metric = ranked(best);
      const auto [own, of_base] =
          told_apart(result.metric, metric.mean, ranked(result.baseline).mean);
      result.verdict =
          fmt::format("{} has the best {}: {} against {} of the baseline {}",
                      result.variants[best].name, mean_words(result.metric), own, of_base, base);
      if (rejected(best).mean != rejected(result.baseline).mean) {
        result.verdict +=
            fmt::format(", with {} requests rejected against {}", format_real(rejected(best).mean),
                        format_real(rejected(result.baseline).mean));
      }
      if (metric.verdict == Verdict::kUndecided) {
        result.verdict += ", which these replications do not tell from chance";
      } else if (metric.verdict == Verdict::kNotTested) {
        result.verdict +=
            fmt::format(", without an interval (that takes {} replications)", kLeastReplications);
      }
    }
    if (result.tests > 0) {
      result.verdict += fmt::format(" ({} better, {} worse, {} undecided)",
                                    counts[Verdict::kBetter], counts[Verdict::kWorse],
                                    counts[Verdict::kUndecided] + counts[Verdict::kEqual]);
    }
  }

  void explain() {
    CompareResult& result = out_.result;
    const auto accounts = [&](std::size_t v) {
      std::vector<std::vector<RunQuantity>> all;
      for (std::uint32_t r = 0; r < options_.replications; ++r) all.push_back(run(v, r).account);
      return all;
    };
    const auto base = accounts(result.baseline);
    for (std::size_t v = 0; v < variants(); ++v) {
      if (v == result.baseline) continue;
      ComparedVariant& variant = result.variants[v];
      variant.moved = moved_quantities(accounts(v), base, result.replication);
      variant.reason = reason_of(variant.metrics[ranked_], variant.moved);
    }
  }

  /// Stores of other projects are modelled without asynchronous scheduling.
  void note_scheduling() {
    std::vector<std::string> with;
    std::vector<std::string> without;
    for (const Variant& variant : set_.variants) {
      const EngineConfig& engine = variant.scenario.engine;
      if (engine.family != EngineFamily::kVllmV1) continue;
      (engine.async_scheduling ? with : without).push_back(variant.name);
    }
    if (with.empty() || without.empty()) return;
    out_.warnings.push_back(
        study_note("scheduling-differs", {{"without", fmt::format("{}", fmt::join(without, ", "))},
                                          {"with", fmt::format("{}", fmt::join(with, ", "))}}));
  }

  void note() {
    Notes& notes = out_.warnings;
    notes.push_back(study_note("replicates-made", {{"method", out_.result.replicates}}));
    for (std::size_t v = 0; v < variants(); ++v) {
      if (serves(v)) continue;
      notes.push_back(study_note("serves-nobody", {{"variant", out_.result.variants[v].name}}));
    }
    for (std::size_t v = 0; v < variants(); ++v) {
      if (runs_in_engine(v) || !runs_in_engine(out_.result.ranking.front())) continue;
      notes.push_back(
          study_note("engine-cannot-run", {{"variant", out_.result.variants[v].name},
                                           {"engine", engine_name(set_.variants[v].scenario)},
                                           {"lacks", out_.result.variants[v].engine_lacks}}));
    }
    note_scheduling();
    const ComparedMetric& base = ranked(set_.baseline);
    if (base.recorded && std::fabs(base.mean - *base.recorded) > kShift * *base.recorded) {
      // As load varies around the recorded one, queues grow by more than they shrink.
      notes.push_back(
          study_note("levels-differ", {{"metric", metric_words(base.name)},
                                       {"recorded", figure_words(base.name, *base.recorded)},
                                       {"mean", figure_words(base.name, base.mean)},
                                       {"recorded_value", *base.recorded},
                                       {"mean_value", base.mean}}));
    }
    if (out_.workloads.size() > 1) {
      notes.push_back(study_note("workloads-differ"));
    }
    const std::map<std::string, double> tails = {{"p90", 0.1}, {"p95", 0.05}, {"p99", 0.01}};
    const auto tail = tails.find(options_.metric.substr(0, 3));
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    for (const RunOutcome& one : runs_) {
      least = std::min(least, one.completed);
      most = std::max(most, one.completed);
    }
    if (tail != tails.end() && static_cast<double>(least) * tail->second < kBeyondQuantile) {
      notes.push_back(
          study_note("few-beyond-percentile",
                     {{"metric", metric_words(options_.metric)},
                      {"requests", least},
                      {"least", std::llround(kBeyondQuantile)},
                      {"needed", std::llround(std::ceil(kBeyondQuantile / tail->second))}}));
    }
    for (std::uint32_t r = 0; r < options_.replications; ++r) {
      for (std::size_t v = 0; v < variants(); ++v) {
        if (run(v, r).completed == run(set_.baseline, r).completed) continue;
        notes.push_back(
            study_note("completions-differ", {{"variant", set_.variants[v].name},
                                              {"requests", run(v, r).completed},
                                              {"replicate", r},
                                              {"base_requests", run(set_.baseline, r).completed}}));
        r = options_.replications - 1;  // once is enough
        break;
      }
    }
    for (const RunOutcome& one : runs_) {  // of the first replicate
      for (const Note& warning : one.warnings) add_once(notes, warning);
    }
  }

  const VariantSet& set_;
  const CompareOptions& options_;
  std::vector<RunOutcome> runs_;
  std::vector<const RunMetric*> metrics_;
  std::size_t ranked_ = 0;
  bool recorded_ = false;           ///< the recording itself runs too, behind its resamples
  std::vector<std::size_t> group_;  ///< of each variant
  std::vector<std::unique_ptr<Replicates>> replicates_;
  CompareOutcome out_;
};

}  // namespace

void check_metric(const std::string& metric) {
  if (find_metric(run_metrics(), metric) != nullptr) return;
  throw InputError(Fault::kUsage, {"--metric", 0, ""},
                   unknown_name("metric", metric, metric_names(run_metrics())));
}

CompareOutcome compare(const VariantSet& set, const CompareOptions& options) {
  KV_ASSERT(options.replications > 0, "no replication");
  return Comparison(set, options).compare();
}

}  // namespace spillway

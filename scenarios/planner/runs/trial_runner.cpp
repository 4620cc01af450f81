#include "scenarios/planner/runs/trial_runner.hpp"

#include <algorithm>
#include <optional>

#include "reports/format.hpp"
#include "scenarios/experiment/replicates.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

// Of a longer replicate, which is at least 32 times as long as its queues, twice what they last
// (selection/clusters.hpp).
constexpr double kLongerWarmUp = 1.0 / 16;

}  // namespace

/// One workload and its replicates: read from the scenario's trace, or given.
class TrialRunner::Group {
 public:
  Group(const Scenario& scenario, const TrialRunnerOptions& options)
      : seed_(scenario.seed),
        replicates_(scenario, options.replicates, kKept, options.reading,
                    requests_needed(scenario.slo)) {
    if (!scenario.workload->generated()) content_ = original().content_hash();
  }
  Group(const Scenario& scenario, const Workload& workload, const TrialRunnerOptions& options)
      : seed_(scenario.seed),
        replicates_(scenario, workload, options.replicates, kKept, options.reading,
                    requests_needed(scenario.slo)),
        content_(workload.content_hash()) {}

  const Workload& original() const { return replicates_.original(); }
  /// One that is longer than usual lies in `drawn` for as long as it is needed.
  const Workload& replicate(std::uint32_t index, std::uint32_t length,
                            std::optional<Workload>& drawn) {
    return length > 1 ? drawn.emplace(replicates_.longer(index, length)) : replicate(index);
  }
  const Workload& replicate(std::uint32_t index) {
    return index == kWorkloadItself ? original() : replicates_.get(index);
  }
  std::uint64_t seed(std::uint32_t index, std::uint32_t length) const {
    if (length > 1) return replicates_.longer_seed(index, length);
    return index == kWorkloadItself ? seed_ : replicates_.seed(index);
  }
  /// Content of what was read; 0 where it was generated.
  std::uint64_t content() const { return content_; }
  const Replicates& replicates() const { return replicates_; }

 private:
  /// Users that never come to an end: a replicate may be asked for until the plan is made.
  static constexpr std::uint32_t kKept = ~std::uint32_t{0};

  std::uint64_t seed_;
  Replicates replicates_;
  std::uint64_t content_ = 0;
};

TrialRunner::TrialRunner(TrialRunnerOptions options)
    : options_(std::move(options)), start_(std::chrono::steady_clock::now()) {
  if (options_.budget_s <= 0) return;
  options_.reading = [this, told = options_.reading](std::uint64_t done, std::uint64_t total) {
    if (told) told(done, total);
    if (out_of_time()) fail_in_time("the trace was read");
  };
}
TrialRunner::~TrialRunner() = default;

void TrialRunner::give(const Scenario& scenario, const Workload& workload) {
  groups_[workload_identity(scenario)] = std::make_unique<Group>(scenario, workload, options_);
}

TrialRunner::Group& TrialRunner::group(const Scenario& scenario) {
  auto& slot = groups_[workload_identity(scenario)];
  if (!slot) slot = std::make_unique<Group>(scenario, options_);
  return *slot;
}

const Workload& TrialRunner::workload(const Scenario& scenario) {
  return group(scenario).original();
}

const Replicates& TrialRunner::replicates(const Scenario& scenario) {
  return group(scenario).replicates();
}

const Workload& TrialRunner::replicate(const Scenario& scenario, std::uint32_t index) {
  return group(scenario).replicate(index);
}

Notes TrialRunner::notes() const {
  return cache_ ? cache_->notes() : Notes();
}

double TrialRunner::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool TrialRunner::out_of_time() const {
  return options_.budget_s > 0 && seconds() > options_.budget_s + grace_s_;
}

std::function<bool()> TrialRunner::stop() const {
  if (options_.budget_s <= 0) return {};
  return asked_seldom([this] { return out_of_time(); });
}

void TrialRunner::fail_in_time(const std::string& before) const {
  throw InputError(
      Fault::kInconclusive, {"--budget", 0, ""},
      fmt::format("{} s ended before {}, and nothing is answered; expected more time{}",
                  format_real(options_.budget_s), before,
                  options_.cache.empty() ? ", or --cache, with which the next plan goes on" : ""));
}

std::optional<Trial> TrialRunner::recall(const Scenario& scenario, std::uint32_t replicate,
                                         const std::string& change, bool may_cut) {
  if (!cache_) return std::nullopt;
  TrialCache::Question question{group(scenario).content(), {}, may_cut, change};
  if (replicate != kWorkloadItself) question.replicate = replicate;
  return cache_->find(scenario, question);
}

void TrialRunner::keep(const Scenario& scenario, std::uint32_t replicate, const std::string& change,
                       const Trial& trial) {
  if (!cache_) return;
  TrialCache::Question question{group(scenario).content(), {}, false, change};
  if (replicate != kWorkloadItself) question.replicate = replicate;
  cache_->keep(scenario, question, trial);
}

Trial TrialRunner::run_one(const TrialRequest& request, Group& group) {
  const bool itself = request.replicate == kWorkloadItself;
  TrialCache::Question question;
  question.trace = group.content();
  if (!itself) question.replicate = request.replicate;
  question.may_cut = request.may_cut;
  question.length = request.length;
  const bool cached = cache_ && !request.cost;
  if (cached) {
    if (auto known = cache_->find(*request.scenario, question)) {
      ++reused_;
      return *std::move(known);
    }
  }
  std::optional<Workload> drawn;
  const Workload& workload = group.replicate(request.replicate, request.length, drawn);
  Scenario scenario = *request.scenario;
  scenario.seed = scenario.workload->arrival.seed = group.seed(request.replicate, request.length);
  TrialOptions options;
  options.simulation.stop = stop();
  options.stop_when_decided = request.may_cut;
  options.find_warm_up = !itself;  // its figures are those that `run` reports
  if (request.length > 1) options.least_warm_up = kLongerWarmUp;
  options.simulation.cost = request.cost;
  Trial trial = run_trial(scenario, workload, options);
  if (cached) cache_->keep(*request.scenario, question, trial);
  if (!itself) trial.run = {};
  return trial;
}

std::vector<Trial> TrialRunner::run(std::span<const TrialRequest> requests) {
  // Not before there is something to keep: bad input leaves no folder behind.
  if (!cache_ && !options_.cache.empty()) cache_ = std::make_unique<TrialCache>(options_.cache);
  std::vector<Group*> groups;  // opened here, one after the other
  for (const TrialRequest& request : requests) groups.push_back(&group(*request.scenario));
  std::vector<std::optional<Trial>> trials(requests.size());
  expected_ = std::max(expected_, done_ + requests.size());
  parallel_for(requests.size(), options_.threads, [&](std::size_t i) {
    if (out_of_time()) return;
    try {
      trials[i] = run_one(requests[i], *groups[i]);
    } catch (const OutOfTime&) {
      return;
    }
    const std::uint64_t now = ++done_;
    if (options_.progress) options_.progress(now, expected_);
  });
  std::vector<Trial> out;
  for (std::optional<Trial>& trial : trials) {
    if (!trial) break;
    out.push_back(std::move(*trial));
  }
  return out;
}

std::vector<Trial> TrialRunner::run_all(std::span<const TrialRequest> requests) {
  grace_s_ = kGraceS;
  std::vector<Trial> out = run(requests);
  grace_s_ = 0;
  if (out.size() == requests.size()) return out;
  fail_in_time(fmt::format("each of {} sizes had run once ({} had)", requests.size(), out.size()));
}

void TrialRunner::ran_one() {
  const std::uint64_t now = ++done_;
  if (options_.progress) options_.progress(now, std::max(now, expected_));
}

}  // namespace spillway

#include "scenarios/planner/trial_runner.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "scenarios/experiment/replicates.hpp"
#include "scenarios/parallel.hpp"
#include "scenarios/resolved.hpp"

namespace spillway {

/// One workload and its replicates: read from the scenario's trace, or given.
class TrialRunner::Group {
 public:
  Group(const Scenario& scenario, const TrialRunnerOptions& options)
      : seed_(scenario.seed),
        opened_(std::make_unique<Replicates>(scenario, options.replicates, ~0U, options.reading)) {}
  Group(const Scenario& scenario, const Workload& workload, std::uint32_t replicates)
      : seed_(scenario.seed), given_(&workload) {
    if (replicates > 1) bootstrap_.emplace(workload);
  }

  const Workload& original() const { return given_ != nullptr ? *given_ : opened_->original(); }
  const Workload& replicate(std::uint32_t index) {
    if (index == kWorkloadItself) return original();
    if (opened_) return opened_->get(index);
    const std::lock_guard lock(mutex_);
    auto at = drawn_.find(index);
    if (at == drawn_.end()) {
      at = drawn_.emplace(index, bootstrap_->replicate(seed_, index)).first;
    }
    return at->second;
  }
  std::uint64_t seed(std::uint32_t index) const {
    return index == kWorkloadItself ? seed_ : opened_ ? opened_->seed(index) : seed_ + index;
  }
  std::string method() const {
    if (opened_) return opened_->method();
    return bootstrap_ ? bootstrap_->method() : "the workload itself, once";
  }
  bool resampled() const { return opened_ ? opened_->resampled() : bootstrap_.has_value(); }

 private:
  std::uint64_t seed_;
  std::unique_ptr<Replicates> opened_;
  const Workload* given_ = nullptr;
  std::optional<SessionBootstrap> bootstrap_;
  std::mutex mutex_;
  std::map<std::uint32_t, Workload> drawn_;
};

TrialRunner::TrialRunner(TrialRunnerOptions options) : options_(std::move(options)) {}
TrialRunner::~TrialRunner() = default;

void TrialRunner::give(const Scenario& scenario, const Workload& workload) {
  groups_[workload_identity(scenario)] =
      std::make_unique<Group>(scenario, workload, options_.replicates);
}

TrialRunner::Group& TrialRunner::group(const Scenario& scenario) {
  auto& slot = groups_[workload_identity(scenario)];
  if (!slot) slot = std::make_unique<Group>(scenario, options_);
  return *slot;
}

const Workload& TrialRunner::workload(const Scenario& scenario) {
  return group(scenario).original();
}

std::string TrialRunner::method(const Scenario& scenario) {
  return group(scenario).method();
}

bool TrialRunner::resampled(const Scenario& scenario) {
  return group(scenario).resampled();
}

Trial TrialRunner::run_one(const TrialRequest& request, Group& group) {
  const Workload& workload = group.replicate(request.replicate);
  Scenario scenario = *request.scenario;
  scenario.seed = scenario.workload.arrival.seed = group.seed(request.replicate);
  TrialOptions options;
  options.stop_when_decided = request.may_cut;
  options.simulation.cost = request.cost;
  return run_trial(scenario, workload, options);
}

std::vector<Trial> TrialRunner::run(std::span<const TrialRequest> requests) {
  std::vector<Group*> groups;  // opened here, one after the other
  for (const TrialRequest& request : requests) groups.push_back(&group(*request.scenario));
  std::vector<Trial> out(requests.size());
  std::atomic<std::uint64_t> finished{done_};
  std::atomic<bool> ended{false};
  expected_ = std::max(expected_, done_ + requests.size());
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(requests.size(), options_.threads, [&](std::size_t i) {
    if (options_.interrupted && std::this_thread::get_id() == caller && options_.interrupted()) {
      ended = true;
    }
    if (ended) throw Interrupted();
    out[i] = run_one(requests[i], *groups[i]);
    const std::uint64_t now = ++finished;
    if (options_.progress) options_.progress(now, expected_);
  });
  done_ += requests.size();
  return out;
}

std::string workload_identity(const Scenario& s) {
  const nlohmann::json described = resolved_configuration(s)["workload"];
  nlohmann::json key = {{"trace", s.workload.trace},
                        {"days", s.workload.days},
                        {"seed", s.seed},
                        {"limit", s.workload.limit},
                        {"requests", s.workload.replication.requests}};
  if (!s.workload.synthetic) key["wait"] = s.workload.arrival.wait;  // read from traces only
  for (const char* part :
       {"synthetic", "block_tokens", "lenient", "reuse", "session_interval_s", "growth"}) {
    if (described.contains(part)) key[part] = described[part];
  }
  const GrowthChoice& g = s.workload.growth;
  key["growth"] = {g.rate, g.context, g.reuse, g.tenants};
  return key.dump();
}

}  // namespace spillway

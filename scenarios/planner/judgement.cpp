#include "scenarios/planner/judgement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/format.hpp"
#include "scenarios/run_metrics.hpp"
#include "scenarios/simulation.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr double kKneeShare = 0.95;   // of the gain that the whole grid offers
constexpr double kWorthwhile = 0.01;  // of prompt tokens: less is no gain
constexpr double kBusyLink = 0.80;    // beyond it a link counts as the bottleneck

/// Distance to the target as a share of it; negative when it is missed.
double margin(const SloResult& slo) {
  if (slo.target == 0) return slo.passed ? 0 : -1;
  const double distance = slo.at_least ? slo.value - slo.target : slo.target - slo.value;
  return distance / slo.target;
}

const SloResult& tightest(const RunResult& run) {
  return *std::min_element(
      run.slo.begin(), run.slo.end(),
      [](const SloResult& a, const SloResult& b) { return margin(a) < margin(b); });
}

/// What the workload alone says, whatever the size.
struct Demand {
  double arrivals_s = 0;  ///< over which requests fall due; 0: that depends on the answers
  /// Share of prompt blocks that an earlier prompt held; caches give more only from answers.
  double reusable = 0;
};

Demand demand_of(const Scenario& scenario, const Workload& workload) {
  Demand out;
  const ReuseCurve curve = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  if (curve.references > 0) {
    out.reusable =
        static_cast<double>(curve.block.infinite_hits()) / static_cast<double>(curve.references);
  }
  out.arrivals_s = offered_span_s(scenario.workload, workload);
  return out;
}

class Judge {
 public:
  Judge(PlanResult& plan, const Scenario& scenario, const Demand& demand)
      : plan_(plan), scenario_(scenario), demand_(demand) {}

  void judge() {
    find_recommendation();
    find_knee();
    find_binding();
    say();
    name_flags();
  }

 private:
  PlanPoint& point(int index) { return plan_.points[static_cast<std::size_t>(index)]; }
  int count() const { return static_cast<int>(plan_.points.size()); }

  void find_recommendation() {
    if (plan_.recommended < 0) return;
    plan_.headroom = margin(tightest(point(plan_.recommended).run));
    for (int i = plan_.recommended + 1; i < count(); ++i) {
      if (point(i).feasible) continue;
      plan_.notes.push_back(
          fmt::format("{} misses the SLO although {} meets it: more is not always faster here",
                      point(i).capacity, point(plan_.recommended).capacity));
    }
  }

  void find_knee() {
    double most = 0;
    for (const PlanPoint& p : plan_.points) most = std::max(most, cached_share(p.run));
    const double least = cached_share(plan_.points.front().run);
    if (most - least < kWorthwhile) {
      const bool alike = std::all_of(
          plan_.points.begin(), plan_.points.end(),
          [&](const PlanPoint& p) { return p.feasible == plan_.points.front().feasible; });
      if (!alike) {
        plan_.notes.push_back(fmt::format(
            "Caches supply {} to {} of prompt tokens: little more with size, yet enough "
            "to decide the SLO",
            format_percent(least), format_percent(most)));
        return;
      }
      plan_.notes.push_back(fmt::format(
          "{} adds hardly anything: caches supply {} to {} of prompt tokens",
          plan_.points.front().run.tiers.size() < 2 ? "the tier"
                                                    : "more than " + plan_.points.front().capacity,
          format_percent(least), format_percent(most)));
      return;
    }
    for (int i = count() - 1; i >= 0; --i) {
      if (cached_share(point(i).run) >= least + kKneeShare * (most - least)) plan_.knee = i;
    }
    if (plan_.knee < count() - 1) return;
    plan_.knee = -1;
    plan_.notes.push_back(
        fmt::format("No knee within the sizes tried: caches supply more and more up to {}",
                    point(count() - 1).capacity));
  }

  /// Half of the requests wait longer than a tenth of the time over which they all fall due, in
  /// the server's queue or in the clients'.
  bool overloaded(const RunResult& run) const {
    const double wait_ms = run.queue_time.median_ms + run.client_queue_time.median_ms;
    return demand_.arrivals_s > 0 && wait_ms / 1e3 > demand_.arrivals_s / 10;
  }

  /// What limits the run at the recommended size, or at the size that comes nearest.
  void find_binding() {
    const int at = plan_.recommended >= 0 ? plan_.recommended : nearest();
    const RunResult& run = point(at).run;
    for (const LinkResult& link : run.links) {
      if (link.busy_fraction < kBusyLink) continue;
      plan_.binding = fmt::format("bandwidth: link {} is busy {} of the time", link.name,
                                  format_percent(link.busy_fraction));
      return;
    }
    if (overloaded(run)) {
      plan_.binding = fmt::format(
          "overload: requests arrive at {}/s and leave at {}/s, and the queue grows as long as "
          "they "
          "arrive; caches shift that, but no size tried keeps up",
          format_real(static_cast<double>(run.requests) / demand_.arrivals_s),
          format_real(run.request_throughput));
      return;
    }
    const double here = cached_share(run);
    double larger = here;
    for (int i = at + 1; i < count(); ++i) larger = std::max(larger, cached_share(point(i).run));
    if (larger - here >= kWorthwhile) {
      plan_.binding =
          fmt::format("capacity: caches supply {} of prompt tokens here and {} with more",
                      format_percent(here), format_percent(larger));
      return;
    }
    if (demand_.reusable - larger >= kWorthwhile) {
      plan_.binding = fmt::format(
          "not known: up to {}, the largest size tried, caches supply {} of prompt tokens, while "
          "about {} of prompt blocks are repeated",
          point(count() - 1).capacity, format_percent(larger), format_percent(demand_.reusable));
      return;
    }
    plan_.binding = fmt::format(
        "compute: caches supply {} of prompt tokens, and hardly more than that is repeated at all",
        format_percent(here));
  }

  int nearest() {
    int best = 0;
    for (int i = 1; i < count(); ++i) {
      if (margin(tightest(point(i).run)) > margin(tightest(point(best).run))) best = i;
    }
    return best;
  }

  void say() {
    if (plan_.recommended < 0) {
      const PlanPoint& near = point(nearest());
      const SloResult& miss = tightest(near.run);
      plan_.verdict = fmt::format("No size meets the SLO. {} comes nearest: {} is {}, target {} {}",
                                  near.capacity, miss.name, format_real(miss.value),
                                  miss.at_least ? "at least" : "at most", format_real(miss.target));
      if (near.run.completed < near.run.requests) {
        plan_.verdict += fmt::format(", and {} of {} requests do not complete",
                                     near.run.requests - near.run.completed, near.run.requests);
      }
      return;
    }
    const PlanPoint& chosen = point(plan_.recommended);
    const SloResult& slo = tightest(chosen.run);
    plan_.verdict =
        fmt::format("{}: {} is {}, target {} {} ({} headroom)", choice(chosen), slo.name,
                    format_real(slo.value), slo.at_least ? "at least" : "at most",
                    format_real(slo.target), format_percent(plan_.headroom));
  }

  std::string choice(const PlanPoint& chosen) {
    if (chosen.run.tiers.size() < 2) return fmt::format("No {} is needed", plan_.tier);
    if (plan_.recommended == 0) {
      return fmt::format("The smallest {} tried, {}, meets the SLO (try less)", plan_.tier,
                         chosen.capacity);
    }
    return fmt::format("The smallest {} tried that meets the SLO is {} ({} misses it)", plan_.tier,
                       chosen.capacity, point(plan_.recommended - 1).capacity);
  }

  /// What to set in vLLM (vllm/config: kv_offloading_size is in GiB, summed over ranks), with what
  /// the answer assumes beside it.
  void name_flags() {
    if (plan_.recommended < 0) return;
    const PlanPoint& chosen = point(plan_.recommended);
    if (chosen.unbounded) return;
    std::string flags;
    const bool v0 = scenario_.engine.family == EngineFamily::kVllmV0;
    if (v0 && chosen.run.tiers.size() > 1) {
      flags += fmt::format(" --preemption-mode swap --swap-space {:.6g}",
                           static_cast<double>(chosen.capacity_bytes) / (1 << 30));
    }
    // Its native offload keeps blocks in host memory only.
    if (!v0 && chosen.run.tiers.size() > 1 && !scenario_.tier->storage) {
      flags += fmt::format(" --kv-offloading-backend native --kv-offloading-size {:.6g}",
                           static_cast<double>(chosen.capacity_bytes) / (1 << 30));
    }
    const EngineConfig& e = scenario_.engine;
    const auto above_one = [&](const char* flag, std::uint32_t value) {
      if (value > 1) flags += fmt::format(" --{}-parallel-size {}", flag, value);
    };
    above_one("tensor", e.tensor_parallel);
    above_one("pipeline", e.pipeline_parallel);
    above_one("data", e.data_parallel);
    if (e.priority_scheduling) flags += " --scheduling-policy priority";
    if (scenario_.pool_given) {
      flags += fmt::format(" --num-gpu-blocks-override {}", e.num_gpu_blocks);
    } else {
      flags += fmt::format(" --gpu-memory-utilization {}", scenario_.gpu_memory_utilization);
    }
    flags += fmt::format(" --max-num-seqs {} --max-num-batched-tokens {}", e.max_num_seqs,
                         e.max_num_batched_tokens);
    if (e.max_model_len > 0) flags += fmt::format(" --max-model-len {}", e.max_model_len);
    if (scenario_.model.kv_dtype == KvDtype::kFp8) flags += " --kv-cache-dtype fp8";
    plan_.notes.push_back(fmt::format("Set in vLLM ({}):{}", scenario_.preset, flags));
    if (scenario_.admission.name() != "always") {
      plan_.notes.push_back(fmt::format(
          "Those flags do not cover the admission of requests ({}): it has to stand before vLLM",
          scenario_.admission.text()));
    }
    if (e.simple_offload && chosen.run.tiers.size() > 1) {
      plan_.notes.push_back(
          fmt::format("They start the native connector; the one simulated takes "
                      "VLLM_USE_SIMPLE_KV_OFFLOAD=1 in "
                      "the environment{}",
                      e.lazy_offload ? ", with lazy_offload in kv_connector_extra_config" : ""));
    }
    if (!scenario_.workload.classes.empty()) {
      plan_.notes.push_back(
          "Nor do they set classes: priority and max_offload_tokens go with each request "
          "(kv_transfer_params)");
    }
    if (!scenario_.behind.empty() && chosen.run.tiers.size() > 1) {
      plan_.notes.push_back(
          "Those flags do not set the tiers behind: vLLM takes them as secondary_tiers in "
          "kv_connector_extra_config, with spec_name TieringOffloadingSpec");
    }
    if (const std::string extra = connector_extra(); !extra.empty()) {
      plan_.notes.push_back(
          fmt::format("Nor do they set the connector; in kv_connector_extra_config: {}", extra));
    }
    if (scenario_.tier->write_admission.name() != "always") {
      plan_.notes.push_back(fmt::format(
          "Those flags do not set write admission ({}); vLLM's own is store_threshold in "
          "kv_connector_extra_config",
          scenario_.tier->write_admission.text()));
    }
  }

  /// What of the connector the scenario has otherwise than vLLM; empty: nothing.
  std::string connector_extra() const {
    const EngineConfig& e = scenario_.engine;
    std::vector<std::string> parts;
    if (e.blocks_per_chunk > 1) {
      parts.push_back(fmt::format("blocks_per_chunk {}", e.blocks_per_chunk));
    }
    if (scenario_.tier->eviction.name() == "vllm-arc") parts.push_back("eviction_policy arc");
    if (e.store_threshold > 1) {
      parts.push_back(fmt::format("store_threshold {}, max_tracker_size {}", e.store_threshold,
                                  e.max_tracker_size));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  PlanResult& plan_;
  const Scenario& scenario_;
  const Demand& demand_;
};

}  // namespace

void judge(PlanResult& plan, const SearchSpace& space, const Workload& workload) {
  const auto at = static_cast<std::size_t>(std::max(0, plan.recommended));
  const Scenario& scenario = space.cells[at].scenario;
  Judge(plan, scenario, demand_of(scenario, workload)).judge();
}

}  // namespace spillway

#include "scenarios/planner/consequences/factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr double kAssumedError = 0.10;  // where nothing says how well times are known

std::int64_t scaled(std::int64_t value, double factor) {
  if (value == 0) return 0;  // no limit of this sort
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(value) * factor));
}

void scale_table(RateTable& table, double factor) {
  for (double& gbs : table.gbs) gbs *= factor;
}

void scale_link(LinkChoice& link, double factor) {
  link.bytes_per_second = scaled(link.bytes_per_second, factor);
  scale_table(link.table, factor);
  if (link.kernel_table) scale_table(*link.kernel_table, factor);
}

void scale_lane(StorageLane& lane, double factor) {
  for (std::int64_t* rate : {&lane.total_rate, &lane.client_rate, &lane.slot_rate}) {
    *rate = scaled(*rate, factor);
  }
  for (std::int64_t& rate : lane.rate_by_flows) rate = scaled(rate, factor);
}

void scale_device(TierChoice& tier, double factor) {
  if (!tier.storage) return;
  StorageSpec& spec = tier.storage->spec;
  scale_lane(spec.read, factor);
  scale_lane(spec.write, factor);
  if (!spec.write_cache) return;
  spec.write_cache->sustained_rate = scaled(spec.write_cache->sustained_rate, factor);
  spec.write_cache->drain_rate = scaled(spec.write_cache->drain_rate, factor);
}

/// How far times may be off, and where that is from.
struct CalibrationError {
  double share = kAssumedError;
  std::string source = "assumed: nothing says how well these times are known";
};

/// The worst held-out error of a profile's steps, else of its parts.
std::optional<CalibrationError> compute_error(const Scenario& s) {
  if (!s.compute->profile) return std::nullopt;
  double steps = 0;
  double parts = 0;
  for (const FitScore& score : s.compute->profile->scores) {
    if (score.held_out == 0) continue;
    const bool whole = score.part.starts_with("steps");
    (whole ? steps : parts) = std::max(whole ? steps : parts, score.held_out_mape);
  }
  const double percent = steps > 0 ? steps : parts;
  if (percent <= 0) return std::nullopt;
  return CalibrationError{
      percent / 100, fmt::format("held-out error of compute profile {}", s.compute->profile->name)};
}

std::optional<CalibrationError> copy_error(const Scenario& s) {
  if (!s.hardware) return std::nullopt;
  double percent = 0;
  for (const FitRecord& fit : s.hardware->fits) {
    if (fit.held_out > 0 && fit.target.starts_with("copy/")) {
      percent = std::max(percent, fit.held_out_mape);
    }
  }
  if (percent <= 0) return std::nullopt;
  return CalibrationError{percent / 100,
                          fmt::format("held-out error of hardware profile {}", s.hardware->name)};
}

/// The larger of both where both are known.
CalibrationError calibration_error(const Scenario& s) {
  const auto compute = compute_error(s);
  const auto copies = copy_error(s);
  if (compute && copies) return compute->share >= copies->share ? *compute : *copies;
  if (compute) return *compute;
  if (copies) return *copies;
  return {};
}

class FactorFinder {
 public:
  explicit FactorFinder(const Scenario& scenario) : s_(scenario) {}

  FactorList find() {
    add_workload();
    add("compute speed", [](double f, WhatIf& run) { run.compute_time /= f; });
    add_pool();
    add_paths();
    add_sizes();
    add_calibration();
    return std::move(out_);
  }

 private:
  void add(std::string name, std::function<void(double, WhatIf&)> apply) {
    out_.factors.push_back({std::move(name), 0.8, 1.2, {0.65, 0.5}, {1.5, 2}, std::move(apply)});
  }

  void leave_out(const char* name, const char* why) {
    out_.left_out.push_back(fmt::format("{}: {}", name, why));
  }

  void add_workload() {
    const bool clients = s_.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop;
    add(clients ? "clients" : "arrival rate",
        [](double f, WhatIf& run) { scale_rate(run.scenario, f); });
    add("length of prompts and answers", [](double f, WhatIf& run) { run.growth.context = f; });
    add("reuse", [](double f, WhatIf& run) { run.growth.reuse = f; });
    Factor& reuse = out_.factors.back();
    reuse.high = 1;  // what a trace does not show cannot be added to it
    reuse.above.clear();
    out_.notes.push_back(plan_note("reuse-only-falls"));
  }

  void add_paths() {
    if (!s_.tier) {
      leave_out("link bandwidth", "there is no tier below HBM");
      return;
    }
    add("link bandwidth", [](double f, WhatIf& run) { scale_links(run.scenario, f); });
    const bool storage = s_.tier->storage.has_value() || !s_.behind.empty();
    if (storage) {
      add("storage bandwidth", [](double f, WhatIf& run) { scale_storage(run.scenario, f); });
    }
  }

  /// What a server's start-up log says differs from estimates by up to about a tenth.
  void add_pool() {
    if (!s_.pool_estimated) return;
    out_.factors.push_back({std::string(kEstimatedBlocks),
                            1 - kAssumedError,
                            1 + kAssumedError,
                            {0.8},
                            {},
                            [](double f, WhatIf& run) { run.scenario.engine.scale_pool(f); }});
  }

  void add_sizes() {
    const bool plain = !(s_.tier && s_.tier->storage) && s_.behind.empty();
    const bool vllm = s_.engine.family == EngineFamily::kVllmV1;
    if (!vllm || s_.engine.groups.hybrid() || !plain) {
      leave_out("block size",
                "storage, KV groups and pools of other engines are laid out in their own blocks");
    } else if (s_.engine.block_tokens % 2 != 0) {
      leave_out("block size", "half of it is not a whole number of tokens");
    } else {
      out_.factors.push_back({"block size", 0.5, 2, {}, {}, [](double f, WhatIf& run) {
                                scale_blocks(run.scenario, f > 1);
                              }});
    }
    if (!s_.tier || s_.tier->capacity.kind == Capacity::Kind::kUnbounded ||
        s_.tier_blocks(s_.tier->capacity) == 0) {
      leave_out("share of the tier", "the recommended one is empty or has no bound");
      return;
    }
    add(fmt::format("share of {} that is there", s_.tier->name),
        [](double f, WhatIf& run) { scale_tier(run.scenario, f); });
  }

  void add_calibration() {
    const CalibrationError error = calibration_error(s_);
    add("time of steps and copies (calibration)", [](double f, WhatIf& run) {
      run.compute_time *= f;
      scale_links(run.scenario, 1 / f);
      scale_storage(run.scenario, 1 / f);
    });
    Factor& factor = out_.factors.back();
    factor.low = 1 - std::min(error.share, 0.5);
    factor.high = 1 + std::min(error.share, 1.0);
    out_.notes.push_back(
        plan_note("calibration-moves", {{"error_share", error.share}, {"source", error.source}}));
  }

  const Scenario& s_;
  FactorList out_;
};

}  // namespace

void scale_rate(Scenario& scenario, double factor) {
  WorkloadChoice& w = *scenario.workload;
  if (w.arrival.kind == ArrivalConfig::Kind::kClosedLoop) {
    const double clients = std::round(w.arrival.concurrency * factor);
    w.arrival.concurrency = static_cast<std::uint32_t>(std::max(1.0, clients));
    return;
  }
  w.arrival.speed = decimal_of(to_double(w.arrival.speed) * factor);
  const auto sooner = [&](Time& at) {
    if (at == Time::max()) return;
    at = Time(Duration(std::llround(static_cast<double>(at.time_since_epoch().count()) / factor)));
  };
  sooner(w.warmup);
  sooner(w.arrival.horizon);
}

void scale_links(Scenario& scenario, double factor) {
  if (scenario.down) scale_link(*scenario.down, factor);
  if (scenario.up) scale_link(*scenario.up, factor);
  for (LinkChoice& link : scenario.rank_links) scale_link(link, factor);
  for (MediumChoice& medium : scenario.media) {
    medium.bytes_per_second = scaled(medium.bytes_per_second, factor);
  }
}

void scale_storage(Scenario& scenario, double factor) {
  if (scenario.tier) scale_device(*scenario.tier, factor);
  for (TierChoice& tier : scenario.behind) scale_device(tier, factor);
}

void scale_tier(Scenario& scenario, double factor) {
  Capacity& capacity = scenario.tier->capacity;
  KV_ASSERT(capacity.kind != Capacity::Kind::kUnbounded, "a share of an unbounded tier");
  capacity.count = std::llround(static_cast<double>(capacity.count) * factor);
}

void scale_blocks(Scenario& scenario, bool up) {
  EngineConfig& c = scenario.engine;
  const std::uint32_t null_blocks = c.num_gpu_blocks - c.usable_blocks();
  const auto times = [up](auto value) {
    using Value = decltype(value);
    return static_cast<Value>(up ? value * 2 : value / 2);
  };
  const auto over = [up](auto value) {
    using Value = decltype(value);
    return static_cast<Value>(up ? value / 2 : value * 2);
  };
  c.block_tokens = times(c.block_tokens);
  c.block_bytes = Bytes(times(c.block_bytes.count()));
  c.num_gpu_blocks = std::max(1U, over(c.usable_blocks())) + null_blocks;
  // A chunk of one block follows it, larger ones keep their tokens.
  if (c.blocks_per_chunk > 1) c.blocks_per_chunk = over(c.blocks_per_chunk);
  if (!scenario.tier) return;
  if (scenario.tier->capacity.kind == Capacity::Kind::kBlocks) {
    scenario.tier->capacity.count = over(scenario.tier->capacity.count);
  }
}

FactorList factors_of(const Scenario& scenario) {
  return FactorFinder(scenario).find();
}

}  // namespace spillway

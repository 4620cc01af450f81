#include "scenarios/run/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "models/cluster/cluster.hpp"
#include "models/engine/stores/grouped_blocks.hpp"
#include "models/front_end.hpp"
#include "reports/notes/run_notes.hpp"
#include "scenarios/machine/host_memory.hpp"
#include "scenarios/run/binding.hpp"
#include "scenarios/run/conservation.hpp"
#include "scenarios/run/fleet.hpp"
#include "scenarios/run/measured_warnings.hpp"
#include "scenarios/run/run_warnings.hpp"
#include "scenarios/run/run_wiring.hpp"
#include "scenarios/run/tenant_figures.hpp"
#include "scenarios/run/until_end.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/front_end.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/decimal.hpp"
#include "sim/memory.hpp"
#include "sim/recorder.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;              // events
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 32;  // more than any workload names

/// A pool that no request of the workload fits is a mistake in the scenario, not an outcome.
/// `lower` blocks count too where running requests may hold them.
void check_pool(const Scenario& s, std::uint64_t lower, const Workload& workload) {
  if (s.engine.family == EngineFamily::kMooncake) return;  // it has none
  std::uint64_t usable = s.engine.usable_blocks();
  if (s.engine.residency == Residency::kStreaming) usable += std::min(lower, kMostBlocks);
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId r{i};
    std::uint64_t tokens = std::uint64_t{workload.input_tokens(r)} + workload.output_tokens(r) - 1;
    if (s.engine.token_budget > 0) tokens = std::min<std::uint64_t>(tokens, s.engine.token_budget);
    least = std::min(least, most_pages(s.engine, tokens));
    if (least <= usable) return;
  }
  throw InputError(Fault::kUsage, s.pool_where,
                   fmt::format("the pool holds {} blocks of {} tokens, but the smallest request "
                               "needs {}; expected room for at least one request",
                               usable, s.engine.block_tokens, least));
}

/// When a request that waits for nobody is due: as recorded, or on average where arrivals are
/// drawn, as the `position`-th of those; 0 in a closed loop.
double start_s(const ArrivalConfig& arrival, const Workload& workload, RequestId request,
               std::uint32_t position) {
  const double speed = to_double(arrival.speed);
  switch (arrival.kind) {
    case ArrivalConfig::Kind::kTrace:
      return seconds_of(workload.arrival(request)) / speed;
    case ArrivalConfig::Kind::kPoisson:
      return (position + 1.0) / (arrival.rate_per_s * speed);
    case ArrivalConfig::Kind::kClosedLoop:
      break;
  }
  return 0;
}

/// When the last request is due if every answer comes at once.
double last_due_s(const ArrivalConfig& arrival, const Workload& workload) {
  const std::uint32_t size = workload.size();
  if (!arrival.wait) return start_s(arrival, workload, RequestId{size - 1}, size - 1);
  std::vector<double> due_s(size);
  std::vector<double> shift_s(size, -1e300);  // of the session against the recording
  std::uint32_t starts = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const RequestId r{i};
    const double recorded_s = seconds_of(workload.arrival(r)) / to_double(arrival.speed);
    for (const RequestId before : workload.after(r)) {
      due_s[i] = std::max(due_s[i], due_s[raw(before)]);
      shift_s[i] = std::max(shift_s[i], shift_s[raw(before)]);
    }
    if (workload.after(r).empty()) {
      due_s[i] = start_s(arrival, workload, r, starts++);
      shift_s[i] = due_s[i] - recorded_s;
    } else if (workload.think_ns(r) >= 0) {
      due_s[i] += static_cast<double>(workload.think_ns(r)) / 1e9;
    } else {
      due_s[i] = std::max(due_s[i], recorded_s + shift_s[i]);
    }
  }
  return *std::max_element(due_s.begin(), due_s.end());
}

/// The clock holds 292 years; arrivals that take ten are a slip in the scenario.
void check_span(const Scenario& s, const Workload& workload) {
  constexpr double kMostS = 10 * 365.0 * 86'400;
  const double last_s = last_due_s(s.workload->arrival, workload);
  if (last_s <= kMostS) return;
  throw InputError(Fault::kUsage, s.workload->where,
                   fmt::format("at this speed the last request arrives after {:.0f} years; "
                               "expected at most 10",
                               last_s / 86'400 / 365));
}

/// A run that outlasts the clock: of what copies and stores, the slowest is probably a slip.
InputError too_slow(const Scenario& s, const std::string& what) {
  SourceRef where = s.workload->where;
  std::string name = "the step time (compute)";
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](std::int64_t rate, const SourceRef& place, const std::string& words) {
    if (rate <= 0 || rate >= least) return;
    least = rate;
    where = place;
    name = fmt::format("{}, {} bytes/s", words, rate);
  };
  const auto consider_link = [&](const LinkChoice& link) {
    if (link.affine) consider(link.bytes_per_second, {s.path, 0, "links"}, "link " + link.name);
  };
  if (s.down) consider_link(*s.down);
  if (s.up) consider_link(*s.up);
  for (const LinkChoice& link : s.rank_links) consider_link(link);
  for (const MediumChoice& medium : s.media) {
    consider(medium.bytes_per_second, {s.path, 0, "media"}, "medium " + medium.name);
  }
  const auto consider_tier = [&](const TierChoice& tier) {
    if (!tier.storage) return;
    SourceRef place = tier.where;
    place.field = "tiers.device";
    for (const StorageLane& lane : {tier.storage->spec.read, tier.storage->spec.write}) {
      consider(lowest_rate({lane.total_rate, lane.client_rate, lane.slot_rate}), place,
               "the device of tier " + tier.name);
    }
  };
  if (s.tier) consider_tier(*s.tier);
  for (const TierChoice& tier : s.behind) consider_tier(tier);
  return {Fault::kUsage, where,
          fmt::format("a run of this {}; expected higher rates: the slowest is {}", what, name)};
}

class Run {
 public:
  Run(const Scenario& scenario, const Workload& workload, const SimulationOptions& options)
      : s_(scenario),
        workload_(workload),
        options_(options),
        wiring_(scenario, options.cost),
        recorder_(wiring_.tiers(), wiring_.places().links(), request_targets(scenario, workload)),
        tenants_(scenario, workload),
        binding_(scenario.engine.max_num_seqs, scenario.engine.max_num_batched_tokens,
                 scenario.engines()),
        conservation_(workload.size(), wiring_.capacities(), scenario.engine.pipeline_parallel > 1),
        measured_(observers_, queue_, scenario.workload->end) {
    recorder_.set_end(scenario.workload->end);
    for (const Places::Medium& medium : wiring_.places().media()) {
      const auto rate = static_cast<double>(s_.media[medium.index].bytes_per_second);
      recorder_.set_medium(medium.link, BytesPerSecond(rate));
    }
    observers_.add(recorder_);
    if (tenants_.any()) observers_.add(tenants_);
    observers_.add(conservation_);
    observers_.add(binding_);
    for (Observer* observer : options.observers) observers_.add(*observer);
  }

  SimulationOutcome run() {
    const auto started = std::chrono::steady_clock::now();
    check_pool(s_, wiring_.tier_blocks(), workload_);
    check_span(s_, workload_);
    const std::vector<RequestClass> classes = classes_of(s_, workload_);
    const std::unique_ptr<FrontEnd> front_end = make_front_end();
    const auto parts = [&](std::uint32_t engine) {
      EngineParts out = wiring_.parts(engine);
      out.classes = classes;
      out.stages = options_.stages;
      if (front_end != nullptr) {
        if (options_.stages != nullptr) out.stages = front_end.get();
        out.tokens = front_end.get();
      }
      return out;
    };
    const std::unique_ptr<Router> router = make_fleet_router(s_, workload_);
    const NetworkSpec network = wiring_.network();
    Cluster cluster(
        queue_, workload_,
        {s_.engine.data_parallel, s_.fleet->replicas, &network, s_.lockstep(), router.get()}, parts,
        front_end != nullptr ? static_cast<Observer&>(*front_end) : measured_);
    Arrivals arrivals(
        queue_, workload_, s_.workload->arrival,
        front_end != nullptr ? static_cast<RequestSink&>(*front_end) : cluster.sink());
    if (front_end != nullptr) {
      front_end->connect(cluster.sink(), arrivals);
      cluster.set_listener(*front_end);
    } else {
      cluster.set_listener(arrivals);
    }
    std::uint32_t stuck = 0;
    bool stopped = false;
    try {
      arrivals.start();
      while (!stopped && queue_.step()) {
        stopped = options_.stop && options_.stop();
        if (options_.progress && queue_.executed() % kProgressEvery == 0) {
          options_.progress(conservation_.ended_requests(), workload_.size());
        }
      }
      if (!stopped) {
        stuck = cluster.finish_run();
        tell_unsent(arrivals.fates(), stuck > 0);
        conservation_.on_end(stuck);
      }
    } catch (const ClockOverflow& error) {
      throw too_slow(s_, error.what());
    } catch (const InternalError& error) {
      throw InternalError(fmt::format("{}; at simulated time {:.9f} s, event {}, seed {}",
                                      error.what(), seconds_of(queue_.now()), queue_.executed(),
                                      s_.seed));
    }
    wiring_.tell_busy(cluster,
                      [&](std::uint32_t link, Duration busy) { recorder_.set_busy(link, busy); });
    SimulationOutcome out{wiring_.gather(cluster, recorder_.result(s_.pool_block_bytes().count())),
                          s_.notes, stopped};
    if (front_end != nullptr) out.result.front_end = front_end_result(*front_end);
    append(out.warnings, measured_warnings(s_, workload_));
    tell_short(out);
    append(out.warnings, plain_notes(workload_.source().notes));
    out.result.steps_s = seconds_of(binding_.steps());
    if (out.result.collective_s && binding_.steps() > Duration(0)) {
      out.result.collective_share = *out.result.collective_s / seconds_of(binding_.steps());
    }
    out.result.binding = binding_.find(out.result);
    if (const auto& swap = out.result.swap; swap && !swap->fatal.empty()) {
      out.result.binding = {"swap_space", run_note("death-limits", {{"cause", swap->fatal}})};
    }
    tenants_.judge(out.result);
    if (router != nullptr) {
      append(out.warnings, fleet_notes(s_, workload_, cluster.requests_of_instances()));
    }
    if (!stopped) add_run_warnings(s_, workload_, cluster, stuck, out);
    warn_of_fit(s_, wiring_.reach(), out);
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    out.result.sim.events = queue_.executed();
    out.result.sim.wall_s = wall;
    out.result.sim.requests_per_wall_s = workload_.size() / wall;
    out.result.sim.steps_per_wall_s = static_cast<double>(out.result.engine_steps) / wall;
    out.result.sim.peak_rss_bytes = peak_resident();
    out.result.sim.memory_estimate_bytes = memory_estimate();
    return out;
  }

 private:
  /// Null: it takes no time.
  std::unique_ptr<FrontEnd> make_front_end() {
    const FrontEndConfig config = s_.front_end->all(s_.engine.data_parallel, s_.fleet->replicas);
    if (!config.any()) return nullptr;
    return std::make_unique<FrontEnd>(queue_, workload_, config, s_.workload->warmup, measured_,
                                      options_.stages);
  }

  FrontEndResult front_end_result(const FrontEnd& front_end) const {
    const FrontEndStats stats = front_end.stats();
    FrontEndResult out;
    out.processes = s_.front_end->all(s_.engine.data_parallel, s_.fleet->replicas).processes;
    const double possible_s = seconds_of(stats.span) * static_cast<double>(out.processes);
    if (possible_s > 0) out.busy_fraction = seconds_of(stats.busy) / possible_s;
    if (stats.chunks > 0) {
      out.tokens_per_chunk = static_cast<double>(stats.tokens) / static_cast<double>(stats.chunks);
    }
    return out;
  }

  /// Clients of a closed loop that ran out of requests, whose number only time should limit.
  void tell_short(SimulationOutcome& out) const {
    const WorkloadChoice& w = *s_.workload;
    if (!w.benchmark || w.benchmark->requests || w.end == Time::max()) return;
    if (w.arrival.kind != ArrivalConfig::Kind::kClosedLoop || queue_.now() >= w.end) return;
    out.warnings.push_back(run_note(
        "benchmark-short", {{"requests", workload_.size()}, {"seconds", seconds_of(w.end)}}));
  }

  /// Requests that the horizon cut off, and those whose clients wait for stuck ones.
  void tell_unsent(const std::vector<Arrivals::Fate>& fates, bool deadlock) {
    for (std::uint32_t i = 0; i < fates.size(); ++i) {
      if (fates[i] == Arrivals::Fate::kSent) continue;
      const bool cut = fates[i] == Arrivals::Fate::kCut;
      KV_ASSERT(cut || deadlock, "request {} was never sent", i);
      RequestRecord record;
      record.request = RequestId{i};
      record.input_tokens = workload_.input_tokens(record.request);
      record.output_tokens = workload_.output_tokens(record.request);
      record.status = cut ? RequestStatus::kNotSent : RequestStatus::kStuck;
      record.reason = cut ? Reason::kHorizon : Reason::kDeadlock;
      observers_.on_request(record);
    }
  }

  const Scenario& s_;
  const Workload& workload_;
  const SimulationOptions& options_;
  RunWiring wiring_;
  EventQueue queue_;
  Recorder recorder_;
  TenantFigures tenants_;
  BindingWatch binding_;
  Conservation conservation_;
  ObserverList observers_;
  UntilEnd measured_;
};

}  // namespace

std::function<bool()> asked_seldom(std::function<bool()> stop) {
  if (!stop) return {};
  constexpr std::uint32_t kAskEvery = 64;
  return [stop = std::move(stop), events = std::uint32_t{0}]() mutable {
    return ++events % kAskEvery == 0 && stop();
  };
}

double offered_span_s(const WorkloadChoice& choice, const Workload& workload) {
  const ArrivalConfig& arrival = choice.arrival;
  if (arrival.wait) return 0;
  const std::uint32_t last = workload.size() - 1;
  const double from_s =
      std::max(start_s(arrival, workload, RequestId{0}, 0), seconds_of(choice.warmup));
  const double to_s =
      std::min(start_s(arrival, workload, RequestId{last}, last), seconds_of(arrival.horizon));
  return std::max(0.0, to_s - from_s);
}

SimulationOutcome simulate(const Scenario& scenario, const Workload& workload,
                           const SimulationOptions& options) {
  try {
    if (const Bytes taken = scenario.engine.costs.hbm;
        taken > Bytes(0) && scenario.tier && scenario.tier_blocks(scenario.tier->capacity) > 0) {
      Scenario less = scenario;
      less.engine.num_gpu_blocks -= static_cast<std::uint32_t>(taken / less.engine.block_bytes);
      less.engine.costs.hbm = Bytes(0);
      return Run(less, workload, options).run();
    }
    return Run(scenario, workload, options).run();
  } catch (const MemoryShort& error) {
    throw InputError(
        Fault::kIo, scenario.workload->where,
        fmt::format("{}, for a run of {} requests with {} references to blocks of {} "
                    "tokens; expected fewer requests (workload.limit)",
                    error.what(), workload.size(), workload.references(), workload.block_tokens()));
  }
}

}  // namespace spillway

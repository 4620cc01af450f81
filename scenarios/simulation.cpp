#include "scenarios/simulation.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "models/engine/engine.hpp"
#include "models/tier/storage_link.hpp"
#include "reports/format.hpp"
#include "scenarios/conservation.hpp"
#include "scenarios/run_metrics.hpp"
#include "sim/decimal.hpp"
#include "sim/recorder.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kDownLink = 0;
constexpr std::uint32_t kUpLink = 1;
constexpr std::uint32_t kFirstMedium = 2;
constexpr std::uint64_t kProgressEvery = 1 << 16;              // events
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 32;  // more than any workload names

/// The per-request targets behind the scenario's latency SLOs (the strictest of each kind).
GoodputTargets goodput_targets(const std::vector<SloTarget>& slo) {
  GoodputTargets out;
  const auto tighten = [](std::optional<double>& target, double value) {
    target = target ? std::min(*target, value) : value;
  };
  for (const SloTarget& target : slo) {
    if (target.at_least) continue;
    if (target.name.find("ttft") != std::string::npos) tighten(out.ttft_ms, target.target);
    if (target.name.find("tpot") != std::string::npos) tighten(out.tpot_ms, target.target);
    if (target.name.find("e2el") != std::string::npos) tighten(out.e2el_ms, target.target);
  }
  return out;
}

/// A pool that no request of the workload fits is a mistake in the scenario, not an outcome.
/// `lower` blocks count too where running requests may hold them.
void check_pool(const Scenario& s, std::uint64_t lower, const Workload& workload) {
  std::uint64_t usable = s.engine.num_gpu_blocks - 1;
  if (s.engine.residency == Residency::kStreaming) usable += std::min(lower, kMostBlocks);
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId r{i};
    std::uint64_t tokens = std::uint64_t{workload.input_tokens(r)} + workload.output_tokens(r) - 1;
    if (s.engine.token_budget > 0) tokens = std::min<std::uint64_t>(tokens, s.engine.token_budget);
    least = std::min(least, (tokens + s.engine.block_tokens - 1) / s.engine.block_tokens);
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
  const double last_s = last_due_s(s.workload.arrival, workload);
  if (last_s <= kMostS) return;
  throw InputError(Fault::kUsage, s.workload.where,
                   fmt::format("at this speed the last request arrives after {:.0f} years; "
                               "expected at most 10",
                               last_s / 86'400 / 365));
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// Requests rejected because no admission could help them.
std::uint64_t exceeding(const RunResult& r) {
  for (const ReasonCount& reason : r.rejected_reasons) {
    if (reason.reason == name_of(Reason::kExceedsPool)) return reason.count;
  }
  return 0;
}

class Run {
 public:
  Run(const Scenario& scenario, const Workload& workload, const SimulationOptions& options)
      : s_(scenario),
        workload_(workload),
        options_(options),
        tier_blocks_(scenario.tier ? scenario.tier_blocks(scenario.tier->capacity) : 0),
        recorder_(tiers(), links(), goodput_targets(scenario.slo)),
        conservation_(workload.size(), {scenario.engine.num_gpu_blocks - 1, tier_blocks_}) {
    for (std::uint32_t i = 0; i < s_.media.size() && tiers() > 1; ++i) {
      const auto rate = static_cast<double>(s_.media[i].bytes_per_second);
      recorder_.set_medium(kFirstMedium + i, BytesPerSecond(rate));
    }
    observers_.add(recorder_);
    observers_.add(conservation_);
    for (Observer* observer : options.observers) observers_.add(*observer);
  }

  SimulationOutcome run() {
    const auto started = std::chrono::steady_clock::now();
    check_pool(s_, tier_blocks_, workload_);
    check_span(s_, workload_);
    Engine engine(queue_, workload_, parts(), observers_);
    Arrivals arrivals(queue_, workload_, s_.workload.arrival, engine);
    engine.set_listener(arrivals);
    std::uint32_t stuck = 0;
    try {
      arrivals.start();
      while (queue_.step()) {
        if (options_.progress && queue_.executed() % kProgressEvery == 0) {
          options_.progress(conservation_.ended_requests(), workload_.size());
        }
      }
      stuck = engine.finish_run();
      tell_unsent(arrivals.fates(), stuck > 0);
      conservation_.on_end(stuck);
    } catch (const InternalError& error) {
      throw InternalError(fmt::format("{}; at simulated time {:.9f} s, event {}, seed {}",
                                      error.what(), seconds_of(queue_.now()), queue_.executed(),
                                      s_.seed));
    }
    if (const StorageDevice* device = engine.storage()) {
      recorder_.set_busy(write_link(), device->busy(StorageOp::kWrite));
      recorder_.set_busy(read_link(), device->busy(StorageOp::kRead));
    }
    SimulationOutcome out{gather(engine), s_.notes};
    for (const std::string& note : workload_.source().notes) out.warnings.push_back(note);
    warn(out, engine, stuck);
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    out.result.sim.events = queue_.executed();
    out.result.sim.wall_s = wall;
    out.result.sim.requests_per_wall_s = workload_.size() / wall;
    out.result.sim.steps_per_wall_s = static_cast<double>(out.result.engine_steps) / wall;
    out.result.sim.peak_rss_bytes = peak_rss_bytes();
    return out;
  }

 private:
  /// HBM, and the tier below where the scenario gives it any room.
  std::uint32_t tiers() const { return tier_blocks_ > 0 ? 2 : 1; }

  bool has_storage() const { return tiers() == 2 && s_.tier->storage.has_value(); }
  bool direct() const { return s_.tier->storage->direct; }
  std::uint32_t after_media() const {
    return kFirstMedium + static_cast<std::uint32_t>(s_.media.size());
  }
  std::uint32_t write_link() const { return direct() ? kDownLink : after_media(); }
  std::uint32_t read_link() const { return direct() ? kUpLink : after_media() + 1; }

  /// Those between the tiers, then the media behind them, then those between host and storage.
  std::uint32_t links() const {
    if (tiers() == 1) return 0;
    return after_media() + (has_storage() && !direct() ? 2 : 0);
  }

  LaneSpec lane(std::uint32_t link, const LinkChoice& choice) const {
    LaneSpec out{link, choice.make(), choice.duplex_factor};
    out.submit = choice.submit;
    out.clients = choice.shared_by;
    for (const std::string& name : choice.through) {
      const auto at = std::find_if(s_.media.begin(), s_.media.end(),
                                   [&](const MediumChoice& m) { return m.name == name; });
      out.through.push_back(static_cast<std::uint32_t>(at - s_.media.begin()));
    }
    return out;
  }

  /// The device, bounded by the GPU's link too where it reaches the GPU itself.
  StorageDeviceConfig device() const {
    const StorageChoice& choice = *s_.tier->storage;
    StorageDeviceConfig out;
    out.spec = choice.direct ? direct_storage(choice.spec, s_.down->make()->capacity(),
                                              s_.up->make()->capacity())
                             : choice.spec;
    out.clients = choice.clients;
    out.seed = s_.seed;
    out.read_link = read_link();
    out.write_link = write_link();
    return out;
  }

  /// The way of a load, nothing else on it.
  std::unique_ptr<LinkModel> load_link() const {
    if (!has_storage()) return s_.up->make();
    const StorageDeviceConfig config = device();
    return make_storage_read_link(config.spec, config.clients, direct() ? nullptr : s_.up->make());
  }

  EngineParts parts() const {
    EngineParts out;
    out.config = s_.engine;
    out.admission = s_.admission;
    out.eviction = s_.hbm_eviction;
    out.cost = s_.make_cost();
    out.measure_from = s_.workload.warmup;
    if (tiers() == 1) return out;
    out.lower = std::make_unique<LowerTierConfig>();
    out.lower->capacity_blocks = tier_blocks_;
    out.lower->eviction = s_.tier->eviction;
    out.lower->write_admission = s_.tier->write_admission;
    out.lower->down = lane(kDownLink, *s_.down);
    out.lower->up = lane(kUpLink, *s_.up);
    out.lower->media.seed = s_.seed;
    for (std::uint32_t i = 0; i < s_.media.size(); ++i) {
      out.lower->media.media.push_back(
          {s_.media[i].bytes_per_second, kFirstMedium + i, s_.media[i].fifo});
    }
    if (has_storage()) {
      out.lower->storage = device();
      out.lower->direct = direct();
    }
    if (s_.load_at_break_even) out.lower->load_estimate = load_link();
    out.lower->interference = s_.copy_interference();
    return out;
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

  RunResult gather(const Engine& engine) const {
    RunResult r = recorder_.result(s_.engine.block_bytes.count());
    r.deferrals = engine.deferrals();
    r.flush_stall_s = seconds_of(engine.flush_stall());
    std::size_t series = r.series.size() - r.tiers.size() - r.links.size();

    const auto name_tier = [&](std::size_t i, const std::string& name, std::uint64_t blocks) {
      TierResult& tier = r.tiers[i];
      tier.name = name;
      tier.unbounded = blocks == ~std::uint64_t{0};
      tier.capacity_blocks = tier.unbounded ? 0 : blocks;
      tier.capacity_bytes =
          static_cast<std::int64_t>(tier.capacity_blocks) * s_.engine.block_bytes.count();
      r.prompt_tokens_by_source[i + 1].first = name;
      r.series[series++].name = name;
    };
    name_tier(0, "hbm", s_.engine.num_gpu_blocks - 1);
    const PrefixCacheCounters& prefix = engine.scheduler().counters();
    r.tiers[0].queries = prefix.queries;
    r.tiers[0].hits = prefix.hits;
    r.tiers[0].hits_resumed = prefix.hits_resumed;
    if (tiers() == 1) return r;

    name_tier(1, s_.tier->name, tier_blocks_);
    if (engine.streaming() != nullptr) {
      r.tiers[1].queries = engine.streaming()->lower_counters().queries;
      r.tiers[1].hits = engine.streaming()->lower_counters().hits;
    } else {
      gather_offload(engine.connector()->counters(), r);
    }
    r.load_choice = load_choice(engine);
    if (s_.copy_interference().any()) r.copy_harm_s = seconds_of(engine.copy_harm());
    if (s_.engine.load != LoadSemantics::kAsync) {
      r.load_wait = {engine.load_stalls(), seconds_of(engine.load_stall())};
    }
    const std::size_t first = series;  // of the links, in their order
    const auto name_link = [&](std::size_t i, const LinkChoice& choice) {
      r.links[i].name = choice.name;
      r.links[i].from = choice.from;
      r.links[i].to = choice.to;
      r.links[i].capacity_bytes_per_s = choice.make()->capacity().value();
      r.links[i].model = choice.source;
      r.series[first + i].name = choice.name;
    };
    if (!has_storage() || !direct()) {
      name_link(kDownLink, *s_.down);
      name_link(kUpLink, *s_.up);
    }
    for (std::size_t i = 0; i < s_.media.size(); ++i) {
      LinkResult& link = r.links[kFirstMedium + i];
      link.name = s_.media[i].name;
      link.model = s_.media[i].fifo ? "scenario, first come first served" : "scenario, fair shares";
      link.medium = true;
      link.capacity_bytes_per_s = static_cast<double>(s_.media[i].bytes_per_second);
      r.series[first + kFirstMedium + i].name = link.name;
    }
    if (has_storage()) gather_storage(r, *engine.storage(), first);
    return r;
  }

  /// The links to the device, and what the device did.
  void gather_storage(RunResult& r, const StorageDevice& storage, std::size_t first) const {
    const StorageDeviceConfig config = device();
    const StorageSpec& spec = config.spec;
    const std::string& tier = s_.tier->name;
    const std::string near(direct() ? "hbm" : TierChoice::kHost);
    const auto name_link = [&](std::uint32_t link, const char* way, const std::string& from,
                               const std::string& to, const StorageLane& lane) {
      LinkResult& l = r.links[link];
      l.name = fmt::format("{}-{}", tier, way);
      l.from = from;
      l.to = to;
      l.capacity_bytes_per_s = static_cast<double>(client_share(lane, config.clients));
      l.model = fmt::format("{}, {} operations in flight{}", name_of(spec.kind), spec.slots,
                            direct() ? ", direct" : "");
      r.series[first + link].name = l.name;
    };
    name_link(write_link(), "write", near, tier, spec.write);
    name_link(read_link(), "read", tier, near, spec.read);

    TierResult& t = r.tiers[1];
    t.kind = name_of(spec.kind);
    DeviceResult& d = t.device.emplace();
    d.bytes_read = storage.wear().read.count();
    d.bytes_written = storage.wear().written.count();
    const LatencySamples& loads = storage.latency(StorageOp::kRead);
    if (loads.count() > 0) {
      d.latency_p50_ms = loads.stats().median_ms;
      d.latency_p99_ms = loads.stats().p99_ms;
    }
    if (spec.write_cache) d.slow_write_seconds = seconds_of(storage.slow_writes());
    if (spec.rated_writes > Bytes(0)) {
      d.endurance_share = storage.wear().endurance_share(spec.rated_writes);
    }
    Bytes drive = s_.tier->storage->drive_bytes;
    if (drive == Bytes(0)) drive = Bytes(t.capacity_bytes);
    if (spec.kind == StorageKind::kNvme && drive > Bytes(0)) {
      d.drive_writes = storage.wear().drive_writes(drive);
    }
  }

  /// Where loading begins to pay, and what was decided of each load.
  LoadChoiceResult load_choice(const Engine& engine) const {
    LoadChoiceResult out;
    const auto cost = s_.make_cost();
    const auto up = load_link();
    const std::uint32_t pool = (s_.engine.num_gpu_blocks - 1) * s_.engine.block_tokens;
    const std::uint32_t most = s_.engine.max_model_len;
    LoadEstimate estimate(s_.engine, *cost, *up);
    out.break_even_tokens =
        estimate.break_even_tokens(most > 0 ? std::min(most, pool) : pool).value_or(0);
    if (const LoadChoice* choice = engine.load_choice()) {
      out.decided = true;
      out.loaded = choice->loaded();
      out.recomputed = choice->recomputed();
    }
    return out;
  }

  /// Transfers that no measurement stands behind.
  static void warn_of_reach(SimulationOutcome& out) {
    const auto range = [](const ReachCount& reach) {
      const auto least = format_bytes(static_cast<double>(reach.least_piece));
      const auto most = format_bytes(static_cast<double>(reach.most_piece));
      return fmt::format("{} copies of {} each",
                         reach.least_copies == reach.most_copies
                             ? format_count(reach.least_copies)
                             : fmt::format("{} to {}", format_count(reach.least_copies),
                                           format_count(reach.most_copies)),
                         least == most ? least : fmt::format("{} to {}", least, most));
    };
    for (const LinkResult& link : out.result.links) {
      if (link.extrapolated.transfers + link.across_step.transfers == 0) continue;
      std::string text = fmt::format("link {}:", link.name);
      if (link.extrapolated.transfers > 0) {
        text += fmt::format(
            " {} of {} transfers ({}) lie outside the sizes and counts it was measured at: the "
            "rate of the nearest measured point was taken, and how far it is off is not known",
            format_count(link.extrapolated.transfers), format_count(link.transfers),
            range(link.extrapolated));
      }
      if (link.across_step.transfers > 0) {
        text += fmt::format(
            "{} {} of {} transfers ({}) lie between measured rates that differ by more than 2x: "
            "their times may be off by as much",
            link.extrapolated.transfers > 0 ? ";" : "", format_count(link.across_step.transfers),
            format_count(link.transfers), range(link.across_step));
      }
      out.warnings.push_back(text + " (source: " + link.model + ")");
    }
  }

  static void gather_offload(const OffloadCounters& offload, RunResult& r) {
    TierResult& tier = r.tiers[1];
    tier.queries = offload.queries;
    tier.hits = offload.hits;
    tier.hits_resumed = offload.hits_resumed;
    tier.store_failures = offload.store_failures;
    for (std::size_t i = 1; i < kWriteVerdicts; ++i) {
      if (offload.refused[i] == 0) continue;
      const std::string_view reason = name_of(static_cast<WriteVerdict>(i));
      tier.write_refusals.push_back({std::string(reason), offload.refused[i]});
    }
    r.flushes = offload.flushes;
  }

  void warn(SimulationOutcome& out, const Engine& engine, std::uint32_t stuck) const {
    RunResult& r = out.result;
    for (const SloTarget& target : s_.slo) {
      const double value = find_metric(slo_metrics(), target.name)->value(r);
      const bool passed =
          r.completed > 0 && (target.at_least ? value >= target.target : value <= target.target);
      r.slo.push_back({target.name, target.at_least, target.target, value, passed});
    }
    warn_of_reach(out);
    if (stuck > 0) {
      out.warnings.push_back(fmt::format(
          "deadlock: {} requests are stuck. The request at the head of the queue cannot be "
          "allocated, "
          "nothing runs, and the blocks it needs are held by finished loads behind it (vLLM issues "
          "45388, 57841)",
          stuck));
    }
    if (r.requests == 0) {
      out.warnings.push_back(
          "no request was measured: all arrived before warmup_s or were due after horizon_s");
    }
    const std::uint64_t too_large = exceeding(r);
    if (r.failed + too_large > 0) {
      out.warnings.push_back(fmt::format(
          "{} of {} requests did not enter: {} too long for "
          "max_model_len ({} tokens; engine.max_model_len sets it), {} larger than "
          "the whole pool. Latencies are of the others",
          r.failed + too_large, r.requests, r.failed, s_.engine.max_model_len, too_large));
    }
    if (r.rejected > too_large) {
      out.warnings.push_back(fmt::format(
          "admission ({}) rejected {} of {} requests; latencies are of those that completed",
          s_.admission.text(), r.rejected - too_large, r.requests));
    }
    if (r.client_queue_time.max_ms > 0) {
      out.warnings.push_back(fmt::format(
          "clients held requests back for {:.0f} ms on average (concurrency): latencies count from "
          "arrival at the server and leave that out",
          r.client_queue_time.mean_ms));
    }
    out.warnings.push_back(
        "reuse inside differing trace blocks is invisible to a trace of block ids: hits are a "
        "lower "
        "bound");
    if (const std::uint32_t joined = engine.chains().joined(); joined > 0) {
      out.warnings.push_back(fmt::format(
          "where the session's next prompt begins with a request's prompt and has room for its "
          "answer, it is taken to contain that answer ({} of {} requests)",
          joined, workload_.size()));
    }
    if (r.requests == 0) {
      out.warnings.push_back(
          "no request was measured: all arrived before warmup_s or were due after horizon_s");
    }
  }

  const Scenario& s_;
  const Workload& workload_;
  const SimulationOptions& options_;
  std::uint64_t tier_blocks_;
  EventQueue queue_;
  Recorder recorder_;
  Conservation conservation_;
  ObserverList observers_;
};

}  // namespace

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
  return Run(scenario, workload, options).run();
}

}  // namespace spillway

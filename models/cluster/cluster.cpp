#include "models/cluster/cluster.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

/// What was told last, over all engines.
struct Cluster::Totals {
  std::vector<TierChange> tiers;
  NeededBlocks needed;
  Time last_event{};  ///< of media
};

/// Media belong to no engine.
class Cluster::MediaView final : public Observer {
 public:
  MediaView(Observer& observer, Totals& totals) : observer_(observer), totals_(totals) {}
  void on_transfer(const TransferRecord& r) override {
    totals_.last_event = std::max(totals_.last_event, r.ended);
    observer_.on_transfer(r);
  }

 private:
  Observer& observer_;
  Totals& totals_;
};

/// What the outside is told of one engine, as part of all.
class Cluster::View final : public Observer {
 public:
  View(Observer& observer, Totals& totals, std::uint32_t engine)
      : observer_(observer), totals_(totals), engine_(engine) {}

  void on_step(const StepRecord& r) override {
    ++share.steps;
    busy += r.end - std::max(r.start, last_end_);
    last_end_ = r.end;
    last_event = std::max(last_event, r.end);
    StepRecord out = r;
    out.engine = engine_;
    observer_.on_step(out);
  }
  void on_token_gap(Duration gap, std::uint32_t count) override {
    observer_.on_token_gap(gap, count);
  }
  void on_request(const RequestRecord& r) override {
    first_arrival = std::min(first_arrival, r.arrival);
    observer_.on_request(r);
  }
  void on_transfer(const TransferRecord& r) override {
    last_event = std::max(last_event, r.ended);
    observer_.on_transfer(r);
  }
  void on_tier_change(const TierChange& c) override {
    if (c.tier >= own_.size()) own_.resize(c.tier + 1);
    if (c.tier >= totals_.tiers.size()) totals_.tiers.resize(c.tier + 1);
    TierChange& own = own_[c.tier];
    TierChange& total = totals_.tiers[c.tier];
    total.resident += c.resident - own.resident;
    total.used += c.used - own.used;
    own = c;
    observer_.on_tier_change({c.now, c.tier, c.stored, c.evicted, total.resident, total.used});
  }
  void on_preemption(Time now, RequestId request) override {
    ++share.preemptions;
    observer_.on_preemption(now, request);
  }
  void on_cold_decode(std::uint64_t millionths) override { observer_.on_cold_decode(millionths); }
  void on_needed_blocks(const NeededBlocks& n) override {
    NeededBlocks& total = totals_.needed;
    total.now = n.now;
    total.blocks += n.blocks - needed_.blocks;
    total.in_hbm += n.in_hbm - needed_.in_hbm;
    total.below_only += n.below_only - needed_.below_only;
    needed_ = n;
    observer_.on_needed_blocks(total);
  }

  EngineShare share;
  Duration busy{};
  Time first_arrival = Time::max();
  Time last_event{};

 private:
  Observer& observer_;
  Totals& totals_;
  std::vector<TierChange> own_;
  NeededBlocks needed_;
  std::uint32_t engine_;
  Time last_end_{};
};

Cluster::Cluster(EventQueue& queue, const Workload& workload, const Size& size,
                 const std::function<EngineParts(std::uint32_t)>& parts, Observer& observer)
    : queue_(queue),
      size_(size),
      totals_(std::make_unique<Totals>()),
      media_view_(std::make_unique<MediaView>(observer, *totals_)),
      network_(queue, size.network == nullptr ? NetworkSpec() : *size.network,
               size.instances * size.engines == 1 ? observer : *media_view_),
      balancer_(make_least_loaded()),
      fleet_(size.instances),
      cores_(size.instances, LoadBoard(size.engines)) {
  KV_ASSERT(size.instances == 1 || size.router != nullptr, "several instances without a router");
  const std::uint32_t engines = size.instances * size.engines;
  const bool routed = size.instances > 1 && size.router->wants_residency();
  if (routed) feed_ = std::make_unique<ResidencyFeed>(queue, *size.router, size.residency_lag);
  for (std::uint32_t i = 0; i < engines; ++i) {
    EngineParts made = complete(parts(i), workload, engines);
    made.number = i;
    if (size.lockstep) join_group(made, i);
    Observer* told = &observer;
    if (engines > 1) {
      views_.push_back(std::make_unique<View>(observer, *totals_, i));
      told = views_.back().get();
    }
    engines_.push_back(std::make_unique<Engine>(queue, network_, *chains_, std::move(made), *told));
    if (size.lockstep) groups_.back()->add(*engines_.back());
    if (routed) feed_->watch(*engines_.back(), InstanceId{i / size.engines});
  }
}

/// With what all engines share, made for the first that needs it.
EngineParts Cluster::complete(EngineParts parts, const Workload& workload, std::uint32_t engines) {
  if (chains_ == nullptr) {
    chains_ = std::make_unique<ChainMap>(workload, parts.config.block_tokens);
  }
  if (facts_ == nullptr && parts.need_facts()) {
    facts_ = std::make_unique<RequestFacts>(request_facts(workload));
  }
  parts.facts = facts_.get();
  parts.shared = &shared_stores_;
  parts.things = &shared_things_;
  parts.names_of_one_in = engines;
  return parts;
}

void Cluster::join_group(EngineParts& parts, std::uint32_t engine) {
  parts.place_in_group = engine % size_.engines;
  if (parts.place_in_group == 0) groups_.push_back(std::make_unique<Lockstep>(queue_));
  parts.group = groups_.back().get();
}

Cluster::~Cluster() = default;

void Cluster::set_listener(RequestEndListener& listener) {
  for (const auto& engine : engines_) engine->set_listener(listener);
}

void Cluster::submit(RequestId request, Time due) {
  const RequestView view{request, queue_.now(), chains_->workload().input_tokens(request),
                         *chains_};
  const InstanceId instance = choose_instance(view);
  const std::uint32_t engine = raw(instance) * size_.engines + choose_engine(instance, view);
  if (!views_.empty()) ++views_[engine]->share.requests;
  engines_[engine]->submit(request, due);
}

InstanceId Cluster::choose_instance(const RequestView& request) {
  if (size_.instances == 1) return InstanceId{0};
  const auto fleet = fleet_.at(request.now, [&](std::uint32_t instance, InstanceView& view) {
    view.waiting = view.running = 0;
    for (std::uint32_t i = 0; i < size_.engines; ++i) {
      const Scheduler& scheduler = engines_[instance * size_.engines + i]->scheduler();
      view.waiting += scheduler.waiting();
      view.running += scheduler.running();
    }
  });
  const InstanceId chosen = size_.router->route(request, fleet);
  KV_ASSERT(raw(chosen) < fleet.size() && fleet[raw(chosen)].takes_requests(),
            "request {} routed to instance {}, which takes none", raw(request.id), raw(chosen));
  fleet_.sent(chosen);
  return chosen;
}

/// Which of the instance's.
std::uint32_t Cluster::choose_engine(InstanceId instance, const RequestView& request) {
  if (size_.engines == 1) return 0;
  LoadBoard& board = cores_[raw(instance)];
  const auto cores = board.at(request.now, [&](std::uint32_t core, InstanceView& view) {
    const Scheduler& scheduler = engines_[raw(instance) * size_.engines + core]->scheduler();
    view.waiting = scheduler.waiting();
    view.running = scheduler.running();
  });
  const InstanceId chosen = balancer_->route(request, cores);
  board.sent(chosen);
  return raw(chosen);
}

std::vector<std::uint64_t> Cluster::requests_of_instances() const {
  std::vector<std::uint64_t> out(size_.instances);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    out[i / size_.engines] += views_[i]->share.requests;
  }
  return out;
}

std::uint32_t Cluster::finish_run() {
  std::uint32_t stuck = 0;
  for (const auto& engine : engines_) stuck += engine->finish_run();
  if (stuck == 0) shared_stores_.check_drained();
  KV_ASSERT(network_.fabric().idle(), "{} transfers under way after the last event",
            network_.fabric().in_flight());
  return stuck;
}

std::vector<EngineShare> Cluster::shares() const {
  Time first = Time::max();
  Time last = totals_->last_event;
  for (const auto& view : views_) {
    first = std::min(first, view->first_arrival);
    last = std::max(last, view->last_event);
  }
  std::vector<EngineShare> out;
  for (const auto& view : views_) {
    out.push_back(view->share);
    if (last > first) out.back().busy_fraction = seconds_of(view->busy) / seconds_of(last - first);
  }
  return out;
}

}  // namespace spillway

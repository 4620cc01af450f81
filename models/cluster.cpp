#include "models/cluster.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kWaitingWeight = 4;  // vllm/v1/engine/core_client.py

}  // namespace

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
class Cluster::View final : public Observer, public RequestEndListener {
 public:
  /// `names` are those of its requests outside; null: as it calls them.
  View(Observer& observer, Totals& totals, std::uint32_t engine,
       const std::vector<RequestId>* names)
      : observer_(observer), totals_(totals), engine_(engine), names_(names) {}

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
    RequestRecord out = r;
    out.request = outside(r.request);
    observer_.on_request(out);
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
    observer_.on_preemption(now, outside(request));
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
  void on_request_end(RequestId request) override { listener->on_request_end(outside(request)); }

  EngineShare share;
  Duration busy{};
  Time first_arrival = Time::max();
  Time last_event{};
  RequestEndListener* listener = nullptr;

 private:
  RequestId outside(RequestId own) const { return names_ == nullptr ? own : (*names_)[raw(own)]; }

  Observer& observer_;
  Totals& totals_;
  std::vector<TierChange> own_;
  NeededBlocks needed_;
  std::uint32_t engine_;
  const std::vector<RequestId>* names_;
  Time last_end_{};
};

Cluster::Cluster(EventQueue& queue, const Workload& workload, const Size& size,
                 const std::function<EngineParts(std::uint32_t)>& parts, Observer& observer)
    : queue_(queue),
      size_(size),
      totals_(std::make_unique<Totals>()),
      media_view_(std::make_unique<MediaView>(observer, *totals_)),
      network_(queue, size.network == nullptr ? NetworkSpec() : *size.network,
               size.split == nullptr && size.engines == 1 ? observer : *media_view_) {
  const auto instances =
      size.split == nullptr ? 1 : static_cast<std::uint32_t>(size.split->parts.size());
  const std::uint32_t engines = instances * size.engines;
  counts_.resize(engines);
  counted_.assign(instances, -1);
  const auto parts_of = [&](std::uint32_t engine) {
    EngineParts out = parts(engine);
    out.shared = &shared_stores_;
    return out;
  };
  if (engines == 1) {
    engines_.push_back(std::make_unique<Engine>(queue, network_, workload, parts_of(0), observer));
    return;
  }
  for (std::uint32_t i = 0; i < engines; ++i) {
    const std::uint32_t instance = i / size.engines;
    const bool whole = size.split == nullptr;
    views_.push_back(std::make_unique<View>(observer, *totals_, i,
                                            whole ? nullptr : &size.split->members[instance]));
    engines_.push_back(std::make_unique<Engine>(queue, network_,
                                                whole ? workload : size.split->parts[instance],
                                                parts_of(i), *views_.back()));
  }
}

Cluster::~Cluster() = default;

void Cluster::set_listener(RequestEndListener& listener) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    if (views_.empty()) {
      engines_[i]->set_listener(listener);
    } else {
      views_[i]->listener = &listener;
      engines_[i]->set_listener(*views_[i]);
    }
  }
}

void Cluster::submit(RequestId request, Time due) {
  const bool whole = size_.split == nullptr;
  const std::uint32_t chosen =
      choose(whole ? 0 : size_.split->instance[raw(request)], queue_.now());
  ++views_[chosen]->share.requests;
  engines_[chosen]->submit(whole ? request : size_.split->local[raw(request)], due);
}

std::uint32_t Cluster::choose(std::uint32_t instance, Time now) {
  const std::uint32_t first = instance * size_.engines;
  if (size_.engines == 1) return first;
  const std::int64_t window = now.time_since_epoch() / kCountsAge;
  if (window != counted_[instance]) {
    counted_[instance] = window;
    for (std::size_t i = first; i < first + size_.engines; ++i) {
      counts_[i] = {engines_[i]->scheduler().waiting(), engines_[i]->scheduler().running()};
    }
  }
  const auto score = [](const Counts& c) { return c.waiting * kWaitingWeight + c.running; };
  const auto begin = counts_.begin() + first;
  const auto least =
      std::min_element(begin, begin + size_.engines,
                       [&](const Counts& a, const Counts& b) { return score(a) < score(b); });
  ++least->waiting;
  return static_cast<std::uint32_t>(least - counts_.begin());
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

#include "models/cluster.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr std::uint64_t kWaitingWeight = 4;  // vllm/v1/engine/core_client.py

}  // namespace

/// What observers are told of one engine, as part of all.
class Cluster::View final : public Observer {
 public:
  View(Observer& observer, std::vector<TierChange>& totals, std::uint32_t engine,
       std::uint32_t first_link)
      : observer_(observer), totals_(totals), engine_(engine), first_link_(first_link) {}

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
    TransferRecord out = r;
    out.link += first_link_;
    last_event = std::max(last_event, r.ended);
    observer_.on_transfer(out);
  }
  void on_tier_change(const TierChange& c) override {
    if (c.tier >= own_.size()) own_.resize(c.tier + 1);
    if (c.tier >= totals_.size()) totals_.resize(c.tier + 1);
    TierChange& own = own_[c.tier];
    TierChange& total = totals_[c.tier];
    total.resident += c.resident - own.resident;
    total.used += c.used - own.used;
    own = c;
    observer_.on_tier_change({c.now, c.tier, c.stored, c.evicted, total.resident, total.used});
  }
  void on_preemption(Time now, RequestId request) override {
    ++share.preemptions;
    observer_.on_preemption(now, request);
  }

  EngineShare share;
  Duration busy{};
  Time first_arrival = Time::max();
  Time last_event{};

 private:
  Observer& observer_;
  std::vector<TierChange>& totals_;
  std::vector<TierChange> own_;
  std::uint32_t engine_;
  std::uint32_t first_link_;
  Time last_end_{};
};

Cluster::Cluster(EventQueue& queue, const Workload& workload, std::uint32_t engines,
                 const std::function<EngineParts(std::uint32_t)>& parts, std::uint32_t links,
                 Observer& observer)
    : queue_(queue), counts_(engines) {
  if (engines == 1) {
    engines_.push_back(std::make_unique<Engine>(queue, workload, parts(0), observer));
    return;
  }
  for (std::uint32_t i = 0; i < engines; ++i) {
    views_.push_back(std::make_unique<View>(observer, tiers_, i, i * links));
    engines_.push_back(std::make_unique<Engine>(queue, workload, parts(i), *views_.back()));
  }
}

Cluster::~Cluster() = default;

void Cluster::set_listener(RequestEndListener& listener) {
  for (const auto& engine : engines_) engine->set_listener(listener);
}

void Cluster::submit(RequestId request, Time due) {
  const std::uint32_t chosen = choose(queue_.now());
  ++views_[chosen]->share.requests;
  engines_[chosen]->submit(request, due);
}

std::uint32_t Cluster::choose(Time now) {
  const std::int64_t window = now.time_since_epoch() / kCountsAge;
  if (window != counted_) {
    counted_ = window;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] = {engines_[i]->scheduler().waiting(), engines_[i]->scheduler().running()};
    }
  }
  const auto score = [](const Counts& c) { return c.waiting * kWaitingWeight + c.running; };
  const auto least =
      std::min_element(counts_.begin(), counts_.end(),
                       [&](const Counts& a, const Counts& b) { return score(a) < score(b); });
  ++least->waiting;
  return static_cast<std::uint32_t>(least - counts_.begin());
}

std::uint32_t Cluster::finish_run() {
  std::uint32_t stuck = 0;
  for (const auto& engine : engines_) stuck += engine->finish_run();
  return stuck;
}

std::vector<EngineShare> Cluster::shares() const {
  Time first = Time::max();
  Time last{};
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

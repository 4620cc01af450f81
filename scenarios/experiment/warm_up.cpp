#include "scenarios/experiment/warm_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/experiment/mser.hpp"
#include "scenarios/run/run_wiring.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
constexpr double kFull = 0.95;      // of the blocks: chunks and pins leave some that are never used
constexpr double kMaterial = 0.01;  // a point of hit ratio in a quarter of the run
constexpr double kMinuteS = 60;
constexpr double kMostFineBins = 200;
constexpr double kRequestsABin = 5;

/// Whether what would be left out is less on average than the rest.
bool begins_lower(const std::vector<double>& series, std::size_t truncated) {
  if (truncated == 0) return false;
  const auto at = series.begin() + static_cast<std::ptrdiff_t>(truncated);
  const double head = std::accumulate(series.begin(), at, 0.0) / static_cast<double>(truncated);
  const double rest =
      std::accumulate(at, series.end(), 0.0) / static_cast<double>(series.size() - truncated);
  return head < rest;
}

}  // namespace

WarmUpWatch::WarmUpWatch(const Scenario& scenario)
    : given_s_(scenario.workload->replication.warmup_s) {
  const RunWiring wiring(scenario);
  const bool v0 = scenario.engine.family == EngineFamily::kVllmV0;
  const std::vector<std::uint64_t> capacities = wiring.capacities();
  // v0's second tier is no cache: what leaves it was swapped in.
  const std::uint32_t tiers = v0 ? 1 : wiring.tiers();
  for (std::uint32_t i = 0; i < tiers; ++i) {
    const std::uint64_t blocks = capacities[i];
    const std::string name = i == 0   ? "hbm"
                             : i == 1 ? scenario.tier->name
                                      : scenario.behind[i - 2].name;
    tiers_.push_back({name, blocks == kUnbounded ? 0 : blocks, 0, {}});
  }
  loads_.assign(wiring.places().links(), false);
  for (std::uint32_t engine = 0; engine < wiring.places().engines(); ++engine) {
    for (const std::uint32_t link : wiring.load_links(engine)) loads_[link] = true;
  }
}

WarmUpWatch::Bin& WarmUpWatch::bin_at(Time at) {
  auto index = static_cast<std::size_t>(at.time_since_epoch() / width_);
  while (index >= kMostBins) {
    for (std::size_t i = 0; 2 * i < bins_.size(); ++i) {
      Bin sum = bins_[2 * i];
      if (2 * i + 1 < bins_.size()) {
        const Bin& next = bins_[2 * i + 1];
        sum.cached += next.cached;
        sum.prompt += next.prompt;
        sum.wait_s += next.wait_s;
        sum.requests += next.requests;
      }
      bins_[i] = sum;
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
    index /= 2;
  }
  if (index >= bins_.size()) bins_.resize(index + 1);
  return bins_[index];
}

void WarmUpWatch::on_request(const RequestRecord& record) {
  if (record.arrival == kNever || record.warmup) return;
  ++requests_;
  first_ = std::min(first_, record.arrival);
  last_ = std::max(last_, record.arrival);
  if (record.scheduled == kNever) return;
  Bin& bin = bin_at(record.arrival);
  for (const std::uint32_t tokens : record.cached_tokens) {
    bin.cached += tokens;
    cached_ += tokens;
  }
  bin.prompt += record.input_tokens;
  ++bin.requests;
}

void WarmUpWatch::on_step(const StepRecord& record) {
  if (record.stall > Duration(0)) bin_at(record.start).wait_s += seconds_of(record.stall);
}

void WarmUpWatch::on_transfer(const TransferRecord& record) {
  if (!loads_[record.link]) return;
  bin_at(record.submitted).wait_s += seconds_of(record.ended - record.submitted);
}

void WarmUpWatch::on_tier_change(const TierChange& change) {
  if (change.tier >= tiers_.size()) return;
  Tier& tier = tiers_[change.tier];
  tier.stored += change.stored;
  if (tier.full || tier.capacity == 0) return;
  const auto level = static_cast<double>(std::max(change.resident, change.used));
  if (change.evicted > 0 || level >= kFull * static_cast<double>(tier.capacity)) {
    tier.full = change.now;
  }
}

WarmUpWatch::Floor WarmUpWatch::floor() const {
  const auto larger = [](const Tier& a, const Tier& b) {
    return b.capacity > 0 && (a.capacity == 0 || a.capacity > b.capacity);
  };
  Floor out;
  for (const Tier& tier : tiers_) {
    if (tier.stored == 0) continue;
    if (out.largest == nullptr || larger(tier, *out.largest)) out.largest = &tier;
  }
  if (out.largest != nullptr) out.at = out.largest->full;
  return out;
}

/// The largest tier of all was full in the first half of the arrivals so far, counted from 0: the
/// middle only moves on.
bool WarmUpWatch::surely_warm() const {
  const Tier* largest = nullptr;
  for (const Tier& tier : tiers_) {
    if (tier.capacity == 0) return false;
    if (largest == nullptr || tier.capacity > largest->capacity) largest = &tier;
  }
  return largest != nullptr && largest->full && 2 * seconds_of(*largest->full) <= seconds_of(last_);
}

/// The bins from the first measured arrival to the last, made as wide as the header says.
std::vector<WarmUpWatch::Bin> WarmUpWatch::series() const {
  std::vector<Bin> out;
  if (requests_ == 0) return out;
  const double span_s = seconds_of(last_ - first_);
  const double many = std::min(std::max(kMostFineBins, span_s / kMinuteS),
                               static_cast<double>(requests_) / kRequestsABin);
  const double base_s = seconds_of(width_);
  const auto each = static_cast<std::size_t>(std::max(1.0, span_s / std::max(many, 1.0) / base_s));
  const auto from = static_cast<std::size_t>(first_.time_since_epoch() / width_);
  for (std::size_t i = from; i < bins_.size(); ++i) {
    if ((i - from) % each == 0) {
      out.emplace_back();
      out.back().from = Time(width_ * static_cast<std::int64_t>(i));
    }
    out.back().cached += bins_[i].cached;
    out.back().prompt += bins_[i].prompt;
    out.back().wait_s += bins_[i].wait_s;
    out.back().requests += bins_[i].requests;
  }
  std::erase_if(out, [](const Bin& bin) { return bin.requests == 0; });
  return out;
}

WarmUp find_warm_up(const WarmUpWatch& watch) {
  WarmUp out;
  out.requests = watch.requests_;
  if (watch.requests_ == 0) {
    out.note = "no request was measured";
    return out;
  }
  out.end = watch.first_;
  if (watch.given_s_) {
    out.end = std::max(out.end, warm_up_given(*watch.given_s_));
    out.note = fmt::format("the first {:.6g} s are left out, as given", *watch.given_s_);
    return out;
  }
  const std::vector<WarmUpWatch::Bin> bins = watch.series();
  std::vector<double> hits;
  std::vector<double> waits;
  for (const WarmUpWatch::Bin& bin : bins) {
    hits.push_back(bin.cached / std::max(bin.prompt, 1.0));
    waits.push_back(bin.wait_s / bin.requests);
  }
  out.bins = bins.size();
  const MserResult hit = mser5(hits);
  const MserResult wait = mser5(waits);
  std::size_t truncated = hit.truncated;
  if (wait.settled && begins_lower(waits, wait.truncated)) {
    truncated = std::max(truncated, wait.truncated);
  }
  const Time settled = truncated == 0 ? watch.first_ : std::max(watch.first_, bins[truncated].from);
  const bool stationary =
      watch.cached_ == 0 || (hit.enough && (hit.settled || hit.drift < kMaterial));
  const std::string found =
      watch.cached_ == 0 ? "no prompt finds anything cached, so that nothing warms up"
      : !hit.enough      ? fmt::format("{} bins are too few for MSER-5", bins.size())
      : stationary ? fmt::format("MSER-5 over {} bins ends the warm-up after {:.4g} s", bins.size(),
                                 seconds_of(settled - watch.first_))
                   : fmt::format(
                         "the hit ratio still rises over {} bins ({:+.1f} points in the "
                         "last quarter)",
                         bins.size(), 100 * hit.drift);
  const WarmUpWatch::Floor floor = watch.floor();
  const Time middle = watch.first_ + (watch.last_ - watch.first_) / 2;
  if (floor.at && *floor.at <= middle) {
    out.floor = floor.at;
    out.end = std::max(settled, *floor.at);
    out.note = fmt::format("{}; {} was full after {:.4g} s", found, floor.largest->name,
                           seconds_of(std::max(Duration(0), *floor.at - watch.first_)));
    return out;
  }
  out.end = settled;
  out.cold_limited = !stationary;
  out.note = found;
  if (floor.largest != nullptr) {
    out.note += "; " + floor.largest->name;
    out.note += floor.at ? " was full behind the middle of the arrivals only" : " was never full";
  }
  if (out.cold_limited) out.note = fmt::format("{} ({})", kColdLimited, out.note);
  return out;
}

}  // namespace spillway

#include "scenarios/planner/consequences/cost.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "models/catalogue/gpu_spec.hpp"
#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr double kSecondsPerDay = 86'400;
constexpr double kDaysPerYear = 365.25;

/// The values of both cells at the replicates that both ran.
struct Shared {
  std::vector<double> a;
  std::vector<double> b;
};

Shared shared(const Attainments& a, const Attainments& b) {
  Shared out;
  auto at = b.begin();
  for (const auto& [replicate, value] : a) {
    while (at != b.end() && at->first < replicate) ++at;
    if (at == b.end() || at->first != replicate) continue;
    out.a.push_back(value);
    out.b.push_back(at->second);
  }
  return out;
}

/// How far one mean attainment is above another, and the noise of that. With a single run of each
/// there is no telling noise: none is assumed.
struct Above {
  double mean = 0;
  double noise = 0;
};

Above above(const FrontCell& a, const FrontCell& b, Replication replication) {
  const Shared both = shared(a.attainment, b.attainment);
  if (both.a.size() < 2) return {a.own - b.own, 0};
  const PairedDifference difference = paired_difference(both.a, both.b, replication);
  return {difference.mean, noise_of(difference.variance, both.a.size(), replication)};
}

/// Share of the requests that meet every latency target.
double attainment_of(const RunResult& run) {
  if (run.requests == 0) return 0;
  return std::min(1.0, run.goodput * run.duration_s / static_cast<double>(run.requests));
}

class CostFinder {
 public:
  explicit CostFinder(const CostQuestion& question) : q_(question), plan_(question.cells.plan) {}

  std::optional<PlanCost> find() {
    if (plan_.recommended >= 0) find_wear(at(plan_.recommended), run(plan_.recommended));
    if (q_.prices != nullptr) {
      out_.currency = q_.prices->currency;
      out_.source = q_.prices->source;
      price_cells();
      find_break_even();
      say_assumptions();
    }
    if (q_.prices == nullptr && out_.wear.empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  const Scenario& at(int point) const {
    return *q_.cells.scenarios[static_cast<std::size_t>(point)];
  }
  const RunResult& run(int point) const {
    return plan_.points[static_cast<std::size_t>(point)].run;
  }

  void price_cells() {
    std::set<std::string> missing;
    std::set<std::string> undercut;
    std::vector<FrontCell> cells;
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      const PlanPoint& point = plan_.points[i];
      CellPrice price = price_of(*q_.cells.scenarios[i], point.run, *q_.prices);
      missing.insert(price.missing.begin(), price.missing.end());
      if (!price.undercut.empty()) undercut.insert(price.undercut);
      if (static_cast<int>(i) == plan_.recommended) {
        out_.items = price.items;
        append(out_.notes, std::move(price.notes));
      }
      if (!price.missing.empty()) continue;
      CellCost cost;
      cost.point = static_cast<std::uint32_t>(i);
      cost.per_month = price.per_month;
      const double tokens = point.run.total_token_throughput * kSecondsPerMonth;
      if (tokens > 0) cost.per_million_tokens = price.per_month / (tokens / 1e6);
      cost.goodput_per_cost = goodput_per_cost(point.run, price.per_month);
      out_.cells.push_back(cost);
      cells.push_back({price.per_month, attainment_of(point.run),
                       i < q_.attainment.size() ? q_.attainment[i] : Attainments()});
    }
    const std::vector<FrontPlace> front = pareto_front(cells, q_.replication);
    for (std::size_t i = 0; i < front.size(); ++i) {
      out_.cells[i].on_front = front[i] == FrontPlace::kOnFront;
      out_.cells[i].within_noise = front[i] == FrontPlace::kWithinNoise;
    }
    const auto noise = std::count(front.begin(), front.end(), FrontPlace::kWithinNoise);
    if (noise > 0) {
      out_.notes.push_back(plan_note("front-within-noise", {{"configurations", noise}}));
    }
    if (!missing.empty()) {
      out_.notes.push_back(
          plan_note("prices-missing", {{"prices", fmt::format("{}", fmt::join(missing, ", "))}}));
    }
    for (const std::string& why : undercut) {
      out_.notes.push_back(plan_note("price-not-taken", {{"why", why}}));
    }
  }

  /// How much of the tier costs as much as a GPU, and what a GiB of KV costs in either.
  void find_break_even() {
    if (plan_.recommended < 0) return;
    const Scenario& s = at(plan_.recommended);
    if (!s.tier) return;
    const auto gpu = q_.prices->gpu(s.gpu);
    const auto gib =
        s.tier->storage
            ? q_.prices->storage_gib_month[static_cast<std::size_t>(s.tier->storage->spec.kind)]
            : q_.prices->dram_gib_month;
    if (!gpu || !gib || *gib <= 0) return;
    BreakEven out;
    out.tier = s.tier->name;
    out.gib_per_gpu = *gpu / *gib;
    const double pool_gib = static_cast<double>(s.rank_block_bytes().count()) *
                            static_cast<double>(s.engine.num_gpu_blocks) / kGiB;
    if (pool_gib > 0) out.price_ratio = *gpu / pool_gib / *gib;
    const double held_gib = tier_bytes_of(s, run(plan_.recommended)) / kGiB;
    const auto gpus = static_cast<double>(total_gpus(s));
    out.says = fmt::format(
        "One GPU costs as much a month as {} GiB of {}; the recommended cell has {} GiB for each "
        "of "
        "its GPUs. A GiB of KV costs {}x as much in GPUs ({} GiB of KV each) as in {}",
        format_real(out.gib_per_gpu), out.tier, format_real(held_gib / gpus),
        format_real(out.price_ratio), format_real(pool_gib), out.tier);
    out_.break_even = std::move(out);
  }

  void find_wear(const Scenario& s, const RunResult& result) {
    const double span_s = observed_s(s, result);
    if (span_s <= 0) return;
    for (const TierResult& tier : result.tiers) {
      if (!tier.device || (tier.kind != "nvme" && !tier.device->endurance_share)) continue;
      const DeviceResult& device = *tier.device;
      DriveWear wear;
      wear.tier = tier.name;
      wear.bytes_per_day = static_cast<double>(device.bytes_written) / span_s * kSecondsPerDay;
      if (device.drive_writes) {
        wear.drive_writes_per_day = *device.drive_writes / span_s * kSecondsPerDay;
      }
      if (device.endurance_share && *device.endurance_share > 0) {
        wear.life_years = span_s / *device.endurance_share / kSecondsPerDay / kDaysPerYear;
      } else if (!device.endurance_share) {
        out_.notes.push_back(plan_note("drive-rating-unknown", {{"tier", tier.name}}));
      }
      out_.wear.push_back(std::move(wear));
    }
  }

  void say_assumptions() {
    if (out_.cells.empty()) return;
    out_.notes.push_back(plan_note("month-of-hours", {{"hours", kHoursPerMonth}}));
    append(out_.notes, q_.prices->notes);
    if (out_.source.empty()) out_.notes.push_back(plan_note("prices-without-source"));
  }

  const CostQuestion& q_;
  const PlanResult& plan_;
  PlanCost out_;
};

}  // namespace

double goodput_per_cost(const RunResult& run, double per_month) {
  return per_month > 0 ? run.goodput * kSecondsPerMonth / per_month : 0;
}

std::vector<FrontPlace> pareto_front(const std::vector<FrontCell>& cells, Replication replication) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cells[a].cost < cells[b].cost; });
  std::vector<FrontPlace> out(cells.size(), FrontPlace::kOnFront);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const FrontCell& dearer = cells[order[k]];
    FrontPlace& place = out[order[k]];
    for (std::size_t j = 0; j < k && place != FrontPlace::kDominated; ++j) {
      const FrontCell& cheaper = cells[order[j]];
      if (cheaper.cost == dearer.cost) continue;
      const Above more = above(dearer, cheaper, replication);
      if (more.mean <= 0) {
        place = FrontPlace::kDominated;
      } else if (more.mean <= more.noise && out[order[j]] == FrontPlace::kOnFront) {
        place = FrontPlace::kWithinNoise;
      }
    }
  }
  return out;
}

std::optional<PlanCost> find_cost(const CostQuestion& question) {
  return CostFinder(question).find();
}

}  // namespace spillway

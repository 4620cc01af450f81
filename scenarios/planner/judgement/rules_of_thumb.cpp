// The field's rules of thumb beside what was found: a rule that agrees is a comfort, one that does
// not is what the plan is for.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

constexpr double kPoolLeast = 0.5;  // of host DRAM
constexpr double kPoolMost = 0.7;
constexpr double kLowHits = 0.5;
constexpr double kHighHits = 0.7;
constexpr double kTypicalHostBytes = 250e9;  // of a GPU
constexpr double kDramDollars = 400;         // of 128 GB of DDR5
constexpr double kDramBytes = 128e9;
constexpr double kGpuDollars = 30000;  // of an H100 with 80 GB
constexpr double kGpuBytes = 80e9;
constexpr double kGb = 1e9;

class Rules {
 public:
  Rules(PlanResult& plan, const PlanFacts& facts)
      : plan_(plan), facts_(facts), index_(facts.judged()), run_(facts.run(facts.judged())) {}

  void compare() {
    if (facts_.scenario(index_).tier && facts_.scenario(index_).tier->storage) return;
    share_of_host();
    hit_rate();
    dram_or_gpu();
    typical_host();
  }

 private:
  void add(const char* rule, std::string here, bool agrees) {
    plan_.judgement.rules_of_thumb.push_back({rule, std::move(here), agrees});
  }

  /// Of all engines of one instance, as it would be set.
  double pool_bytes() const {
    const PlanPoint& p = facts_.point(index_);
    const Scenario& s = facts_.scenario(index_);
    return static_cast<double>(p.capacity_bytes) * std::max(1U, s.engine.data_parallel);
  }

  bool sized() const { return plan_.recommended >= 0 && !facts_.point(index_).unbounded; }

  void share_of_host() {
    const Scenario& s = facts_.scenario(index_);
    if (!sized() || !s.host || s.host->memory == Bytes(0)) return;
    const double memory = static_cast<double>(s.host->memory.count());
    const double pools = pool_bytes() * s.host->instances;
    const double share = pools / memory;
    add("give 50-70% of host DRAM to the pool",
        fmt::format("{} of pools / {} of host memory = {}", format_bytes(pools),
                    format_bytes(memory), format_percent(share)),
        share >= kPoolLeast && share <= kPoolMost);
  }

  /// Of what the tier was asked for.
  void hit_rate() {
    if (run_.tiers.size() < 2 || run_.tiers[1].queries == 0) return;
    const TierResult& tier = run_.tiers[1];
    const double rate = static_cast<double>(tier.hits) / static_cast<double>(tier.queries);
    const std::string figures =
        fmt::format("{} hits / {} look-ups of {} = {}", format_count(tier.hits),
                    format_count(tier.queries), tier.name, format_percent(rate));
    if (rate < kLowHits) {
      const double here = cached_share(run_);
      double larger = here;
      for (std::size_t i = facts_.place() + 1; i < facts_.line().size(); ++i) {
        larger = std::max(larger, cached_share(facts_.run(facts_.line()[i])));
      }
      const bool last = facts_.place() + 1 == facts_.line().size();
      add("hit rate under 50%: enlarge the pool",
          last ? fmt::format("{}; no larger size was tried", figures)
               : fmt::format("{}; the largest size tried brings {} more of prompt tokens{}",
                             figures, format_percent(larger - here),
                             plan_.recommended >= 0 ? ", and the SLO is met with this one" : ""),
          !last && larger - here >= kWorthwhile && plan_.recommended < 0);
    } else if (rate > kHighHits) {
      pays_off(figures);
    }
  }

  void pays_off(const std::string& figures) {
    const int none = facts_.without_tier();
    if (none < 0) return;
    const Compared both = facts_.compared(none, index_);
    const TargetView with = tightest(both.second);
    for (const TargetView& without : both.first) {
      if (without.name != with.name || without.tenant != with.tenant) continue;
      const bool better = with.at_least ? with.value > without.value : with.value < without.value;
      add("hit rate above 70%: the pool pays off",
          fmt::format("{}; {} is {} with it and {} without, {}", figures, with.label(),
                      format_real(with.value), format_real(without.value), both.on),
          better);
    }
  }

  /// Whether it is capacity that is short at all.
  void dram_or_gpu() {
    const double dram = kDramDollars / (kDramBytes / kGb);
    const double gpu = kGpuDollars / (kGpuBytes / kGb);
    const std::string prices =
        fmt::format("$400 / 128 GB = ${:.2f} a GB, $30,000 / 80 GB = ${:.0f} a GB, {:.0f}x", dram,
                    gpu, gpu / dram);
    const std::string& kind = plan_.judgement.binding_kind;
    const bool of_tier = kind == "capacity" && plan_.binding.find("of HBM") == std::string::npos;
    const bool needed =
        plan_.recommended >= 0 && run_.tiers.size() > 1 && plan_.infeasible_max >= 0;
    add("capacity by DRAM beats capacity by GPU",
        needed ? fmt::format("{}; {} of {} meets the SLO, which a smaller size or none does not",
                             prices, facts_.point(index_).capacity, plan_.tier)
               : fmt::format(
                     "{}; what binds here is {}{}", prices, kind,
                     plan_.recommended >= 0 ? ", and the smallest size tried meets the SLO" : ""),
        needed || (of_tier && plan_.recommended < 0));
  }

  void typical_host() {
    if (!sized()) return;
    const Scenario& s = facts_.scenario(index_);
    const double per_gpu = pool_bytes() / (s.world() * std::max(1U, s.engine.data_parallel));
    add("about 250 GB of host memory per GPU is typical",
        fmt::format("{:.4g} GB of {} per GPU, {} of 250 GB, of which pools take {} at most",
                    per_gpu / kGb, plan_.tier, format_percent(per_gpu / kTypicalHostBytes),
                    format_percent(kPoolMost)),
        per_gpu <= kPoolMost * kTypicalHostBytes);
  }

  PlanResult& plan_;
  const PlanFacts& facts_;
  int index_;
  const RunResult& run_;
};

}  // namespace

void compare_rules_of_thumb(PlanResult& plan, const PlanFacts& facts) {
  Rules(plan, facts).compare();
}

}  // namespace spillway

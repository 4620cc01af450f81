#include "scenarios/planner/answer/remedies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "scenarios/planner/answer/changes.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kMostReplicasTried = 64;  // beyond what is there: a fleet of its own
constexpr double kClearlyNearer = 0.02;           // of a margin: less is noise
constexpr std::size_t kMostPairs = 6;             // of settings, the best by themselves
constexpr std::size_t kMostBases = 4;        // settings with which the fewest replicas are sought
constexpr int kMoreReplicas = 3;             // tried where replicates miss
constexpr std::size_t kFirstConfirming = 3;  // replicates
constexpr std::uint32_t kMostGrowth = 8;     // times the replicas, tried against more sessions

using Changes = std::vector<KeyChange>;

bool shares_key(const Changes& a, const Changes& b) {
  return std::any_of(a.begin(), a.end(), [&](const KeyChange& x) {
    return std::any_of(b.begin(), b.end(), [&](const KeyChange& y) { return x.key == y.key; });
  });
}

Changes joined(const Changes& a, const Changes& b) {
  Changes out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

/// FP8 KV may change what the model answers.
bool keeps_answers(const KeyChange& change) {
  return change.key != "model.kv_dtype";
}

bool keeps_answers(const TriedChange& tried) {
  return std::all_of(tried.changes.begin(), tried.changes.end(),
                     [](const KeyChange& c) { return keeps_answers(c); });
}

/// How far the settings are from what is configured: logarithms of factors.
double factors_away(const TriedChange& tried) {
  double out = 0;
  for (const KeyChange& change : tried.changes) {
    if (change.key == "fleet.replicas") continue;
    const double from = std::strtod(change.from.c_str(), nullptr);
    const double to = std::strtod(change.to.c_str(), nullptr);
    out += from > 0 && to > 0 ? std::fabs(det::ln(to / from)) : 1;
  }
  return out;
}

/// The better of two that meet the SLO: none that changes answers, fewer changes, not by a hair,
/// nearer to what is configured, more margin.
bool better(const TriedChange& a, const TriedChange& b) {
  if (keeps_answers(a) != keeps_answers(b)) return keeps_answers(a);
  if (a.changes.size() != b.changes.size()) return a.changes.size() < b.changes.size();
  const bool clear = a.margin >= kClearlyNearer;
  if (clear != (b.margin >= kClearlyNearer)) return clear;
  if (factors_away(a) != factors_away(b)) return factors_away(a) < factors_away(b);
  return a.margin > b.margin;
}

bool same_changes(const TriedChange& a, const TriedChange& b) {
  return std::equal(
      a.changes.begin(), a.changes.end(), b.changes.begin(), b.changes.end(),
      [](const KeyChange& x, const KeyChange& y) { return x.key == y.key && x.to == y.to; });
}

/// Leaves those that meet the SLO, the best first.
void keep_holding(std::vector<TriedChange>& tried) {
  std::erase_if(tried, [](const TriedChange& t) { return !t.holds(); });
  std::stable_sort(tried.begin(), tried.end(), better);
}

class RemedyFinder {
 public:
  RemedyFinder(const RemedyQuestion& question, int cell)
      : q_(question),
        cell_(cell),
        s_(q_.space.cells[static_cast<std::size_t>(cell)].scenario),
        longest_(longest_request(q_.workload)) {}

  std::optional<TriedChange> find_fewer(std::uint32_t most) {
    // At half of what the answer takes a setting that saves less is not worth the doubt.
    const std::uint32_t now = s_.fleet->replicas;
    const std::uint32_t target = most / 2;
    if (target < now) return std::nullopt;
    std::vector<Configuration> with;
    for (KeyChange& change : free_changes(s_, longest_)) {
      if (!keeps_answers(change)) continue;
      with.push_back(asked(ChangeKind::kReplicas, replicas({change}, now, target)));
    }
    fewest_of(run(with), ChangeKind::kReplicas, now, target);
    return std::move(out_.remedy);
  }

  std::optional<TriedChange> find_cheaper() {
    std::vector<Configuration> all;
    for (KeyChange& change : free_changes(s_, longest_)) {
      if (keeps_answers(change)) all.push_back(asked(ChangeKind::kFlag, {std::move(change)}));
    }
    take_best(run(all));
    if (!out_.remedy) return std::nullopt;
    const std::string& from =
        q_.plan.points[static_cast<std::size_t>(q_.plan.recommended)].capacity;
    const std::string& to = q_.plan.points[static_cast<std::size_t>(cell_)].capacity;
    out_.remedy->changes.push_back({"tiers.0.capacity", from, to});
    return std::move(out_.remedy);
  }

  std::optional<TriedChange> find_for_growth(const std::optional<TriedChange>& next) {
    verdict_only_ = true;
    std::vector<Configuration> settings;
    for (KeyChange& change : free_changes(s_, longest_)) {
      if (keeps_answers(change)) settings.push_back(asked(ChangeKind::kFlag, {std::move(change)}));
    }
    take_best(run(std::move(settings)));
    if (!out_.remedy) out_.remedy = next;
    const std::uint32_t now = s_.fleet->replicas;
    for (std::uint32_t n = 2 * now; !out_.remedy && n <= kMostGrowth * now; n *= 2) {
      std::vector<TriedChange> tried = run({asked(ChangeKind::kReplicas, replicas({}, now, n))});
      if (tried.empty() || !tried.front().refused.empty()) break;
      if (tried.front().met) fewest_of(std::move(tried), ChangeKind::kReplicas, now, n);
    }
    return std::move(out_.remedy);
  }

  Remedies find() {
    const bool floor_missed = q_.plan.floor && !q_.plan.floor->met;
    if (floor_missed) {
      lower_floor();
    } else {
      without_tier();
      if (!out_.remedy) try_settings();
      if (!out_.remedy) combine(singles_, {});
      if (!out_.remedy) filled_tier();
      if (!out_.remedy) larger_tier();
      if (!out_.remedy) more_replicas({}, ChangeKind::kReplicas);
      if (!out_.remedy) one_by_one(ChangeKind::kTensorParallel, wider_instances(s_));
      if (!out_.remedy) one_by_one(ChangeKind::kGpu, better_gpus(s_));
    }
    if (out_.remedy) tell_parts();
    for (TriedChange& tried : singles_) {
      if (!told(tried)) out_.alone.push_back(std::move(tried));
    }
    return std::move(out_);
  }

 private:
  bool spent(std::uint64_t more) const {
    return q_.most_runs > 0 && q_.configurations.runs() + more > q_.most_runs;
  }

  std::vector<TriedChange> run(std::vector<Configuration> asked) {
    if (asked.empty() || spent(asked.size())) return {};
    for (Configuration& one : asked) one.verdict_only = verdict_only_;
    return q_.configurations.run(cell_, asked);
  }

  Configuration asked(ChangeKind kind, Changes changes) const {
    Configuration out;
    out.kind = kind;
    out.changes = std::move(changes);
    out.sessions = q_.sessions;
    return out;
  }

  /// The same on the replicates that the plan's cells ran on, where there are any.
  std::optional<TriedChange> confirmed(const TriedChange& tried) {
    if (q_.replicates.empty()) return tried;
    const Configuration one = asked(tried.kind, tried.changes);
    const std::size_t all = q_.replicates.size();
    TriedChange out;
    // What fails mostly does on a few.
    for (const std::size_t n : {std::min(all, kFirstConfirming), all}) {
      if (n == out.replicates || (spent(n) && out.holds())) return out;
      if (spent(n)) return std::nullopt;
      out = q_.configurations.run(cell_, std::span(&one, 1), std::span(q_.replicates).first(n))
                .front();
      if (!out.holds()) break;
    }
    if (out.holds()) return out;
    // What it did by itself is told as the replicates have it.
    for (TriedChange& single : singles_) {
      if (same_changes(single, out)) single = out;
    }
    return std::nullopt;
  }

  /// Takes the best of those that meet the SLO and hold on replicates.
  void take_best(std::vector<TriedChange> tried) {
    keep_holding(tried);
    for (const TriedChange& one : tried) {
      if (out_.remedy) return;
      out_.remedy = confirmed(one);
    }
  }

  // ---- settings

  /// A tier that is slower than computing again harms, and to do without it costs nothing.
  void without_tier() {
    if (!s_.tier || s_.engine.family == EngineFamily::kVllmV0) return;
    const auto empty = [](const PlanCell& c) { return !c.unbounded && c.capacity_bytes == 0; };
    if (std::any_of(q_.space.cells.begin(), q_.space.cells.end(), empty)) return;
    const std::string from = q_.space.cells[static_cast<std::size_t>(cell_)].capacity;
    std::vector<TriedChange> tried =
        run({asked(ChangeKind::kTier, {{"tiers.0.capacity", from, "0GiB"}})});
    if (tried.empty()) return;
    take_best(tried);
    without_tier_ = std::move(tried.front());
  }

  void try_settings() {
    std::vector<Configuration> all;
    for (KeyChange& change : free_changes(s_, longest_)) {
      all.push_back(asked(ChangeKind::kFlag, {std::move(change)}));
    }
    singles_ = run(all);
    if (without_tier_) singles_.push_back(*without_tier_);
    take_best(singles_);
  }

  /// Pairs of the settings that bring the SLO nearest, each with `more`.
  void combine(const std::vector<TriedChange>& settings, const Changes& more) {
    std::vector<const TriedChange*> ranked;
    for (const TriedChange& one : settings) {
      if (one.refused.empty()) ranked.push_back(&one);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto* a, const auto* b) { return a->margin > b->margin; });
    std::vector<Configuration> pairs;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      for (std::size_t j = 0; j < i && pairs.size() < kMostPairs; ++j) {
        const Changes a = without(ranked[j]->changes, more);
        const Changes b = without(ranked[i]->changes, more);
        if (shares_key(a, b)) continue;
        pairs.push_back(
            asked(more.empty() ? ChangeKind::kFlag : ranked[i]->kind, joined(joined(a, b), more)));
      }
    }
    take_best(run(pairs));
  }

  static Changes without(Changes changes, const Changes& more) {
    std::erase_if(changes, [&](const KeyChange& c) { return shares_key({c}, more); });
    return changes;
  }

  // ---- money

  /// A tier that is kept empty looks like none: the smallest that was asked for, and filled.
  void filled_tier() {
    Changes filled = held_back(s_);
    std::erase_if(filled, [](const KeyChange& c) { return c.key != "engine.store_threshold"; });
    if (filled.empty()) return;
    const PlanCell& here = q_.space.cells[static_cast<std::size_t>(cell_)];
    for (const PlanCell& other : q_.space.cells) {
      if (out_.remedy) return;
      if (other.variant != here.variant || other.capacity == here.capacity) continue;
      take_best(run({asked(ChangeKind::kTier, joined(filled, {{"tiers.0.capacity", here.capacity,
                                                               other.capacity}}))}));
    }
  }

  /// More of the tier than was tried, by doubling.
  void larger_tier() {
    if (!s_.tier || s_.tier->capacity.kind == Capacity::Kind::kUnbounded) return;
    if (s_.engine.family == EngineFamily::kVllmV0) return;
    const std::string from = q_.space.cells[static_cast<std::size_t>(cell_)].capacity;
    const auto sized = [&](std::string to) {
      return asked(ChangeKind::kTier, {{"tiers.0.capacity", from, std::move(to)}});
    };
    std::vector<TriedChange> whole = run({sized("inf")});
    if (whole.empty()) return;
    const TriedChange unbounded = whole.front();
    singles_.push_back(std::move(whole.front()));
    if (!unbounded.holds()) return;
    std::int64_t largest = 0;
    for (const PlanCell& one : q_.space.cells) {
      if (!one.unbounded) largest = std::max(largest, one.capacity_bytes);
    }
    constexpr std::int64_t kGib = std::int64_t{1} << 30;
    std::int64_t size = std::max<std::int64_t>(1, (largest + kGib - 1) / kGib) * kGib;
    for (int i = 0; i < 4 && !out_.remedy; ++i) {
      size *= 2;
      take_best(run({sized(bytes_text(size))}));
    }
    if (!out_.remedy) take_best({unbounded});
  }

  static Changes replicas(const Changes& base, std::uint32_t from, std::uint32_t to) {
    Changes out = base;
    out.push_back({"fleet.replicas", std::to_string(from), std::to_string(to)});
    return out;
  }

  /// The fewest replicas with `base`, with it and one setting, or with two.
  void more_replicas(const Changes& base, ChangeKind kind) {
    const std::uint32_t now = s_.fleet->replicas;
    std::vector<std::uint32_t> ladder;
    for (std::uint32_t n = 2; n <= kMostReplicasTried && n <= q_.workload.size(); n *= 2) {
      ladder.push_back(n);
    }
    std::vector<Configuration> steps;
    for (const std::uint32_t n : ladder) steps.push_back(asked(kind, replicas(base, now, n)));
    const std::vector<TriedChange> climbed = run(steps);
    if (climbed.empty()) return;
    // Where more no longer bring it nearer: there a setting shows whether it helps at all.
    std::size_t top = 0;
    for (std::size_t i = 0; i < climbed.size(); ++i) {
      if (!climbed[i].refused.empty()) break;
      const bool gains =
          i == 0 || climbed[i].met ||
          climbed[i].margin > climbed[top].margin + kClearlyNearer * std::fabs(climbed[top].margin);
      if (gains) top = i;
      if (climbed[i].met) break;
    }
    if (!climbed[top].refused.empty()) return;
    const std::uint32_t most = ladder[top];
    std::vector<Configuration> with;
    for (KeyChange& change : free_changes(s_, longest_)) {
      if (shares_key({change}, base)) continue;
      with.push_back(asked(kind, replicas(joined(base, {change}), now, most)));
    }
    std::vector<TriedChange> bases = run(with);
    if (climbed[top].met) bases.insert(bases.begin(), climbed[top]);
    const auto holds = [](const TriedChange& t) { return t.holds(); };
    if (std::none_of(bases.begin(), bases.end(), holds)) {
      combine(bases, {{"fleet.replicas", std::to_string(now), std::to_string(most)}});
      if (!out_.remedy) return;
      const TriedChange kept = *std::exchange(out_.remedy, std::nullopt);
      fewest_of({kept}, kind, now, most);
      if (!out_.remedy) out_.remedy = kept;
      return;
    }
    fewest_of(std::move(bases), kind, now, most);
  }

  /// The least number of replicas in (low, high] that meets the SLO with these settings.
  std::optional<std::uint32_t> least_replicas(const Changes& settings, ChangeKind kind,
                                              std::uint32_t now, std::uint32_t high) {
    std::uint32_t low = now - 1;  // by other settings than these; these may do with as many
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      const std::vector<TriedChange> tried = run({asked(kind, replicas(settings, now, middle))});
      if (tried.empty()) return std::nullopt;
      (tried.front().holds() ? high : low) = middle;
    }
    return high;
  }

  /// With the best of `bases` that meet the SLO.
  void fewest_of(std::vector<TriedChange> bases, ChangeKind kind, std::uint32_t now,
                 std::uint32_t most) {
    keep_holding(bases);
    if (bases.size() > kMostBases) bases.resize(kMostBases);
    std::vector<std::pair<std::uint32_t, Changes>> found;
    for (const TriedChange& base : bases) {
      const Changes settings = without(base.changes, {{"fleet.replicas", "", ""}});
      const auto least = least_replicas(settings, kind, now, most);
      if (least) found.emplace_back(*least, settings);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.size()) < std::pair(b.first, b.second.size());
    });
    for (const auto& [least, settings] : found) {
      for (int more = 0; more <= kMoreReplicas && !out_.remedy; ++more) {
        const std::uint32_t n = least + static_cast<std::uint32_t>(more);
        const std::vector<TriedChange> tried = run({asked(kind, replicas(settings, now, n))});
        if (tried.empty()) return;
        if (tried.front().holds()) out_.remedy = confirmed(tried.front());
      }
      if (out_.remedy) return;
    }
  }

  /// Each by itself, until one meets the SLO.
  void one_by_one(ChangeKind kind, const Changes& changes) {
    for (const KeyChange& change : changes) {
      if (out_.remedy) return;
      std::vector<TriedChange> tried = run({asked(kind, {change})});
      if (tried.empty()) return;
      singles_.push_back(tried.front());
      take_best(std::move(tried));
    }
  }

  /// The cheapest of what lowers the floor enough, with the replicas that the load then takes.
  void lower_floor() {
    std::vector<TriedChange> enough;
    for (const TriedChange& tried : q_.plan.floor->lowered) {
      if (tried.holds() && !tried.changes.empty()) enough.push_back(tried);
    }
    std::stable_sort(enough.begin(), enough.end(),
                     [](const TriedChange& a, const TriedChange& b) { return a.kind < b.kind; });
    for (const TriedChange& base : enough) {
      if (out_.remedy) return;
      const std::vector<TriedChange> tried = run({asked(base.kind, base.changes)});
      if (tried.empty()) return;
      singles_.push_back(tried.front());
      take_best(tried);
      if (!out_.remedy) more_replicas(base.changes, std::max(base.kind, ChangeKind::kReplicas));
    }
  }

  // ---- what is told

  bool told(const TriedChange& tried) const {
    return std::any_of(out_.alone.begin(), out_.alone.end(),
                       [&](const TriedChange& t) { return same_changes(t, tried); });
  }

  /// What each part of a combination does by itself.
  void tell_parts() {
    if (out_.remedy->changes.size() < 2) return;
    std::vector<Configuration> parts;
    for (const KeyChange& change : out_.remedy->changes) {
      const ChangeKind kind = change.key == "fleet.replicas" ? ChangeKind::kReplicas
                              : change.key == "gpu"          ? ChangeKind::kGpu
                              : change.key == "engine.tensor_parallel_size"
                                  ? ChangeKind::kTensorParallel
                              : change.key == "tiers.0.capacity" ? ChangeKind::kTier
                                                                 : ChangeKind::kFlag;
      parts.push_back(asked(kind, {change}));
    }
    for (TriedChange& part : run(parts)) out_.alone.push_back(std::move(part));
  }

  const RemedyQuestion& q_;
  int cell_;
  const Scenario& s_;
  std::uint64_t longest_;
  bool verdict_only_ = false;  ///< of runs on the workload itself
  std::vector<TriedChange> singles_;
  std::optional<TriedChange> without_tier_;
  Remedies out_;
};

}  // namespace

Remedies find_remedies(const RemedyQuestion& question, int cell) {
  return RemedyFinder(question, cell).find();
}

std::optional<TriedChange> find_fewer_replicas(const RemedyQuestion& question, int cell,
                                               std::uint32_t most) {
  return RemedyFinder(question, cell).find_fewer(most);
}

std::optional<TriedChange> find_cheaper(const RemedyQuestion& question, int below) {
  return RemedyFinder(question, below).find_cheaper();
}

std::optional<TriedChange> find_for_growth(const RemedyQuestion& question, int cell,
                                           const std::optional<TriedChange>& next) {
  return RemedyFinder(question, cell).find_for_growth(next);
}

}  // namespace spillway

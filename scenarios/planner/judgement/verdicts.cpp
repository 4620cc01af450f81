// Named verdicts: what a reader must not miss, each with the figures that say so.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/limits.hpp"
#include "scenarios/planner/judgement/harm.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void add(PlanResult& plan, PlanNote code, NoteFigures figures) {
  plan.judgement.verdicts.push_back(plan_note(code, std::move(figures)));
}

/// "12% at 16 GiB, 97% at 64 GiB"
std::string utilisation(const PlanFacts& facts, const std::string& link) {
  std::vector<std::string> parts;
  for (const int i : facts.line()) {
    for (const LinkResult& l : facts.run(i).links) {
      if (l.name != link) continue;
      parts.push_back(fmt::format("{} at {}", format_percent(l.busy_fraction),
                                  spaced(facts.point(i).capacity)));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string sizes_of(const PlanFacts& facts, const std::vector<int>& cells) {
  std::vector<std::string> out;
  for (const int i : cells) out.push_back(spaced(facts.point(i).capacity));
  return and_list(out);
}

/// Of one target at two cells.
void add_pair(NoteFigures& figures, const TargetView& before, const TargetView& at,
              const Compared& both) {
  figures.emplace_back("metric", metric_words(at.name, at.tenant));
  figures.emplace_back("before", figure_words(at.name, before.value));
  figures.emplace_back("after", figure_words(at.name, at.value));
  figures.emplace_back("over", both.on);
}

/// "up 35%", or with the interval of replicates "up 35% (28% to 42%)".
std::string change_words(const Compared& both, std::size_t target) {
  const double before = both.first[target].value;
  const double moved = both.second[target].value - before;
  if (before <= 0) return "";
  const double size = std::fabs(moved) / before;
  std::string out = fmt::format("{} {}", moved > 0 ? "up" : "down", format_percent(size));
  if (both.noise.empty()) return out;
  const double half = both.noise[target] / before;
  return out + fmt::format(" ({} to {})", format_percent(std::max(0.0, size - half)),
                           format_percent(size + half));
}

/// The size that serves least of prompt tokens, and what it does, among those that serve more than
/// any that hurts.
std::optional<std::pair<int, double>> pays_from(const PlanFacts& facts, int none,
                                                const std::vector<int>& hurting) {
  const auto served = [&](int i) { return served_below(facts.run(i)); };
  double most = 0;
  for (const int i : hurting) most = std::max(most, served(i));
  std::optional<std::pair<int, double>> out;
  for (const int i : facts.line()) {
    if (i == none || std::find(hurting.begin(), hurting.end(), i) != hurting.end()) continue;
    const double share = served(i);
    if (share > most && (!out || share < out->second)) out = {i, share};
  }
  return out;
}

/// Sizes that are slower than no tier at all, on the same requests.
void say_offload_hurts(PlanResult& plan, const PlanFacts& facts) {
  const int none = facts.without_tier();
  if (none < 0) return;
  std::vector<int> sizes;
  int worst = -1;
  double most = 0;
  NoteFigures figures;
  for (const int i : facts.line()) {
    if (i == none) continue;
    const Compared both = facts.compared(none, i);
    const std::optional<std::size_t> t = hurt_target(both);
    if (!t) continue;
    sizes.push_back(i);
    const TargetView& before = both.first[*t];
    const TargetView& at = both.second[*t];
    if (worst >= 0 && loss(before, at) <= most) continue;
    worst = i;
    most = loss(before, at);
    figures = {{"size", spaced(facts.point(i).capacity)}};
    add_pair(figures, before, at, both);
    if (const std::string change = change_words(both, *t); !change.empty()) {
      figures.emplace_back("change", change);
    }
  }
  if (worst < 0) return;
  figures.emplace_back("sizes", sizes_of(facts, sizes));
  const RunResult& run = facts.run(worst);
  const TierHarm harm = harm_of(facts.run(none), run);
  if (!harm.how.empty()) figures.emplace_back("how", harm.how);
  figures.emplace_back("served_share", harm.served_share);
  if (const auto pays = pays_from(facts, none, sizes)) {
    figures.emplace_back("pays_size", spaced(facts.point(pays->first).capacity));
    figures.emplace_back("pays_share", pays->second);
  }
  if (const LinkResult* link = busiest_link(run)) {
    figures.emplace_back("link", link->name);
    figures.emplace_back("busy", utilisation(facts, link->name));
  }
  const bool never = run.load_choice && run.load_choice->break_even_tokens == 0;
  if (run.load_choice && !never) {
    figures.emplace_back("break_even_tokens", run.load_choice->break_even_tokens);
  }
  add(plan, "offload-hurts", std::move(figures));
  if (never) add(plan, "loads-never-win", {});
}

bool is_link(const RunResult& run, const std::string& name) {
  return std::any_of(run.links.begin(), run.links.end(),
                     [&](const LinkResult& link) { return link.name == name; });
}

/// Whether a link decides how this run went.
bool link_decides(const RunResult& run) {
  const LinkResult* link = busiest_link(run);
  if (link == nullptr) return false;
  if (link->busy_fraction >= kBusyLink) return true;
  return run.binding && is_link(run, run.binding->resource);
}

/// Where a larger tier is slower and a link is why; or where a link binds the judged size.
void say_link_bound(PlanResult& plan, const PlanFacts& facts) {
  std::vector<int> slower;
  std::string link;
  NoteFigures figures;
  for (std::size_t k = 1; k < facts.line().size(); ++k) {
    const int i = facts.line()[k];
    if (!link_decides(facts.run(i))) continue;
    // Beside the best of the smaller sizes: a slow decline counts as well.
    std::optional<double> most;
    for (std::size_t b = 0; b < k; ++b) {
      const int smaller = facts.line()[b];
      const Compared both = facts.compared(smaller, i);
      const std::optional<std::size_t> t = hurt_target(both);
      if (!t) continue;
      const TargetView& before = both.first[*t];
      const TargetView& at = both.second[*t];
      if (most && loss(before, at) <= *most) continue;
      most = loss(before, at);
      figures = {{"smaller", spaced(facts.point(smaller).capacity)},
                 {"larger", spaced(facts.point(i).capacity)}};
      add_pair(figures, before, at, both);
    }
    if (!most) continue;
    slower.push_back(i);
    link = busiest_link(facts.run(i))->name;
  }
  if (!slower.empty()) {
    if (plan.confidence && plan.confidence->boundary != "none") {
      plan.confidence->boundary = "non_monotone";
    }
    figures.emplace_back("tier", kind_of_tier(plan));
    figures.emplace_back("sizes", sizes_of(facts, slower));
    figures.emplace_back("link", link);
    figures.emplace_back("busy", utilisation(facts, link));
    return add(plan, "link-bound", std::move(figures));
  }
  const RunResult& run = facts.run(facts.judged());
  if (!link_decides(run) || run.tiers.size() < 2) return;
  const LinkResult& busiest = *busiest_link(run);
  add(plan, "link-decides",
      {{"link", busiest.name},
       {"size", spaced(facts.point(facts.judged()).capacity)},
       {"busy", utilisation(facts, busiest.name)},
       {"tier", kind_of_tier(plan)}});
}

void say_cold_limited(PlanResult& plan, const PlanFacts& facts) {
  std::vector<int> sizes;
  for (const int i : facts.line()) {
    if (facts.point(i).cold_limited) sizes.push_back(i);
  }
  if (sizes.empty()) return;
  add(plan, "cold-limited", {{"sizes", sizes_of(facts, sizes)}, {"count", sizes.size()}});
}

/// Claim 11: with eager inclusive copies a tier no larger than HBM holds what HBM holds already.
void say_adds_nothing(PlanResult& plan, const PlanFacts& facts) {
  const int none = facts.without_tier();
  if (none < 0 || facts.run(none).swap) return;
  const double without = cached_share(facts.run(none));
  std::vector<int> sizes;
  bool all = true;
  bool within_hbm = true;
  const std::uint64_t hbm = facts.run(none).tiers.front().capacity_blocks;
  double most = without;
  for (const int i : facts.line()) {
    if (i == none) continue;
    // What meets an SLO that none misses adds what no share of prompts shows.
    if (facts.point(i).looks_met() && !facts.point(none).looks_met()) {
      all = false;
      continue;
    }
    const RunResult& run = facts.run(i);
    const double here = cached_share(run);
    if (here - without >= kWorthwhile) {
      all = false;
      continue;
    }
    sizes.push_back(i);
    most = std::max(most, here);
    within_hbm = within_hbm && run.tiers.size() > 1 && !run.tiers[1].unbounded &&
                 run.tiers[1].capacity_blocks <= hbm;
  }
  if (sizes.empty()) return;
  const double reusable = facts.demand().reusable;
  Note why = plan_note("returns-too-late");
  if (within_hbm) {
    why = plan_note("tier-within-hbm", {{"blocks", hbm}});
  } else if (all && reusable < kWorthwhile) {
    why = plan_note("little-reuse", {{"reuse_share", reusable}});
  } else if (all && reusable - most < kWorthwhile) {
    why = plan_note("hbm-suffices", {{"blocks", hbm}});
  } else if (all && !facts.point(facts.line().back()).unbounded) {
    why = plan_note("larger-untried", {{"reuse_share", reusable}});
  }
  add(plan, "tier-adds-nothing",
      {{"tier", kind_of_tier(plan)},
       {"sizes", sizes_of(facts, sizes)},
       {"with_share", most},
       {"without_share", without},
       {"because", why.code},
       {"why", why.text}});
}

/// Sizes at which a server ceases to serve for ever, on some replicate.
void say_standstill(PlanResult& plan, const PlanFacts& facts) {
  std::vector<std::string> where;
  std::string why;
  for (int i = 0; i < static_cast<int>(plan.points.size()); ++i) {
    const Standstills& s = facts.point(i).standstill;
    if (s.replicates == 0) continue;
    where.push_back(fmt::format("{} of {} replicates at {}", s.replicates, s.of, facts.label(i)));
    if (why.empty()) why = s.why;
  }
  if (where.empty()) return;
  add(plan, "standstill-in-replicates", {{"where", and_list(where)}, {"why", why}});
}

bool has_nvme(const Scenario& s) {
  const auto is_nvme = [](const TierChoice& tier) { return tier.kind() == "nvme"; };
  return (s.tier && is_nvme(*s.tier)) || std::any_of(s.behind.begin(), s.behind.end(), is_nvme);
}

/// Where tiers with and without NVMe were tried: whether it lets the first tier be smaller.
void say_nvme(PlanResult& plan, const PlanFacts& facts) {
  int with = -1;
  int without = -1;
  bool tried[2] = {false, false};
  for (int i = 0; i < static_cast<int>(plan.points.size()); ++i) {
    const bool nvme = has_nvme(facts.scenario(i));
    tried[nvme ? 1 : 0] = true;
    int& least = nvme ? with : without;
    if (!facts.point(i).looks_met()) continue;
    if (least < 0 || facts.point(i).capacity_bytes < facts.point(least).capacity_bytes) least = i;
  }
  if (!tried[0] || !tried[1]) return;
  const auto size = [&](int i) {
    const PlanPoint& p = facts.point(i);
    return fmt::format("{} of {}{}", spaced(p.capacity), kind_of_tier(plan),
                       p.feasible || !plan.confidence ? "" : " (uncertain)");
  };
  if (with < 0 && without < 0) return add(plan, "nvme-undecided", {});
  if (with < 0) return add(plan, "nvme-harms", {{"without", size(without)}});
  const bool sure = !plan.confidence || facts.point(with).feasible;
  if (without < 0) {
    return sure ? add(plan, "nvme-needed", {{"with", size(with)}})
                : add(plan, "nvme-may-be-needed", {{"with", size(with)}});
  }
  if (facts.point(with).capacity_bytes >= facts.point(without).capacity_bytes) {
    return add(plan, "nvme-not-worth-it", {{"without", size(without)}});
  }
  const NoteFigures figures = {{"with", size(with)}, {"without", size(without)}};
  return sure ? add(plan, "nvme-worth-it", figures) : add(plan, "nvme-may-be-worth-it", figures);
}

void say_overload(PlanResult& plan, const PlanFacts& facts) {
  if (!facts.overloaded(facts.judged())) return;
  const RunResult& run = facts.run(facts.judged());
  add(plan, "overload",
      {{"size", spaced(facts.point(facts.judged()).capacity)},
       {"median_wait_ms", run.queue_time.median_ms + run.client_queue_time.median_ms},
       {"arrive_per_s", static_cast<double>(run.requests) / facts.demand().arrivals_s},
       {"leave_per_s", run.request_throughput},
       {"span_s", facts.demand().arrivals_s}});
}

}  // namespace

void name_verdicts(PlanResult& plan, const PlanFacts& facts) {
  say_standstill(plan, facts);
  say_offload_hurts(plan, facts);
  say_link_bound(plan, facts);
  say_cold_limited(plan, facts);
  say_adds_nothing(plan, facts);
  say_nvme(plan, facts);
  say_overload(plan, facts);
}

}  // namespace spillway

// Named verdicts: what a reader must not miss, each with the figures that say so.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

void add(PlanResult& plan, const char* code, std::string text) {
  plan.judgement.verdicts.push_back({code, std::move(text)});
}

/// How much worse `at` is than `before`, as a share; negative where it is better.
double loss(const TargetView& before, const TargetView& at) {
  const double worse = at.at_least ? before.value - at.value : at.value - before.value;
  const double base = at.at_least ? std::max(before.value, at.value) : before.value;
  if (base > 0) return worse / base;
  return worse > 0 ? 1 : 0;
}

std::size_t tightest_of(const std::vector<TargetView>& targets) {
  std::size_t out = 0;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    if (targets[i].margin < targets[out].margin) out = i;
  }
  return out;
}

/// The target by which `at` does worse than `before`: one that was met and is missed, else the
/// tightest, where it is worse by more than noise and so is the whole. A figure far within its
/// target does not count against one that improves, nor one that scatters as much.
std::optional<std::size_t> hurt_target(const Compared& both) {
  const std::vector<TargetView>& before = both.first;
  const std::vector<TargetView>& at = both.second;
  std::optional<std::size_t> broken;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!before[i].met || at[i].met || !both.apart[i] || loss(before[i], at[i]) <= 0) continue;
    if (!broken || loss(before[i], at[i]) > loss(before[*broken], at[*broken])) broken = i;
  }
  if (broken) return broken;
  const std::size_t tight = tightest_of(at);
  const bool worse = at[tight].margin < before[tightest_of(before)].margin;
  if (worse && both.apart[tight] && loss(before[tight], at[tight]) > kSlower) return tight;
  return std::nullopt;
}

/// "h2d is busy 12% at 16GiB, 97% at 64GiB"
std::string utilisation(const PlanFacts& facts, const std::string& link) {
  std::vector<std::string> parts;
  for (const int i : facts.line()) {
    for (const LinkResult& l : facts.run(i).links) {
      if (l.name != link) continue;
      parts.push_back(
          fmt::format("{} at {}", format_percent(l.busy_fraction), facts.point(i).capacity));
    }
  }
  return fmt::format("link {} is busy {}", link, fmt::join(parts, ", "));
}

/// Sizes that are slower than no tier at all, on the same requests.
void say_offload_hurts(PlanResult& plan, const PlanFacts& facts) {
  const int none = facts.without_tier();
  if (none < 0) return;
  std::vector<std::string> sizes;
  int worst = -1;
  double most = 0;
  std::string text;
  for (const int i : facts.line()) {
    if (i == none) continue;
    const Compared both = facts.compared(none, i);
    const std::optional<std::size_t> t = hurt_target(both);
    if (!t) continue;
    sizes.push_back(facts.point(i).capacity);
    const TargetView& before = both.first[*t];
    const TargetView& at = both.second[*t];
    if (worst >= 0 && loss(before, at) <= most) continue;
    worst = i;
    most = loss(before, at);
    text = fmt::format("{} is {} with {} and {} without, {}", at.label(), format_real(at.value),
                       facts.point(i).capacity, format_real(before.value), both.on);
  }
  if (worst < 0) return;
  text = fmt::format("offload will hurt at {}: {}", fmt::join(sizes, ", "), text);
  const RunResult& run = facts.run(worst);
  if (run.load_choice && run.load_choice->break_even_tokens == 0) {
    text += "; no prefix comes sooner over the idle link than it is computed";
  } else if (run.load_choice) {
    text += fmt::format("; on an idle link loads win from {} tokens on",
                        format_count(run.load_choice->break_even_tokens));
  }
  if (const LinkResult* link = busiest_link(run)) text += "; " + utilisation(facts, link->name);
  add(plan, "offload-hurts", std::move(text));
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
  std::vector<std::string> slower;
  std::string link;
  std::string figures;
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
      figures = fmt::format("{} is {} at {} and {} at {}, {}", at.label(),
                            format_real(before.value), facts.point(smaller).capacity,
                            format_real(at.value), facts.point(i).capacity, both.on);
    }
    if (!most) continue;
    slower.push_back(facts.point(i).capacity);
    link = busiest_link(facts.run(i))->name;
  }
  if (!slower.empty()) {
    if (plan.confidence && plan.confidence->boundary != "none") {
      plan.confidence->boundary = "non_monotone";
    }
    add(plan, "link-bound",
        fmt::format("more {} is slower at {}, where the link is the bottleneck: {}; {}. The "
                    "boundary is non_monotone: every size was run, none was inferred from its "
                    "neighbours",
                    plan.tier, fmt::join(slower, ", "), figures, utilisation(facts, link)));
    return;
  }
  const RunResult& run = facts.run(facts.judged());
  if (!link_decides(run) || run.tiers.size() < 2) return;
  const LinkResult& busiest = *busiest_link(run);
  add(plan, "link-bound",
      fmt::format("link {} decides {}: {}. A larger {} adds to what it has to carry", busiest.name,
                  facts.point(facts.judged()).capacity, utilisation(facts, busiest.name),
                  plan.tier));
}

void say_cold_limited(PlanResult& plan, const PlanFacts& facts) {
  std::vector<std::string> sizes;
  for (const int i : facts.line()) {
    if (facts.point(i).cold_limited) sizes.push_back(facts.point(i).capacity);
  }
  if (sizes.empty()) return;
  add(plan, "cold-limited",
      fmt::format("the trace is too short for {}: it never fills {}, so that {} judged cold and "
                  "left out",
                  fmt::join(sizes, ", "), sizes.size() == 1 ? "it" : "them",
                  sizes.size() == 1 ? "it is" : "they are"));
}

/// Claim 11: with eager inclusive copies a tier no larger than HBM holds what HBM holds already.
void say_adds_nothing(PlanResult& plan, const PlanFacts& facts) {
  const int none = facts.without_tier();
  if (none < 0 || facts.run(none).swap) return;
  const double without = cached_share(facts.run(none));
  std::vector<std::string> sizes;
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
    sizes.push_back(facts.point(i).capacity);
    most = std::max(most, here);
    within_hbm = within_hbm && run.tiers.size() > 1 && !run.tiers[1].unbounded &&
                 run.tiers[1].capacity_blocks <= hbm;
  }
  if (sizes.empty()) return;
  std::string why;
  if (within_hbm) {
    why = fmt::format(
        "it is no larger than HBM ({} blocks), and eager inclusive copies put into it what HBM "
        "holds already",
        format_count(hbm));
  } else if (all && facts.demand().reusable < kWorthwhile) {
    why = fmt::format("prompts repeat {} of their blocks", format_percent(facts.demand().reusable));
  } else if (all && facts.demand().reusable - most < kWorthwhile) {
    why = fmt::format("HBM ({} blocks) supplies what is repeated", format_count(hbm));
  } else if (all && !facts.point(facts.line().back()).unbounded) {
    why = fmt::format(
        "these are the sizes tried, and what returns has left them before; without bound caches "
        "would find about {} of prompt blocks",
        format_percent(facts.demand().reusable));
  } else {
    why = "what returns has left it before";
  }
  add(plan, "tier-adds-nothing",
      fmt::format("the {} tier adds nothing at {}: caches supply {} of prompt tokens with it and "
                  "{} without; {}",
                  plan.tier, fmt::join(sizes, ", "), format_percent(most), format_percent(without),
                  why));
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
  add(plan, "standstill",
      fmt::format("the server ceases to serve for ever in {}: {}", and_list(where), why));
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
    return fmt::format("{} of {}{}", p.capacity, plan.tier,
                       p.feasible || !plan.confidence ? "" : " (not backed)");
  };
  // What decides has to be backed where anything is.
  const char* yes = plan.confidence && with >= 0 && !facts.point(with).feasible ? "perhaps" : "yes";
  std::string text;
  if (with < 0 && without < 0) {
    text = "not told: no size tried meets the SLO, with NVMe or without";
  } else if (with < 0) {
    text = fmt::format("no: {} meets the SLO without NVMe, and no size with it", size(without));
  } else if (without < 0) {
    text = fmt::format("{}: {} meets the SLO with NVMe behind it, and no size without", yes,
                       size(with));
  } else if (facts.point(with).capacity_bytes < facts.point(without).capacity_bytes) {
    text = fmt::format("{}: {} meets the SLO with NVMe behind it, without it takes {}", yes,
                       size(with), size(without));
  } else {
    text = fmt::format("no: without NVMe {} meets the SLO, with it no less does", size(without));
  }
  add(plan, "nvme-worth-it", std::move(text));
}

void say_overload(PlanResult& plan, const PlanFacts& facts) {
  if (!facts.overloaded(facts.judged())) return;
  const RunResult& run = facts.run(facts.judged());
  add(plan, "overload",
      fmt::format("half of the requests wait longer than {} at {}: they arrive at {}/s for {} s "
                  "and leave at {}/s. Sizes are compared under a queue that never ends",
                  format_ms(run.queue_time.median_ms + run.client_queue_time.median_ms),
                  facts.point(facts.judged()).capacity,
                  format_real(static_cast<double>(run.requests) / facts.demand().arrivals_s),
                  format_real(facts.demand().arrivals_s), format_real(run.request_throughput)));
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

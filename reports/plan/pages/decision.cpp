// Page 1: what to buy, what to set, what to expect.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/judgement_json.hpp"
#include "reports/plan/pages/decision_facts.hpp"
#include "reports/plan/pages/not_to_miss.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

/// What is needed, what is advised and what is there, one under the other.
class SizeChart {
 public:
  SizeChart(const PlanResult& plan, const Installed& installed)
      : plan_(plan),
        installed_(installed),
        engines_(installed.engines_per_host > 0 ? installed.engines_per_host : 1) {}

  Chart chart() {
    const bool per_host = installed_.engines_per_host > 0;
    out_.kind = ChartKind::kStacks;
    out_.title = fmt::format("{}: required, recommended, installed", kind_of_tier(plan_));
    out_.x_label = per_host ? "GiB per host" : "GiB per engine";
    out_.unit = "GiB";
    out_.part_names = {kind_of_tier(plan_)};
    if (plan_.feasible_min >= 0) {
      stack("required (smallest tried that meets the SLO)", cell_at(plan_, plan_.feasible_min));
    }
    if (plan_.recommended >= 0 && !cell_at(plan_, plan_.recommended).unbounded) {
      stack("recommended", static_cast<double>(plan_.recommended_bytes));
    }
    if (plan_.recommended < 0) stack_without_answer();
    if (installed_.capacity_bytes) {
      stack("installed (as the scenario has it)", *installed_.capacity_bytes);
    }
    add_host();
    const bool any = std::any_of(out_.stacks.begin(), out_.stacks.end(),
                                 [](const ChartStack& s) { return s.parts.front() > 0; });
    if (!any) return {};
    say();
    return std::move(out_);
  }

 private:
  void stack(const char* name, double bytes) {
    said_.push_back({name, bytes * engines_});
    out_.stacks.push_back({name, {bytes * engines_ / kGiB}});
  }
  void stack(const char* name, const PlanPoint& point) {
    if (!point.unbounded) stack(name, static_cast<double>(point.capacity_bytes));
  }

  void stack_without_answer() {
    if (plan_.provisional >= 0) {
      stack(plan_.undecided ? "looks best so far" : "comes nearest",
            cell_at(plan_, plan_.provisional));
    }
    const PlanPoint* largest = nullptr;
    for (const PlanPoint& point : plan_.points) {
      if (point.unbounded) continue;
      if (largest == nullptr || point.capacity_bytes > largest->capacity_bytes) largest = &point;
    }
    if (largest != nullptr) stack("largest tried", *largest);
  }

  /// The host's whole memory, in which the pools have to find room.
  void add_host() {
    const bool memory = kind_of_tier(plan_) == "DRAM" || kind_of_tier(plan_) == "swap space";
    if (installed_.host_bytes <= 0 || !memory) return;
    const double pools = plan_.recommended >= 0
                             ? static_cast<double>(plan_.recommended_bytes) * engines_
                             : installed_.capacity_bytes.value_or(0) * engines_;
    const double left = installed_.host_bytes - installed_.reserved_bytes - pools;
    for (ChartStack& stack : out_.stacks) stack.parts.resize(3, 0);
    out_.part_names.insert(out_.part_names.end(), {"reserved", "left for the rest"});
    said_.push_back({"the host's memory", installed_.host_bytes});
    out_.stacks.push_back(
        {"host memory",
         {pools / kGiB, installed_.reserved_bytes / kGiB, std::max(0.0, left) / kGiB}});
    if (left < 0) overflow_ = -left;
  }

  void say() {
    for (const auto& [name, bytes] : said_) {
      out_.note += fmt::format("{}{}: {}", out_.note.empty() ? "" : "; ", name, memory_text(bytes));
    }
    out_.note.front() = static_cast<char>(std::toupper(out_.note.front()));
    if (overflow_ > 0) {
      out_.note += fmt::format("; the pools do not fit, {} are lacking", memory_text(overflow_));
    }
    out_.note += ".";
  }

  const PlanResult& plan_;
  const Installed& installed_;
  double engines_;
  double overflow_ = 0;
  std::vector<std::pair<std::string, double>> said_;
  Chart out_;
};

Section part(const char* heading) {
  Section out;
  out.heading = heading;
  return out;
}

Section targets_part(const PlanResult& plan, const PlanPoint& point) {
  Section out = part("Targets");
  if (plan.confidence && !point.targets.empty()) {
    out.tables.push_back(targets_table(point, plan.confidence->level));
  }
  Table& once = out.tables.emplace_back(slo_table(point.run.slo));
  once.title = fmt::format("Targets at {}, in one run of the workload itself", name_of_cell(point));
  return out;
}

}  // namespace

Section decision_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "decision";
  page.heading = "Decision";
  const Installed installed = installed_of(provenance, plan.tier);
  const HostBudget host = host_budget(plan, provenance);
  page.facts = decision_facts(plan, installed, host);
  if (Chart sizes = SizeChart(plan, installed).chart(); !sizes.stacks.empty()) {
    page.charts.push_back(std::move(sizes));
  }
  if (Table not_to_miss = not_to_miss_table(plan, host); !not_to_miss.rows.empty()) {
    page.tables.push_back(std::move(not_to_miss));
  }

  if (Table tried = tried_table(plan); !tried.rows.empty()) {
    Section changes = part("What was tried");
    changes.tables.push_back(std::move(tried));
    page.parts.push_back(std::move(changes));
  }
  if (plan.judgement.counterfactuals) {
    Section help = part("What would help");
    help.tables.push_back(counterfactuals_table(*plan.judgement.counterfactuals));
    help.paragraphs = plan.judgement.counterfactuals->notes;
    page.parts.push_back(std::move(help));
  }
  if (const int cell = spoken_of(plan); cell >= 0 && has_run(cell_at(plan, cell))) {
    page.parts.push_back(targets_part(plan, cell_at(plan, cell)));
  }
  if (!plan.judgement.headroom.empty()) {
    page.parts.push_back(part("Headroom, part by part"));
    page.parts.back().tables.push_back(headroom_table(plan.judgement));
    if (std::string bases = margin_bases(plan); !bases.empty()) {
      page.parts.back().paragraphs.push_back(std::move(bases));
    }
  }
  Section words = part("In full");
  words.paragraphs = decision_sentences(plan, Detail::kFull);
  page.parts.push_back(std::move(words));
  if (!plan.points.empty()) {
    page.parts.push_back(part("Every cell"));
    page.parts.back().tables.push_back(plan_table(plan));
  }
  return page;
}

}  // namespace spillway

// Page 1: what to buy, what to set, what to expect.
#include <fmt/format.h>

#include <algorithm>

#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/judgement_report.hpp"
#include "reports/plan/pages/deciding_chart.hpp"
#include "reports/plan/pages/decision_facts.hpp"
#include "reports/plan/pages/not_to_miss.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

Section part(const char* heading) {
  Section out;
  out.heading = heading;
  return out;
}

Section folded(const char* heading) {
  Section out = part(heading);
  out.folded = true;
  return out;
}

Section targets_part(const PlanResult& plan, const PlanPoint& point) {
  Section out = folded("Targets");
  if (plan.confidence && !point.targets.empty()) {
    out.tables.push_back(targets_table(point, plan.confidence->level));
  }
  Table& once = out.tables.emplace_back(slo_table(point.run.slo));
  once.title =
      fmt::format("Targets at {}, in one run of the workload itself", spaced(name_of_cell(point)));
  return out;
}

}  // namespace

Section decision_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "decision";
  page.heading = "Decision";
  const HostBudget host = host_budget(plan, provenance);
  DecisionList facts = decision_facts(plan, installed_of(provenance, plan.tier), host);
  page.facts = std::move(facts.first);
  if (Chart chart = deciding_chart(plan); !chart.series.empty()) {
    page.charts.push_back(std::move(chart));
  }
  if (Table not_to_miss = not_to_miss_table(plan, host); !not_to_miss.rows.empty()) {
    page.tables.push_back(std::move(not_to_miss));
  }
  if (!facts.below.empty()) {
    page.parts.push_back(part("More about this answer"));
    page.parts.back().facts = std::move(facts.below);
  }

  if (Table tried = tried_table(plan); !tried.rows.empty()) {
    Section changes = part("What was tried");
    changes.tables.push_back(std::move(tried));
    page.parts.push_back(std::move(changes));
  }
  if (plan.judgement.counterfactuals) {
    Section help = part("What would help");
    help.tables.push_back(counterfactuals_table(*plan.judgement.counterfactuals));
    for (const Note& note : plan.judgement.counterfactuals->notes) {
      help.paragraphs.push_back(note.text);
    }
    page.parts.push_back(std::move(help));
  }
  if (!plan.points.empty()) {
    page.parts.push_back(
        part(plan.points.front().values.empty() ? "Every size" : "Every configuration"));
    page.parts.back().tables.push_back(plan_table(plan));
  }
  if (const int cell = spoken_of(plan); cell >= 0 && has_run(cell_at(plan, cell))) {
    page.parts.push_back(targets_part(plan, cell_at(plan, cell)));
  }
  if (!plan.judgement.headroom.empty()) {
    page.parts.push_back(folded("Headroom, part by part"));
    page.parts.back().tables.push_back(headroom_table(plan.judgement));
    if (std::string bases = margin_bases(plan); !bases.empty()) {
      page.parts.back().paragraphs.push_back(std::move(bases));
    }
  }
  Section words = folded("In full");
  words.paragraphs = decision_sentences(plan, Detail::kFull);
  page.parts.push_back(std::move(words));
  return page;
}

}  // namespace spillway

// What a plan's decision comes to in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/judgement_report.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/standing.hpp"

namespace spillway {

namespace {

const PlanPoint& at(const PlanResult& plan, int index) {
  return plan.points[static_cast<std::size_t>(index)];
}

/// Where nothing is recommended.
std::string shown_to_miss(const PlanResult& plan, const std::string& level) {
  if (plan.undecided) return fmt::format("nothing is certain at {}", level);
  const auto count = std::count_if(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
    return p.verdict == CellVerdict::kMissed;
  });
  return fmt::format("{} that {} of {} sizes miss the SLO, and none meets it", level, count,
                     plan.points.size());
}

std::string runs_to_decide(const PlanConfidence& c) {
  return fmt::format("{} run{} in all", format_count(c.runs), c.runs == 1 ? "" : "s");
}

/// What makes bounds wider than those of one size alone, where that may have cost the size.
std::string shared_error(const PlanResult& plan) {
  const auto verified =
      std::count_if(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
        return std::any_of(p.targets.begin(), p.targets.end(),
                           [](const TargetEstimate& t) { return t.bound.has_value(); });
      });
  const bool unbacked = std::any_of(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
    return p.verdict == CellVerdict::kLooksMet;
  });
  if (verified < 2 || !unbacked) return {};
  return fmt::format(
      " {} verified sizes share the {} chance of error. Testing fewer sizes narrows each interval.",
      verified, format_percent(1 - plan.confidence->level));
}

/// How sure the answer is.
std::string confidence(const PlanResult& plan) {
  if (!plan.confidence) {
    return "Confidence: none. Each size ran once, on the workload itself. Other traffic like it "
           "may "
           "miss the SLO.";
  }
  const PlanConfidence& c = *plan.confidence;
  const std::string level = fmt::format("{:.4g}%", 100 * c.level);
  if (plan.recommended < 0) {
    return fmt::format("Confidence: {} ({}).{}", shown_to_miss(plan, level), runs_to_decide(c),
                       shared_error(plan));
  }
  const PlanPoint& point = at(plan, plan.recommended);
  const Certain certain = certain_of(point, c.level);
  return fmt::format("Confidence: {} of requests within SLO ({}; {} replicates, {}).{}",
                     certain.share, certain.claim, point.replications, runs_to_decide(c),
                     shared_error(plan));
}

/// How replicates are made; a terminal leaves out what the confidence is about.
std::string replicates(const PlanConfidence& confidence, Detail detail) {
  const std::size_t end =
      detail == Detail::kBrief ? confidence.method.find(". ") : std::string::npos;
  return fmt::format("Replicates: {}.", confidence.method.substr(0, end));
}

/// The cell below the smallest that meets the SLO, and what is wrong with it.
std::string next_below(const PlanResult& plan) {
  const PlanPoint& point = at(plan, plan.infeasible_max);
  return fmt::format("{}: {} {}{}{}.",
                     plan.feasible_min >= 0 ? "Largest size below" : "Largest tried",
                     spaced(point.name), shortfall(plan, point),
                     plan.first_breach.empty() ? "" : ": ", plan.first_breach);
}

/// What each part of a combination does by itself.
std::vector<std::string> parts_of_remedy(const PlanResult& plan) {
  std::vector<std::string> out;
  const std::optional<TriedChange>& remedy = plan.answer.remedy;
  if (!remedy || remedy->changes.size() < 2) return out;
  for (std::size_t i = 0; i < remedy->changes.size() && i < plan.answer.alone.size(); ++i) {
    const TriedChange& part = plan.answer.alone[i];
    if (!part.refused.empty() || part.changes.empty()) continue;
    out.push_back(fmt::format("By itself, {} {} the SLO: {}.", change_name(part.changes.front()),
                              part.met ? "meets" : "misses", targets_words(part)));
  }
  return out;
}

}  // namespace

std::vector<std::string> decision_sentences(const PlanResult& plan, Detail detail) {
  std::vector<std::string> out = {confidence(plan)};
  if (plan.confidence && !plan.confidence->method.empty()) {
    out.push_back(replicates(*plan.confidence, detail));
  }
  if (const auto& free = plan.answer.cheaper) {
    out.push_back(fmt::format("Free alternative: {}. It meets the SLO in {}: {}.",
                              change_words(*free), runs_words(*free), targets_words(*free)));
  }
  for (std::string& part : parts_of_remedy(plan)) out.push_back(std::move(part));
  for (const Note& verdict : plan.judgement.verdicts) {
    out.push_back(verdict.text);
  }
  const bool brief = detail == Detail::kBrief;
  // The verdict of a plan without an answer names it.
  const bool told_above = brief && plan.verdict.find("Limiting resource") != std::string::npos;
  for (const Note& note : plan.binding) {
    if (told_above) break;
    const bool first = &note == &plan.binding.front();
    if (brief && !first) break;
    out.push_back(first ? fmt::format("Limiting resource: {}. {}", limiting_name(plan), note.text)
                        : note.text);
  }
  const bool tier = plan.recommended < 0 || at(plan, plan.recommended).run.tiers.size() > 1;
  if (plan.knee >= 0 && tier) {
    out.push_back(fmt::format("Sweet spot (knee): a {} tier above {} gains little.",
                              kind_of_tier(plan), spaced(at(plan, plan.knee).name)));
  }
  if (plan.runner_up >= 0) {
    out.push_back(fmt::format("Runner-up: {}. {}", spaced(at(plan, plan.runner_up).name),
                              plan.runner_up_reason.text));
  }
  // Often the runner-up: then it was told what is wrong with it.
  const bool told = brief && plan.infeasible_max == plan.runner_up;
  if (plan.infeasible_max >= 0 && !told) out.push_back(next_below(plan));
  for (const Note& note : plan.notes) out.push_back(note.text);
  for (std::string& sentence : judgement_sentences(plan, detail)) {
    out.push_back(std::move(sentence));
  }
  return out;
}

}  // namespace spillway

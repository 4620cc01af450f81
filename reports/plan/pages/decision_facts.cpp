#include "reports/plan/pages/decision_facts.hpp"
#include "reports/plan/limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/pages/confidence_grade.hpp"
#include "reports/plan/pages/not_to_miss.hpp"
#include "reports/plan/pages/outlook.hpp"
#include "reports/plan/standing.hpp"

namespace spillway {

namespace {

/// "compute: steps run all the time": what stands before the first colon, and behind it.
std::pair<std::string, std::string> split_at(const std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + mark.size())};
}

/// The first few of them, and how many more there are.
std::string first_of(const std::vector<std::string>& all, std::size_t most, const char* where) {
  const std::vector<std::string> shown(
      all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
  std::string out = fmt::format("{}", fmt::join(shown, "; "));
  if (all.size() > most) out += fmt::format("; {} more on page {}", all.size() - most, where);
  return out;
}

class DecisionFacts {
 public:
  DecisionFacts(const PlanResult& plan, const Installed& installed, const HostBudget& host)
      : plan_(plan), installed_(installed), host_(host), cell_(spoken_of(plan)) {}

  DecisionList list() {
    if (cell_ < 0) {
      add("Answer", "No size was tried", "", Status::kUncertain);
      return std::move(out_);
    }
    if (plan_.recommended >= 0) {
      recommend();
    } else if (plan_.undecided) {
      tell_undecided();
      confidence();
    } else {
      tell_infeasible();
      confidence();
    }
    bind();
    rivals();
    return std::move(out_);
  }

 private:
  const PlanPoint& cell() const { return cell_at(plan_, cell_); }

  void add(const char* label, std::string value, std::string detail = "",
           Status status = Status::kNone) {
    out_.first.push_back({label, std::move(value), std::move(detail), status});
  }
  void add_below(const char* label, std::string value, std::string detail = "") {
    out_.below.push_back({label, std::move(value), std::move(detail)});
  }

  void confidence() {
    ConfidenceGrade grade = grade_of(plan_);
    add("Confidence", std::move(grade.value), std::move(grade.detail), grade.status);
  }

  // ---- a cell is recommended

  void recommend() {
    buy();
    choose();
    confidence();
    if (plan_.margin) {
      margin();
    } else {
      out_.first.push_back(breaking_fact(plan_));
    }
    out_.first.push_back(outlook_fact(plan_));
    cost();
    set();
    expect();
    headroom();
  }

  double engines() const {
    if (plan_.recommended_bytes <= 0) return 1;
    return std::round(static_cast<double>(plan_.recommended_total_bytes) /
                      static_cast<double>(plan_.recommended_bytes));
  }

  void buy() {
    const std::string kind = kind_of_tier(plan_);
    const Status met = standing_status(plan_, cell());
    if (cell().run.tiers.size() == 1) {
      return add("Buy", "No " + kind, "HBM alone meets the SLO", met);
    }
    if (cell().unbounded) {
      return add("Buy", kind + " without bound", "No size that can be bought meets the SLO",
                 Status::kUncertain);
    }
    const std::string size = spaced(plan_.recommended_size);
    std::vector<std::string> detail;
    std::string value = fmt::format("{} of {}", size, kind);
    if (std::string all = host_need(host_); !all.empty()) detail.push_back(capitalised(all));
    const auto bytes = static_cast<double>(plan_.recommended_bytes);
    const double here = installed_.engines_per_host;
    const auto count = [](double n) { return format_count(static_cast<std::uint64_t>(n)); };
    if (here > 1) {
      value = fmt::format("{} of {} per host", memory_text(bytes * here), kind);
      detail.push_back(fmt::format("{} for each of its {} engines", size, count(here)));
    } else if (here == 1) {
      value += " per host";
    } else if (engines() > 1) {
      value += " per engine";
    }
    if (engines() > 1) {
      detail.push_back(fmt::format("{} in total over {} engines",
                                   memory_text(static_cast<double>(plan_.recommended_total_bytes)),
                                   count(engines())));
    }
    for (std::size_t i = 2; i < cell().run.tiers.size(); ++i) {
      const TierResult& tier = cell().run.tiers[i];
      detail.push_back(fmt::format(
          "secondary tier {}: {}", tier.name,
          tier.unbounded ? "no bound" : format_bytes(static_cast<double>(tier.capacity_bytes))));
    }
    add("Buy", std::move(value), fmt::format("{}", fmt::join(detail, "; ")), met);
  }

  /// Searched values.
  void choose() {
    std::vector<std::string> out;
    for (const auto& [key, value] : cell().values) out.push_back(key + " = " + value);
    if (!out.empty()) add("Choose", fmt::format("{}", fmt::join(out, ", ")));
  }

  /// The flags that make the tier; the page on applying it has the whole command.
  void set() {
    if (!plan_.flags) return;
    const EngineFlags& flags = *plan_.flags;
    std::vector<std::string> of_tier;
    for (const std::string& argument : flags.arguments) {
      for (const char* word : {"offload", "swap", "kv-transfer", "kv_connector", "hicache"}) {
        if (argument.find(word) == std::string::npos) continue;
        of_tier.push_back(argument);
        break;
      }
    }
    std::string detail = "for " + flags.release;
    const std::size_t more = flags.arguments.size() - of_tier.size();
    for (const EngineFile& file : flags.files) {
      for (const std::string& line : file.lines) {
        const std::size_t at = line.find("host_cache_size");
        if (at != std::string::npos) {
          of_tier.push_back(fmt::format("{} in {}", line.substr(at), file.name));
        }
      }
    }
    if (more > 0) {
      detail += fmt::format(", with {} more flag{} (page Apply)", more, more == 1 ? "" : "s");
    }
    for (const std::string& variable : flags.environment) detail += "; environment " + variable;
    for (const std::string& what : flags.not_covered) {
      detail += fmt::format("; no flag covers {}", split_at(what, ": ").first);
    }
    add("Set",
        of_tier.empty() ? "No flag makes this tier" : fmt::format("{}", fmt::join(of_tier, " ")),
        std::move(detail));
  }

  void expect() {
    if (!plan_.confidence || cell().replications == 0) {
      return add_below("Expect", attainment_text(cell()) + " of requests within SLO",
                       "In one run of the workload itself: " + targets_words(cell()));
    }
    const Certain certain = certain_of(cell(), plan_.confidence->level);
    add_below(
        "Expect", certain.share + " of requests within SLO",
        fmt::format("{}. {}, {}", capitalised(certain.claim), targets_words(cell()), basis()));
  }

  /// What the answer's figures are taken over.
  std::string basis() const {
    if (!plan_.confidence || cell().replications == 0) return "in one run of the workload itself";
    return fmt::format("over {} replicate{}", cell().replications,
                       cell().replications == 1 ? "" : "s");
  }

  /// How far the nearest event is that breaks the plan.
  void margin() {
    const PlanMargin& m = *plan_.margin;
    std::vector<std::string> others;
    for (std::size_t i = 1; i < m.broken.size(); ++i) others.push_back(event_words(m.broken[i]));
    std::string said =
        others.empty() ? std::string() : "Also " + first_of(others, 2, "Sensitivity");
    const std::string next = next_size_words(m);
    if (!next.empty()) said += (said.empty() ? "" : ". ") + next;
    add("Margin",
        m.broken.empty() ? "No event tried breaks it" : "Fails " + event_words(m.broken.front()),
        std::move(said), m.broken.empty() ? Status::kMet : Status::kUncertain);
    if (!m.survived.empty()) {
      add_below("Survives",
                fmt::format("{} event{}", m.survived.size(), m.survived.size() == 1 ? "" : "s"),
                capitalised(survived_words(m.survived)));
    }
  }

  void headroom() {
    std::vector<std::string> reasons;
    for (const HeadroomPart& part : plan_.judgement.headroom) {
      if (part.name == "confidence") {
        reasons.push_back(fmt::format("{} of the error budget is left at the confidence bound",
                                      format_percent(part.share)));
      }
    }
    reasons.push_back(basis());
    add_below("Headroom", format_percent(plan_.headroom) + " to the tightest target",
              fmt::format("{}", fmt::join(reasons, "; ")));
  }

  void cost() {
    const CellCost* cost = cost_of(plan_, plan_.recommended);
    if (cost == nullptr) return;
    const auto [month, part] = split_at(month_cost_words(plan_), ", ");
    std::vector<std::string> detail;
    if (!part.empty()) detail.push_back(part);
    if (cost->per_million_tokens) {
      detail.push_back(fmt::format("{} {} per million tokens", plan_.cost->currency,
                                   format_real(*cost->per_million_tokens)));
    }
    add("Cost", month, fmt::format("{}", fmt::join(detail, "; ")));
  }

  // ---- none is

  void tell_undecided() {
    const bool looks = cell().verdict == CellVerdict::kLooksMet;
    const std::string size = spaced(name_of_cell(cell()));
    add("Answer", "Not decided yet",
        looks ? fmt::format("{} may meet the SLO: {}", size, miss_words(cell()))
              : fmt::format("Nothing looks good enough; {} comes nearest: {}", size,
                            miss_words(cell())),
        Status::kUncertain);
    would_decide();
    if (plan_.judgement.counterfactuals) would_help();
    so_far();
  }

  /// The part of the sentence that says what to do; the rest is why.
  void would_decide() {
    if (plan_.would_decide.empty()) return;
    std::string first;
    std::string rest;
    std::string left = plan_.would_decide;
    while (!left.empty()) {
      const auto [clause, more] = split_at(left, "; ");
      std::string& to = first.empty() && clause.find("would") != std::string::npos ? first : rest;
      to += (to.empty() ? "" : "; ") + clause;
      left = more;
    }
    if (first.empty()) first.swap(rest);
    if (rest.empty()) {
      const auto [what, why] = split_at(first, ": ");
      return add("What would decide", capitalised(what), why);
    }
    add("What would decide", capitalised(first), rest);
  }

  void so_far() {
    if (!has_run(cell())) return;
    const std::string size = spaced(name_of_cell(cell()));
    const std::string over = cell().replications > 0
                                 ? fmt::format("over {} replicate{}", cell().replications,
                                               cell().replications == 1 ? "" : "s")
                                 : "in one run";
    add("So far", fmt::format("{} of requests within SLO", attainment_text(cell())),
        fmt::format("At {}, {}: {}", size, over, targets_words(cell())),
        standing_status(plan_, cell()));
  }

  void tell_infeasible() {
    const auto missed =
        static_cast<std::size_t>(std::count_if(plan_.points.begin(), plan_.points.end(),
                                               [](const PlanPoint& p) { return !p.looks_met(); }));
    const bool sizes = plan_.points.front().values.empty();
    const std::string tried = fmt::format(
        "{} of {} {} do not meet the SLO; {} comes nearest: {}", missed, plan_.points.size(),
        sizes ? "sizes" : "configurations", spaced(name_of_cell(cell())), miss_words(cell()));
    add("Answer", sizes ? "No size meets the SLO" : "No configuration meets the SLO", tried,
        Status::kMissed);
    const std::optional<TriedChange>& remedy = plan_.answer.remedy;
    if (remedy && !remedy->targets.empty()) {
      add(remedy->free() ? "Change, at no cost" : "Change", capitalised(change_words(*remedy)),
          fmt::format("The cheapest change that meets the SLO{}, in {}: {}",
                      remedy->more ? ", for " + cost_words(*remedy->more) : "", runs_words(*remedy),
                      targets_words(*remedy)));
    }
    fails_first();
    would_help();
  }

  /// By how much a target is missed, as a share of what it may be.
  static double excess(const TargetEstimate& t) {
    if (t.met || t.limit <= 0) return 0;
    return t.at_least ? (t.limit - t.x) / t.limit : (t.x - t.limit) / t.limit;
  }

  void fails_first() {
    const auto& targets = cell().targets;
    const auto worst = std::max_element(
        targets.begin(), targets.end(),
        [](const TargetEstimate& a, const TargetEstimate& b) { return excess(a) < excess(b); });
    if (worst == targets.end() || excess(*worst) <= 0) {
      if (!plan_.first_breach.empty()) add("Fails first", plan_.first_breach);
      return;
    }
    std::string detail = "At " + spaced(name_of_cell(cell()));
    if (worst->share) {
      const std::vector<std::string> shares = format_percents({worst->x, worst->limit});
      detail += fmt::format(": {} of requests miss it, {} allowed", shares[0], shares[1]);
    }
    add("Fails first",
        against_limit({worst->name, worst->tenant, worst->value, worst->target, worst->at_least}),
        std::move(detail), Status::kMissed);
  }

  void would_help() {
    if (!plan_.judgement.counterfactuals) return;
    const Counterfactuals& tried = *plan_.judgement.counterfactuals;
    std::vector<const Counterfactual*> rows;
    for (const Counterfactual& row : tried.all) {
      if (row.margin > tried.base.margin) rows.push_back(&row);
    }
    if (rows.empty()) {
      return add(
          "Would help", "None of the changes tried",
          fmt::format("{} changes, each alone, at {}", tried.all.size(), spaced(tried.cell)));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::pair(a->met, a->margin) > std::pair(b->met, b->margin);
    });
    const Counterfactual& first = *rows.front();
    add("Would help", capitalised(first.change),
        fmt::format("{} {} in one run of {}: {} the SLO. {}", metric_words(tried.target),
                    figure_words(tried.target, first.value), spaced(tried.cell),
                    first.met ? "meets" : "still misses", rows.size() > 1 ? "Others below" : ""));
  }

  // ---- whatever came out

  void bind() {
    if (plan_.binding.empty()) return;
    std::vector<std::string> why;
    for (const Note& note : plan_.binding) why.push_back(note.text);
    add_below("Limiting resource", capitalised(limiting_name(plan_)),
              fmt::format("{}", fmt::join(why, " ")));
  }

  void rivals() {
    if (plan_.runner_up >= 0) {
      const PlanPoint& second = cell_at(plan_, plan_.runner_up);
      const bool uncertain = standing_status(plan_, second) == Status::kUncertain;
      add_below("Runner-up", spaced(name_of_cell(second)),
                uncertain ? fmt::format("Uncertain: {}", miss_words(second))
                          : plan_.runner_up_reason.text);
    }
    if (plan_.infeasible_max < 0 || plan_.infeasible_max == plan_.runner_up) return;
    const PlanPoint& below = cell_at(plan_, plan_.infeasible_max);
    add_below(plan_.feasible_min >= 0 ? "Too small" : "Largest tried", spaced(name_of_cell(below)),
              fmt::format("{}: {}", capitalised(shortfall(plan_, below)), miss_words(below)));
  }

  const PlanResult& plan_;
  const Installed& installed_;
  const HostBudget& host_;
  int cell_;
  DecisionList out_;
};

}  // namespace

DecisionList decision_facts(const PlanResult& plan, const Installed& installed,
                            const HostBudget& host) {
  return DecisionFacts(plan, installed, host).list();
}

}  // namespace spillway

#include "reports/plan/pages/not_to_miss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/notes/notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostNamed = 3;  // limits that are named
constexpr double kNear = 1.25;         // times: a limit no further than that is worth a warning

/// Events of the recommended cell that end in a missed SLO or in no service.
std::vector<const StressRow*> bad_events(const PlanResult& plan) {
  std::vector<const StressRow*> out;
  if (!plan.stress || plan.recommended < 0) return out;
  const PlanPoint& answer = cell_at(plan, plan.recommended);
  if (plan.stress->cell != name_of_cell(answer) && plan.stress->cell != answer.capacity) return out;
  for (const StressRow& row : plan.stress->rows) {
    const bool missed = row.outcome == StressOutcome::kMissed && row.kind != "as-is";
    if (missed || row.outcome == StressOutcome::kDown) out.push_back(&row);
  }
  return out;
}

std::string pages(const PlanResult& plan) {
  if (!plan.stress) return "page Sensitivity";
  return plan.sensitivity ? "pages Sensitivity and Scenarios" : "page Scenarios";
}

/// The name with its boundaries: "6GiB" is not within "96GiB".
bool names(std::string_view text, const std::string& size) {
  if (size.empty()) return false;
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.'; };
  for (std::size_t at = text.find(size); at != std::string_view::npos;
       at = text.find(size, at + 1)) {
    const std::size_t end = at + size.size();
    if ((at == 0 || !word(text[at - 1])) && (end == text.size() || !word(text[end]))) return true;
  }
  return false;
}

/// A verdict on sizes that nobody would buy after this answer: it stands with the others in full.
bool beside_the_answer(const PlanResult& plan, const Note& verdict) {
  if (plan.recommended < 0 || verdict.code != "tier-adds-nothing") return false;
  const PlanPoint& answer = cell_at(plan, plan.recommended);
  return answer.run.tiers.size() > 1 &&
         !names(text_figure(verdict, "sizes"), spaced(answer.capacity));
}

class Rows {
 public:
  Rows(const PlanResult& plan, const HostBudget& host) : plan_(plan), host_(host) {}

  Table table() {
    out_.title = "Risks";
    out_.header = {"what", "what was seen"};
    memory();
    limits();
    growth();
    for (const StressRow* row : bad_events(plan_)) {
      if (!is_growth(*row)) event(*row);
    }
    for (const Note& verdict : plan_.judgement.verdicts) {
      if (beside_the_answer(plan_, verdict)) continue;
      std::string name = verdict.code;
      std::replace(name.begin(), name.end(), '-', ' ');
      add(capitalised(std::move(name)), verdict.text);
    }
    return std::move(out_);
  }

 private:
  void add(std::string what, std::string seen) {
    out_.rows.push_back({std::move(what), std::move(seen)});
  }

  void memory() {
    if (host_.pool <= 0 || host_.installed <= 0 || host_.installed >= host_.need) return;
    add("Host memory", fmt::format("a host needs {} in all and has {} (page Host budget)",
                                   format_bytes(host_.need), format_bytes(host_.installed)));
  }

  void limits() {
    std::size_t named = 0;
    std::size_t more = 0;
    for (const FactorLimit& limit : factor_limits(plan_)) {
      if (limit.distance() > kNear) break;
      if (++named > kMostNamed) {
        ++more;
        continue;
      }
      add(capitalised(factor_noun(limit.factor, limit.end())),
          fmt::format("misses the SLO in {} (page Sensitivity){}", replicates(),
                      limit.holds == 1 ? "" : ", " + still_met(limit)));
    }
    if (more == 0) return;
    add(fmt::format("{} more change{} as small", more, more == 1 ? "" : "s"),
        fmt::format("{} the SLO within {:.0f}% (page Sensitivity)",
                    more == 1 ? "misses" : "each miss", 100 * (kNear - 1)));
  }

  static std::string still_met(const FactorLimit& limit) {
    return fmt::format("which {} still meets", factor_noun(limit.factor, limit.holds));
  }

  std::string replicates() const {
    const std::uint32_t n = plan_.sensitivity->replicates;
    return fmt::format("{} replicate{}", n, n == 1 ? "" : "s");
  }

  void growth() {
    std::vector<std::string> missed;
    for (const StressRow* row : bad_events(plan_)) {
      if (is_growth(*row)) missed.push_back(event_name(*row));
    }
    if (missed.empty()) return;
    std::vector<std::string> met;
    for (const StressRow& row : plan_.stress->rows) {
      if (is_growth(row) && row.outcome == StressOutcome::kMet) met.push_back(event_name(row));
    }
    add("More traffic", fmt::format("{} miss{} the SLO{} (page Scenarios)", and_list(missed),
                                    missed.size() == 1 ? "es" : "",
                                    met.empty() ? ""
                                                : fmt::format("; {} still meet{} it", and_list(met),
                                                              met.size() == 1 ? "s" : "")));
  }

  void event(const StressRow& row) {
    if (row.outcome == StressOutcome::kDown) {
      return add(capitalised(row.name), fmt::format("no service: {}", row.reason));
    }
    std::string seen = "misses the SLO";
    if (!row.target.empty()) {
      seen += ": " + against_limit({row.target, "", row.value, row.limit, row.at_least});
    }
    if (row.kind == "cold-restart" && plan_.stress->restart) {
      const auto& recovery = plan_.stress->restart->recovery_s;
      seen += recovery ? fmt::format("; caches recover in {}", format_ms(1000 * *recovery))
                       : std::string("; caches do not recover before the workload ends");
    }
    add(capitalised(row.name), seen + " (page Scenarios)");
  }

  const PlanResult& plan_;
  const HostBudget& host_;
  Table out_;
};

}  // namespace

Fact breaking_fact(const PlanResult& plan) {
  Fact out{"Margin", "No event tried breaks it", pages(plan), Status::kMet};
  if (!plan.sensitivity && !plan.stress) {
    return {out.label, "Not tested", "plan.sensitivity and plan.stress test it",
            Status::kUncertain};
  }
  std::vector<std::string> limits;
  for (const FactorLimit& limit : factor_limits(plan)) {
    limits.push_back(factor_noun(limit.factor, limit.end()));
  }
  if (limits.size() > kMostNamed) limits.resize(kMostNamed);
  std::vector<std::string> events;
  for (const StressRow* row : bad_events(plan)) events.push_back(row->name);
  if (limits.empty() && events.empty()) return out;
  std::vector<std::string>& first = limits.empty() ? events : limits;
  out.status = Status::kUncertain;
  out.value = "Fails: " + first.front();
  first.erase(first.begin());
  out.detail.clear();
  if (!limits.empty()) out.detail = "Also " + and_list(limits);
  if (!events.empty()) {
    out.detail += (limits.empty() ? "Events: " : "; events: ") + and_list(events);
  }
  out.detail += fmt::format("{}({})", out.detail.empty() ? "" : " ", pages(plan));
  return out;
}

Table not_to_miss_table(const PlanResult& plan, const HostBudget& host) {
  return Rows(plan, host).table();
}

std::string bad_events_sentence(const PlanResult& plan) {
  std::vector<std::string> missed;
  std::vector<std::string> down;
  for (const StressRow* row : bad_events(plan)) {
    (row->outcome == StressOutcome::kDown ? down : missed).push_back(row->name);
  }
  std::string out;
  if (!missed.empty()) {
    out = fmt::format("{} miss{} the SLO", and_list(missed), missed.size() == 1 ? "es" : "");
  }
  if (!down.empty()) {
    out += fmt::format("{}{} leave{} no service", out.empty() ? "" : "; ", and_list(down),
                       down.size() == 1 ? "s" : "");
  }
  if (out.empty()) return out;
  return fmt::format("With {}, in one run each: {}", plan.stress->cell, out);
}

std::string margin_bases(const PlanResult& plan) {
  if (plan.recommended < 0) return {};
  const PlanPoint& answer = cell_at(plan, plan.recommended);
  std::vector<std::string> out;
  if (plan.confidence && answer.replications > 0) {
    out.push_back(fmt::format("{} over {} replicates (this page)", format_percent(plan.headroom),
                              answer.replications));
  }
  if (plan.sensitivity) {
    const std::uint32_t n = plan.sensitivity->replicates;
    out.push_back(fmt::format("{} on the {} replicate{} of page Sensitivity",
                              format_percent(plan.sensitivity->margin), n, n == 1 ? "" : "s"));
  }
  if (plan.stress) {
    for (const StressRow& row : plan.stress->rows) {
      if (row.kind != "as-is" || row.target.empty()) continue;
      out.push_back(
          fmt::format("{} in one run of the workload itself (pages Time, Scenarios and Apply)",
                      format_percent(row.margin)));
    }
  }
  if (out.size() < 2) return {};
  return fmt::format("The margin of the tightest target is {}. It differs with the replicates.",
                     and_list(out));
}

}  // namespace spillway

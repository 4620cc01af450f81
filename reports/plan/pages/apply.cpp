// Page 10: what to set, how to go back, how to verify it, what to watch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/format.hpp"
#include "reports/ops/alerts.hpp"
#include "reports/ops/figures.hpp"
#include "reports/ops/trace_replay.hpp"
#include "reports/ops/verify.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/flag_words.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

namespace {

/// Arguments that say where KV goes when it leaves HBM.
bool offloads(std::string_view argument) {
  constexpr std::string_view kOffload[] = {
      "--kv-offloading-", "--kv-transfer-config ", "--disable-hybrid-kv-cache-manager",
      "--swap-space ",    "--preemption-mode ",    "--enable-hierarchical-cache",
      "--hicache-"};
  return std::any_of(std::begin(kOffload), std::end(kOffload),
                     [&](std::string_view word) { return argument.starts_with(word); });
}

EngineFlags without_offload(const EngineFlags& flags) {
  EngineFlags out = flags;
  out.comments.clear();
  out.not_covered.clear();
  std::erase_if(out.arguments, offloads);
  for (EngineFile& file : out.files) {
    std::erase_if(file.lines, [](const std::string& line) {
      constexpr std::string_view kBelow[] = {"host_cache_size", "disk_cache_",
                                             "secondary_offload_"};
      return std::any_of(std::begin(kBelow), std::end(kBelow), [&](std::string_view word) {
        return line.find(word) != std::string::npos;
      });
    });
  }
  out.processes.clear();
  std::erase_if(out.environment, [](const std::string& variable) {
    constexpr std::string_view kOfStores[] = {"VLLM_USE_SIMPLE_KV_OFFLOAD", "DYN_KVBM_",
                                              "AIBRIX_KV_CACHE_OL_", "FLEXKV_", "MOONCAKE_"};
    return std::any_of(std::begin(kOfStores), std::end(kOfStores),
                       [&](std::string_view prefix) { return variable.starts_with(prefix); });
  });
  const bool v0 = std::any_of(flags.arguments.begin(), flags.arguments.end(),
                              [](const std::string& a) { return a.starts_with("--swap-space "); });
  if (v0) {
    out.arguments.insert(out.arguments.begin(), {"--preemption-mode recompute", "--swap-space 0"});
  }
  return out;
}

/// The cell that has nothing below HBM and is like `cell` otherwise; nullptr: it was not tried.
const PlanPoint* bare_cell(const PlanResult& plan, const PlanPoint& cell) {
  const auto found = std::find_if(plan.points.begin(), plan.points.end(), [&](const PlanPoint& p) {
    return !p.unbounded && p.capacity_bytes == 0 && p.values == cell.values;
  });
  return found == plan.points.end() ? nullptr : &*found;
}

/// "what: why".
std::vector<std::string> split_reason(const std::string& text) {
  const std::size_t at = text.find(": ");
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 2)};
}

Section set_part(const EngineFlags& flags) {
  Section part;
  part.heading = "Set";
  part.paragraphs.push_back(fmt::format(
      "For {}, of one instance; flags of other releases differ (spillway flags SCENARIO --engine "
      "NAME@VERSION).",
      flags.release));
  part.code.push_back({"Start the engine", shell_fragment(flags)});
  Section sizes;
  sizes.heading = "Units and arithmetic";
  sizes.folded = true;
  if (!flags.comments.empty()) {
    Table& table = sizes.tables.emplace_back();
    table.title = "Units, scope and arithmetic of what is set";
    table.header = {"of", "unit, scope and arithmetic"};
    for (const std::string& comment : flags.comments) {
      const std::size_t at = comment.find(' ');
      const bool flag = comment.starts_with("--") && at != std::string::npos;
      table.rows.push_back(
          {flag ? comment.substr(0, at) : "", flag ? comment.substr(at + 1) : comment});
    }
  }
  if (!flags.not_covered.empty()) {
    Table& left = part.tables.emplace_back();
    left.title = "What no flag sets: by hand, or it stays different";
    left.header = {"what", "why"};
    left.shown = 3;
    for (const std::string& what : flags.not_covered) left.rows.push_back(split_reason(what));
  }
  if (!sizes.tables.empty()) part.parts.push_back(std::move(sizes));
  return part;
}

Table expectation(const PlanPoint& with, const PlanPoint& without) {
  Table t;
  t.title = fmt::format("Simulated on the same workload: {} and {}", spaced(with.name),
                        spaced(without.name));
  t.header = {"figure", spaced(with.name), spaced(without.name)};
  const auto row = [&](const char* name, auto value) {
    t.rows.push_back({name, value(with.run), value(without.run)});
  };
  row("Time to first token, p50", [](const RunResult& r) { return format_ms(r.ttft.median_ms); });
  row("Time to first token, p99", [](const RunResult& r) { return format_ms(r.ttft.p99_ms); });
  row("Time per output token, p99", [](const RunResult& r) { return format_ms(r.tpot.p99_ms); });
  row("Requests/s that meet all targets",
      [](const RunResult& r) { return format_real(r.goodput); });
  row("Prompt tokens from below HBM",
      [](const RunResult& r) { return format_percent(cached_share(r, 1)); });
  row("Preemptions", [](const RunResult& r) { return format_count(r.preemptions); });
  for (const SloResult& slo : with.run.slo) {
    const auto other = std::find_if(
        without.run.slo.begin(), without.run.slo.end(),
        [&](const SloResult& o) { return o.name == slo.name && o.tenant == slo.tenant; });
    t.rows.push_back({fmt::format("Target {}", target_label(slo.name, slo.tenant)),
                      slo.passed ? "met" : "missed",
                      other == without.run.slo.end() ? ""
                      : other->passed                ? "met"
                                                     : "missed"});
  }
  return t;
}

Section rollback_part(const PlanResult& plan, const PlanPoint& cell) {
  Section part;
  part.heading = "Go back";
  part.folded = true;
  part.paragraphs.emplace_back(
      "Without offload; what was in the tier is lost, and computed again when it is asked for.");
  part.code.push_back({"Start the engine as it would be without the tier",
                       shell_fragment(without_offload(*plan.flags))});
  if (const PlanPoint* bare = bare_cell(plan, cell); bare != nullptr && bare != &cell) {
    part.tables.push_back(expectation(cell, *bare));
  } else if (bare == nullptr) {
    part.paragraphs.emplace_back(
        "What to expect then was not simulated: the plan tried no size of 0 (add \"0GiB\" to "
        "plan.sizes).");
  }
  return part;
}

Section verify_part(const OpsFigures& figures, const Provenance& provenance) {
  Section part;
  part.heading = "Verify";
  part.folded = true;
  part.paragraphs.emplace_back(
      "Against the running engine, before it takes traffic. Expect the figures below of the replay "
      "of the trace; a p99 of some hundred requests scatters.");
  if (const auto bench = bench_command(figures, provenance)) {
    part.paragraphs.emplace_back(
        "The first command is a quick look at the rate and at the steps: random text of the mean "
        "lengths, with a few shared beginnings for the simulated share of reuse. So few may all "
        "stay in HBM: what lies below is hardly asked then, and its latencies are not the planned "
        "ones. Only the replay puts the tiers to the test.");
    part.code.push_back(*bench);
  }
  TraceReplay replay = trace_replay(figures, provenance, aiperf_goodput(*figures.run));
  part.code.push_back(std::move(replay.code));
  Table& differs = part.tables.emplace_back();
  differs.title = "What differs from the plan in this replay";
  differs.header = {"what", "how"};
  for (const std::string& what : replay.differs) differs.rows.push_back(split_reason(what));
  Table& t = part.tables.emplace_back();
  t.title = "Planned figures, in one run of the workload itself";
  t.header = {"figure", "p50", "p99"};
  const RunResult& run = *figures.run;
  const auto row = [&](const char* name, const LatencyStats& s) {
    t.rows.push_back({name, format_ms(s.median_ms), format_ms(s.p99_ms)});
  };
  row("Time to first token", run.ttft);
  row("Time per output token", run.tpot);
  row("End to end", run.e2el);
  row("Time in queue", run.queue_time);
  return part;
}

Section watch_part(const OpsFigures& figures) {
  Section part;
  part.heading = "Watch";
  part.folded = true;
  const AlertRules alerts = alert_rules(figures);
  part.code.push_back(
      {"Files for Prometheus and Grafana",
       "spillway report plan.json --format alerts,grafana,prometheus --out ops/\n"});
  if (!alerts.rules.empty()) {
    Table& t = part.tables.emplace_back();
    t.title = fmt::format("Alerts, by the metrics of {}", figures.engine.text());
    t.header = {"alert", "beyond", "for", "severity", "where the threshold comes from"};
    for (const AlertRule& rule : alerts.rules) {
      t.rows.push_back({rule.name, rule.threshold, rule.lasts, rule.severity, rule.why});
    }
  }
  if (!alerts.not_armed.empty()) {
    Table& t = part.tables.emplace_back();
    t.title = "Not armed";
    t.header = {"what", "why"};
    for (const std::string& what : alerts.not_armed) t.rows.push_back(split_reason(what));
  }
  return part;
}

}  // namespace

Section apply_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "apply";
  page.heading = "Apply";
  if (plan.recommended < 0 || !plan.flags) {
    page.paragraphs.emplace_back(
        plan.recommended < 0
            ? "There is nothing to set: the plan recommends no configuration."
            : "There are no flags: the plan was made by a build that did not write them.");
    return page;
  }
  const OpsFigures figures = figures_of(plan, provenance);
  const PlanPoint& cell = *figures.point;
  page.facts.push_back({"Engine",
                        figures.engine.engine.empty() ? plan.flags->release : figures.engine.text(),
                        "its flags and metrics are on this page"});
  page.facts.push_back({fmt::format("Size of {}", plan.tier), spaced(plan.recommended_size),
                        "of one instance, rounded up to what can be set"});
  page.parts.push_back(set_part(*plan.flags));
  page.parts.push_back(rollback_part(plan, cell));
  page.parts.push_back(verify_part(figures, provenance));
  page.parts.push_back(watch_part(figures));
  return page;
}

}  // namespace spillway

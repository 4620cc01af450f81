// The words of a plan's answer: figures with their limits, changes and events, as people say them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reports/metric_words.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Every target of a cell, over its replicates or in its one run: "p99 TTFT 786 ms (limit 2.00 s),
/// p99 TPOT 56.0 ms (limit 100 ms)".
std::string targets_words(const PlanPoint& point);
std::string targets_words(const TriedChange& tried);

/// What a cell misses, or may miss: the target furthest from its limit, "p99 TTFT 2.31 s (limit
/// 2.00 s)"; where the figure is within its limit and too many requests are not: "1.8% of requests
/// exceed the p99 TTFT limit of 2.00 s (1.0% allowed)".
std::string miss_words(const PlanPoint& point);

/// "Margin: fails if prefix reuse falls 5%, or on a cold restart; 128 GiB survives a cold restart
/// for USD 14.2 more a month." Empty where no event was asked for.
std::string margin_words(const PlanResult& plan);

/// "if prefix reuse falls 5%", "on a cold restart (one run)".
std::string event_words(const BreakingEvent& event);
/// "12 months" of a forecast's name, "in 12 months"; other names as they are.
std::string forecast_span(const std::string& name);
/// "3 months of growth, a peak x1.5 and a cold restart", of the events that a size survives.
std::string survived_words(std::span<const std::string> events);
/// "128 GiB survives a cold restart for USD 14.2 more a month"; empty where it survives no more.
std::string next_size_words(const PlanMargin& margin);
/// "USD 14.2 more a month", "USD 3.1 less a month".
std::string cost_words(const MoreCost& more);
/// "USD 899 a month, 23.0 of it for DRAM", of what is recommended; empty where it has no price.
std::string month_cost_words(const PlanResult& plan);
/// "use 2 replicas and it holds for USD 876 more a month"; empty where nothing was found.
std::string growth_remedy_words(const PlanMargin& margin);
/// "3 replicates", "one run".
std::string runs_words(const TriedChange& tried);

/// Every change that was tried against a missed SLO or a missed floor, with its figures; no rows
/// where none was.
Table tried_table(const PlanResult& plan);

/// "capacity of HBM", "compute", "none".
std::string limiting_name(const PlanResult& plan);

/// "DRAM", "NVMe", "swap space": of the planned tier, as the cells that ran have it.
std::string kind_of_tier(const PlanResult& plan);

/// A size as it is written, "96GiB", with its space.
std::string spaced(std::string_view size);

/// What to do, without a verb's capital: "set --max-num-batched-tokens 1024 and use 5 replicas".
std::string change_words(const TriedChange& tried);
/// The same as a noun: "--max-num-batched-tokens 1024".
std::string change_name(const KeyChange& change);

/// "prefix reuse falls 5%", "prompts and answers grow 15%".
std::string factor_event(std::string_view factor, double times);

/// The same as a noun: "5% less prefix reuse", "15% longer prompts and answers".
std::string factor_noun(std::string_view factor, double times);

/// "12", "0.94", with what they are of: "0.94 requests/s".
std::string rate_words(double per_s);

}  // namespace spillway

// The figures that operations compare production with: those of one simulated run, with the engine
// release whose metrics show the same. Of a plan it is the run of the recommended cell.
#pragma once

#include <string>
#include <vector>

#include "reports/ops/engine_metrics.hpp"
#include "reports/renderers/renderer.hpp"
#include "sim/plan_result.hpp"
#include "sim/result.hpp"

namespace spillway {

struct Provenance;

/// Points into the result that it was made of, which has to outlive it.
struct OpsFigures {
  std::string kind;      ///< "plan" or "run"
  std::string scenario;  ///< as somebody named it
  std::string digest;    ///< of the result
  const PlanResult* plan = nullptr;
  const PlanPoint* point = nullptr;  ///< of a plan: the cell; nullptr: it recommends none
  const RunResult* run = nullptr;    ///< nullptr: there is none to compare with
  bool provisional = false;          ///< the plan is undecided, and this cell is what it leans to
  EngineRelease engine;              ///< empty: not known
  EngineRelease cache;               ///< a cache layer with metrics of its own, e.g. lmcache
  std::uint32_t engines = 1;         ///< that share what `run` counts
  std::int64_t page_tokens = 1;      ///< of SGLang, which counts tokens
  AlertOptions alerts{};

  /// "the cell 64GiB of the plan "chat" (result 0123456789abcdef)".
  std::string subject() const;
  /// Of an engine that exports it, else of the cache layer; nullptr: neither does.
  const EngineMetric* metric(Signal signal) const;
};

OpsFigures figures_of(const PlanResult& plan, const Provenance& provenance);
OpsFigures figures_of(const RunResult& run, const Provenance& provenance);
/// The same with the metrics of other releases: "vllm@0.25", "vllm@0.25,lmcache", "sglang"; "kvbm"
/// for a store on the newest release of its engine. Throws InputError at `option`.
void use_engines(const std::string& names, std::string_view option, OpsFigures& figures);

// Rates of one engine, and what the run did at its worst over windows as alerts look at it.

double per_second(const OpsFigures& figures, double count);
/// The largest mean over `window_s` of a series of the run; the mean of all where that is shorter;
/// 0 where there is no such series.
double largest_mean(const RunResult& run, const std::string& series, double window_s);
/// Seconds of the longest stretch in which `usage` of the first tier was exceeded while requests
/// waited.
double longest_pressure(const RunResult& run, double usage);

/// The link that loads into HBM from the tier below; nullptr: none.
const LinkResult* load_link(const RunResult& run);
/// Found by asked; nothing where nobody asked.
std::optional<double> hit_ratio(const TierResult& tier);
/// What the engine's counters of the tiers below come to: before vLLM #30522 (0.16) they count all
/// tokens of a prompt as asked, and since then those that HBM did not have.
/// `reuse`: with so much left of what is found again, in HBM and below, and the rest asked in vain.
std::optional<double> external_ratio(const OpsFigures& figures, double reuse = 1);

}  // namespace spillway

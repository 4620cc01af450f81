#include "reports/plan/falsifiers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/provenance.hpp"
#include "sim/busiest_link.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr double kFewerHits = 0.9;   // of what was planned: less is no chance
constexpr double kSlowLink = 0.8;    // of what a link was taken to carry: slower than calibrated
constexpr double kBlocksOff = 0.02;  // of the KV blocks: beyond it the memory is not as computed

class Falsifiers {
 public:
  Falsifiers(const PlanResult& plan, const Provenance& provenance, const PlanPoint& point)
      : plan_(plan),
        point_(point),
        run_(point.run),
        engine_(object_at(object_at(provenance.inputs, "configuration"), "engine")) {}

  Table table() {
    out_.title = fmt::format("The plan for {} is wrong if", spaced(name_of_cell(point_)));
    out_.shown = 5;
    out_.header = {"measured", "the plan says", "it is wrong if", "then look at"};
    add_targets();
    add_blocks();
    add_hits();
    add_links();
    add_limits();
    return std::move(out_);
  }

 private:
  void add(std::string what, std::string said, std::string wrong, std::string look) {
    out_.rows.push_back({std::move(what), std::move(said), std::move(wrong), std::move(look)});
  }

  std::string load() const {
    return fmt::format("at {} requests/s", format_real(run_.request_throughput));
  }

  void add_targets() {
    const std::string basis = point_.targets.empty() || point_.replications == 0
                                  ? "in one run"
                                  : fmt::format("over {} replicate{}", point_.replications,
                                                point_.replications == 1 ? "" : "s");
    const auto row = [&](const std::string& name, double value, double target, bool at_least) {
      add(name, fmt::format("{} {}", format_real(value), basis),
          fmt::format("{} {} {}", at_least ? "below" : "above", format_real(target), load()),
          name.find("ttft") != std::string::npos
              ? "the stages of the time to first token: which one is longer than planned"
              : "how many requests run at once, preemptions, and copies beside the steps");
    };
    if (!point_.targets.empty()) {
      for (const TargetEstimate& t : point_.targets) {
        row(t.label(), t.value, t.target, t.at_least);
      }
      return;
    }
    for (const SloResult& s : run_.slo) {
      row(target_label(s.name, s.tenant), s.value, s.target, s.at_least);
    }
  }

  void add_blocks() {
    const std::uint64_t blocks = whole<std::uint64_t>(engine_.value("num_gpu_blocks", json(0)));
    const std::uint64_t tokens = whole<std::uint64_t>(engine_.value("block_tokens", json(0)));
    if (blocks < 2 || tokens == 0) return;
    const std::uint64_t all = (blocks - 1) * tokens;
    add("tokens of KV that the engine finds room for (in its log at start)", format_count(all),
        fmt::format(
            "off by more than {}: below {}", format_percent(kBlocksOff),
            format_count(static_cast<std::uint64_t>(static_cast<double>(all) * (1 - kBlocksOff)))),
        "memory of the GPU that something else takes");
  }

  /// The next smaller size that is not known to do; its share of hits is where this one stops
  /// being worth its price.
  const PlanPoint* below() const {
    if (plan_.infeasible_max < 0) return nullptr;
    return &plan_.points.at(static_cast<std::size_t>(plan_.infeasible_max));
  }

  void add_hits() {
    const double share = cached_share(run_);
    if (share <= 0) return;
    const PlanPoint* smaller = below();
    const double other = smaller == nullptr ? 0 : cached_share(smaller->run);
    const bool apart = smaller != nullptr && other < kFewerHits * share;
    const auto reuse = factor_limit(plan_, "reuse", false);
    const double kept = reuse ? std::min(1.0, reuse->end()) * share : 0;
    std::string wrong = apart ? fmt::format("no more than {}, which {} gives too",
                                            format_percent(other), smaller->capacity)
                              : fmt::format("below {}", format_percent(kFewerHits * share));
    if (kept > (apart ? other : kFewerHits * share)) {
      wrong = fmt::format("below {}: {} {} the SLO", format_percent(kept), limit_name(*reuse),
                          reuse->misses ? "misses" : "is not known to meet");
    }
    add("prompt tokens from caches, in steady traffic", format_percent(share), std::move(wrong),
        "whether prefixes are routed to the instance that holds them, and whether the traffic "
        "still repeats itself");
  }

  void add_links() {
    for (const LinkResult& link : run_.links) {
      if (link.capacity_bytes_per_s <= 0 || link.transfers == 0) continue;
      add(fmt::format("rate of large copies, {}", link.name),
          fmt::format("{:.1f} GB/s, busy {} of the time", link.capacity_bytes_per_s / 1e9,
                      format_percent(link.busy_fraction)),
          fmt::format("below {:.1f} GB/s, or busy above {}",
                      kSlowLink * link.capacity_bytes_per_s / 1e9,
                      format_percent(std::min(1.0, std::max(0.1, 2 * link.busy_fraction)))),
          "the link's width and generation under load, pinning, the NUMA node");
    }
  }

  /// What sensitivity found to change the recommendation.
  void add_limits() {
    std::vector<FactorLimit> limits = factor_limits(plan_);
    const std::optional<FactorLimit> traffic = traffic_limit(plan_);
    const bool grown = traffic && traffic->factor == "sessions";
    if (grown) limits.insert(limits.begin(), *traffic);
    for (const FactorLimit& limit : limits) {
      const bool sessions = grown && &limit == limits.data();
      const bool rate = sessions || limit.factor == "arrival rate";
      const auto value = [&](double factor) {
        return rate ? fmt::format("{} requests/s on average",
                                  format_real(factor * run_.request_throughput))
                    : fmt::format("{} times what it is", format_real(factor));
      };
      std::string wrong = fmt::format("{} {}", limit.above ? "above" : "below", value(limit.holds));
      wrong += limit.misses ? fmt::format(
                                  " (at {} times it misses the SLO; values between were not "
                                  "tried)",
                                  format_real(*limit.misses))
                            : "";
      add(sessions ? "arrival rate of more sessions" : limit.factor, rate ? value(1) : "as it is",
          std::move(wrong),
          sessions ? "page Scenarios: what was met and missed there"
                   : "page Sensitivity: the size that is needed then");
    }
  }

  const PlanResult& plan_;
  const PlanPoint& point_;
  const RunResult& run_;
  json engine_;
  Table out_;
};

}  // namespace

Table falsifiers_table(const PlanResult& plan, const Provenance& provenance) {
  const int at = plan.recommended >= 0 ? plan.recommended : plan.provisional;
  if (at < 0 || static_cast<std::size_t>(at) >= plan.points.size()) return {};
  return Falsifiers(plan, provenance, plan.points[static_cast<std::size_t>(at)]).table();
}

}  // namespace spillway

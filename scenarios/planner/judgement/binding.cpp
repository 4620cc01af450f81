// What limits the judged cell. Asked in this order: who is turned away, links that hardly rest,
// work that comes faster than it is done, blocks of HBM; then what more capacity or a better
// policy would bring; then nothing, or compute where the SLO is missed all the same.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/cache_replay.hpp"
#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

constexpr double kManyTurnedAway = 0.01;              // of the requests
constexpr std::uint64_t kMostReferences = 4'000'000;  // replayed for a bound: seconds

/// Hits of the tier's policy and of the offline optimum in a cache of the same capacity, as shares
/// of all prompt blocks.
struct PolicyBound {
  double policy = 0;
  double optimum = 0;
};

/// Model: one cache of the larger tier's capacity, which is what inclusive tiers hold between them;
/// blocks in use and answers take no room, so that it is the difference that counts.
std::optional<PolicyBound> policy_bound(const PlanFacts& facts, int index) {
  const Scenario& s = facts.scenario(index);
  const RunResult& run = facts.run(index);
  const Workload& workload = facts.workload();
  if (run.tiers.size() < 2 || run.tiers[1].unbounded || run.swap) return std::nullopt;
  if (workload.references() == 0 || workload.references() > kMostReferences) return std::nullopt;
  const std::uint64_t blocks = std::max(run.tiers[0].capacity_blocks, run.tiers[1].capacity_blocks);
  const std::uint64_t capacity = blocks * s.engine.block_tokens / workload.block_tokens();
  if (capacity == 0) return std::nullopt;
  const EvictionChoice optimum = parse_eviction("belady", {});
  PolicyNeeds needs = s.tier->eviction.needs();
  needs.future = true;
  const ReplayFacts replay_facts(workload, needs, Atomicity::kRequest);
  ReplaySetup setup;
  setup.capacity_blocks = capacity;
  setup.block_tokens = workload.block_tokens();
  setup.facts = &replay_facts;
  const auto share = [&](const EvictionChoice& choice) {
    CacheReplay replay(choice, setup);
    replay.run(workload.all());
    return static_cast<double>(replay.counts().prefix_hits) /
           static_cast<double>(workload.references());
  };
  try {
    return PolicyBound{share(s.tier->eviction), share(optimum)};
  } catch (const InputError&) {
    return std::nullopt;  // parameters that fit the tier's capacity and not this one
  }
}

class Binding {
 public:
  Binding(PlanResult& plan, const PlanFacts& facts)
      : plan_(plan), facts_(facts), run_(facts.run(facts.judged())) {}

  void find() {
    if (turned_away() || busy_link() || overload() || crowded()) return;
    by_caches();
  }

 private:
  bool say(const char* kind, std::string why) {
    plan_.judgement.binding_kind = kind;
    plan_.binding = fmt::format("{}: {}", kind, why);
    return true;
  }

  bool turned_away() {
    if (run_.requests == 0) return false;
    const double share = static_cast<double>(run_.rejected) / static_cast<double>(run_.requests);
    if (share < kManyTurnedAway) return false;
    std::string reasons;
    for (const ReasonCount& r : run_.rejected_reasons) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", r.reason, r.count);
    }
    const std::string why =
        fmt::format("{} of the requests are rejected ({})", format_percent(share), reasons);
    // Without a policy of its own the server turns away only what its pool never holds.
    if (facts_.scenario(facts_.judged()).admission.name() == "always") {
      return say("capacity", "of HBM: " + why);
    }
    return say("admission", why);
  }

  bool is_link(const std::string& resource) const {
    if (resource == "transfers") return true;
    return std::any_of(run_.links.begin(), run_.links.end(),
                       [&](const LinkResult& link) { return link.name == resource; });
  }

  bool busy_link() {
    const LinkResult* link = busiest_link(run_);
    if (link != nullptr && link->busy_fraction >= kBusyLink) {
      return say("bandwidth", fmt::format("link {} is busy {} of the time", link->name,
                                          format_percent(link->busy_fraction)));
    }
    if (!run_.binding || !is_link(run_.binding->resource)) return false;
    return say("bandwidth", fmt::format("link {}: {}", run_.binding->resource, run_.binding->why));
  }

  bool overload() {
    if (!facts_.overloaded(facts_.judged())) return false;
    const bool starved = run_.binding && run_.binding->resource == "hbm";
    return say(
        starved ? "capacity" : "compute",
        fmt::format("{}overload, requests arrive at {}/s and leave at {}/s, and the queue grows "
                    "as long as they arrive; caches shift that, but no size tried keeps up{}",
                    starved ? "of HBM: " : "",
                    format_real(static_cast<double>(run_.requests) / facts_.demand().arrivals_s),
                    format_real(run_.request_throughput),
                    run_.binding && run_.binding->resource != "none"
                        ? fmt::format(" ({}: {})", run_.binding->resource, run_.binding->why)
                        : std::string()));
  }

  bool crowded() {
    if (!run_.binding) return false;
    const BindingResource& b = *run_.binding;
    if (b.resource == "max_num_seqs") return say("admission", "max_num_seqs: " + b.why);
    if (b.resource == "hbm") return say("capacity", "of HBM: " + b.why);
    return false;
  }

  void by_caches() {
    const double here = cached_share(run_);
    double larger = here;
    for (std::size_t i = facts_.place() + 1; i < facts_.line().size(); ++i) {
      larger = std::max(larger, cached_share(facts_.run(facts_.line()[i])));
    }
    const std::optional<PolicyBound> bound = policy_bound(facts_, facts_.judged());
    const double by_policy = bound ? bound->optimum - bound->policy : 0;
    if (by_policy >= kWorthwhile && by_policy > larger - here) {
      say("policy", fmt::format("a replay with {} hits {} of prompt blocks in a cache of this "
                                "capacity and the offline optimum {}, while more capacity brings "
                                "{} of prompt tokens",
                                facts_.scenario(facts_.judged()).tier->eviction.text(),
                                format_percent(bound->policy), format_percent(bound->optimum),
                                format_percent(larger - here)));
      return;
    }
    if (larger - here >= kWorthwhile) {
      say("capacity",
          fmt::format("caches supply {} of prompt tokens here and {} with more{}",
                      format_percent(here), format_percent(larger),
                      by_policy < kWorthwhile ? std::string()
                                              : fmt::format("; the offline optimum would hit {} "
                                                            "more at this capacity",
                                                            format_percent(by_policy))));
      return;
    }
    const std::string largest = facts_.point(facts_.line().back()).capacity;
    if (facts_.demand().reusable - larger >= kWorthwhile &&
        !facts_.point(facts_.line().back()).unbounded) {
      say("capacity",
          fmt::format("up to {}, the largest size tried, caches supply {} of prompt tokens, while "
                      "about {} of prompt blocks are repeated",
                      largest, format_percent(larger), format_percent(facts_.demand().reusable)));
      return;
    }
    const std::string rest = fmt::format(
        "caches supply {} of prompt tokens, and hardly more than that is repeated at all{}",
        format_percent(here), run_.binding ? "; " + run_.binding->why : std::string());
    const bool busy = run_.binding && run_.binding->resource == "compute";
    say(plan_.recommended >= 0 && !busy ? "none" : "compute", rest);
  }

  PlanResult& plan_;
  const PlanFacts& facts_;
  const RunResult& run_;
};

}  // namespace

void find_binding(PlanResult& plan, const PlanFacts& facts) {
  Binding(plan, facts).find();
}

}  // namespace spillway

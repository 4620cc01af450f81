#include "reports/ops/figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/provenance.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// Stores that are attached to an engine and have counters of their own, by the preset or
/// connector that chooses them. Their engine's newest release is the one that counts.
struct AttachedStore {
  std::string_view chosen_by;
  std::string_view engine;  ///< empty: a client alone
  std::string_view store;
};
constexpr AttachedStore kStores[] = {{"kvbm", "vllm", "kvbm"},
                                     {"aibrix", "vllm", "aibrix"},
                                     {"flexkv", "vllm", "flexkv"},
                                     {"mooncake", "vllm", "mooncake"},
                                     {"mooncake-client", "", "mooncake"}};

const AttachedStore* attached_store(std::string_view name) {
  name = name.substr(0, name.find('@'));
  for (const AttachedStore& store : kStores) {
    if (store.chosen_by == name) return &store;
  }
  return nullptr;
}

/// What is there of a store's metrics depends on the kinds of its tiers, and on its engine.
std::vector<std::string> kinds_below(const RunResult* run, std::string_view engine = {}) {
  std::vector<std::string> out;
  if (!engine.empty()) out.emplace_back(engine);
  if (run == nullptr) return out;
  for (std::size_t i = 1; i < run->tiers.size(); ++i) out.push_back(run->tiers[i].kind);
  return out;
}

bool mentions(const std::vector<std::string>& texts, std::string_view word) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(word) != text.npos; });
}

void add_parts(const json& engine, const EngineFlags* flags, OpsFigures& out) {
  const bool below = out.run != nullptr && out.run->tiers.size() > 1 &&
                     (out.run->tiers[1].unbounded || out.run->tiers[1].capacity_bytes > 0);
  const bool simple =
      text_at(engine, "offload_connector") == "simple" ||
      (flags != nullptr && mentions(flags->environment, "VLLM_USE_SIMPLE_KV_OFFLOAD"));
  if (out.engine.engine == "vllm" && out.engine.version < EngineVersion{0, 9} &&
      out.engine.version != EngineVersion{}) {
    out.engine.parts = {"swap"};
    return;
  }
  if (!below) return;
  out.engine.parts = {"connector"};
  const std::string connector = text_at(engine, "offload_connector");
  const bool lmcache = connector == "lmcache" || connector == "lmcache-mp";
  const AttachedStore* store = attached_store(text_at(engine, "preset"));
  if (store == nullptr) store = attached_store(connector);
  if (lmcache || store != nullptr) {
    out.cache.engine = lmcache ? connector : std::string(store->store);  // with its own counters
    out.cache.parts = kinds_below(out.run, lmcache ? std::string_view() : store->engine);
    return;
  }
  if (connector == "hybrid") out.cache = {"lmcache-mp"};
  if (!simple) out.engine.parts.emplace_back("offload");
  if (out.run->tiers.size() > 2 && connector != "hybrid") out.engine.parts.emplace_back("tiering");
}

OpsFigures common_figures(const Provenance& provenance) {
  OpsFigures out;
  out.scenario = provenance.scenario;
  out.digest = provenance.digest;
  return out;
}

void add_engine(const Provenance& provenance, const EngineFlags* flags, OpsFigures& out) {
  const json engine = object_at(object_at(provenance.inputs, "configuration"), "engine");
  // Somebody may have edited the document: what the table does not know is none.
  const std::string release = flags != nullptr ? flags->release : text_at(engine, "preset");
  const AttachedStore* store = attached_store(release);
  out.engine = read_release(store != nullptr ? store->engine : std::string_view(release))
                   .value_or(EngineRelease{});
  if (out.run != nullptr) {
    out.engines = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(out.run->engines.size()));
  }
  out.page_tokens = parse_whole<std::int64_t>(text_at(engine, "page_size")).value_or(1);
  add_parts(engine, flags, out);
}

}  // namespace

std::string OpsFigures::subject() const {
  if (point == nullptr) return fmt::format("the {} \"{}\" (result {})", kind, scenario, digest);
  return fmt::format("the cell {} of the plan \"{}\" (result {})", point->name, scenario, digest);
}

const EngineMetric* OpsFigures::metric(Signal signal) const {
  const EngineMetric* found = find_metric(engine, signal);
  return found != nullptr || cache.engine.empty() ? found : find_metric(cache, signal);
}

OpsFigures figures_of(const PlanResult& plan, const Provenance& provenance) {
  OpsFigures out = common_figures(provenance);
  out.kind = "plan";
  out.plan = &plan;
  out.provisional = plan.recommended < 0 && plan.provisional >= 0;
  const int cell = out.provisional ? plan.provisional : plan.recommended;
  if (cell >= 0) {
    out.point = &plan.points[static_cast<std::size_t>(cell)];
    out.run = &out.point->run;
  }
  add_engine(provenance, plan.flags ? &*plan.flags : nullptr, out);
  return out;
}

OpsFigures figures_of(const RunResult& run, const Provenance& provenance) {
  OpsFigures out = common_figures(provenance);
  out.kind = "run";
  out.run = &run;
  add_engine(provenance, nullptr, out);
  return out;
}

void use_engines(const std::string& names, std::string_view option, OpsFigures& figures) {
  if (names.empty()) return;
  const std::vector<std::string> parts = figures.engine.parts;
  const std::size_t comma = std::min(names.find(','), names.size());
  const AttachedStore* store = attached_store(names);
  if (store != nullptr && comma == names.size()) {
    figures.engine = {std::string(store->engine), {}, {"connector"}};
    figures.cache = {std::string(store->store), {}, kinds_below(figures.run, store->engine)};
    return;
  }
  figures.engine = engine_release(names.substr(0, comma), option);
  figures.engine.parts = parts;
  if (comma < names.size()) {
    figures.cache = engine_release(names.substr(comma + 1), option);
    figures.cache.parts = kinds_below(figures.run);
    // Its own counters stand for what the engine's connector would say.
    std::erase(figures.engine.parts, "offload");
    std::erase(figures.engine.parts, "tiering");
  }
}

double per_second(const OpsFigures& figures, double count) {
  const double seconds = figures.run->duration_s * figures.engines;
  return seconds > 0 ? count / seconds : 0;
}

double largest_mean(const RunResult& run, const std::string& series, double window_s) {
  for (const Series& s : run.series) {
    if (s.name != series || s.values.empty() || s.bin_s <= 0) continue;
    const auto bins =
        std::clamp<std::size_t>(static_cast<std::size_t>(window_s / s.bin_s), 1, s.values.size());
    double sum = 0;
    double most = 0;
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      sum += s.values[i];
      if (i >= bins) sum -= s.values[i - bins];
      if (i + 1 >= bins) most = std::max(most, sum / static_cast<double>(bins));
    }
    return most;
  }
  return 0;
}

double longest_pressure(const RunResult& run, double usage) {
  const Series* waiting = nullptr;
  const Series* held = nullptr;
  for (const Series& s : run.series) {
    if (s.name == "waiting") waiting = &s;
    if (!run.tiers.empty() && s.name == run.tiers[0].name) held = &s;
  }
  if (waiting == nullptr || held == nullptr || waiting->bin_s != held->bin_s) return 0;
  const double limit = usage * static_cast<double>(run.tiers[0].capacity_bytes);
  std::size_t longest = 0;
  std::size_t now = 0;
  for (std::size_t i = 0; i < std::min(waiting->values.size(), held->values.size()); ++i) {
    const bool under = held->values[i] > limit && waiting->values[i] > 0;
    now = under ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return static_cast<double>(longest) * held->bin_s;
}

namespace {

const LinkResult* link_between(const RunResult& run, const std::string& from,
                               const std::string& to) {
  const auto found = std::find_if(run.links.begin(), run.links.end(), [&](const LinkResult& l) {
    return !l.medium && l.from == from && l.to == to;
  });
  return found == run.links.end() ? nullptr : &*found;
}

}  // namespace

const LinkResult* load_link(const RunResult& run) {
  return run.tiers.size() < 2 ? nullptr : link_between(run, run.tiers[1].name, run.tiers[0].name);
}

std::optional<double> hit_ratio(const TierResult& tier) {
  if (tier.queries == 0) return std::nullopt;
  return static_cast<double>(tier.hits) / static_cast<double>(tier.queries);
}

std::optional<double> external_ratio(const OpsFigures& figures, double reuse) {
  const RunResult& run = *figures.run;
  if (run.tiers.size() < 2) return std::nullopt;
  constexpr EngineVersion kAskedOnly{0, 16};
  const EngineRelease& engine = figures.engine;
  const bool all =
      engine.engine == "vllm" && engine.version != EngineVersion{} && engine.version < kAskedOnly;
  const std::uint64_t all_asked = run.tiers[0].queries;
  const std::uint64_t below = run.tiers[1].queries;
  // What HBM no longer has is asked below it, too.
  const double in_hbm = static_cast<double>(all_asked > below ? all_asked - below : 0);
  const double asked =
      all ? static_cast<double>(all_asked) : static_cast<double>(below) + (1 - reuse) * in_hbm;
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < run.tiers.size(); ++i) found += run.tiers[i].hits;
  if (asked <= 0) return std::nullopt;
  return std::min(1.0, reuse * static_cast<double>(found) / asked);
}

}  // namespace spillway

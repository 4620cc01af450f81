// The rules of tiers: what is written to them when, what they keep, what leaves early.
#include <fmt/format.h>

#include <algorithm>

#include "models/engine/connectors/level_rules.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

template <class Rule, std::size_t n>
void read_rule(const ObjectReader& tier, std::string_view key, const std::string_view (&names)[n],
               Rule& out) {
  const auto text = tier.text(key);
  if (!text) return;
  out = static_cast<Rule>(std::find(names, names + n, *text) - names);
}

void read_trim(const ObjectReader& tier, const TierChoice& choice, TrimRule& out) {
  const auto above = tier.number("trim_above");
  const auto to = tier.number("trim_to");
  if (!above) {
    tier.refuse({"trim_to", "trim_every_s"},
                "expected only with trim_above, the share that starts it");
    return;
  }
  if (choice.capacity.kind == Capacity::Kind::kUnbounded) {
    tier.fail("trim_above", "expected only with a capacity, of which it is a share");
  }
  out.above = *above;
  out.to = to.value_or(*above);
  if (const auto period = tier.number("trim_every_s")) {
    out.period = Duration(static_cast<std::int64_t>(*period * 1e9));
  }
  if (out.to > out.above) {
    tier.fail("trim_to",
              fmt::format("expected at most trim_above ({}), found {}", out.above, out.to));
  }
}

}  // namespace

void read_level_rules(const ObjectReader& tier, const ObjectReader& engine, TierChoice& out) {
  const std::string set = engine.text("tier_rules").value_or(std::string(kRuleSets[0].name));
  LevelRules& rules = out.rules;
  rules = std::find_if(std::begin(kRuleSets), std::end(kRuleSets), [&](const RuleSet& row) {
            return row.name == set;
          })->rules;
  read_rule(tier, "write", kWriteRules, rules.write);
  read_rule(tier, "inclusion", kInclusions, rules.inclusion);
  read_rule(tier, "when_full", kFullRules, rules.full);
  read_trim(tier, out, rules.trim);
  if (const auto ttl = tier.number("ttl_s")) {
    rules.trim.time_to_live = Duration(static_cast<std::int64_t>(*ttl * 1e9));
  }
  assign(rules.prefetch, tier.integer("prefetch_chunks"));
  if (rules.inclusion == Inclusion::kExclusive && rules.write == WriteRule::kThrough) {
    tier.fail(tier.told("inclusion") ? "inclusion" : "write",
              "exclusive and \"write\": \"through\" contradict each other: what is written as it "
              "comes into dram is in both; expected \"write\": \"on-eviction\", or inclusive");
  }
  out.write_admission = read_write_admission(tier);
  const std::string policy = out.write_admission.text();
  if (out.write_admission.name() == "min-depth" || policy.find("lookups") != std::string::npos) {
    tier.fail(
        "write_admission",
        fmt::format("{} asks where a block stands in its request, or who looked for it, which "
                    "only the first tier knows; expected another policy",
                    policy));
  }
}

void read_first_rules(const ObjectReader& tier, TierChoice& out) {
  tier.refuse({"write", "inclusion", "when_full", "ttl_s", "prefetch_chunks"},
              "expected only for tiers after the first: the engine itself writes to the first");
  read_trim(tier, out, out.rules.trim);
}

void refuse_tier_rules(const ObjectReader& tier, std::string_view why) {
  tier.refuse({"write", "inclusion", "when_full", "trim_above", "trim_to", "trim_every_s", "ttl_s",
               "prefetch_chunks", "write_admission"},
              why);
}

}  // namespace spillway

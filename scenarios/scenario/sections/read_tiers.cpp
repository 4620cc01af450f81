// The tiers below HBM: names, kinds, capacities and policies.
#include <fmt/format.h>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"
#include "sim/observer.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Names kTierScopes[] = {"instance", "rank", "node", "cluster", "replica"};
constexpr Names kTierKinds[] = {"dram", "fs", "kv", "nvme", "object"};
constexpr Key kTierKeys[] = {
    required(text_key("name", "Name of the tier in links, plans and results.")),
    required(choice_key("kind", kTierKinds, "What the tier is made of.")),
    capacity_key("capacity", "Capacity. Of a secondary tier: inf if left out."),
    choice_key(
        "scope", kTierScopes,
        "Who shares the storage. rank: the instance, and capacity is for each rank. replica: "
        "another name of instance.",
        "instance"),
    aside(text_key("eviction", "Eviction policy: spillway list policies.", "lru")),
    aside(text_key("write_admission",
                   "Which blocks are stored: always, second-hit, frequency:threshold=2:decay_s=600 "
                   "and others.",
                   "always")),
    choice_key("write", kWriteRules,
               "Secondary tier: whether blocks come with those of dram, or as the tier before "
               "gives them up.",
               "by engine.tier_rules"),
    choice_key("inclusion", kInclusions,
               "Secondary tier: whether a block stays when it is read into dram.",
               "by engine.tier_rules"),
    choice_key("when_full", kFullRules, "Secondary tier: what becomes of a write without room.",
               "by engine.tier_rules"),
    number_key("trim_above", 0, 1, "Share of the capacity above which blocks leave early.",
               "none leave early"),
    number_key("trim_to", 0, 1, "Share of the capacity that is left then.", "trim_above"),
    number_key("trim_every_s", 1e-3, 1e6, "How often the tier looks whether to trim itself.",
               "as each write ends"),
    number_key("ttl_s", 1e-6, 1e9, "Secondary tier: how long an unused block stays.", "for ever"),
    integer_key("prefetch_chunks", 0, 1 << 20,
                "Secondary tier: chunks that waiting requests may have on their way to dram.", "0"),
    object_key("device", ScenarioKeys::kDevice, "Storage of the tier.",
               "published figures of its kind, named in the warnings"),
    number_key("lookup_us", 0, 1e9,
               "lmcache: time to ask for one chunk. llmd-fs: for one file. aibrix: for all blocks.",
               "0"),
    integer_key("put_threads", 1, 65536, "lmcache: threads that write to the disk.", "4"),
    list_of(object_key("outages", ScenarioKeys::kOutage,
                       "lmcache: when the remote store cannot be reached.", "never")),
    choice_key("atime", kAtimeRules, "llmd-fs: when a read changes the access time of a file.",
               "relatime"),
    object_key("evictor", ScenarioKeys::kEvictor, "llmd-fs: what deletes files.", "none"),
    integer_key("segments", 1, 1 << 16, "Mooncake Store: equal parts of the memory.", "1"),
    object_key("store", ScenarioKeys::kMooncake, "Mooncake Store: its settings.")};

}  // namespace

const KeyTable ScenarioKeys::kTier = kTierKeys;

std::uint64_t checked_tier_blocks(const Scenario& s, const Capacity& capacity,
                                  std::string_view text, const SourceRef& where) {
  const std::uint64_t blocks = s.tier_blocks(capacity);
  if (capacity.kind == Capacity::Kind::kUnbounded) return blocks;
  if (capacity.count == 0 && s.engine.family == EngineFamily::kMooncake) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{} holds no object; expected room for one: without its store a "
                                 "client has nothing",
                                 text));
  }
  const std::int64_t block = s.tier_block_bytes().count();
  if (blocks == 0 && capacity.count > 0) {
    const std::uint32_t k = s.engine.blocks_per_chunk;
    const std::string chunk = k == 1 ? fmt::format("block of {} bytes", block)
                                     : fmt::format("chunk of {} blocks of {} bytes each", k, block);
    throw InputError(Fault::kUsage, where,
                     fmt::format("{} holds no {} (slots are whole pages); expected "
                                 "room for one, or 0GiB",
                                 text, chunk));
  }
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
  if (blocks > kMostBytes / static_cast<std::uint64_t>(block)) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("\"{}\" of {} bytes each is too large; expected inf for a tier "
                                 "without a bound",
                                 text, block));
  }
  return blocks;
}

Capacity instance_capacity(const Scenario& s, const TierChoice& tier, Capacity capacity) {
  if (tier.per_rank && capacity.kind == Capacity::Kind::kBytes) capacity.count *= s.world();
  return capacity;
}

EvictionChoice read_eviction(const ObjectReader& object) {
  const std::string text = object.text("eviction").value_or("lru");
  EvictionChoice choice = parse_eviction(text, object.where("eviction"));
  if (choice.needs().future) {
    object.fail("eviction", fmt::format("{} needs the future, which only a replay knows; expected "
                                        "an online policy",
                                        choice.name()));
  }
  return choice;
}

namespace {

/// The kind, and the storage where it is one. `behind`: the tier stands behind another.
void read_kind(const ObjectReader& tier, bool behind, TierChoice& out, Scenario& s) {
  const std::string kind = tier.require_text("kind");
  if (kind == "dram") {
    tier.refuse({"device"}, "expected only with a tier of kind nvme, fs, object or kv");
    return;
  }
  for (const StorageKind storage :
       {StorageKind::kNvme, StorageKind::kFs, StorageKind::kObject, StorageKind::kKv}) {
    if (kind != name_of(storage)) continue;
    if (out.name == TierChoice::kHost) {
      tier.fail("name", "\"host\" is taken; it is the memory between HBM and storage");
    }
    out.storage = read_storage(tier, {out.name, storage, behind}, s);
    return;
  }
  tier.fail("kind", unknown_name("kind of tier", kind, kTierKinds));
}

/// Who shares the tier's device, and behind host memory its blocks too.
void read_tier_scope(const ObjectReader& tier, TierChoice& t) {
  const std::string scope = tier.text("scope").value_or("instance");
  t.per_rank = scope == "rank";
  if (t.per_rank) return;
  t.scope = *scope_of(scope);
  if (t.scope == Scope::kInstance) return;
  if (!t.storage) {
    tier.fail("scope", fmt::format("expected instance or rank, found \"{}\": each engine pins a "
                                   "pool of its own in host memory",
                                   scope));
  }
  if (t.storage->spec.kind == StorageKind::kNvme && t.scope == Scope::kCluster) {
    tier.fail("scope",
              "expected instance, rank or node, found \"cluster\": a drive belongs to one host");
  }
}

}  // namespace

std::string tier_name(const ObjectReader& tier) {
  std::string name = tier.require_text("name");
  if (name == "hbm" || name == "local_compute" || name.empty()) {
    tier.fail("name", fmt::format("\"{}\" is taken; hbm is the implicit first tier", name));
  }
  return name;
}

void refuse_taken_name(const ObjectReader& tier, const TierChoice& behind, const Scenario& s) {
  bool taken = behind.name == s.tier->name;
  for (const TierChoice& other : s.behind) taken = taken || behind.name == other.name;
  if (!taken) return;
  tier.fail("name",
            fmt::format("two tiers are called \"{}\"; expected different names", behind.name));
}

namespace {

TierChoice begin_tier(const ObjectReader& tier, bool behind, Scenario& s) {
  TierChoice out;
  out.name = tier_name(tier);
  refuse_chunk_keys(tier);
  read_kind(tier, behind, out, s);
  read_tier_scope(tier, out);
  out.where = tier.where("capacity");
  return out;
}

}  // namespace

TierChoice read_tier_behind(const ObjectReader& tier, const ObjectReader& engine, Scenario& s) {
  if (tier.require_text("kind") == "dram") {
    tier.fail("kind",
              "expected nvme, fs, object or kv behind the first tier: one tier is host memory");
  }
  TierChoice out = begin_tier(tier, true, s);
  const std::string capacity = tier.text("capacity", ObjectReader::kSize).value_or("inf");
  out.capacity = instance_capacity(s, out, parse_capacity(capacity, out.where));
  checked_tier_blocks(s, out.capacity, capacity, out.where);
  if (out.capacity.kind == Capacity::Kind::kUnbounded) {
    tier.refuse({"eviction"}, "expected only with a capacity: nothing has to leave this tier");
  } else if (out.capacity.count == 0) {
    tier.fail("capacity", "expected room for a chunk, or inf");
  }
  out.eviction = read_eviction(tier);
  read_level_rules(tier, engine, out);
  return out;
}

namespace {

/// What several engines put into a tier, one of them alone cannot take.
void check_spill(const ObjectReader& tier, const TierChoice& before, const TierChoice& behind) {
  if (behind.rules.write != WriteRule::kOnEviction || behind.scope >= before.scope) return;
  tier.fail("write",
            fmt::format("{} takes what {} gives up, which is shared more widely ({} against {}); "
                        "expected a scope at least as wide, or \"write\": \"through\"",
                        behind.name, before.name, name_of(before.scope), name_of(behind.scope)));
}

/// What vLLM's tiers behind host memory (TieringOffloadingSpec) do not go with.
void check_behind(const ObjectReader& top, const Scenario& s) {
  const EngineConfig& c = s.engine;
  const ObjectReader engine = *top.object("engine", ScenarioKeys::kEngine);
  const std::string many = fmt::format("with {} behind {}", s.behind.front().name, s.tier->name);
  if (c.residency == Residency::kStreaming) {
    engine.fail("residency", "expected full " + many + ": steps read from one tier only");
  }
  if (c.load != LoadSemantics::kAsync) {
    engine.fail("load", fmt::format("expected async {}, found {}", many, name_of(c.load)));
  }
  if (c.store_threshold >= 2) {
    engine.fail("store_threshold",
                fmt::format("expected at most 1 {} (vLLM refuses it too), found {}", many,
                            c.store_threshold));
  }
  if (c.simple_offload()) {
    engine.fail("offload_connector", "expected native " + many + ", found simple");
  }
}

}  // namespace

std::optional<TierChoice> begin_host_memory(const ObjectReader& top, const HostMemoryWords& words) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers.empty()) return std::nullopt;
  if (tiers.size() > words.most_tiers) {
    tiers[words.most_tiers].fail("name", std::string(words.one_tier));
  }
  const ObjectReader& tier = tiers.front();
  if (const std::string kind = tier.require_text("kind"); kind != "dram") {
    tier.fail("kind", fmt::format(fmt::runtime(words.kind), kind));
  }
  refuse_chunk_keys(tier);
  tier.refuse({"device"}, words.rules);
  refuse_tier_rules(tier, words.rules);
  tier.refuse({"eviction"}, words.rules);
  TierChoice out;
  out.name = tier_name(tier);
  out.per_rank = tier.text("scope").value_or("instance") == "rank";
  out.where = tier.where("capacity");
  return out;
}

void read_tiers(const ObjectReader& top, Scenario& s) {
  if (read_mooncake_tiers(top, s)) return;
  if (read_v0_tier(top, s) || read_sglang_tier(top, s) || read_trtllm_tier(top, s)) return;
  if (keeps_chunks(s.engine.connector)) return read_chunk_tiers(top, s);
  if (s.engine.is_kvbm()) return read_kvbm_tiers(top, s);
  if (s.engine.is_flexkv()) return read_flexkv_tiers(top, s);
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers.empty()) return;
  if (tiers.size() >= kMaxTiers) {
    tiers[kMaxTiers - 1].fail("", fmt::format("expected at most {} tiers below hbm, found {}",
                                              kMaxTiers - 1, tiers.size()));
  }
  const ObjectReader& tier = tiers.front();
  TierChoice out = begin_tier(tier, false, s);
  if (out.storage && tiers.size() > 1) {
    tier.fail("kind",
              fmt::format("expected dram as the first of {} tiers: storage behind it (nvme, fs, "
                          "object or kv) is reached by way of host memory, found {}",
                          tiers.size(), out.kind()));
  }
  const std::string capacity = tier.require_text("capacity", ObjectReader::kSize);
  out.capacity = instance_capacity(s, out, parse_capacity(capacity, out.where));
  checked_tier_blocks(s, out.capacity, capacity, out.where);
  out.eviction = read_eviction(tier);
  // What upstream calls arc is not the paper's (vllm/v1/kv_offload/cpu/policies/arc.py).
  const bool connector = s.engine.residency == Residency::kFull && !s.engine.simple_offload();
  if (connector && out.eviction.text() == "arc") {
    out.eviction = parse_eviction("vllm-arc", tier.where("eviction"));
  }
  out.write_admission = read_write_admission(tier);
  read_first_rules(tier, out);
  s.tier = std::move(out);
  for (std::size_t i = 1; i < tiers.size(); ++i) {
    TierChoice behind = read_tier_behind(tiers[i], *top.object("engine", ScenarioKeys::kEngine), s);
    refuse_taken_name(tiers[i], behind, s);
    if (!s.behind.empty()) check_spill(tiers[i], s.behind.back(), behind);
    s.behind.push_back(std::move(behind));
  }
  if (s.behind.empty()) return;
  check_behind(top, s);
  if (!find_preset(s.preset, {}).has_tiering) {
    s.notes.push_back(scenario_note("no-secondary-tiers-yet", {{"preset", s.preset}}));
  }
}

}  // namespace spillway

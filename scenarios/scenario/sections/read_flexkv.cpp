// FlexKV: its settings and its tiers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/decimal.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostReward = 100'000'000;  // seconds, three years
constexpr std::int64_t kMostHits = std::int64_t{1} << 30;
constexpr std::uint64_t kMostFlexkvSlots = std::uint64_t{1} << 32;  // shares of them fit 64 bits

constexpr Key kFlexkvKeys[] = {
    number_key("evict_start_threshold", 0, 1,
               "Share of a tier's slots in use from which a store evicts ahead. Above 0.", "0.7"),
    number_key("evict_ratio", 0, 1, "Least share of a tier's slots that an eviction frees.",
               "0.05"),
    integer_key("hit_reward_seconds", 0, kMostReward,
                "eviction lru: time by which each hit makes blocks younger.", "0"),
    integer_key("slru_protected_threshold", 1, kMostHits,
                "eviction slru: hits from which blocks leave last.", "2")};

/// A share as it was written, in parts of 10^9.
std::int64_t share(const ObjectReader& object, std::string_view key, std::int64_t otherwise) {
  const auto value = object.number(key);
  if (!value) return otherwise;
  const Decimal decimal = decimal_of(*value);
  if (decimal.exponent < -9) object.fail(key, "expected at most nine decimals");
  return floor_scaled(decimal, 9);
}

/// Tiers in their order: host memory, a disk, a remote store.
class FlexkvTiers {
 public:
  FlexkvTiers(const ObjectReader& top, Scenario& s) : top_(top), s_(s) {}

  void read() {
    const auto tiers = top_.objects("tiers", ScenarioKeys::kTier);
    if (tiers.empty()) top_.missing("tiers", "a tier of kind dram, the host memory of FlexKV");
    if (!s_.media.empty()) top_.fail("media", "expected none with preset flexkv");
    if (tiers.size() > FlexkvConfig::kMostTiers) {
      tiers[FlexkvConfig::kMostTiers].fail("kind", std::string(kOrder));
    }
    for (std::size_t i = 0; i < tiers.size(); ++i) read_tier(tiers[i], i);
  }

 private:
  static constexpr std::string_view kOrder =
      "expected dram, then nvme, then one of kv and object, which needs the nvme";
  static constexpr std::string_view kRules =
      "FlexKV has rules of its own: engine.flexkv and the tier's eviction";

  void read_tier(const ObjectReader& tier, std::size_t place) {
    TierChoice out;
    out.name = tier_name(tier);
    if (place > 0) refuse_taken_name(tier, out, s_);
    const StorageKind kinds[] = {StorageKind::kNvme, StorageKind::kKv, StorageKind::kObject};
    const std::string kind = tier.require_text("kind");
    const auto* const storage = std::find_if(std::begin(kinds), std::end(kinds),
                                             [&](StorageKind k) { return name_of(k) == kind; });
    const std::size_t fits = storage == std::end(kinds) ? 0 : storage == kinds ? 1 : 2;
    if (fits != place || (fits == 0 && kind != "dram")) {
      tier.fail("kind", fmt::format("{}; found {}", kOrder, kind));
    }
    refuse_keys(tier);
    read_capacity(tier, out);
    read_policy(tier, place);
    if (place == 0) {
      s_.tier = std::move(out);
      return;
    }
    out.by_links = true;
    out.storage.emplace();
    out.storage->spec = default_storage(*storage);
    s_.behind.push_back(std::move(out));
  }

  void read_capacity(const ObjectReader& tier, TierChoice& out) {
    out.per_rank = tier.text("scope").value_or("instance") == "rank";
    out.where = tier.where("capacity");
    const std::string text = tier.require_text("capacity", ObjectReader::kSize);
    out.capacity = instance_capacity(s_, out, parse_capacity(text, out.where));
    if (out.capacity.kind == Capacity::Kind::kUnbounded) {
      tier.fail("capacity", "expected a size: FlexKV numbers the blocks of each tier at the start");
    }
    const std::uint64_t slots = checked_tier_blocks(s_, out.capacity, text, out.where);
    if (slots > kMostFlexkvSlots || slots == 0) {
      tier.fail("capacity",
                fmt::format("expected room for 1 to {} blocks, found {}", kMostFlexkvSlots, slots));
    }
  }

  void read_policy(const ObjectReader& tier, std::size_t place) {
    const std::string name = tier.text("eviction").value_or("lru");
    const auto* const found =
        std::find(std::begin(kFlexkvEvictions), std::end(kFlexkvEvictions), name);
    if (found == std::end(kFlexkvEvictions)) {
      tier.fail("eviction", fmt::format("expected one of {} with preset flexkv; found {}",
                                        fmt::join(kFlexkvEvictions, ", "), name));
    }
    s_.engine.flexkv.eviction[place] =
        static_cast<FlexkvEviction>(found - std::begin(kFlexkvEvictions));
  }

  static void refuse_keys(const ObjectReader& tier) {
    refuse_attached_tier_keys(tier,
                              "expected links from dram to the tier and back, which say how fast "
                              "it is",
                              kRules, "sharing between instances of FlexKV is not modelled");
  }

  const ObjectReader& top_;
  Scenario& s_;
};

}  // namespace

const KeyTable ScenarioKeys::kFlexkv = kFlexkvKeys;

void read_flexkv(const ObjectReader& engine, Scenario& s) {
  const auto o = engine.object("flexkv", ScenarioKeys::kFlexkv);
  EngineConfig& c = s.engine;
  if (!c.is_flexkv()) {
    if (o) engine.fail("flexkv", "expected only with preset flexkv");
    return;
  }
  check_attached_engine(engine, s);
  if (!std::has_single_bit(c.block_tokens)) {
    engine.fail("block_tokens", fmt::format("expected a power of two with preset flexkv, found {}",
                                            c.block_tokens));
  }
  if (!o) return;
  FlexkvConfig& out = c.flexkv;
  out.start_threshold = share(*o, "evict_start_threshold", out.start_threshold);
  if (out.start_threshold == 0) o->fail("evict_start_threshold", "expected a share above 0");
  out.evict_ratio = share(*o, "evict_ratio", out.evict_ratio);
  if (const auto reward = o->integer("hit_reward_seconds")) {
    out.hit_reward = std::chrono::seconds(*reward);
  }
  assign(out.protected_hits, o->integer("slru_protected_threshold"));
}

void read_flexkv_tiers(const ObjectReader& top, Scenario& s) {
  FlexkvTiers(top, s).read();
}

}  // namespace spillway

// Dynamo's KV block manager: its settings and its tiers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostBatch = 65536;
constexpr std::int64_t kMostTransfers = 1024;

constexpr std::int64_t kMostUses = 15;
constexpr std::string_view kPolicyNames[] = {"pass_all", "presence", "presence_lfu"};

constexpr Key kKvbmKeys[] = {
    integer_key("max_transfer_batch_size", 1, kMostBatch, "Most blocks of a copy.", "16"),
    integer_key("max_concurrent_transfers", 1, kMostTransfers,
                "Copies of each hop that are under way at once.", "4"),
    flag_key("disk_offload_filter",
             "Whether only blocks that were copied to dram often enough go on to nvme.", "true"),
    integer_key("disk_filter_min", 1, std::int64_t{1} << 30,
                "Count from which a block goes on: 1 at first, doubled each time.", "2"),
    number_key("disk_filter_decay_s", 1e-6, kMostSeconds, "Time after which every count loses 1.",
               "600"),
    integer_key("disk_filter_entries", 1, kMostTracked, "Most blocks that are counted.", "1000000"),
    list_of(
        choice_key("host_policies", kPolicyNames,
                   "What keeps blocks from dram: nothing, that it has them, or fewer uses, too.",
                   "presence, with kvbm@2.0")),
    list_of(choice_key("disk_policies", kPolicyNames, "The same of nvme.",
                       "presence_lfu, with kvbm@2.0")),
    integer_key("min_lfu_count", 1, kMostUses, "presence_lfu lets pass what was used more often.",
                "8, with kvbm@2.0"),
    integer_key("lfu_entries", 1, kMostTracked,
                "Ten times so many uses halve the number of uses of every block.",
                "2097152, with kvbm@2.0"),
    integer_key("max_batch_size", 1, kMostBatch, "Most blocks of a copy to dram or below.",
                "64, with kvbm@2.0"),
    choice_key("inactive_pool", kInactivePoolNames,
               "Which block leaves: the longest at rest, of those the least used, or the last one "
               "of a chain.",
               "lineage, with kvbm@2.0"),
    list_of(integer_key("multi_lru_thresholds", 1, kMostUses,
                        "multi_lru: fewest uses of each level above the lowest.",
                        "3, 8, 15, with kvbm@2.0"))};

/// G3 and G4, in this order, behind G2.
constexpr StorageKind kBehind[] = {StorageKind::kNvme, StorageKind::kObject};

void read_kvbm_capacity(const ObjectReader& tier, std::string_view otherwise, Scenario& s,
                        TierChoice& out) {
  out.per_rank = tier.text("scope").value_or("instance") == "rank";
  out.where = tier.where("capacity");
  const std::string text =
      tier.text("capacity", ObjectReader::kSize).value_or(std::string(otherwise));
  if (text.empty()) tier.missing("capacity", "a size, e.g. 64GiB");
  out.capacity = instance_capacity(s, out, parse_capacity(text, out.where));
  if (checked_tier_blocks(s, out.capacity, text, out.where) == 0 && !otherwise.empty()) {
    tier.fail("capacity", "expected room for a block, or inf");
  }
}

void refuse_kvbm_keys(const ObjectReader& tier) {
  constexpr std::string_view kRules = "KVBM has rules of its own: engine.kvbm";
  refuse_attached_tier_keys(tier,
                            "expected links from dram to the tier and from there to hbm, which say "
                            "how fast it is",
                            kRules, "each instance of KVBM has tiers of its own");
  tier.refuse({"eviction"}, kRules);
}

/// A tier behind host memory: of the first kind of `left`, or of a later one.
void read_behind_kvbm(const ObjectReader& tier, std::span<const StorageKind>& left, Scenario& s) {
  TierChoice out;
  out.name = tier_name(tier);
  refuse_taken_name(tier, out, s);
  const std::string kind = tier.require_text("kind");
  const auto at = std::find_if(left.begin(), left.end(),
                               [&](StorageKind known) { return name_of(known) == kind; });
  if (at == left.end()) {
    tier.fail("kind", fmt::format("expected dram (G2), then nvme (G3), then object (G4), each at "
                                  "most once; found {}",
                                  kind));
  }
  refuse_kvbm_keys(tier);
  out.by_links = true;
  out.storage.emplace();
  out.storage->spec = default_storage(*at);
  left = left.subspan(static_cast<std::size_t>(at - left.begin()) + 1);
  read_kvbm_capacity(tier, "inf", s, out);
  s.behind.push_back(std::move(out));
}

KvbmPolicies read_policies(const ObjectReader& o, std::string_view key, KvbmPolicies usual) {
  const auto names = o.texts(key);
  if (!names || names->empty()) return usual;
  KvbmPolicies out{false, false};
  for (const std::string& name : *names) {
    if (std::ranges::find(kPolicyNames, name) == std::end(kPolicyNames)) {
      o.fail(key,
             fmt::format("expected each of {}; found \"{}\"", fmt::join(kPolicyNames, ", "), name));
    }
    out.presence = out.presence || name != "pass_all";
    out.frequent = out.frequent || name == "presence_lfu";
  }
  return out;
}

void read_levels(const ObjectReader& o, KvbmConfig& out) {
  constexpr std::string_view kKey = "multi_lru_thresholds";
  const auto levels = o.numbers(kKey);
  if (!levels) return;
  bool fits = levels->size() == out.levels.size();
  for (std::size_t i = 0; fits && i < levels->size(); ++i) {
    out.levels[i] = static_cast<std::uint32_t>((*levels)[i]);
    fits = static_cast<double>(out.levels[i]) == (*levels)[i] &&
           (i == 0 || out.levels[i] > out.levels[i - 1]);
  }
  if (!fits) o.fail(kKey, "expected three whole numbers that rise, from 1 to 15");
}

void read_kvbm_v2(const ObjectReader& o, KvbmConfig& out) {
  o.refuse({"max_transfer_batch_size", "max_concurrent_transfers"},
           "expected only with preset kvbm@1.0; kvbm@2.0 has max_batch_size");
  o.refuse({"disk_offload_filter", "disk_filter_min", "disk_filter_decay_s", "disk_filter_entries"},
           "expected only with preset kvbm@1.0; kvbm@2.0 has disk_policies");
  out.host = read_policies(o, "host_policies", out.host);
  out.disk = read_policies(o, "disk_policies", out.disk);
  assign(out.min_uses, o.integer("min_lfu_count"));
  assign(out.use_entries, o.integer("lfu_entries"));
  assign(out.max_batch, o.integer("max_batch_size"));
  if (const auto pool = o.text("inactive_pool")) {
    const auto* const at = std::ranges::find(kInactivePoolNames, *pool);
    out.inactive = static_cast<InactivePool>(at - std::begin(kInactivePoolNames));
  }
  read_levels(o, out);
}

}  // namespace

const KeyTable ScenarioKeys::kKvbm = kKvbmKeys;

void read_kvbm(const ObjectReader& engine, Scenario& s) {
  const auto o = engine.object("kvbm", ScenarioKeys::kKvbm);
  EngineConfig& c = s.engine;
  if (!c.is_kvbm()) {
    if (o) engine.fail("kvbm", "expected only with preset kvbm");
    return;
  }
  check_attached_engine(engine, s);
  if (!o) return;
  KvbmConfig& out = c.kvbm;
  if (out.v2) return read_kvbm_v2(*o, out);
  o->refuse({"host_policies", "disk_policies", "min_lfu_count", "lfu_entries", "max_batch_size",
             "inactive_pool", "multi_lru_thresholds"},
            "expected only with preset kvbm@2.0");
  assign(out.max_batch, o->integer("max_transfer_batch_size"));
  assign(out.max_transfers, o->integer("max_concurrent_transfers"));
  out.filter = o->boolean("disk_offload_filter").value_or(out.filter);
  assign(out.filter_min, o->integer("disk_filter_min"));
  if (const auto decay = o->number("disk_filter_decay_s")) {
    out.filter_decay = Duration(std::llround(*decay * 1e9));
  }
  assign(out.filter_entries, o->integer("disk_filter_entries"));
}

void read_kvbm_tiers(const ObjectReader& top, Scenario& s) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers.empty()) top.missing("tiers", "a tier of kind dram, the host memory of KVBM (G2)");
  if (!s.media.empty()) top.fail("media", "expected none with preset kvbm");
  const ObjectReader& host = tiers.front();
  TierChoice out;
  out.name = tier_name(host);
  if (const std::string kind = host.require_text("kind"); kind != "dram") {
    host.fail("kind",
              fmt::format("expected dram first, the host memory of KVBM (G2); found {}", kind));
  }
  refuse_kvbm_keys(host);
  read_kvbm_capacity(host, "", s, out);
  if (out.capacity.kind == Capacity::Kind::kUnbounded) {
    host.fail("capacity", "expected a size: host memory is pinned at the start");
  }
  s.tier = std::move(out);
  std::span<const StorageKind> left = kBehind;
  for (std::size_t i = 1; i < tiers.size(); ++i) read_behind_kvbm(tiers[i], left, s);
}

}  // namespace spillway

#include "scenarios/run/run_wiring.hpp"

#include <algorithm>

#include "models/tier/storage_link.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kMostCpuBlocks = std::uint64_t{1} << 31;  // the engine's counters

}  // namespace

RunWiring::RunWiring(const Scenario& scenario, std::function<std::unique_ptr<StepCost>()> cost)
    : s_(scenario),
      cost_(std::move(cost)),
      tier_blocks_(scenario.tier ? scenario.tier_blocks(scenario.tier->capacity) : 0) {}

std::uint32_t RunWiring::tiers() const {
  return tier_blocks_ > 0 ? 2 + static_cast<std::uint32_t>(s_.behind.size()) : 1;
}

bool RunWiring::v0() const {
  return s_.engine.family == EngineFamily::kVllmV0;
}

bool RunWiring::has_storage() const {
  return tiers() > 1 && s_.tier->storage.has_value();
}

bool RunWiring::direct() const {
  return s_.tier->storage->direct;
}

std::uint32_t RunWiring::after_media() const {
  return first_medium() + static_cast<std::uint32_t>(s_.media.size());
}

std::uint32_t RunWiring::lane_pairs() const {
  return s_.ranks_apart() ? s_.world() : 1;
}

std::uint32_t RunWiring::write_link() const {
  return direct() ? kDownLink : after_media();
}
std::uint32_t RunWiring::read_link() const {
  return direct() ? kUpLink : after_media() + 1;
}

std::uint32_t RunWiring::write_link(std::size_t index) const {
  return after_media() + 2 * static_cast<std::uint32_t>(index);
}
std::uint32_t RunWiring::read_link(std::size_t index) const {
  return write_link(index) + 1;
}

std::uint32_t RunWiring::links() const {
  if (tiers() == 1) return 0;
  return after_media() + (has_storage() && !direct() ? 2 : 0) +
         2 * static_cast<std::uint32_t>(s_.behind.size());
}

std::vector<std::uint64_t> RunWiring::capacities() const {
  std::vector<std::uint64_t> out = {s_.engine.usable_blocks(), tier_blocks_};
  for (const TierChoice& tier : s_.behind) out.push_back(s_.tier_blocks(tier.capacity));
  for (std::uint64_t& blocks : out) {
    if (blocks != kUnboundedBlocks) blocks *= s_.engines();
  }
  return out;
}

const LinkChoice& RunWiring::rank_link(std::uint32_t rank, bool down) const {
  if (!s_.rank_links.empty()) return s_.rank_links[2 * rank + (down ? 0 : 1)];
  return down ? *s_.down : *s_.up;
}

LaneSpec RunWiring::lane(std::uint32_t link, const LinkChoice& choice) const {
  LaneSpec out{link, choice.make(), choice.duplex_factor};
  out.submit = choice.submit;
  out.clients = choice.shared_by;
  for (const std::string& name : choice.through) {
    const auto at = std::find_if(s_.media.begin(), s_.media.end(),
                                 [&](const MediumChoice& m) { return m.name == name; });
    out.through.push_back(static_cast<std::uint32_t>(at - s_.media.begin()));
  }
  return out;
}

/// Latencies and delays of several instances are drawn apart.
std::uint64_t RunWiring::seed_of(std::uint32_t instance) const {
  return instance == 0 ? s_.seed : Stream(s_.seed, "instance", instance).bits();
}

StorageDeviceConfig RunWiring::device(std::uint32_t instance) const {
  const StorageChoice& choice = *s_.tier->storage;
  StorageDeviceConfig out;
  out.spec = choice.direct ? direct_storage(choice.spec, s_.down->make()->capacity(),
                                            s_.up->make()->capacity())
                           : choice.spec;
  out.clients = choice.clients;
  out.seed = seed_of(instance);
  out.read_link = read_link();
  out.write_link = write_link();
  return out;
}

StorageDeviceConfig RunWiring::device_behind(std::size_t index, std::uint32_t instance) const {
  const StorageChoice& choice = *s_.behind[index].storage;
  // Each draws its own latencies.
  return {choice.spec, choice.clients, seed_of(instance) + index, read_link(index),
          write_link(index)};
}

std::unique_ptr<LinkModel> RunWiring::load_link() const {
  if (!has_storage()) return s_.up->make();
  const StorageDeviceConfig config = device();
  return make_storage_read_link(config.spec, config.clients, direct() ? nullptr : s_.up->make());
}

EngineParts RunWiring::parts(std::uint32_t instance) const {
  EngineParts out;
  out.config = s_.engine;
  out.admission = s_.admission;
  out.eviction = s_.hbm_eviction;
  out.cost = cost_ ? cost_() : s_.make_cost();
  out.measure_from = s_.workload->warmup;
  if (v0()) {
    out.config.swap.cpu_blocks = static_cast<std::uint32_t>(std::min(tier_blocks_, kMostCpuBlocks));
    if (tiers() == 1) return out;
    out.swap = std::make_unique<SwapLanes>();
    out.swap->down = lane(kDownLink, *s_.down);
    out.swap->up = lane(kUpLink, *s_.up);
    return out;
  }
  if (tiers() == 1) return out;
  out.lower = std::make_unique<LowerTierConfig>();
  out.lower->capacity_blocks = tier_blocks_;
  out.lower->eviction = s_.tier->eviction;
  out.lower->write_admission = s_.tier->write_admission;
  out.lower->down = lane(kDownLink, *s_.down);
  out.lower->up = lane(kUpLink, *s_.up);
  out.lower->media.seed = seed_of(instance);
  for (std::uint32_t i = 0; i < s_.media.size(); ++i) {
    out.lower->media.media.push_back(
        {s_.media[i].bytes_per_second, first_medium() + i, s_.media[i].fifo});
  }
  for (std::uint32_t rank = 0; rank < lane_pairs() && lane_pairs() > 1; ++rank) {
    out.lower->ranks.push_back({lane(2 * rank + kDownLink, rank_link(rank, true)),
                                lane(2 * rank + kUpLink, rank_link(rank, false))});
  }
  out.lower->stored_once = s_.tier_copies() < s_.world();
  if (has_storage()) {
    out.lower->storage = device(instance);
    out.lower->direct = direct();
  }
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    LevelConfig level;
    level.device = device_behind(i, instance);
    level.lookup = s_.behind[i].storage->lookup;
    out.lower->behind.push_back(std::move(level));
  }
  if (s_.load_at_break_even) out.lower->load_estimate = load_link();
  out.lower->interference = s_.copy_interference();
  return out;
}

}  // namespace spillway

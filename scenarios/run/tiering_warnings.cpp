#include "scenarios/run/tiering_warnings.hpp"

#include "models/engine/connectors/tier_stack.hpp"
#include "models/engine/schedulers/load_choice.hpp"
#include "models/tier/storage_link.hpp"
#include "reports/notes/run_notes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr double kSecondsOfDay = 86'400;

/// Writes to the tiers behind held so much of the first that it refused what came.
void warn_of_pins(const Scenario& s, const TierStack& stack, SimulationOutcome& out) {
  const std::uint64_t stores = stack.stores_refused_by_pins();
  const std::uint64_t promotions = stack.promotions_refused_by_pins();
  if (stores + promotions == 0) return;
  const RunResult& r = out.result;
  const double fresh = static_cast<double>(r.prompt_tokens_by_source.front().second) *
                       static_cast<double>(s.model->kv_bytes_per_token.count());
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const TierResult& tier = r.tiers[i + 2];
    if (tier.tiering->peak_pinned_share == 0) continue;
    const StorageChoice& device = *s.behind[i].storage;
    NoteFigures figures = {{"tier", r.tiers[1].name},
                           {"stores", stores},
                           {"promotions", promotions},
                           {"secondary", tier.name},
                           {"pinned_share", tier.tiering->peak_pinned_share},
                           {"write_bytes_per_s",
                            static_cast<double>(client_share(device.spec.write, device.clients))}};
    if (r.duration_s > 0) figures.emplace_back("fresh_bytes_per_s", fresh / r.duration_s);
    out.warnings.push_back(run_note("pins-refused", std::move(figures)));
  }
}

/// Reading the mean promotion against computing it again, both alone.
void warn_of_break_even(const Scenario& s, const TierStack& stack, std::size_t i,
                        SimulationOutcome& out) {
  const LevelCounters& c = stack.counters(i);
  if (c.promotions == 0) return;
  const StorageChoice& choice = *s.behind[i].storage;
  StorageSpec one_thread = choice.spec;  // that does all of a job
  one_thread.slots = 1;
  const auto tokens_of = [&](std::uint64_t chunks) {
    const std::uint64_t mean = (chunks + c.promotions / 2) / c.promotions;
    return static_cast<std::uint32_t>(mean) * s.engine.blocks_per_chunk * s.engine.block_tokens;
  };
  const std::uint32_t before = tokens_of(c.promoted_behind);
  const std::uint32_t tokens = std::max(tokens_of(c.promoted_chunks), s.engine.block_tokens);
  const std::uint32_t blocks = tokens / s.engine.block_tokens;
  const auto cost = s.make_cost();
  const auto up = s.up->make();
  const auto storage = make_storage_read_link(one_thread, choice.clients, nullptr, s.tier_copies());
  LoadEstimate hop(s.engine, *cost, *up);
  LoadEstimate read(s.engine, *cost, *storage);
  const Duration reading = read.load(blocks);
  const Duration climbing = hop.load(blocks);
  const Duration computing = hop.compute(before, before + tokens);
  if (reading + climbing <= computing) return;
  const auto bytes = static_cast<double>(blocks * s.tier_block_bytes().count());
  NoteFigures figures = {{"tier", out.result.tiers[i + 2].name},
                         {"tokens", tokens},
                         {"tokens_before", before},
                         {"promotion_bytes", bytes},
                         {"read_ms", milliseconds_of(reading)},
                         {"read_bytes_per_s", bytes / seconds_of(reading)},
                         {"climb_ms", milliseconds_of(climbing)},
                         {"compute_ms", milliseconds_of(computing)}};
  if (computing > climbing) {
    figures.emplace_back("even_bytes_per_s", bytes / seconds_of(computing - climbing));
  }
  out.warnings.push_back(run_note("promotion-slower", std::move(figures)));
}

}  // namespace

void warn_of_tiering(const Scenario& s, const Engine& engine, SimulationOutcome& out) {
  const TierStack* stack = engine.stats().stack;
  if (stack == nullptr) return;
  warn_of_pins(s, *stack, out);
  const RunResult& r = out.result;
  for (std::size_t i = 0; i < stack->size(); ++i) {
    warn_of_break_even(s, *stack, i, out);
    const auto written = static_cast<double>(r.tiers[i + 2].device->bytes_written);
    const TierChoice& tier = s.behind[i];
    const bool keeps_all = tier.capacity.kind == Capacity::Kind::kUnbounded &&
                           tier.rules.inclusion == Inclusion::kInclusive &&
                           tier.rules.trim.time_to_live == Duration(0);
    if (written == 0 || r.duration_s == 0 || !keeps_all) continue;
    out.warnings.push_back(
        run_note("never-deleted", {{"tier", r.tiers[i + 2].name},
                                   {"written_bytes", written},
                                   {"duration_s", r.duration_s},
                                   {"day_bytes", written / r.duration_s * kSecondsOfDay}}));
  }
  if (stack->livelocked() > 0) {
    out.warnings.push_back(
        run_note("tier-livelock", {{"requests", stack->livelocked()}, {"tier", r.tiers[1].name}}));
  }
}

}  // namespace spillway

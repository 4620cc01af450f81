#include "scenarios/run/tiering_warnings.hpp"

#include <fmt/format.h>

#include "models/engine/load_choice.hpp"
#include "models/tier/storage_link.hpp"
#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr double kSecondsOfDay = 86'400;

std::string rate_text(double bytes_per_s) {
  return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
}

/// Writes to the tiers behind held so much of the first that it refused what came.
void warn_of_pins(const Scenario& s, const Tiering& tiering, SimulationOutcome& out) {
  const std::uint64_t stores = tiering.stores_refused_by_pins();
  const std::uint64_t promotions = tiering.promotions_refused_by_pins();
  if (stores + promotions == 0) return;
  const RunResult& r = out.result;
  std::string text = fmt::format(
      "{}: {} batches of stores and {} promotions were refused while blocks waited in it to be "
      "written to the tiers behind",
      r.tiers[1].name, format_count(stores), format_count(promotions));
  const double fresh = static_cast<double>(r.prompt_tokens_by_source.front().second) *
                       static_cast<double>(s.model.kv_bytes_per_token.count());
  for (std::size_t i = 0; i < tiering.size(); ++i) {
    const TierResult& tier = r.tiers[i + 2];
    const StorageChoice& device = *s.behind[i].storage;
    text += fmt::format(
        "; writes to {} pinned up to {:.0f}% of {}, at {} at most", tier.name,
        100 * tier.tiering->peak_pinned_share, r.tiers[1].name,
        rate_text(static_cast<double>(client_share(device.spec.write, device.clients))));
  }
  if (r.duration_s > 0) {
    text += fmt::format("; the prompts computed here make {} of new KV",
                        rate_text(fresh / r.duration_s));
  }
  out.warnings.push_back(text);
}

/// Reading the mean promotion against computing it again, both alone.
void warn_of_break_even(const Scenario& s, const Tiering& tiering, std::size_t i,
                        SimulationOutcome& out) {
  const SecondaryCounters& c = tiering.counters(i);
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
  const auto storage = make_storage_read_link(one_thread, choice.clients, nullptr);
  LoadEstimate hop(s.engine, *cost, *up);
  LoadEstimate read(s.engine, *cost, *storage);
  const Duration reading = read.load(blocks);
  const Duration climbing = hop.load(blocks);
  const Duration computing = hop.compute(before, before + tokens);
  if (reading + climbing <= computing) return;
  const auto bytes = static_cast<double>(blocks * s.engine.block_bytes.count());
  std::string text = fmt::format(
      "{}: a first token that waits for it comes later than without it. The mean promotion ({} "
      "tokens behind {}, {}) takes {:.1f} ms to read at {} and {:.1f} ms to go up, but {:.1f} ms "
      "to compute "
      "again",
      out.result.tiers[i + 2].name, format_count(tokens), format_count(before), format_bytes(bytes),
      milliseconds_of(reading), rate_text(bytes / seconds_of(reading)), milliseconds_of(climbing),
      milliseconds_of(computing));
  if (computing > climbing) {
    text += fmt::format(": it breaks even from {}",
                        rate_text(bytes / seconds_of(computing - climbing)));
  }
  out.warnings.push_back(text);
}

}  // namespace

void warn_of_tiering(const Scenario& s, const Engine& engine, SimulationOutcome& out) {
  const Tiering* tiering = engine.tiering();
  if (tiering == nullptr) return;
  warn_of_pins(s, *tiering, out);
  const RunResult& r = out.result;
  for (std::size_t i = 0; i < tiering->size(); ++i) {
    warn_of_break_even(s, *tiering, i, out);
    const auto written = static_cast<double>(r.tiers[i + 2].device->bytes_written);
    if (written == 0 || r.duration_s == 0) continue;
    out.warnings.push_back(fmt::format(
        "{}: nothing is ever deleted there (vLLM PRs 52784, 54327): {} written in {:.0f} s, {} a "
        "day at this rate",
        r.tiers[i + 2].name, format_bytes(written), r.duration_s,
        format_bytes(written / r.duration_s * kSecondsOfDay)));
  }
  if (tiering->livelocked() > 0) {
    out.warnings.push_back(fmt::format(
        "livelock: {} requests wait for ever for a prefix that {} cannot hold at once: promoting "
        "its end evicts its beginning (vLLM issues 49176, 49829). They end as stuck here; vLLM "
        "would go on reading",
        tiering->livelocked(), r.tiers[1].name));
  }
}

}  // namespace spillway

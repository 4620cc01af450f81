#include "models/engine/schedulers/load_choice.hpp"

#include <algorithm>

namespace spillway {

Duration LoadEstimate::load(std::uint32_t blocks) const {
  const std::uint32_t pages = config_.groups.loaded(blocks, config_.block_tokens);
  const Bytes bytes = config_.block_bytes * std::int64_t{pages};
  return up_.service_time(bytes, pages * config_.copies_per_block);
}

Duration LoadEstimate::compute(std::uint32_t from, std::uint32_t to) {
  std::uint32_t most = config_.max_num_batched_tokens;
  if (config_.long_prefill_token_threshold > 0) {
    most = std::min(most, config_.long_prefill_token_threshold);
  }
  Duration sum{0};
  while (from < to) {
    const PrefillChunk chunk{std::min(most, to - from), from};
    from += chunk.tokens;
    StepShape shape;
    if (chunk.tokens == 1) {
      shape.decodes = 1;
      shape.decode_context = from;
    } else {
      shape.prefills = {&chunk, 1};
    }
    shape.sampled = from == to ? 1 : 0;
    sum += cost_.step_time(shape);
  }
  return sum;
}

Duration LoadEstimate::with_load(const Prefix& p, Duration wait) {
  const std::uint32_t cached = p.local + p.blocks * config_.block_tokens;
  const Duration suffix = compute(std::min(cached, p.tokens - 1), p.tokens);
  if (config_.load != LoadSemantics::kLayerwise) return wait + load(p.blocks) + suffix;
  // Pieces differ by a byte, parts of the step by a nanosecond: equal layers, rounded up.
  const auto layers = std::int64_t{config_.layers};
  const std::int64_t bytes = (config_.block_bytes * std::int64_t{p.blocks}).count();
  const std::uint32_t copies = std::max(1U, config_.copies_per_block / config_.layers);
  const Duration piece = up_.service_time(Bytes(ceil_div(bytes, layers)), p.blocks * copies);
  const Duration layer(ceil_div(suffix.count(), layers));
  return wait + layerwise_load(piece, layer, config_.layers);
}

bool LoadEstimate::pays(std::uint32_t blocks) {
  const Prefix prefix{0, blocks, blocks * config_.block_tokens + 1};
  return with_load(prefix, Duration{0}) <= without_load(prefix);
}

std::optional<std::uint32_t> LoadEstimate::break_even_tokens(std::uint32_t most) {
  const std::uint32_t most_blocks = most / config_.block_tokens;
  if (most_blocks == 0) return std::nullopt;
  std::uint32_t loses = 0;
  std::uint32_t pays_at = 1;
  while (!pays(pays_at)) {
    if (pays_at == most_blocks) return std::nullopt;
    loses = pays_at;
    pays_at = std::min(most_blocks, 2 * pays_at);
  }
  while (pays_at - loses > 1) {
    const std::uint32_t middle = loses + (pays_at - loses) / 2;
    (pays(middle) ? pays_at : loses) = middle;
  }
  return pays_at * config_.block_tokens;
}

bool LoadChoice::loads(const LoadEstimate::Prefix& p, Time now) {
  if (!estimate_) return true;
  const Duration wait = std::max(link_free_, now) - now;
  return estimate_->with_load(p, wait) <= estimate_->without_load(p);
}

void LoadChoice::on_load(std::uint32_t blocks, Time now) {
  if (!estimate_) return;
  ++decisions_.loaded;
  link_free_ = std::max(link_free_, now) + estimate_->load(blocks);
}

}  // namespace spillway

// The switches of the engine's connector to the tiers below HBM.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

/// blocks_per_chunk, or offload_block_tokens, which says the same in tokens.
void read_chunk(const ObjectReader& engine, EngineConfig& c) {
  assign(c.blocks_per_chunk, engine.integer("blocks_per_chunk"));
  const auto tokens =
      engine.integer("offload_block_tokens", 1, kMostBlocksPerChunk * c.block_tokens);
  if (tokens) {
    if (engine.has("blocks_per_chunk")) {
      engine.fail("offload_block_tokens",
                  "expected this or blocks_per_chunk, found both; they say the same");
    }
    if (*tokens % c.block_tokens != 0) {
      engine.fail("offload_block_tokens",
                  fmt::format("expected a multiple of block_tokens ({}), found {}", c.block_tokens,
                              *tokens));
    }
    c.blocks_per_chunk = static_cast<std::uint32_t>(*tokens) / c.block_tokens;
  }
  if (c.blocks_per_chunk > 1 && c.residency == Residency::kStreaming) {
    engine.fail(tokens ? "offload_block_tokens" : "blocks_per_chunk",
                "chunks of several blocks are not modelled with \"residency\": \"streaming\"; "
                "expected one block");
  }
}

/// One switch under two names: upstream's default for it changed in d63108fb18.
void read_prompt_only(const ObjectReader& engine, EngineConfig& c) {
  const auto prompt_default = engine.boolean("prompt_only_default");
  const auto prompt_only = engine.boolean("offload_prompt_only");
  if (prompt_default && prompt_only && *prompt_default != *prompt_only) {
    engine.fail("prompt_only_default",
                fmt::format("{} contradicts offload_prompt_only {}; expected one of the two, they "
                            "are the same switch",
                            *prompt_default, *prompt_only));
  }
  if (prompt_default) c.offload_prompt_only = *prompt_default;
}

void read_kind(const ObjectReader& engine, EngineConfig& c) {
  const auto kind = static_cast<std::size_t>(c.connector);  // the preset's
  const std::string name =
      engine.text("offload_connector").value_or(std::string(kConnectorNames[kind]));
  const bool of_preset = spillway::of_preset(c.connector);
  c.connector = static_cast<ConnectorKind>(
      std::find(std::begin(kConnectorNames), std::end(kConnectorNames), name) -
      std::begin(kConnectorNames));
  if ((of_preset || spillway::of_preset(c.connector)) &&
      static_cast<std::size_t>(c.connector) != kind) {
    engine.fail("offload_connector",
                fmt::format("expected {0}, the connector of this preset; found {1}",
                            kConnectorNames[kind], name));
  }
  c.lazy_offload = engine.boolean("lazy_offload").value_or(false);
  if (c.lazy_offload && !c.simple_offload()) {
    engine.fail("lazy_offload",
                "expected only with \"offload_connector\": \"simple\"; the native one stores what "
                "is computed");
  }
  if (c.simple_offload()) {
    engine.refuse({"blocks_per_chunk", "offload_block_tokens", "store_threshold",
                   "threshold_counts_offers", "max_tracker_size"},
                  "expected only with \"offload_connector\": \"native\"");
  }
}

}  // namespace

void read_connector(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  engine.text("tier_rules");  // a wrong one comes first, though no tier may take it
  read_kind(engine, c);
  read_chunk_connector(engine, s);
  read_kvbm(engine, s);
  read_flexkv(engine, s);
  read_mooncake_connector(engine, s);
  if (keeps_chunks(c.connector) || c.attached()) return;
  read_prompt_only(engine, c);
  read_chunk(engine, c);
  assign(c.store_threshold, engine.integer("store_threshold"));
  assign(c.max_tracker_size, engine.integer("max_tracker_size"));
}

void check_connector(const ObjectReader& top, const Scenario& s) {
  if (s.behind.empty() || s.engine.store_threshold < 2) return;
  top.object("engine", ScenarioKeys::kEngine)
      ->fail("store_threshold",
             fmt::format("expected 0 or 1 beside tier {} behind {}, as vLLM's tiering refuses "
                         "more; found {}",
                         s.behind.front().name, s.tier->name, s.engine.store_threshold));
}

}  // namespace spillway

// AIBrix's KV cache: its settings.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostAibrixTokens = 65536;
constexpr std::int64_t kMostInflight = std::int64_t{1} << 30;
constexpr double kMostTimeout = 1e6;  // ms
constexpr double kLeastRatio = 1e-9;

constexpr Key kAibrixKeys[] = {
    integer_key("chunk_tokens", 1, kMostAibrixTokens,
                "Tokens that one read or write covers: whole blocks, 4 at least.", "512"),
    integer_key("skip_blocks", 0, kMostAibrixTokens,
                "Pieces of a prompt with fewer blocks are computed without a look-up.", "8"),
    number_key("small_fifo_ratio", kLeastRatio, 1 - kLeastRatio,
               "s3fifo: share of dram that new blocks have.", "0.3"),
    integer_key("promo_threshold", 1, 3, "s3fifo: uses after which a block is kept longer.", "1"),
    choice_key("ingestion", kIngestions,
               "Which blocks go to the second tier: used again, all new ones, or those that leave "
               "dram.",
               "hot"),
    integer_key("max_inflight_tokens", 0, kMostInflight,
                "Tokens on their way to the second tier; more are dropped. 0: steps wait for each "
                "write.",
                "0"),
    number_key("per_token_timeout_ms", 0, kMostTimeout,
               "Longest wait for the second tier, for each token that dram lacks.", "20"),
    integer_key("double_get_blocks", 0, kMostAibrixTokens,
                "Fewest missing blocks for which the second tier is asked.", "4"),
    number_key("double_get_ratio", 0, 1,
               "Smallest missing share of a chunk for which the second tier is asked.", "0.1")};

void assign_decimal(Decimal& out, const std::optional<double>& value) {
  if (value) out = decimal_of(*value);
}

}  // namespace

const KeyTable ScenarioKeys::kAibrix = kAibrixKeys;

void read_aibrix(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  const auto o = engine.object("aibrix", ScenarioKeys::kAibrix);
  if (!c.is_aibrix()) {
    if (o) engine.fail("aibrix", "expected only with preset aibrix");
    return;
  }
  c.load = LoadSemantics::kBlocking;
  if (const auto load = engine.text("load"); engine.told("load") && *load != "blocking") {
    engine.fail("load",
                fmt::format("expected blocking: AIBrix loads within the step; found {}", *load));
  }
  if (!o) return;
  AibrixConfig& out = c.aibrix;
  assign(out.chunk_tokens, o->integer("chunk_tokens"));
  assign(out.skip_blocks, o->integer("skip_blocks"));
  assign_decimal(out.small_fifo_ratio, o->number("small_fifo_ratio"));
  assign(out.promo_threshold, o->integer("promo_threshold"));
  if (const auto name = o->text("ingestion")) {
    out.ingestion = static_cast<Ingestion>(
        std::find(std::begin(kIngestions), std::end(kIngestions), *name) - std::begin(kIngestions));
  }
  assign(out.max_inflight_tokens, o->integer("max_inflight_tokens"));
  assign_decimal(out.per_token_timeout_ms, o->number("per_token_timeout_ms"));
  assign(out.double_get_blocks, o->integer("double_get_blocks"));
  assign_decimal(out.double_get_ratio, o->number("double_get_ratio"));
}

}  // namespace spillway

// What the scheduler of vLLM v1 is told beyond its batch sizes: policy, chunks, deferred frees, and
// how much of a request may go below HBM. Contradictions are refused as vLLM would, or where it
// would quietly do something else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Key kClassKeys[] = {
    required(text_key("tenant", "Tenant of the trace.")),
    integer_key("priority", std::numeric_limits<std::int32_t>::min(),
                std::numeric_limits<std::int32_t>::max(),
                "A smaller value goes first, with scheduling_policy priority.", "0"),
    flag_key("offload", "Whether its blocks are stored below HBM and loaded from there.", "true"),
    integer_key("max_offload_tokens", 0, kMostTokens,
                "Leading tokens of a request that may be stored.", "engine.max_offload_tokens")};

void read_policy(const ObjectReader& engine, EngineConfig& c) {
  const auto policy = engine.text("scheduling_policy");
  if (!policy) return;
  c.priority_scheduling = *policy == "priority";
}

/// Without chunks a prompt has to fit one step: vLLM raises a budget that is not given to
/// max_model_len and refuses to start with a smaller one (vllm/engine/arg_utils.py,
/// vllm/config/scheduler.py).
void fit_unchunked(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  if (c.chunked_prefill) return;
  if (!engine.has("max_num_batched_tokens") && c.max_model_len > c.max_num_batched_tokens) {
    c.max_num_batched_tokens = c.max_model_len;
    s.notes.push_back(scenario_note("batch-raised", {{"tokens", c.max_model_len}}));
  }
  const bool capped = c.max_num_scheduled_tokens > 0;
  const std::string_view key = capped ? "max_num_scheduled_tokens" : "max_num_batched_tokens";
  const std::uint32_t budget = capped ? c.max_num_scheduled_tokens : c.max_num_batched_tokens;
  if (c.max_model_len > budget) {
    engine.fail(key, fmt::format("{} tokens a step, but max_model_len is {} and "
                                 "enable_chunked_prefill false; expected at least as many, a "
                                 "smaller max_model_len, or chunks",
                                 budget, c.max_model_len));
  }
}

void read_deferral(const ObjectReader& top, const ObjectReader& engine, EngineConfig& c) {
  const auto deferred = engine.boolean("defer_block_free");
  // What a release does by itself depends on these; what a user asks for must mean something.
  if (!deferred) {
    c.defer_block_free = c.defer_block_free && c.async_scheduling;
    return;
  }
  c.defer_block_free = *deferred;
  if (!*deferred) return;
  if (!c.async_scheduling) {
    engine.fail("defer_block_free",
                "expected only with \"async_scheduling\": true: no other step is in flight when "
                "blocks are freed");
  }
  if (!top.has("tiers")) {
    engine.fail("defer_block_free",
                "expected only with tiers: vLLM defers frees where a connector loads into blocks");
  }
}

}  // namespace

const KeyTable ScenarioKeys::kClass = kClassKeys;

void read_scheduler(const ObjectReader& top, const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  if (engine.text("residency").value_or("full") == "streaming") {
    engine.refuse({"scheduling_policy", "enable_chunked_prefill", "max_num_scheduled_tokens",
                   "defer_block_free", "max_offload_tokens"},
                  "expected only with \"residency\": \"full\"");
  }
  read_policy(engine, c);
  assign(c.max_num_scheduled_tokens, engine.integer("max_num_scheduled_tokens"));
  if (c.max_num_scheduled_tokens > c.max_num_batched_tokens) {
    engine.fail("max_num_scheduled_tokens",
                fmt::format("expected at most max_num_batched_tokens ({}), found {}",
                            c.max_num_batched_tokens, c.max_num_scheduled_tokens));
  }
  fit_unchunked(engine, s);
  read_deferral(top, engine, c);
  if (engine.has("max_offload_tokens") && !top.has("tiers")) {
    engine.fail("max_offload_tokens", "expected only with tiers: nothing goes below HBM");
  }
  assign(c.max_offload_tokens, engine.integer("max_offload_tokens"));
}

void read_classes(const ObjectReader& workload, Scenario& s) {
  for (const ObjectReader& item : workload.objects("classes", ScenarioKeys::kClass)) {
    ClassChoice out;
    out.tenant = item.require_text("tenant");
    out.where = item.where("tenant");
    for (const ClassChoice& other : s.workload->classes) {
      if (other.tenant == out.tenant) {
        item.fail("tenant", fmt::format("\"{}\" has a class already", out.tenant));
      }
    }
    if (!s.tier || s.engine.residency == Residency::kStreaming) {
      item.refuse({"offload", "max_offload_tokens"},
                  "expected only with tiers and \"residency\": \"full\"");
    }
    assign(out.value.priority, item.integer("priority"));
    out.value.offload = item.boolean("offload").value_or(true);
    if (!out.value.offload) {
      item.refuse({"max_offload_tokens"}, "expected only without \"offload\": false");
    }
    assign(out.value.store_limit, item.integer("max_offload_tokens"));
    out.value.store_limit = std::min(out.value.store_limit, s.engine.max_offload_tokens);
    s.workload->classes.push_back(std::move(out));
  }
  const auto ranked = [](const ClassChoice& c) { return c.value.priority != 0; };
  const std::vector<ClassChoice>& all = s.workload->classes;
  if (!s.engine.priority_scheduling && std::any_of(all.begin(), all.end(), ranked)) {
    s.notes.push_back(scenario_note("classes-without-effect"));
  }
}

std::vector<RequestClass> classes_of(const Scenario& s, const Workload& workload) {
  std::vector<RequestClass> out;
  if (s.workload->classes.empty()) return out;
  const std::vector<std::string>& tenants = workload.source().tenants;
  RequestClass others;
  others.store_limit = s.engine.max_offload_tokens;
  out.assign(tenants.size(), others);
  std::vector<Names> known(tenants.begin(), tenants.end());
  std::erase(known, "");  // rows that name none
  for (const ClassChoice& choice : s.workload->classes) {
    if (tenants.empty()) {
      throw InputError(Fault::kUsage, choice.where,
                       "the workload names no tenants; expected classes only where it does");
    }
    const auto at = std::find(tenants.begin(), tenants.end(), choice.tenant);
    if (at == tenants.end()) {
      throw InputError(Fault::kUsage, choice.where, unknown_name("tenant", choice.tenant, known));
    }
    out[static_cast<std::size_t>(at - tenants.begin())] = choice.value;
  }
  return out;
}

}  // namespace spillway

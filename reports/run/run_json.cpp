#include "reports/run/run_json.hpp"

#include <fmt/format.h>

namespace spillway {

namespace {

using nlohmann::json;

json capacity_json(bool unbounded, std::int64_t count) {
  return unbounded ? json("inf") : json(count);
}

// One table for both directions: what is written is what is read back.
struct LatencyKey {
  std::string_view format;
  double LatencyStats::*member;
};
constexpr LatencyKey kLatencyKeys[] = {
    {"mean_{}_ms", &LatencyStats::mean_ms}, {"median_{}_ms", &LatencyStats::median_ms},
    {"std_{}_ms", &LatencyStats::std_ms},   {"p90_{}_ms", &LatencyStats::p90_ms},
    {"p95_{}_ms", &LatencyStats::p95_ms},   {"p99_{}_ms", &LatencyStats::p99_ms},
    {"max_{}_ms", &LatencyStats::max_ms}};

struct LatencyKind {
  std::string_view name;
  LatencyStats RunResult::*member;
};
constexpr LatencyKind kLatencies[] = {{"ttft", &RunResult::ttft},
                                      {"tpot", &RunResult::tpot},
                                      {"itl", &RunResult::itl},
                                      {"e2el", &RunResult::e2el}};

struct CountKey {
  std::string_view key;
  std::uint64_t RunResult::*member;
};
constexpr CountKey kCounts[] = {{"requests", &RunResult::requests},
                                {"completed", &RunResult::completed},
                                {"rejected", &RunResult::rejected},
                                {"failed", &RunResult::failed},
                                {"stuck", &RunResult::stuck},
                                {"warmup_requests", &RunResult::warmup_requests},
                                {"not_sent", &RunResult::not_sent},
                                {"total_input_tokens", &RunResult::input_tokens},
                                {"total_output_tokens", &RunResult::output_tokens},
                                {"preemptions", &RunResult::preemptions},
                                {"recomputed_tokens", &RunResult::recomputed_tokens},
                                {"engine_steps", &RunResult::engine_steps},
                                {"deferrals", &RunResult::deferrals},
                                {"flushes", &RunResult::flushes}};

struct RealKey {
  std::string_view key;
  double RunResult::*member;
};
constexpr RealKey kReals[] = {{"duration_s", &RunResult::duration_s},
                              {"request_throughput", &RunResult::request_throughput},
                              {"output_throughput", &RunResult::output_throughput},
                              {"total_token_throughput", &RunResult::total_token_throughput},
                              {"flush_stall_s", &RunResult::flush_stall_s},
                              {"goodput", &RunResult::goodput}};

json reasons_json(const std::vector<ReasonCount>& reasons) {
  json out = json::object();
  for (const ReasonCount& reason : reasons) out[reason.reason] = reason.count;
  return out;
}

std::vector<ReasonCount> reasons_from(const json& from) {
  std::vector<ReasonCount> out;
  for (const auto& item : from.items()) out.push_back({item.key(), item.value()});
  return out;
}

struct DeviceKey {
  std::string_view key;
  std::optional<double> DeviceResult::*member;
};
constexpr DeviceKey kDeviceKeys[] = {{"drive_writes", &DeviceResult::drive_writes},
                                     {"endurance_share", &DeviceResult::endurance_share},
                                     {"slow_write_seconds", &DeviceResult::slow_write_seconds}};

json device_json(const DeviceResult& d) {
  json out = {{"bytes_read", d.bytes_read},
              {"bytes_written", d.bytes_written},
              {"latency_ms", {{"p50", d.latency_p50_ms}, {"p99", d.latency_p99_ms}}}};
  for (const DeviceKey& key : kDeviceKeys) {
    if (d.*key.member) out[std::string(key.key)] = *(d.*key.member);
  }
  return out;
}

DeviceResult device_from(const json& j) {
  DeviceResult d;
  d.bytes_read = j.at("bytes_read");
  d.bytes_written = j.at("bytes_written");
  d.latency_p50_ms = j.at("latency_ms").at("p50");
  d.latency_p99_ms = j.at("latency_ms").at("p99");
  for (const DeviceKey& key : kDeviceKeys) {
    if (j.contains(key.key)) d.*key.member = j[std::string(key.key)].get<double>();
  }
  return d;
}

json tier_json(const TierResult& t) {
  json out = {
      {"name", t.name},
      {"capacity_bytes", capacity_json(t.unbounded, t.capacity_bytes)},
      {"capacity_blocks", capacity_json(t.unbounded, static_cast<std::int64_t>(t.capacity_blocks))},
      {"peak_bytes", t.peak_bytes},
      {"mean_bytes", t.mean_bytes},
      {"queries", t.queries},
      {"hits", t.hits},
      {"hits_resumed", t.hits_resumed},
      {"stores", t.stores},
      {"evictions", t.evictions},
      {"store_failures", t.store_failures}};
  if (t.stores_skipped > 0) out["stores_skipped"] = t.stores_skipped;
  if (!t.write_refusals.empty()) out["write_refusals"] = reasons_json(t.write_refusals);
  if (!t.kind.empty()) out["kind"] = t.kind;
  if (t.device) out["device"] = device_json(*t.device);
  if (t.tiering) {
    out["tiering"] = {{"promotions", t.tiering->promotions},
                      {"cascades", t.tiering->cascades},
                      {"promotion_failures", t.tiering->promotion_failures},
                      {"peak_pinned_share", t.tiering->peak_pinned_share}};
  }
  return out;
}

TierResult tier_from(const json& j) {
  TierResult t;
  t.name = j.at("name");
  t.unbounded = j.at("capacity_bytes").is_string();
  if (!t.unbounded) {
    t.capacity_bytes = j.at("capacity_bytes");
    t.capacity_blocks = j.at("capacity_blocks");
  }
  t.peak_bytes = j.at("peak_bytes");
  t.mean_bytes = j.at("mean_bytes");
  t.queries = j.at("queries");
  t.hits = j.at("hits");
  t.hits_resumed = j.at("hits_resumed");
  t.stores = j.at("stores");
  t.evictions = j.at("evictions");
  t.store_failures = j.at("store_failures");
  t.stores_skipped = j.value("stores_skipped", std::uint64_t{0});
  if (j.contains("write_refusals")) t.write_refusals = reasons_from(j["write_refusals"]);
  t.kind = j.value("kind", "");
  if (j.contains("device")) t.device = device_from(j["device"]);
  if (j.contains("tiering")) {
    const json& from = j["tiering"];
    t.tiering = {from.at("promotions"), from.at("cascades"), from.at("promotion_failures"),
                 from.at("peak_pinned_share")};
  }
  return t;
}

json link_json(const LinkResult& l) {
  json out = {{"name", l.name},
              {"from", l.from},
              {"to", l.to},
              {"bytes", l.bytes},
              {"transfers", l.transfers},
              {"busy_fraction", l.busy_fraction},
              {"peak_bytes_per_s", l.peak_bytes_per_s},
              {"capacity_bytes_per_s", l.capacity_bytes_per_s},
              {"model", l.model}};
  if (l.medium) out["kind"] = "medium";
  if (l.ranks > 1) out["ranks"] = l.ranks;
  if (l.extrapolated.transfers > 0) out["extrapolated_transfers"] = l.extrapolated.transfers;
  if (l.across_step.transfers > 0) out["across_step_transfers"] = l.across_step.transfers;
  return out;
}

LinkResult link_from(const json& j) {
  return {j.at("name"),
          j.at("from"),
          j.at("to"),
          j.at("bytes"),
          j.at("transfers"),
          j.at("busy_fraction"),
          j.at("peak_bytes_per_s"),
          j.at("capacity_bytes_per_s"),
          j.at("model"),
          j.value("kind", "") == "medium",
          {j.value("extrapolated_transfers", std::uint64_t{0})},
          {j.value("across_step_transfers", std::uint64_t{0})},
          j.value("ranks", std::uint32_t{1})};
}

json load_choice_json(const LoadChoiceResult& c) {
  json out = {{"break_even_tokens", "never"}};
  if (c.break_even_tokens > 0) out["break_even_tokens"] = c.break_even_tokens;
  if (c.decided) out.update({{"loaded", c.loaded}, {"recomputed", c.recomputed}});
  return out;
}

LoadChoiceResult load_choice_from(const json& j) {
  LoadChoiceResult out;
  if (j.at("break_even_tokens").is_number()) out.break_even_tokens = j["break_even_tokens"];
  out.decided = j.contains("loaded");
  if (out.decided) {
    out.loaded = j["loaded"];
    out.recomputed = j.at("recomputed");
  }
  return out;
}

json swap_json(const SwapResult& s) {
  json out = {{"swapped_out", s.swapped_out},
              {"swapped_in", s.swapped_in},
              {"blocks_out", s.blocks_out},
              {"blocks_in", s.blocks_in},
              {"stall_s", s.stall_s},
              {"peak_requests_swapped", s.peak_swapped},
              {"peak_cpu_cache_usage", s.peak_cpu_usage}};
  if (!s.fatal.empty()) out["fatal"] = s.fatal;
  return out;
}

SwapResult swap_from(const json& j) {
  return {j.at("swapped_out"),
          j.at("swapped_in"),
          j.at("blocks_out"),
          j.at("blocks_in"),
          j.at("stall_s"),
          j.at("peak_requests_swapped"),
          j.at("peak_cpu_cache_usage"),
          j.value("fatal", "")};
}

json slo_json(const SloResult& s) {
  json out = {{"name", s.name},
              {"bound", s.at_least ? "min" : "max"},
              {"target", s.target},
              {"value", s.value},
              {"passed", s.passed}};
  if (!s.tenant.empty()) out["tenant"] = s.tenant;
  return out;
}

json stages_json(const std::array<double, kTtftStages>& ms) {
  json out = json::object();
  for (std::size_t i = 0; i < kTtftStages; ++i) {
    out[std::string(name_of(static_cast<TtftStage>(i)))] = ms[i];
  }
  return out;
}

std::array<double, kTtftStages> stages_from(const json& j) {
  std::array<double, kTtftStages> out{};
  for (std::size_t i = 0; i < kTtftStages; ++i) {
    out[i] = j.at(std::string(name_of(static_cast<TtftStage>(i))));
  }
  return out;
}

json band_json(const TtftBand& b) {
  return {{"name", b.name},
          {"requests", b.requests},
          {"ttft_ms", b.ttft_ms},
          {"stages_ms", stages_json(b.stage_ms)}};
}

TtftBand band_from(const json& j) {
  return {j.at("name"), j.at("requests"), j.at("ttft_ms"), stages_from(j.at("stages_ms"))};
}

json slow_json(const SlowRequest& s) {
  return {{"request", s.request},
          {"arrival_s", s.arrival_s},
          {"ttft_ms", s.ttft_ms},
          {"stages_ms", stages_json(s.stage_ms)},
          {"input_tokens", s.input_tokens},
          {"output_tokens", s.output_tokens},
          {"cached_tokens", s.cached_tokens},
          {"preemptions", s.preemptions}};
}

SlowRequest slow_from(const json& j) {
  return {j.at("request"),       j.at("arrival_s"),
          j.at("ttft_ms"),       stages_from(j.at("stages_ms")),
          j.at("input_tokens"),  j.at("output_tokens"),
          j.at("cached_tokens"), j.at("preemptions")};
}

SloResult slo_from(const json& j) {
  return {j.at("name"),  j.at("bound") == "min", j.at("target"),
          j.at("value"), j.at("passed"),         j.value("tenant", "")};
}

}  // namespace

json to_json(const RunResult& run) {
  json out = json::object();
  for (const CountKey& key : kCounts) out[std::string(key.key)] = run.*key.member;
  for (const RealKey& key : kReals) out[std::string(key.key)] = run.*key.member;
  json errors = json::object();
  for (const LatencyKind& kind : kLatencies) {
    const LatencyStats& stats = run.*kind.member;
    for (const LatencyKey& key : kLatencyKeys) {
      out[fmt::format(fmt::runtime(key.format), kind.name)] = stats.*key.member;
    }
    if (stats.quantile_error > 0) errors[std::string(kind.name)] = stats.quantile_error;
  }
  out["quantile_error"] = errors;
  out["queue_time_ms"] = {{"mean", run.queue_time.mean_ms},
                          {"p50", run.queue_time.median_ms},
                          {"p99", run.queue_time.p99_ms}};
  out["client_queue_time_ms"] = {{"mean", run.client_queue_time.mean_ms},
                                 {"p50", run.client_queue_time.median_ms},
                                 {"p99", run.client_queue_time.p99_ms},
                                 {"max", run.client_queue_time.max_ms}};
  json sources = json::object();
  for (const auto& [name, tokens] : run.prompt_tokens_by_source) sources[name] = tokens;
  out["prompt_tokens_by_source"] = sources;
  out["tiers"] = json::array();
  for (const TierResult& tier : run.tiers) out["tiers"].push_back(tier_json(tier));
  out["links"] = json::array();
  for (const LinkResult& link : run.links) out["links"].push_back(link_json(link));
  out["decode_cold_blocks_per_token"] = {{"mean", run.cold_blocks_per_token_mean},
                                         {"p99", run.cold_blocks_per_token_p99}};
  if (run.load_choice) out["load_choice"] = load_choice_json(*run.load_choice);
  if (run.load_wait) {
    out["load_wait"] = {{"steps", run.load_wait->steps}, {"stall_s", run.load_wait->stall_s}};
  }
  if (run.copy_harm_s) out["copy_harm_s"] = *run.copy_harm_s;
  if (run.binding) {
    out["binding"] = {{"resource", run.binding->resource}, {"why", run.binding->why}};
  }
  if (run.swap) out["swap"] = swap_json(*run.swap);
  if (run.collective_s) out["collective_s"] = *run.collective_s;
  for (const EngineShare& e : run.engines) {
    out["engines"].push_back({{"requests", e.requests},
                              {"preemptions", e.preemptions},
                              {"steps", e.steps},
                              {"busy_fraction", e.busy_fraction}});
  }
  out["slo"] = json::array();
  for (const SloResult& slo : run.slo) out["slo"].push_back(slo_json(slo));
  out["reasons"] = {{"rejected", reasons_json(run.rejected_reasons)},
                    {"failed", reasons_json(run.failed_reasons)},
                    {"stuck", reasons_json(run.stuck_reasons)}};
  out["series"] = json::array();
  for (const Series& s : run.series) {
    out["series"].push_back(
        {{"name", s.name}, {"unit", s.unit}, {"bin_s", s.bin_s}, {"values", s.values}});
  }
  out["ttft_bands"] = json::array();
  for (const TtftBand& band : run.ttft_bands) out["ttft_bands"].push_back(band_json(band));
  out["slowest"] = json::array();
  for (const SlowRequest& slow : run.slowest) out["slowest"].push_back(slow_json(slow));
  out["sim"] = {{"events", run.sim.events},
                {"wall_s", run.sim.wall_s},
                {"requests_per_wall_s", run.sim.requests_per_wall_s},
                {"steps_per_wall_s", run.sim.steps_per_wall_s},
                {"peak_rss_bytes", run.sim.peak_rss_bytes},
                {"memory_estimate_bytes", run.sim.memory_estimate_bytes}};
  return out;
}

RunResult run_from_json(const json& j) {
  RunResult run;
  for (const CountKey& key : kCounts) run.*key.member = j.at(std::string(key.key));
  for (const RealKey& key : kReals) run.*key.member = j.at(std::string(key.key));
  for (const LatencyKind& kind : kLatencies) {
    LatencyStats& stats = run.*kind.member;
    for (const LatencyKey& key : kLatencyKeys) {
      stats.*key.member = j.at(fmt::format(fmt::runtime(key.format), kind.name));
    }
    stats.quantile_error = j.at("quantile_error").value(std::string(kind.name), 0.0);
  }
  run.queue_time.mean_ms = j.at("queue_time_ms").at("mean");
  run.queue_time.median_ms = j.at("queue_time_ms").at("p50");
  run.queue_time.p99_ms = j.at("queue_time_ms").at("p99");
  const json& client = j.at("client_queue_time_ms");
  run.client_queue_time.mean_ms = client.at("mean");
  run.client_queue_time.median_ms = client.at("p50");
  run.client_queue_time.p99_ms = client.at("p99");
  run.client_queue_time.max_ms = client.at("max");
  for (const json& tier : j.at("tiers")) run.tiers.push_back(tier_from(tier));
  const json& sources = j.at("prompt_tokens_by_source");
  run.prompt_tokens_by_source.emplace_back("local_compute", sources.at("local_compute"));
  for (const TierResult& tier : run.tiers) {
    run.prompt_tokens_by_source.emplace_back(tier.name, sources.at(tier.name));
  }
  for (const json& link : j.at("links")) run.links.push_back(link_from(link));
  run.cold_blocks_per_token_mean = j.at("decode_cold_blocks_per_token").at("mean");
  run.cold_blocks_per_token_p99 = j.at("decode_cold_blocks_per_token").at("p99");
  if (j.contains("load_choice")) run.load_choice = load_choice_from(j["load_choice"]);
  if (j.contains("load_wait")) {
    run.load_wait = {j["load_wait"].at("steps"), j["load_wait"].at("stall_s")};
  }
  if (j.contains("swap")) run.swap = swap_from(j["swap"]);
  if (j.contains("copy_harm_s")) run.copy_harm_s = j["copy_harm_s"].get<double>();
  if (j.contains("binding")) {
    run.binding = {j["binding"].at("resource"), j["binding"].at("why")};
  }
  if (j.contains("collective_s")) run.collective_s = j["collective_s"].get<double>();
  for (const json& e : j.value("engines", json::array())) {
    run.engines.push_back(
        {e.at("requests"), e.at("preemptions"), e.at("steps"), e.at("busy_fraction")});
  }
  for (const json& slo : j.at("slo")) run.slo.push_back(slo_from(slo));
  run.rejected_reasons = reasons_from(j.at("reasons").at("rejected"));
  run.failed_reasons = reasons_from(j.at("reasons").at("failed"));
  run.stuck_reasons = reasons_from(j.at("reasons").at("stuck"));
  for (const json& s : j.at("series")) {
    run.series.push_back({s.at("name"), s.at("unit"), s.at("bin_s"), s.at("values")});
  }
  if (j.contains("ttft_bands")) {  // not in results of earlier builds
    for (const json& band : j["ttft_bands"]) run.ttft_bands.push_back(band_from(band));
    for (const json& slow : j.at("slowest")) run.slowest.push_back(slow_from(slow));
  }
  if (j.contains("sim")) {
    const json& sim = j["sim"];
    run.sim = {sim.at("events"),
               sim.at("wall_s"),
               sim.at("requests_per_wall_s"),
               sim.at("steps_per_wall_s"),
               sim.at("peak_rss_bytes"),
               sim.value("memory_estimate_bytes", std::int64_t{0})};  // not in earlier builds
  }
  return run;
}

}  // namespace spillway

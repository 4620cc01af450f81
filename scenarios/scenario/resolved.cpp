#include "scenarios/scenario/resolved.hpp"

#include <filesystem>

#include "models/engine/presets.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/measured/measured_document.hpp"
#include "sim/digest.hpp"

namespace spillway {

namespace {

using nlohmann::json;

json capacity_json(const Capacity& c) {
  switch (c.kind) {
    case Capacity::Kind::kUnbounded:
      return "inf";
    case Capacity::Kind::kBlocks:
      return fmt::format("{}blocks", c.count);
    case Capacity::Kind::kBytes:
      return fmt::format("{}B", c.count);
  }
  return "inf";
}

json link_json(const LinkChoice& l) {
  json out = {{"name", l.name},
              {"from", l.from},
              {"to", l.to},
              {"duplex_factor", l.duplex_factor},
              {"source", l.source}};
  if (l.sm_share > 0) out["sm_share"] = l.sm_share;
  if (l.affine) {
    out["kind"] = "affine";
    out["latency_ns"] = l.latency.count();
    out["bytes_per_second"] = l.bytes_per_second;
  } else {
    out["kind"] = "table";
    out["latency_ns"] = l.table.job_latency.count();
    out["per_copy_ns"] = l.table.per_copy.count();
    out["copy_bytes"] = l.table.copy_bytes;
    out["copies"] = l.table.copies;
    out["gbs"] = l.table.gbs;
  }
  if (l.kernel_table) {
    out["kernel"] = {{"source", l.kernel_table->source}, {"gbs", l.kernel_table->gbs}};
  }
  if (!l.method.empty()) out["method"] = l.method;
  if (l.submit > Duration(0)) out["submit_ns"] = l.submit.count();
  if (l.numa_penalty != 1) out["numa_penalty"] = l.numa_penalty;
  if (!l.through.empty()) out["through"] = l.through;
  if (l.shared_by > 1) out["shared_by"] = l.shared_by;
  if (l.rank) out["rank"] = *l.rank;
  return out;
}

json media_json(const std::vector<MediumChoice>& media) {
  json out = json::array();
  for (const MediumChoice& m : media) {
    out.push_back({{"name", m.name},
                   {"bytes_per_second", m.bytes_per_second},
                   {"discipline", m.fifo ? "fifo" : "fair"}});
  }
  return out;
}

json latency_json(const LatencyQuantiles& q) {
  return {{"p50_ns", q.p50.count()},
          {"p90_ns", q.p90.count()},
          {"p99_ns", q.p99.count()},
          {"p999_ns", q.p999.count()}};
}

/// Rates of 0 are no limit, and left out.
json lane_json(const StorageLane& lane) {
  json out = {{"latency", latency_json(lane.latency)}};
  if (lane.total_rate > 0) out["total_bytes_per_second"] = lane.total_rate;
  if (lane.client_rate > 0) out["client_bytes_per_second"] = lane.client_rate;
  if (lane.slot_rate > 0) out["operation_bytes_per_second"] = lane.slot_rate;
  return out;
}

json device_json(const StorageChoice& c) {
  const StorageSpec& spec = c.spec;
  json out = {{"read", lane_json(spec.read)},
              {"write", lane_json(spec.write)},
              {"operations_in_flight", spec.slots},
              {"read_first", spec.read_first},
              {"operation_bytes", spec.operation_bytes.count()},
              {"single_threaded", spec.one_at_a_time},
              {"clients", c.clients},
              {"direct", c.direct}};
  if (spec.whole_jobs) {
    out["whole_jobs"] = true;
    out["lookup_ns"] = c.lookup.count();
  }
  if (spec.write_cache) {
    out["write_cache"] = {{"bytes", spec.write_cache->capacity.count()},
                          {"sustained_bytes_per_second", spec.write_cache->sustained_rate},
                          {"drain_bytes_per_second", spec.write_cache->drain_rate}};
  }
  if (spec.rated_writes > Bytes(0)) out["rated_write_bytes"] = spec.rated_writes.count();
  if (c.drive_bytes > Bytes(0)) out["drive_bytes"] = c.drive_bytes.count();
  return out;
}

/// The connector's switches, where they are not vLLM's defaults.
void add_connector(const EngineConfig& e, json& out) {
  if (e.blocks_per_chunk > 1) out["blocks_per_chunk"] = e.blocks_per_chunk;
  if (e.store_threshold > 1) {
    out["store_threshold"] = e.store_threshold;
    out["max_tracker_size"] = e.max_tracker_size;
  }
  if (e.simple_offload) {
    out["offload_connector"] = "simple";
    out["lazy_offload"] = e.lazy_offload;
  }
}

json engine_json(const Scenario& s) {
  const EngineConfig& e = s.engine;
  json out = {{"preset", s.preset},
              {"block_tokens", e.block_tokens},
              {"num_gpu_blocks", e.num_gpu_blocks},
              {"max_num_seqs", e.max_num_seqs},
              {"max_num_batched_tokens", e.max_num_batched_tokens},
              {"long_prefill_token_threshold", e.long_prefill_token_threshold},
              {"watermark", e.watermark},
              {"eviction", s.hbm_eviction.text()},
              {"copies_per_block", e.copies_per_block},
              {"block_bytes", e.block_bytes.count()},
              {"load", name_of(e.load)},
              {"load_or_recompute", s.load_at_break_even ? "break_even" : "always_load"}};
  for (const EngineSwitch& choice : engine_switches()) {
    out[std::string(choice.name)] = e.*choice.member;
  }
  if (e.load == LoadSemantics::kLayerwise) out["layers"] = e.layers;
  add_connector(e, out);
  if (e.hybrid_kv_cache) out["hybrid_kv_cache"] = true;
  if (e.groups.hybrid()) {
    out["kv_groups"] = {{"sliding", e.groups.sliding},
                        {"full", e.groups.full},
                        {"window", e.groups.window},
                        {"layers", e.groups.layers}};
  }
  if (e.residency == Residency::kStreaming) {
    out["residency"] = "streaming";
    out["cold"] = {{"selected_ppm", e.cold.selected_ppm},
                   {"page_cache_ppm", e.cold.page_cache_ppm},
                   {"efficiency_ppm", e.cold.efficiency_ppm},
                   {"overlap", e.cold.form == StreamForm::kSerial ? "serial" : "stream"},
                   {"copies_per_block", e.cold.copies_per_block}};
    if (e.token_budget > 0) out["token_budget"] = e.token_budget;
  }
  if (e.family == EngineFamily::kVllmV0) {
    out["enable_chunked_prefill"] = e.chunked_prefill;
    out["preemption_mode"] = e.swap.swap ? "swap" : "recompute";
    out["swap_space"] = fmt::format("{}B", s.swap_space.count());
  }
  if (e.tensor_parallel > 1) out["tensor_parallel_size"] = e.tensor_parallel;
  if (e.pipeline_parallel > 1) out["pipeline_parallel_size"] = e.pipeline_parallel;
  if (e.data_parallel > 1) out["data_parallel_size"] = e.data_parallel;
  if (s.interference) {
    out["interference"] = {{"hbm_bytes_per_second", s.interference->hbm_bytes_per_s},
                           {"factor", s.interference->memory_factor}};
  }
  if (e.priority_scheduling) out["scheduling_policy"] = "priority";
  if (e.max_num_scheduled_tokens > 0) out["max_num_scheduled_tokens"] = e.max_num_scheduled_tokens;
  if (e.max_offload_tokens != EngineConfig{}.max_offload_tokens) {
    out["max_offload_tokens"] = e.max_offload_tokens;
  }
  if (e.max_model_len > 0) out["max_model_len"] = e.max_model_len;
  if (s.budget) {
    out["memory"] = {{"visible_bytes", s.budget->visible.count()},
                     {"requested_bytes", s.budget->requested.count()},
                     {"weight_bytes", s.budget->weights.count()},
                     {"activation_bytes", s.budget->activations.count()},
                     {"other_bytes", s.budget->other.count()},
                     {"cuda_graph_bytes", s.budget->cuda_graphs.count()},
                     {"kv_bytes", s.budget->kv.count()}};
  }
  return out;
}

json compute_json(const Scenario& s) {
  if (s.compute.kind == ComputeChoice::Kind::kLinear) {
    return {{"kind", "linear"},
            {"step_us", to_double(s.compute.linear.step_us)},
            {"token_ns", to_double(s.compute.linear.token_ns)},
            {"kv_token_ns", to_double(s.compute.linear.kv_token_ns)}};
  }
  const ComputeChoice& c = s.compute;
  json out = {{"kind", c.profile ? "profile" : "components"},
              {"host_overhead_us", c.host_overhead_us},
              {"sequence_us", c.sequence_us}};
  if (c.profile || c.eager_overhead_us > 0) {
    out["eager_overhead_us"] = c.eager_overhead_us;
    out["graph_tokens"] = c.graph_tokens;
  }
  if (c.profile) {
    out["profile"] = c.profile->name;
    out["content_hash"] = c.digest;
    out["source"] = c.profile->source;
    out["created"] = c.profile->created;
    out["fits"] = json::array();
    for (const FitScore& score : c.profile->scores) {
      out["fits"].push_back({{"part", score.part},
                             {"points", score.points},
                             {"error_percent", score.mape},
                             {"held_out", score.held_out},
                             {"held_out_error_percent", score.held_out_mape}});
    }
    return out;
  }
  const KernelSource source = kernel_coefficients(*s.gpu);
  const KernelCoefficients& k = source.kernels;
  out["source"] = source.source;
  out["kernels"] = {{"gemm_overhead_us", k.gemm_overhead_us},
                    {"flop_efficiency", k.flop_efficiency},
                    {"byte_efficiency", k.byte_efficiency},
                    {"gemm_norm", k.gemm_norm},
                    {"prefill_us", k.prefill_us},
                    {"prefill_key_ns", k.prefill_key_ns},
                    {"prefill_lead_keys", k.prefill_lead_keys},
                    {"decode_us", k.decode_us},
                    {"decode_efficiency", k.decode_efficiency},
                    {"decode_sequence_us", k.decode_sequence_us},
                    {"mixed_factor", k.mixed_factor},
                    {"elementwise_passes", k.elementwise_passes}};
  return out;
}

json hardware_json(const HardwareChoice& h) {
  json gpus = json::array();
  for (const GpuFacts& gpu : h.machine.gpus) gpus.push_back(gpu.name);
  json fits = json::array();
  for (const FitRecord& fit : h.fits) {
    fits.push_back({{"part", fit.target},
                    {"points", fit.cells},
                    {"error_percent", fit.mape},
                    {"held_out", fit.held_out},
                    {"held_out_error_percent", fit.held_out_mape}});
  }
  return {{"fits", std::move(fits)},
          {"name", h.name},
          {"path", h.path},
          {"created", h.created},
          {"content_hash", h.digest},
          {"machine_hash", h.machine_hash},
          {"machine", {{"cpu", h.machine.cpu}, {"gpus", gpus}, {"driver", h.machine.driver}}}};
}

json synthetic_json(const SyntheticConfig& c) {
  json out;
  for (const SyntheticKey& key : synthetic_keys()) {
    std::visit(
        [&](auto member) {
          const auto& value = c.*member;
          if constexpr (requires { value.empty(); }) {
            if (value.empty()) return;  // not given
          }
          out[std::string(key.name)] = value;
        },
        key.target);
  }
  return out;
}

json class_json(const ClassChoice& c) {
  json out = {{"tenant", c.tenant}, {"priority", c.value.priority}, {"offload", c.value.offload}};
  if (c.value.store_limit != RequestClass{}.store_limit) {
    out["max_offload_tokens"] = c.value.store_limit;
  }
  return out;
}

/// Days, growth and replication, as far as they are given.
void add_replication(const WorkloadChoice& w, json& out) {
  for (const std::string& day : w.days) {  // as the trace: by name, not by place
    out["days"].push_back(std::filesystem::path(day).filename().string());
  }
  const GrowthChoice& g = w.growth;
  if (g.any()) {
    out["growth"] = {
        {"rate", g.rate}, {"context", g.context}, {"reuse", g.reuse}, {"tenants", g.tenants}};
  }
  if (w.replication.requests > 0) out["replication"]["requests"] = w.replication.requests;
  if (w.replication.warmup_s) out["replication"]["warmup_s"] = *w.replication.warmup_s;
}

json workload_json(const WorkloadChoice& w) {
  json out = {{"speed", to_double(w.arrival.speed)}};
  if (w.synthetic) {
    out["synthetic"] = synthetic_json(*w.synthetic);
  } else {
    if (w.reader.block_tokens > 0) out["block_tokens"] = w.reader.block_tokens;
    out["lenient"] = w.lenient;
    out["reuse"] = w.reader.reuse.name();
    if (w.reader.session_interval_s) out["session_interval_s"] = *w.reader.session_interval_s;
  }
  if (w.limit > 0) out["limit"] = w.limit;
  switch (w.arrival.kind) {
    case ArrivalConfig::Kind::kTrace:
      out["arrival"] = "trace";
      break;
    case ArrivalConfig::Kind::kPoisson:
      out["arrival"] = "poisson";
      out["rate_per_s"] = w.arrival.rate_per_s;
      break;
    case ArrivalConfig::Kind::kClosedLoop:
      out["arrival"] = "closed-loop";
      break;
  }
  if (w.arrival.concurrency > 0) out["concurrency"] = w.arrival.concurrency;
  out["sessions"] = w.arrival.wait ? "wait" : "ignore";
  if (w.warmup > Time{}) out["warmup_s"] = seconds_of(w.warmup);
  if (w.arrival.horizon != Time::max()) out["horizon_s"] = seconds_of(w.arrival.horizon);
  for (const ClassChoice& c : w.classes) out["classes"].push_back(class_json(c));
  add_replication(w, out);
  return out;
}

json plan_json(const PlanChoice& plan) {
  json out = {{"tier", plan.tier},
              {"sizes", plan.sizes.empty() ? json("auto") : json(plan.sizes)},
              {"objective", name_of(plan.objective)},
              {"confidence", plan.confidence},
              {"replications", plan.replications},
              {"sensitivity", plan.sensitivity},
              {"stress", plan.stress}};
  if (plan.growth_per_month) out["growth_per_month"] = *plan.growth_per_month;
  for (const SearchAxis& axis : plan.search) out["search"][axis.key] = axis.values;
  if (plan.max_runs > 0) out["max_runs"] = plan.max_runs;
  if (!plan.round_to.empty()) out["round_to"] = plan.round_to;
  if (!plan.prices.empty()) out["prices"] = plan.prices;
  for (const DemandChoice& demand : plan.demand) {
    const GrowthChoice& g = demand.growth;
    out["demand"].push_back(
        {{"name", demand.name},
         {"growth",
          {{"rate", g.rate}, {"context", g.context}, {"reuse", g.reuse}, {"tenants", g.tenants}}}});
  }
  return out;
}

/// Of a model that the scenario describes itself.
json shape_json(const ModelSpec& m) {
  return {{"layers", m.layers},
          {"hidden", m.hidden},
          {"q_heads", m.q_heads},
          {"kv_heads", m.kv_heads},
          {"head_dim", m.head_dim},
          {"intermediate", m.intermediate},
          {"vocab", m.vocab},
          {"max_position", m.max_position},
          {"kv_elements_per_token_layer", m.kv_elements_per_token_layer},
          {"kv_layers", m.kv_layers},
          {"sliding_layers", m.sliding_layers},
          {"window", m.window},
          {"params_total", m.params_total},
          {"weight_bytes", m.weight_bytes},
          {"experts", m.experts},
          {"experts_per_token", m.experts_per_token},
          {"expert_intermediate", m.expert_intermediate},
          {"shared_experts", m.shared_experts},
          {"first_dense_layers", m.first_dense_layers},
          {"kv_lora_rank", m.kv_lora_rank},
          {"qk_rope_dim", m.qk_rope_dim},
          {"q_lora_rank", m.q_lora_rank}};
}

json figures_json(const GpuSpec& g) {
  return {{"memory_bytes", g.memory_bytes}, {"memory_gbs", g.memory_gbs},
          {"bf16_tflops", g.bf16_tflops},   {"fp8_tflops", g.fp8_tflops},
          {"sm_count", g.sm_count},         {"host_link", static_cast<int>(g.host_link)},
          {"peer_gbs", g.peer_gbs},         {"like", g.like}};
}

}  // namespace

json resolved_configuration(const Scenario& s) {
  json out = {{"engine", engine_json(s)},
              {"compute", compute_json(s)},
              {"workload", workload_json(s.workload)}};
  out["model"] = {{"kv_bytes_per_token", s.model.kv_bytes_per_token.count()},
                  {"kv_bits", bits_of(s.model.kv_dtype)}};
  if (s.model.spec != nullptr) out["model"]["name"] = s.model.spec->name;
  if (s.model.weights) out["model"]["weight_dtype"] = s.model.weights->dtype;
  if (s.model.own) out["model"]["shape"] = shape_json(*s.model.spec);
  if (s.gpu != nullptr) out["gpu"] = s.gpu->name;
  if (s.own_gpu) out["gpu_figures"] = figures_json(*s.gpu);
  out["policies"] = {{"admission", s.admission.text()}};
  out["tiers"] = json::array();
  if (s.tier) {
    out["tiers"].push_back({{"name", s.tier->name},
                            {"kind", s.tier->kind()},
                            {"capacity", capacity_json(s.tier->capacity)},
                            {"eviction", s.tier->eviction.text()},
                            {"write_admission", s.tier->write_admission.text()}});
    if (s.tier->storage) out["tiers"].back()["device"] = device_json(*s.tier->storage);
    for (const TierChoice& tier : s.behind) {
      out["tiers"].push_back({{"name", tier.name},
                              {"kind", tier.kind()},
                              {"capacity", capacity_json(tier.capacity)},
                              {"device", device_json(*tier.storage)}});
    }
  }
  out["links"] = json::array();
  for (const LinkChoice& link : s.rank_links) out["links"].push_back(link_json(link));
  if (s.down && s.rank_links.empty()) out["links"].push_back(link_json(*s.down));
  if (s.up && s.rank_links.empty()) out["links"].push_back(link_json(*s.up));
  if (!s.media.empty()) out["media"] = media_json(s.media);
  if (s.host) {
    out["host"] = {{"memory_bytes", s.host->memory.count()},
                   {"reserved_bytes", s.host->reserved.count()},
                   {"instances", s.host->instances},
                   {"numa_nodes", s.host->numa_nodes}};
  }
  out["slo"] = json::array();
  for (const SloTarget& target : s.slo) {
    out["slo"].push_back(
        {{"metric", target.name}, {target.at_least ? "min" : "max", target.target}});
    if (!target.tenant.empty()) out["slo"].back()["tenant"] = target.tenant;
  }
  if (s.plan) out["plan"] = plan_json(*s.plan);
  if (s.fleet.replicas > 1) out["fleet"] = {{"replicas", s.fleet.replicas}};
  return out;
}

json scenario_inputs(const Scenario& s, const Workload& workload) {
  const json configuration = resolved_configuration(s);
  json out = {{"scenario", {{"name", s.name}, {"path", s.path}}},
              {"configuration", configuration},
              {"configuration_hash", digest_of(configuration)},
              {"trace", trace_inputs(workload)},
              {"seed", s.seed}};
  if (s.hardware) out["hardware"] = hardware_json(*s.hardware);
  if (s.measured) {
    out["measured"] = {{"path", s.measured->source}, {"facts", to_json(*s.measured)}};
  }
  return out;
}

json trace_inputs(const WorkloadSource& source, std::uint32_t block_tokens,
                  std::uint64_t requests_hash) {
  const RowCounts& rows = source.rows;
  json out = {{"name", source.name},
              {"format", source.format},
              {"content_hash", hex16(requests_hash)},
              {"requests", rows.kept},
              {"rows",
               {{"read", rows.read()},
                {"kept", rows.kept},
                {"dropped", rows.dropped},
                {"quarantined", rows.quarantined},
                {"reordered", rows.reordered}}},
              {"block_tokens", block_tokens}};
  if (const auto& found = source.inferred_sessions) {
    out["inferred_sessions"] = {
        {"sessions", found->sessions}, {"placed", found->placed}, {"share", found->share}};
  }
  return out;
}

json trace_inputs(const Workload& workload) {
  json out = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
  out["requests"] = workload.size();
  if (const auto links = workload.links_hash()) out["links_hash"] = hex16(*links);
  return out;
}

}  // namespace spillway

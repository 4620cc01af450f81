// Tables of what follows from a scenario's keys, as results tell it under inputs.derived.
#pragma once

#include "models/compute/step_cost.hpp"
#include "models/releases/presets.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/fields.hpp"

namespace spillway {

inline constexpr FieldRule kIfAny = if_any("");

template <>
struct Fields<HbmBudget> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("visible_bytes", derived(r.visible.count()), kNeeded);
    f("requested_bytes", derived(r.requested.count()), kNeeded);
    f("weight_bytes", derived(r.weights.count()), kNeeded);
    f("activation_bytes", derived(r.activations.count()), kNeeded);
    f("other_bytes", derived(r.other.count()), kNeeded);
    f("cuda_graph_bytes", derived(r.cuda_graphs.count()), kNeeded);
    f("kv_bytes", derived(r.kv.count()), kNeeded);
  }
};

template <>
struct Fields<KvGroups> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("sliding", r.sliding, kNeeded);
    f("full", r.full, kNeeded);
    f("window", r.window, kNeeded);
    f("layers", r.layers, kNeeded);
  }
};

template <>
struct Fields<ConnectorCosts> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("step_us", r.step_us, kIfAny);
    f("lookup_us", r.lookup_us, kIfAny);
    f("job_us", r.job_us, kIfAny);
    f("copy_us", r.copy_us, kIfAny);
    f("step_factor", r.step_factor, kNeeded);
    f("hbm_bytes", derived(r.hbm.count()), kNeeded);
  }
};

template <>
struct Fields<EngineConfig> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("block_tokens", r.block_tokens, kNeeded);
    f("block_bytes", derived(r.block_bytes.count()), kNeeded);
    f("copies_per_block", r.copies_per_block, kNeeded);
    f("num_gpu_blocks", r.num_gpu_blocks, kNeeded);
    f("max_num_seqs", r.max_num_seqs, kNeeded);
    f("max_num_batched_tokens", r.max_num_batched_tokens, kNeeded);
    f("max_num_scheduled_tokens", r.max_num_scheduled_tokens, kIfAny);
    f("max_model_len", r.max_model_len, kIfAny);
    f("watermark", r.watermark, kNeeded);
    f("blocks_per_chunk", r.blocks_per_chunk, kNeeded);
    f("layers", only_if(r.load == LoadSemantics::kLayerwise, r.layers), kNeeded);
    f("kv_groups", only_if(r.groups.hybrid(), r.groups), kNeeded);
    const bool streams = r.residency == Residency::kStreaming;
    f("copies_per_streamed_block", only_if(streams, r.cold.copies_per_block), kNeeded);
    f("connector_costs", r.costs, kIfAny);
    for (const EngineSwitch& one : engine_switches()) f(one.name, r.*one.member, kNeeded);
  }
};

template <>
struct Fields<KernelCoefficients> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gemm_overhead_us", r.gemm_overhead_us, kNeeded);
    f("flop_efficiency", r.flop_efficiency, kNeeded);
    f("byte_efficiency", r.byte_efficiency, kNeeded);
    f("gemm_norm", r.gemm_norm, kNeeded);
    f("prefill_us", r.prefill_us, kNeeded);
    f("prefill_key_ns", r.prefill_key_ns, kNeeded);
    f("prefill_lead_keys", r.prefill_lead_keys, kNeeded);
    f("decode_us", r.decode_us, kNeeded);
    f("decode_efficiency", r.decode_efficiency, kNeeded);
    f("decode_sequence_us", r.decode_sequence_us, kNeeded);
    f("mixed_factor", r.mixed_factor, kNeeded);
    f("elementwise_efficiency", r.elementwise_efficiency, kNeeded);
    f("elementwise_us", r.elementwise_us, kNeeded);
  }
};

/// Of a model that the scenario describes itself.
template <>
struct Fields<ModelSpec> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("layers", r.layers, kNeeded);
    f("hidden", r.hidden, kNeeded);
    f("q_heads", r.q_heads, kNeeded);
    f("kv_heads", r.kv_heads, kNeeded);
    f("head_dim", r.head_dim, kNeeded);
    f("intermediate", r.intermediate, kNeeded);
    f("vocab", r.vocab, kNeeded);
    f("max_position", r.max_position, kNeeded);
    f("kv_elements_per_token_layer", r.kv_elements_per_token_layer, kNeeded);
    f("kv_layers", r.kv_layers, kNeeded);
    f("sliding_layers", r.sliding_layers, kNeeded);
    f("window", r.window, kNeeded);
    f("params_total", r.params_total, kNeeded);
    f("weight_bytes", r.weight_bytes, kNeeded);
    f("experts", r.experts, kNeeded);
    f("experts_per_token", r.experts_per_token, kNeeded);
    f("expert_intermediate", r.expert_intermediate, kNeeded);
    f("shared_experts", r.shared_experts, kNeeded);
    f("first_dense_layers", r.first_dense_layers, kNeeded);
    f("kv_lora_rank", r.kv_lora_rank, kNeeded);
    f("qk_nope_dim", r.qk_nope_dim, kNeeded);
    f("qk_rope_dim", r.qk_rope_dim, kNeeded);
    f("v_head_dim", r.v_head_dim, kNeeded);
    f("q_lora_rank", r.q_lora_rank, kNeeded);
    f("norms", r.norms, kNeeded);
    f("qk_norm", r.qk_norm, kNeeded);
  }
};

/// Of a GPU that the scenario describes itself.
template <>
struct Fields<GpuSpec> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("memory_bytes", r.memory_bytes, kNeeded);
    f("memory_gbs", r.memory_gbs, kNeeded);
    f("bf16_tflops", r.bf16_tflops, kNeeded);
    f("fp8_tflops", r.fp8_tflops, kNeeded);
    f("sm_count", r.sm_count, kNeeded);
    f("host_link", derived(static_cast<std::int64_t>(r.host_link)), kNeeded);
    f("peer_gbs", r.peer_gbs, kNeeded);
    f("generation", derived(static_cast<std::int64_t>(r.generation)), kNeeded);
    f("like", derived(std::string(r.like)), kNeeded);
  }
};

template <>
struct Fields<RateTable> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("latency_ns", derived(r.job_latency.count()), kNeeded);
    f("per_copy_ns", derived(r.per_copy.count()), kNeeded);
    f("copy_bytes", r.copy_bytes, kNeeded);
    f("copies", r.copies, kNeeded);
    f("gbs", r.gbs, kNeeded);
    f("source", r.source, kIfAny);
  }
};

template <>
struct Fields<LinkChoice> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    if (r.affine) {
      f("latency_ns", derived(r.latency.count()), kNeeded);
      f("bytes_per_second", r.bytes_per_second, kNeeded);
      f("nics", unless(r.stripes.nics, 1), kNeeded);
      if (r.stripes.nics > 1) f("slice_bytes", r.stripes.slice_bytes, kNeeded);
    } else {
      Fields<RateTable>::visit(r.table, f);
    }
    f("name", r.name, kNeeded);
    f("from", r.from, kNeeded);
    f("to", r.to, kNeeded);
    f("kind", derived(std::string_view(r.affine ? "affine" : "table")), kNeeded);
    f("source", r.source, kNeeded);
    f("method", r.method, kIfAny);
    f("duplex_factor", r.duplex_factor, kNeeded);
    f("submit_ns", derived(r.submit.count()), kIfAny);
    f("numa_penalty", unless(r.numa_penalty, 1), kNeeded);
    f("through", r.through, kIfAny);
    f("shared_by", unless(r.shared_by, 1), kNeeded);
    f("sm_share", r.sm_share, kIfAny);
    f("kernel", r.kernel_table, {});
    f("rank", r.rank, {});
  }
};

template <>
struct Fields<MediumChoice> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kNeeded);
    f("bytes_per_second", r.bytes_per_second, kNeeded);
    f("discipline", either(r.fifo, "fifo", "fair"), kNeeded);
    f("scope", derived(name_of(r.scope)), kNeeded);
  }
};

template <>
struct Fields<LatencyQuantiles> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("p50_ns", derived(r.p50.count()), kNeeded);
    f("p90_ns", derived(r.p90.count()), kNeeded);
    f("p99_ns", derived(r.p99.count()), kNeeded);
    f("p999_ns", derived(r.p999.count()), kNeeded);
  }
};

/// Rates of 0 are no limit.
template <>
struct Fields<StorageLane> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("latency", r.latency, kNeeded);
    f("total_bytes_per_second", r.total_rate, kIfAny);
    f("client_bytes_per_second", r.client_rate, kIfAny);
    f("operation_bytes_per_second", r.slot_rate, kIfAny);
    f("total_bytes_per_second_by_flows", r.rate_by_flows, kIfAny);
  }
};

template <>
struct Fields<WriteCacheSpec> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("bytes", derived(r.capacity.count()), kNeeded);
    f("sustained_bytes_per_second", r.sustained_rate, kNeeded);
    f("drain_bytes_per_second", r.drain_rate, kNeeded);
  }
};

template <>
struct Fields<StorageChoice> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("read", r.spec.read, kNeeded);
    f("write", r.spec.write, kNeeded);
    f("operations_in_flight", r.spec.slots, kNeeded);
    f("read_first", r.spec.read_first, kNeeded);
    f("operation_bytes", derived(r.spec.operation_bytes.count()), kNeeded);
    f("single_threaded", r.spec.one_at_a_time, kNeeded);
    f("clients", r.clients, kNeeded);
    f("direct", r.direct, kNeeded);
    f("through", r.through, kIfAny);
    f("whole_jobs", r.spec.whole_jobs, kIfAny);
    f("lookup_ns", derived(r.lookup.count()), kIfAny);
    f("write_cache", r.spec.write_cache, {});
    f("rated_write_bytes", derived(r.spec.rated_writes.count()), kIfAny);
    f("drive_bytes", derived(r.drive_bytes.count()), kIfAny);
  }
};

template <>
struct Fields<TierChoice> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kNeeded);
    f("kind", derived(r.kind()), kNeeded);
    f("capacity", derived(capacity_text(r.capacity)), kNeeded);
    const bool behind = r.storage && r.storage->spec.whole_jobs;  // else next to HBM
    if (!behind || r.capacity.kind != Capacity::Kind::kUnbounded) {
      f("eviction", derived(r.eviction.text()), kNeeded);
    }
    f("write_admission", derived(r.write_admission.text()), kNeeded);
    if (behind) {
      f("write", derived(kWriteRules[static_cast<std::size_t>(r.rules.write)]), kNeeded);
      f("inclusion", derived(kInclusions[static_cast<std::size_t>(r.rules.inclusion)]), kNeeded);
      f("when_full", derived(kFullRules[static_cast<std::size_t>(r.rules.full)]), kNeeded);
      f("ttl_ns", derived(r.rules.trim.time_to_live.count()), kIfAny);
      f("prefetch_chunks", r.rules.prefetch, kIfAny);
    }
    if (r.rules.trim.above < 1) {
      f("trim_above", r.rules.trim.above, kNeeded);
      f("trim_to", r.rules.trim.to, kNeeded);
      f("trim_every_ns", derived(r.rules.trim.period.count()), kIfAny);
    }
    if (r.storage) f("scope", derived(r.per_rank ? "rank" : name_of(r.scope)), kNeeded);
    f("device", r.storage, {});
  }
};

template <>
struct Fields<HostChoice> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("memory_bytes", derived(r.memory.count()), kNeeded);
    f("reserved_bytes", derived(r.reserved.count()), kNeeded);
    f("instances", r.instances, kNeeded);
    f("numa_nodes", r.numa_nodes, kNeeded);
    f("memory_bytes_per_second", r.memory_rate, kIfAny);
  }
};

}  // namespace spillway

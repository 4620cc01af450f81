// Notes of reading a scenario: what was taken in place of what was not given.
#pragma once

#include "reports/notes/notes.hpp"

namespace spillway {

inline constexpr NoteRow kScenarioNotes[] = {
    // ---- published figures
    {"published-figures", "compute", NoteGrade::kWarning,
     "GPU and links use published figures, not yours. Run spillway calibrate on the target "
     "machine."},
    {"published-links", "link", NoteGrade::kWarning,
     "Links use published figures, not yours. Run `spillway calibrate` on the target machine."},
    {"published-step-times", "compute", NoteGrade::kWarning,
     "Step times use published figures, not yours. Fit a compute profile with `spillway fit`."},
    {"host-overhead-default", "compute", NoteGrade::kDetail,
     "Host overhead is {overhead_us} per step by default ({source})."},
    {"kernel-efficiencies", "compute", NoteGrade::kDetail,
     "Kernel efficiencies of {gpu}: {source}."},
    {"kernel-efficiencies-of-another", "compute", NoteGrade::kDetail,
     "Kernel efficiencies of {gpu} are not measured on this GPU: {source}."},
    {"link-default", "link", NoteGrade::kDetail,
     "Link {from} to {to} is a default of the GPU ({source})."},

    {"front-end-published", "front_end", NoteGrade::kDetail,
     "The API server takes published times of vLLM, not yours. Set front_end, or fit it with "
     "`spillway fit`."},

    // ---- hardware profiles and measured runs
    {"profile-of-another-gpu", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} was measured on {measured_gpu}, not on the scenario's {gpu}. Its "
     "rates are those of another GPU. Set gpu, or run `spillway calibrate` on the target machine."},
    {"profile-of-another-machine", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} was measured on another machine ({differences}). Run `spillway "
     "calibrate` where the server runs."},
    {"profile-without-copies", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} has no copy rates, so links use other figures. Run `spillway "
     "calibrate` on a machine with the GPU."},
    {"profile-without-storage", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} has no storage rates. Tier {tier} uses other figures. Run "
     "`spillway calibrate` with its drive."},
    {"profile-unstable", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware}: {cells} of {cells_in_all} measurements did not settle. Run "
     "`spillway calibrate` again on an idle machine."},
    {"profile-fits-poorly", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware}: one size in twenty is off by more than {limit_share} in {fits}[ "
     "and {more} more]. Run `spillway calibrate` again with more sizes."},
    {"profile-edited", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} was edited after it was measured: its digest does not hold. Run "
     "`spillway calibrate` again."},
    {"profile-incomplete", "hardware", NoteGrade::kWarning,
     "Hardware profile {hardware} is incomplete: its calibration ended early. Run `spillway "
     "calibrate --resume`."},
    {"measured-run-empty", "hardware", NoteGrade::kWarning,
     "Nothing is taken from the measured run {source}. It has no sizes or rates of the engine."},
    {"host-overhead-measured", "compute", NoteGrade::kDetail,
     "Host overhead is {overhead_us} per step, measured in {source}."},

    // ---- compute
    {"host-overhead-not-fitted", "compute", NoteGrade::kDetail,
     "Host overhead is {overhead_us} per step, from the compute profile. It was not fitted."},
    {"collectives", "compute", NoteGrade::kDetail, "Collectives of {ranks} ranks: {source}."},
    {"collectives-assumed", "compute", NoteGrade::kWarning,
     "Collectives of {ranks} ranks are assumed: {source}. Fit a log of this system, or set "
     "collectives.latency_us and bandwidth."},
    {"graphs-without-effect", "compute", NoteGrade::kWarning,
     "engine.{key} has no effect: the compute model has no eager overhead. Set "
     "compute.launch_us or compute.eager_overhead_us."},
    {"compute-profile", "compute", NoteGrade::kDetail,
     "Compute profile {profile} of {gpu} was fitted from {source}. Held-out error: {errors}."},
    {"compute-profile-warnings", "compute", NoteGrade::kWarning,
     "Compute profile {profile} came with {warnings} warning{warnings||s} of its fit. The first: "
     "{first}."},
    {"compute-profile-gpu", "compute", NoteGrade::kWarning,
     "Compute profile {profile} was measured on {measured_gpu}, not on {gpu}. Its shares of peak "
     "rates are carried over. Fit a profile of {gpu} with `spillway fit`."},
    {"compute-profile-model", "compute", NoteGrade::kDetail,
     "Compute profile {profile} has kernels of {measured_model} only. Kernels of {model} follow "
     "the nearest of its shapes."},
    {"compute-profile-ranks", "compute", NoteGrade::kWarning,
     "Compute profile {profile} is of tensor_parallel_size {measured_ranks}. The engine has "
     "{ranks}. Fit a profile of this size with `spillway fit`."},
    {"no-measured-products", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has no matrix products. The GPU's defaults are used."},
    {"product-type-not-measured", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has no products with {weights} weights. Efficiencies of "
     "{measured_weights} are used at the rate of {weights}."},
    {"products-beyond-measured", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has products of up to {rows} rows. Batches have up to {tokens} "
     "tokens: the efficiency of the largest is kept."},
    {"no-measured-attention", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has no attention. The GPU's defaults are used."},
    {"attention-type-not-measured", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has no attention over a KV cache of {kv_bits} bits. That over "
     "{measured_type} is used."},
    {"head-width-not-measured", "compute", NoteGrade::kWarning,
     "Compute profile {profile} has no attention of heads of width {head_dim}. That of "
     "{measured_head_dim} is scaled."},
    {"mixed-batches-not-measured", "compute", NoteGrade::kDetail,
     "Compute profile {profile} has no decodes beside a prefill. Their slowdown is another GPU's."},
    {"step-times-unchecked", "compute", NoteGrade::kWarning,
     "Step times of {model} ({kind}) are not checked against measurements yet. Fit a compute "
     "profile with `spillway fit`."},
    {"sliding-kv-charged", "model", NoteGrade::kWarning,
     "The {layers} sliding-window layers of {model} are charged as full attention. KV cache of "
     "long contexts is too large. Set engine.hybrid_kv_cache=true."},

    // ---- model and GPU
    {"gpu-slice", "hardware", NoteGrade::kWarning,
     "{gpu} has the whole host link here, which slices share. Set links to give it its share."},
    {"memory-as-sold", "hardware", NoteGrade::kDetail,
     "The memory of {gpu} is the label on the box, not a driver's reading."},
    {"weights-widened", "compute", NoteGrade::kDetail,
     "Kernels on {gpu} read {bytes_per_weight} bytes of each weight of {model} and widen it to "
     "BF16. They reach {flop_share} of the rate of BF16 (vLLM PR 2497, A100)."},
    {"model-understood", "model", NoteGrade::kDetail,
     "{given} has the shape of {model}. Its weights are {weights}."},
    {"own-model", "model", NoteGrade::kDetail, "The shape of {model} is read from {path}."},
    {"layers-without-kv", "model", NoteGrade::kWarning,
     "{kv_layers} of {layers} layers of {model} keep KV per token. The others are charged as "
     "matrix products alone. Step times are too short."},
    {"chunked-attention", "model", NoteGrade::kWarning,
     "Chunked attention of {layers} layers of {model} is modelled as a sliding window of {window} "
     "tokens. Their step times are at most too long."},
    {"sparse-attention", "model", NoteGrade::kWarning,
     "Sparse attention of {model} is charged over the whole context, and its index is not counted. "
     "Step times of long contexts are too long."},
    {"products-as-bf16", "model", NoteGrade::kDetail,
     "Products of 8-bit integers are charged at the BF16 rate of the GPU."},

    // ---- engine
    {"nearest-release", "engine", NoteGrade::kWarning,
     "{asked} is simulated as {preset}, the nearest known release of its generation."},
    {"chunk-tier-too-small", "tier", NoteGrade::kWarning,
     "Tier {tier} of {capacity} holds no chunk of {chunk}. The engine starts all the same, and "
     "keeps nothing there."},
    {"serde-without-time", "tier", NoteGrade::kWarning,
     "{serde} packs what goes to {tier}, and no rate is given for it, so it takes no time here. "
     "Give engine.lmcache.serde_encode_bandwidth and serde_decode_bandwidth as measured."},
    {"no-watermark-yet", "engine", NoteGrade::kWarning,
     "{preset} has no watermark yet (vLLM 4085ff7cb4 brought it). engine.watermark is used all the "
     "same. Leave it out to simulate {preset}."},
    {"no-secondary-tiers-yet", "tier", NoteGrade::kWarning,
     "{preset} has no secondary tiers yet (vLLM 11f6b545d4 brought them). They work as in later "
     "releases."},
    {"max-model-len-lowered", "engine", NoteGrade::kWarning,
     "max_model_len is lowered from {model_tokens} to {tokens} tokens, which fit the pool. vLLM "
     "does not start without --max-model-len."},
    {"batch-raised", "engine", NoteGrade::kDetail,
     "max_num_batched_tokens is raised to max_model_len ({tokens}): prompts are not computed in "
     "chunks."},
    {"streaming-rules", "engine", NoteGrade::kDetail,
     "Residency streaming schedules one step at a time. It admits by the blocks of all tiers and "
     "never preempts."},
    {"chunks-by-default", "engine", NoteGrade::kDetail,
     "enable_chunked_prefill is on: v0 sets it for models of more than {limit_tokens} tokens "
     "({tokens})."},
    {"mixed-chunk-off", "engine", NoteGrade::kWarning,
     "engine.enable_mixed_chunk has no effect: prompts are not computed in chunks. Set "
     "engine.chunked_prefill_size above 0."},
    {"pool-of-free-memory", "engine", NoteGrade::kDetail,
     "num_gpu_blocks is {blocks} ({tokens} tokens): {fraction_share} of the memory that weights "
     "and work are estimated to leave on {gpu}. Take the real number from TensorRT-LLM's log "
     "(primary blocks) and give it as engine.num_gpu_blocks."},
    {"max-tokens-unused", "engine", NoteGrade::kWarning,
     "engine.max_tokens ({max_tokens}) has no effect: free_gpu_memory_fraction leaves {tokens} "
     "tokens. TensorRT-LLM takes the smaller of both."},
    {"hicache-off", "tier", NoteGrade::kWarning,
     "{keys} have no effect: SGLang uses host memory only with --enable-hierarchical-cache. Add a "
     "tier of kind dram."},
    {"hicache-ratio-unused", "tier", NoteGrade::kWarning,
     "engine.hicache_ratio has no effect beside the capacity of {tier}: --hicache-size overrides "
     "--hicache-ratio."},
    {"hicache-too-small", "tier", NoteGrade::kWarning,
     "Tier {tier} holds {host_tokens} tokens, the device {device_tokens}. SGLang keeps copies of "
     "what is on the device, so a smaller host pool adds next to nothing. Give it more than the "
     "device has."},
    {"hicache-write-back", "tier", NoteGrade::kWarning,
     "With hicache_write_policy write_back, the scheduler waits for each eviction to be copied. "
     "SGLang means to remove this policy."},
    {"mooncake-lease-short", "tier", NoteGrade::kWarning,
     "Every get fails: an object of {object_bytes} takes {transfer_ms} on link {link}, and its "
     "lease "
     "lasts {lease_ms}. Raise store.lease_ms."},
    {"mooncake-device-default", "tier", NoteGrade::kWarning,
     "Tier {tier} is as fast as a Redis server, for want of other figures. Set tiers[].device to "
     "the speed of your network, e.g. client_limit 25GB/s."},
    {"mooncake-release-early", "tier", NoteGrade::kWarning,
     "store.put_release_s ({release_s}) is not above put_discard_s ({discard_s}). Mooncake does "
     "not "
     "start so. Raise put_release_s."},
    {"mooncake-offload-off", "tier", NoteGrade::kWarning,
     "store.{key} has no effect without {needed}. Set store.{needed}."},
    {"mooncake-ssd-unused", "tier", NoteGrade::kWarning,
     "Tier {tier} holds nothing: objects go to the SSD only with enable_offload. Set "
     "store.enable_offload."},
    {"swap-space-unused", "swap", NoteGrade::kWarning,
     "engine.swap_space has no effect: preemption_mode is recompute. Set "
     "engine.preemption_mode=swap."},
    {"recompute-by-default", "swap", NoteGrade::kDetail,
     "preemption_mode is recompute, v0's default for requests of one sequence. Its swap space is "
     "never used."},
    {"swap-space-large", "swap", NoteGrade::kWarning,
     "The swap space takes {swap_bytes} of {host_bytes} of host memory ({host_share}). v0 does not "
     "start above {limit_share}. Lower engine.swap_space."},
    {"pipeline", "fleet", NoteGrade::kDetail,
     "A pipeline of {stages} stages has {stages} batches in flight. All stages take as long as the "
     "fullest. Handing over costs nothing, and there is no asynchronous scheduling."},
    {"experts-exchanged", "fleet", NoteGrade::kDetail,
     "{engines} engines share experts and step together. Each collective takes {source}."},
    {"experts-in-lockstep", "fleet", NoteGrade::kWarning,
     "Engines of a mixture of experts step together upstream. With a pipeline, each steps by "
     "itself here, which is optimistic. Give pipeline_parallel_size 1."},
    {"heads-unknown", "fleet", NoteGrade::kDetail,
     "KV cache is taken to divide evenly over ranks: the model's heads are not known."},
    {"classes-without-effect", "workload", NoteGrade::kWarning,
     "Priorities of workload.classes have no effect. Set engine.scheduling_policy=priority."},

    // ---- host memory
    {"host-memory-unchecked", "host", NoteGrade::kDetail,
     "A tier of size inf is not held against the host's memory."},
    {"host-memory-unloaded", "host", NoteGrade::kWarning,
     "Only {simulated} of {instances} instances on the host load its memory. Set fleet.replicas to "
     "{instances} to simulate all."},
    {"host-memory-tight", "host", NoteGrade::kWarning,
     "Host memory needed is {needed_bytes}, within 10% of the host's {host_bytes}. Page tables, "
     "page cache and shared memory may exhaust it (vLLM 53042). Choose smaller tiers."},
    {"host-memory-short", "host", NoteGrade::kDanger,
     "Host memory needed is {needed_bytes}. The machine of the hardware profile has {host_bytes}. "
     "Choose smaller tiers or fewer instances."},

    // ---- tiers and links
    {"tier-default", "tier", NoteGrade::kDetail,
     "Tier {tier}: {key} is {value} by default ({source})."},
    {"tier-from-profile", "tier", NoteGrade::kDetail,
     "Tier {tier}: {key} is {value}, from hardware profile {hardware}."},
    {"tier-over-profile", "tier", NoteGrade::kWarning,
     "Tier {tier}: {key} is {value}, from the scenario. Hardware profile {hardware} has its own "
     "figure. Delete the key to use that."},
    {"kv-beyond-profile", "tier", NoteGrade::kWarning,
     "Tier {tier}: values of {value_bytes} lie outside the measured {from_bytes} to {to_bytes}. "
     "The rates are those of the nearest size in hardware profile {hardware}."},
    {"cache-drain-default", "tier", NoteGrade::kDetail,
     "Tier {tier}: cache_drain_bandwidth is taken to equal sustained_write_bandwidth."},
    {"device-shared", "tier", NoteGrade::kDetail,
     "Tier {tier} is shared with {clients} other client{clients||s}. Each always takes an equal "
     "part of the rate."},
    {"link-shared", "link", NoteGrade::kDetail,
     "Link {link} is shared by {clients} clients. The others repeat this engine's transfers up to "
     "1 s later. Waiting does not slow them down."},
    {"small-page-kernel", "link", NoteGrade::kDetail,
     "Link {from} to {to}: a kernel loads pages of {page_bytes} (engine.small_page_kernel). It "
     "takes {sm_share} of the SMs from the step.[ Rates: {source}.]"},
};

using ScenarioNote = NoteCode<kScenarioNotes>;
inline Note scenario_note(ScenarioNote which, NoteFigures figures = {}) {
  return make_note(*which.row, std::move(figures));
}

}  // namespace spillway

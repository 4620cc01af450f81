#include "scenarios/scenario/intake/trtllm_options.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

std::span<const FlagRow> trtllm_options() {
  using enum FlagUse;
  using enum FlagValue;
  constexpr std::string_view kServer = "serving, not the engine";
  constexpr std::string_view kTimes = "compute has the step times";
  constexpr std::string_view kReports = "what the engine reports, not what it does";
  constexpr std::string_view kAtOnce = "requests are taken as they come";
  constexpr std::string_view kLora = "adapters are not modelled";
  constexpr std::string_view kExperts = "experts are spread as tensor_parallel_size says";
  constexpr std::string_view kWhole = "every layer keeps the whole context";
  constexpr std::string_view kDisks =
      "the disk is left out: add a tier of kind nvme, and links between it and host memory";
  constexpr std::string_view kOneEngine = "prefill and decode run in one engine";
  static constexpr FlagRow kRows[] = {
      {"max_batch_size", "--max_batch_size", kOne, kKey, "engine.max_num_seqs", ""},
      {"max_num_tokens", "--max_num_tokens", kOne, kKey, "engine.max_num_batched_tokens", ""},
      {"max_seq_len", "--max_seq_len", kOne, kKey, "engine.max_model_len", ""},
      {"enable_chunked_prefill", "--enable_chunked_prefill", kNone, kKey,
       "engine.enable_chunked_prefill", ""},
      {"kv_cache_config.free_gpu_memory_fraction", "--free_gpu_memory_fraction", kOne, kKey,
       "engine.free_gpu_memory_fraction", ""},
      {"kv_cache_config.max_tokens", "", kOne, kKey, "engine.max_tokens", ""},
      {"kv_cache_config.tokens_per_block", "--kv_block_size", kOne, kKey, "engine.block_tokens",
       ""},
      {"kv_cache_config.enable_block_reuse", "", kNone, kKey, "engine.enable_block_reuse", ""},
      {"kv_cache_config.enable_partial_reuse", "", kNone, kKey, "engine.enable_partial_reuse", ""},
      {"kv_cache_config.copy_on_partial_reuse", "", kNone, kKey, "engine.copy_on_partial_reuse",
       ""},
      {"kv_cache_config.secondary_offload_min_priority", "", kOne, kKey,
       "engine.secondary_offload_min_priority", ""},
      {"kv_cache_config.host_cache_size", "", kOne, kHandled, "", ""},
      {"kv_cache_config.dtype", "--kv_cache_dtype", kOne, kHandled, "", ""},
      {"kv_cache_config.onboard_blocks", "", kNone, kNotModelled, "true",
       "blocks in host memory are loaded before they are used"},
      {"kv_cache_config.use_kv_cache_manager_v2", "", kNone, kHandled, "", ""},
      {"kv_cache_config.max_util_for_resume", "", kOne, kHandled, "", ""},
      {"scheduler_config.capacity_scheduler_policy", "", kOne, kHandled, "", ""},
      {"scheduler_config.context_chunking_policy", "", kOne, kNotModelled,
       "first_come_first_served", "prompts are cut in the order in which they came"},
      {"disable_overlap_scheduler", "", kNone, kHandled, "", ""},
      {"cuda_graph_config", "", kOne, kHandled, "", ""},
      {"cuda_graph_config.max_batch_size", "", kOne, kHandled, "", ""},
      {"cuda_graph_config.batch_sizes", "", kOne, kHandled, "", ""},
      {"tensor_parallel_size", "--tensor_parallel_size", kOne, kHandled, "", ""},
      {"pipeline_parallel_size", "--pipeline_parallel_size", kOne, kHandled, "", ""},
      {"context_parallel_size", "--context_parallel_size", kOne, kHandled, "", ""},
      {"enable_attention_dp", "--enable_attention_dp", kNone, kHandled, "", ""},
      {"backend", "--backend", kOne, kNotModelled, "pytorch", "the PyTorch backend is simulated"},
      {"max_beam_width", "--max_beam_width", kOne, kNotModelled, "1", "a request has one sequence"},
      {"quant_config.quant_algo", "", kOne, kHandled, "", ""},
      {"quant_config.kv_cache_quant_algo", "", kOne, kHandled, "", ""},
      {"model", "--model", kOne, kHandled, "", ""},
      {"--served_model_name", "--served_model_name", kOne, kHandled, "", ""},
      {"--extra_llm_api_options", "--extra_llm_api_options", kOne, kHandled, "", ""},
      {"cuda_graph_config.enable_padding", "", kNone, kNoEffect, "",
       "batches are padded to the next captured size"},
      {"moe_expert_parallel_size", "--moe_expert_parallel_size", kOne, kNotModelled, "1", kExperts},
      {"moe_tensor_parallel_size", "", kOne, kNotModelled, "1", kExperts},
      {"moe_cluster_parallel_size", "--moe_cluster_parallel_size", kOne, kNotModelled, "1",
       kExperts},
      {"kv_cache_config.max_attention_window", "", kOne, kNotModelled, "", kWhole},
      {"kv_cache_config.sink_token_length", "", kOne, kNotModelled, "", kWhole},
      {"kv_cache_config.max_gpu_total_bytes", "", kOne, kNotModelled, "0",
       "give the pool as engine.max_tokens"},
      {"kv_cache_config.use_uvm", "", kNone, kNotModelled, "false",
       "the pool is memory of the GPU"},
      {"kv_cache_config.cross_kv_cache_fraction", "", kOne, kNotModelled, "",
       "models with an encoder are not modelled"},
      {"kv_cache_config.disk_cache_size", "", kOne, kNotModelled, "0", kDisks},
      {"kv_cache_config.disk_cache_path", "", kOne, kNotModelled, "", kDisks},
      {"kv_cache_config.disk_prefetch_num_reqs", "", kOne, kNotModelled, "0", kDisks},
      {"kv_cache_config.mamba_ssm_cache_dtype", "", kOne, kNotModelled, "",
       "states of Mamba layers are not modelled"},
      {"kv_cache_config.event_buffer_max_size", "", kOne, kNoEffect, "", kReports},
      {"kv_cache_config.attention_dp_events_gather_period_ms", "", kOne, kNoEffect, "", kReports},
      {"scheduler_config.dynamic_batch_config", "", kOne, kNoEffect, "",
       "of the TensorRT backend only"},
      {"scheduler_config.waiting_queue_policy", "", kOne, kNotModelled, "fcfs", kAtOnce},
      {"scheduler_config.enable_prefix_aware_scheduling", "", kNone, kNotModelled, "true",
       "requests wait for a next block that another one computes"},
      {"scheduler_config.use_python_scheduler", "", kNone, kNoEffect, "", "its rules are the same"},
      {"speculative_config", "", kOne, kNotModelled, "", "a decode makes one token"},
      {"kv_connector_config", "", kOne, kNotModelled, "", "connectors are left out"},
      {"cache_transceiver_config", "", kOne, kNotModelled, "", kOneEngine},
      {"sparse_attention_config", "", kOne, kNotModelled, "", "attention reads the whole context"},
      {"enable_lora", "", kNone, kNotModelled, "false", kLora},
      {"lora_config", "", kOne, kNotModelled, "", kLora},
      {"peft_cache_config", "", kOne, kNotModelled, "", kLora},
      {"model_kwargs", "", kOne, kNotModelled, "", "the model is that of its config.json"},
      {"max_input_len", "", kOne, kNotModelled, "", "max_seq_len alone limits requests"},
      {"batch_wait_timeout_ms", "", kOne, kNotModelled, "0", kAtOnce},
      {"batch_wait_timeout_iters", "", kOne, kNotModelled, "0", kAtOnce},
      {"batch_wait_max_tokens_ratio", "", kOne, kNotModelled, "0", kAtOnce},
      {"stream_interval", "", kOne, kNotModelled, "1", "every token leaves as it is made"},
      {"attention_dp_config", "", kOne, kNoEffect, "", "of attention data parallelism"},
      {"enable_lm_head_tp_in_adp", "", kNone, kNoEffect, "", "of attention data parallelism"},
      {"pp_partition", "", kOne, kNoEffect, "", "of a pipeline"},
      {"cp_config", "", kOne, kNoEffect, "", "of context parallelism"},
      {"moe_config", "", kOne, kNoEffect, "", kTimes},
      {"nvfp4_gemm_config", "", kOne, kNoEffect, "", kTimes},
      {"attn_backend", "", kOne, kNoEffect, "", kTimes},
      {"torch_compile_config", "", kOne, kNoEffect, "", kTimes},
      {"allreduce_strategy", "", kOne, kNoEffect, "", "collectives has the times"},
      {"sampler_type", "", kOne, kNoEffect, "", kTimes},
      {"enable_autotuner", "", kNone, kNoEffect, "", kTimes},
      {"enable_min_latency", "", kNone, kNoEffect, "", kTimes},
      {"force_dynamic_quantization", "", kNone, kNoEffect, "", kTimes},
      {"garbage_collection_gen0_threshold", "", kOne, kNoEffect, "",
       "compute.host_overhead_us has the host's time"},
      {"dtype", "", kOne, kNoEffect, "", "16 bits, unless the checkpoint is quantised"},
      {"load_format", "", kOne, kNoEffect, "", "how weights are loaded"},
      {"checkpoint_format", "", kOne, kNoEffect, "", "how weights are loaded"},
      {"checkpoint_loader", "", kOne, kNoEffect, "", "how weights are loaded"},
      {"enable_iter_perf_stats", "", kNone, kNoEffect, "", kReports},
      {"enable_iter_req_stats", "", kNone, kNoEffect, "", kReports},
      {"return_perf_metrics", "", kNone, kNoEffect, "", kReports},
      {"perf_metrics_max_requests", "", kOne, kNoEffect, "", kReports},
      {"iter_stats_max_iterations", "", kOne, kNoEffect, "", kReports},
      {"request_stats_max_iterations", "", kOne, kNoEffect, "", kReports},
      {"print_iter_log", "", kNone, kNoEffect, "", kReports},
      {"enable_layerwise_nvtx_marker", "", kNone, kNoEffect, "", kReports},
      {"guided_decoding_backend", "", kOne, kNoEffect, "", kServer},
      {"gather_generation_logits", "", kNone, kNoEffect, "", kServer},
      {"orchestrator_type", "", kOne, kNoEffect, "", kServer},
      {"gpus_per_node", "--gpus_per_node", kOne, kNoEffect, "", "collectives.gpus_per_node"},
      {"tokenizer", "--tokenizer", kOne, kNoEffect, "", kServer},
      {"custom_tokenizer", "--custom_tokenizer", kOne, kNoEffect, "", kServer},
      {"tokenizer_mode", "", kOne, kNoEffect, "", kServer},
      {"skip_tokenizer_init", "", kNone, kNoEffect, "", kServer},
      {"trust_remote_code", "--trust_remote_code", kNone, kNoEffect, "", kServer},
      {"revision", "--revision", kOne, kNoEffect, "", kServer},
      {"num_postprocess_workers", "--num_postprocess_workers", kOne, kNoEffect, "", kServer},
      {"postprocess_tokenizer_dir", "", kOne, kNoEffect, "", kServer},
      {"reasoning_parser", "--reasoning_parser", kOne, kNoEffect, "", kServer},
      {"otlp_traces_endpoint", "--otlp_traces_endpoint", kOne, kNoEffect, "", kReports},
      {"fail_fast_on_attention_window_too_large", "--fail_fast_on_attention_window_too_large",
       kNone, kNoEffect, "", kServer},
      {"env_overrides", "", kOne, kNoEffect, "", kServer},
      {"--tool_parser", "--tool_parser", kOne, kNoEffect, "", kServer},
      {"--host", "--host", kOne, kNoEffect, "", kServer},
      {"--port", "--port", kOne, kNoEffect, "", kServer},
      {"--log_level", "--log_level", kOne, kNoEffect, "", kServer},
      {"--chat_template", "--chat_template", kOne, kNoEffect, "", kServer},
      {"--media_io_kwargs", "--media_io_kwargs", kOne, kNoEffect, "", kServer},
      {"--custom_module_dirs", "--custom_module_dirs", kOne, kNoEffect, "", kServer},
      {"--metadata_server_config_file", "--metadata_server_config_file", kOne, kNotModelled, "",
       kOneEngine},
      {"--server_role", "--server_role", kOne, kNotModelled, "", kOneEngine},
      {"--disagg_cluster_uri", "--disagg_cluster_uri", kOne, kNotModelled, "", kOneEngine},
      // Of Dynamo's worker (ai-dynamo/dynamo, components/src/dynamo/trtllm/backend_args.py @
      // 0a6a115c).
      {"--override_engine_args", "--override_engine_args", kOne, kHandled, "", ""},
      {"--disaggregation_mode", "--disaggregation_mode", kOne, kNotModelled, "agg", kOneEngine},
      {"--disaggregation_strategy", "--disaggregation_strategy", kOne, kNotModelled, "",
       kOneEngine},
      {"--encode_endpoint", "--encode_endpoint", kOne, kNotModelled, "",
       "models with an encoder are not modelled"},
      {"--modality", "--modality", kOne, kNoEffect, "", kServer},
      {"--publish_kv_events", "--publish_kv_events", kNone, kNoEffect, "", kReports},
      {"--publish_events_and_metrics", "--publish_events_and_metrics", kNone, kNoEffect, "",
       kReports},
      {"--endpoint", "--endpoint", kOne, kNoEffect, "", kServer},
      {"--namespace", "--namespace", kOne, kNoEffect, "", kServer},
      {"--discovery_backend", "--discovery_backend", kOne, kNoEffect, "", kServer},
      {"--request_plane", "--request_plane", kOne, kNoEffect, "", kServer},
      {"--event_plane", "--event_plane", kOne, kNoEffect, "", kServer},
      {"--connector", "--connector", kOne, kNotModelled, "none", "connectors are left out"},
  };
  return kRows;
}

const FlagRow* find_trtllm_flag(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kSecond[] = {
      {"--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction"},
      {"--config", "--extra_llm_api_options"},
      {"--tp_size", "--tensor_parallel_size"},
      {"--pp_size", "--pipeline_parallel_size"},
      {"--cp_size", "--context_parallel_size"},
      {"--ep_size", "--moe_expert_parallel_size"},
      {"--cluster_size", "--moe_cluster_parallel_size"},
      {"--model_path", "--model"},
      {"--extra_engine_args", "--extra_llm_api_options"},
      {"--expert_parallel_size", "--moe_expert_parallel_size"},
  };
  for (const auto& [second, first] : kSecond) {
    if (name == second) name = first;
  }
  const std::span<const FlagRow> rows = trtllm_options();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const FlagRow& row) { return row.alias == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace spillway

export MODEL_HANDLE=nvidia/Llama-3.3-70B-Instruct-FP8
EXTRA_LLM_API_FILE=/workspace/config.yml

cat << EOF > ${EXTRA_LLM_API_FILE}
enable_attention_dp: false
cuda_graph_config:
  enable_padding: true
  max_batch_size: 1024
kv_cache_config:
  dtype: fp8
  host_cache_size: 50000000000
  enable_partial_reuse: false
scheduler_config:
  capacity_scheduler_policy: MAX_UTILIZATION
max_num_tokens: 4096
EOF

trtllm-serve ${MODEL_HANDLE} \
    --host 0.0.0.0 \
    --port 8000 \
    --max_batch_size 1024 \
    --max_num_tokens 2048 \
    --max_seq_len 8192 \
    --kv_cache_free_gpu_memory_fraction 0.8 \
    --tp_size 2 \
    --ep_size 1 \
    --trust_remote_code \
    --extra_llm_api_options ${EXTRA_LLM_API_FILE}

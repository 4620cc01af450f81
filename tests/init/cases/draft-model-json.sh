vllm serve Qwen/Qwen3-8B --speculative_config '{"num_speculative_tokens": 3, "method": "draft_model", "model": "Qwen/Qwen3-0.6B"}' \
   --gpu_memory_utilization 0.75 -tp 1 --seed 3 --host 0.0.0.0 --port 8005

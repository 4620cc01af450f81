vllm serve Qwen/Qwen3-14B --max-model-len 65536 \
  --hf-overrides '{"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768}}'

vllm serve Qwen/Qwen3-8B --max-model-len 32k --max-num-batched-tokens=8K -O3 --kv-cache-memory-bytes 20G

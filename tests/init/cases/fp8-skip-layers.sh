# first and last layer as they are
vllm serve Qwen/Qwen3-32B --kv-cache-dtype-skip-layers 0 63 --kv-cache-dtype fp8_e4m3

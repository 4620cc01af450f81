$ vllm serve Qwen/Qwen3-8B --api-key ${API_KEY} --kv-events-config '{"enable_kv_cache_events": true}' \
    --block-size 32 --num-gpu-blocks-override 4096 --no-enable-chunked-prefill --colour-scheme dark

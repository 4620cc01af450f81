python3 -m sglang.launch_server \
  --model-path Qwen/Qwen3-14B \
  --schedule-policy dfs-weight \
  --radix-eviction-policy slru \
  --enable-mixed-chunk \
  --chunked-prefill-size 4096 \
  --port 30000

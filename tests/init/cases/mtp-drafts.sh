vllm serve deepseek-ai/DeepSeek-R1-0528 -tp 8 --reasoning-parser deepseek_r1 \
  -sc '{"num_speculative_tokens": 2, "method": "mtp"}'

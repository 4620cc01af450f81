vllm serve Qwen/Qwen3-8B --max-num-seqs 16 \
  --max-model-len <tokens> # at most 40960

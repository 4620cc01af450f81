vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4 --max-num-seqs 128 --enable-prefix-caching \
   --max-num-seqs 32 --no-enable-prefix-caching -tp 1

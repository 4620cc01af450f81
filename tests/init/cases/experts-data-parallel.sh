VLLM_USE_DEEP_GEMM=1 vllm serve Qwen/Qwen3-30B-A3B-Instruct-2507 --data-parallel-size 4 \
  --tool-call-parser hermes --enable-auto-tool-choice \
  --enable-expert-parallel

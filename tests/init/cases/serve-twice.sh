
 VLLM_USE_DEEP_GEMM=0   vllm serve serve deepseek-ai/DeepSeek-V3.2 --tokenizer-mode deepseek_v32 \
    --reasoning-parser deepseek_v3 --tool-call-parser deepseek_v32 -tp 8

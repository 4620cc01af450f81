vllm serve deepseek-ai/DeepSeek-V3.2-Exp --enable-expert-parallel -dp 8

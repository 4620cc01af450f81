# 2 front ends, 2 engines of 2 GPUs
vllm serve Qwen/Qwen3-32B -tp=2 -asc 2 -dp 2 -q fp8

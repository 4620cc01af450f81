export MODEL="Qwen/Qwen3-14B"
EXTRA="--max-num-seqs 48 --max-model-len 16384"
exec vllm serve $MODEL --port ${PORT:-8000} --gpu-memory-utilization=${SHARE-0.8} $EXTRA

vllm serve Qwen/Qwen3-VL-30B-A3B-Instruct --tensor-parallel-size 2 \
  --mm-processor-cache-type shm --mm-encoder-tp-mode data \
  --limit-mm-per-prompt.image 2 --gpu-memory-utilization 0.88 --no-async-scheduling

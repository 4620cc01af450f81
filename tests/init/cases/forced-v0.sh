VLLM_USE_V1=0 vllm serve neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8 --gpu-memory-utilization 0.94 --max-model-len 4096

CUDA_VISIBLE_DEVICES="0,1,2,3" vllm serve /models/Qwen3-32B --tensor-parallel 4  --served-model q32 --max-num-seq 96 --gpu-memory-util 0.85   --enable-prefix --port 8300

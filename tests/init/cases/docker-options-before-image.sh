docker run -d --restart unless-stopped --name chat-27b \
    --shm-size 8g --network host --ipc=host \
    --gpus '"device=0,1"' \
    -v ~/models:/cache/huggingface \
    vllm/vllm-openai:v0.14.0 \
        --model google/gemma-3-27b-it --host 127.0.0.1 --port 8080 \
        --gpu-memory-utilization 0.85 \
        --tensor-parallel-size 2 --max-model-len 16384

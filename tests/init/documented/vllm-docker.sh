# https://github.com/vllm-project/vllm/blob/main/docs/deployment/docker.md
# expect: model.name "Qwen/Qwen3-0.6B"
docker run --runtime nvidia --gpus all \
    --env "HF_TOKEN=$HF_TOKEN" \
    -p 8000:8000 \
    --ipc=host \
    vllm/vllm-openai:latest \
    --model Qwen/Qwen3-0.6B

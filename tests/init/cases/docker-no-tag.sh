docker run --ipc=host --gpus all \
    -p 8000:8000 \
    vllm/vllm-openai \
    --model openai/gpt-oss-20b

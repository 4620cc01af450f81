docker run -d --pull always --gpus all \
    --log-opt max-size=50m --pid host \
    -v /data/hf:/cache/huggingface -p 9000:8000 \
    vllm/vllm-openai:v0.19.0 \
    Qwen/Qwen3-8B --max-num-seqs 40

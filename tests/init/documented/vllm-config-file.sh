# https://github.com/vllm-project/vllm/blob/main/docs/configuration/serve_args.md
# expect: engine.max_model_len 8192
# expect: engine.gpu_memory_utilization 0.8
cat > config.yaml <<END
model: meta-llama/Llama-3.1-8B-Instruct
host: "127.0.0.1"
port: 6379
uvicorn-log-level: "info"
max-model-len: 8192
gpu-memory-utilization: 0.8
END
vllm serve --config config.yaml

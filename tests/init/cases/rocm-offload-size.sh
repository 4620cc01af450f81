docker run --rm --device /dev/dri --device /dev/kfd \
  --group-add=video -p 8080:8000 --ipc=host \
  vllm/vllm-openai-rocm:v0.23.0 \
  --model Qwen/Qwen3-32B --tensor-parallel-size 2 \
  --disable-hybrid-kv-cache-manager \
  --kv-offloading-size 48 --kv-offloading-backend native

# https://docs.vultr.com/inference-cookbook/rocm/optimization/kv-cache-offloading (flags of vLLM's
# vllm/config/cache.py: kv_offloading_backend, kv_offloading_size)
# options: --model Qwen3-32B
# expect: tiers.0.capacity "64GiB"
# expect: gpu "MI300X"
docker run --rm \
  --device /dev/kfd \
  --device /dev/dri \
  --group-add=video \
  --ipc=host \
  -p 8000:8000 \
  vllm/vllm-openai-rocm:latest \
  --model MODEL_NAME \
  --kv-offloading-backend native \
  --kv-offloading-size 64 \
  --disable-hybrid-kv-cache-manager

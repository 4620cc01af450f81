# second GPU: decoder
CUDA_VISIBLE_DEVICES=1 \
VLLM_NIXL_SIDE_CHANNEL_PORT=5711 \
UCX_NET_DEVICES=mlx5_0:1 \
vllm serve Qwen/Qwen3-1.7B --enforce-eager --port 8211 \
  --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'

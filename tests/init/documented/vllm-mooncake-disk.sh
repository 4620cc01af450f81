# https://github.com/vllm-project/vllm/blob/01529cf1294f2aaf6f1d01ebcf6b7cf9da7c0103/docs/features/mooncake_store_connector_usage.md
# options: --gpu H100
# expect: engine.preset "mooncake@0.3"
# expect: tiers.0.capacity "64GiB"
# expect: tiers.0.store.enable_offload true
# expect: tiers.1.kind "nvme"
mooncake_master --port 50051 --enable_offload=true
mooncake_client --global_segment_size="64 GB" --enable_offload=true

cat > mooncake_config.json <<'EOF'
{
  "mode": "standalone-store",
  "metadata_server": "P2PHANDSHAKE",
  "master_server_address": "127.0.0.1:50051",
  "global_segment_size": 0,
  "local_buffer_size": "4GB",
  "protocol": "rdma",
  "device_name": "mlx5_0",
  "enable_offload": true
}
EOF
export MOONCAKE_PREFERRED_SEGMENT=127.0.0.1:50053
MOONCAKE_CONFIG_PATH=mooncake_config.json \
vllm serve meta-llama/Llama-3.1-8B-Instruct \
    --kv-transfer-config '{"kv_connector":"MooncakeStoreConnector","kv_role":"kv_both"}'

# https://github.com/kvcache-ai/Mooncake/blob/984cf198db59eae11cb072959564841dfcdb1c69/docs/source/deployment/integrations/sglang/hicache-integration-v1.md
# options: --model Llama-3.1-8B --gpu H100
# expect: tiers.1.capacity "4GiB"
# expect: tiers.1.segments 1
# expect: tiers.1.store.high_watermark 0.95
mooncake_master --enable_http_metadata_server=true --http_metadata_server_port=8080 --eviction_high_watermark_ratio=0.95

MOONCAKE_TE_META_DATA_SERVER="http://127.0.0.1:8080/metadata" \
MOONCAKE_MASTER="127.0.0.1:50051" \
MOONCAKE_PROTOCOL="rdma" \
MOONCAKE_DEVICE="" \
MOONCAKE_GLOBAL_SEGMENT_SIZE="4gb" \
python -m sglang.launch_server \
    --enable-hierarchical-cache \
    --hicache-storage-backend mooncake\
    --model-path [model_path]

# https://github.com/sgl-project/sglang/blob/0712681af22229d925129aea9fd6691b69ed007d/docs/advanced_features/hicache_best_practices.md
# options: --gpu H100
# expect: model.name "Qwen/Qwen3-235B-A22B"
# expect: tiers.1.scope "cluster"
# expect: tiers.1.capacity "760GiB"
# expect: tiers.1.segments 8
export MOONCAKE_TE_META_DATA_SERVER="http://127.0.0.1:8080/metadata"
export MOONCAKE_GLOBAL_SEGMENT_SIZE=816043786240
export MOONCAKE_PROTOCOL="rdma"
export MOONCAKE_DEVICE="$DEVICE_LIST"
export MOONCAKE_MASTER=127.0.0.1:50051
MODEL_PATH=Qwen/Qwen3-235B-A22B-Instruct-2507
python3 -m sglang.launch_server \
  --model-path $MODEL_PATH \
  --tp 8 \
  --page-size 64 \
  --enable-hierarchical-cache \
  --hicache-ratio 2 \
  --hicache-mem-layout page_first \
  --hicache-io-backend kernel \
  --hicache-storage-backend mooncake \
  --hicache-write-policy write_through \
  --hicache-storage-prefetch-policy timeout

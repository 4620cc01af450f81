# https://github.com/sgl-project/sglang/blob/0712681af22229d925129aea9fd6691b69ed007d/docs/advanced_features/hicache_best_practices.md
# options: --gpu H200
# expect: engine.page_size 64
# expect: engine.hicache_ratio 2.0
# expect: tiers.1.name "hf3fs"
python3 -m sglang.launch_server \
  --model-path /xxx/DeepSeek-R1/ \
  --log-level info \
  --tp 8 \
  --host 0.0.0.0 \
  --port 10000 \
  --enable-metrics \
  --enable-cache-report \
  --page-size 64 \
  --mem-fraction-static 0.85 \
  --enable-hierarchical-cache \
  --hicache-ratio 2 \
  --hicache-size 0 \
  --hicache-mem-layout page_first \
  --hicache-write-policy write_through \
  --hicache-storage-backend hf3fs \
  --hicache-storage-prefetch-policy wait_complete
